import { Thread } from "@/chat/late";
import { late } from "./late";

export const Chat = late(() => import("@/chat/Chat"));
export const Sessions = late(() => import("@/sessions/Sessions"));
export const Session = late(() => import("@/sessions/Session"));
export const Search = late(() => import("@/search/Search"));
export const Upstreams = late(() => import("@/upstreams/Upstreams"));
export const Usage = late(() => import("@/usage/Usage"));
export const Tenants = late(() => import("@/tenants/Tenants"));
export const SignIn = late(() => import("@/signin/SignIn"));

const first: Record<string, { load: () => Promise<void> } | undefined> = {
  "": Chat, chat: Chat, sessions: Sessions, search: Search, upstreams: Upstreams, usage: Usage, tenants: Tenants, "sign-in": SignIn,
};

/** Fetches what a path shows. What cannot be fetched says so where it would stand. */
export async function fetchPage(path: string): Promise<void> {
  const [, section = "", rest = ""] = path.split("/");
  const wanted = section === "sessions" && rest !== "" ? [Session] : section === "chat" && rest !== "" ? [Chat, Thread] : [first[section]];
  await Promise.all(wanted.map((page) => page?.load())).catch(() => {});
}
