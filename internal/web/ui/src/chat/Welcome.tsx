import { CircleAlert } from "lucide-react";
import { Link } from "wouter";
import { useMe, useUpstreams } from "@/api/hooks";
import { CopyButton, Mark } from "@/ui";
import { Notice } from "./Notice";

/** What is seen before the first word: what this is, and how a client gets here. */
export function Welcome({ readOnly }: { readOnly: boolean }) {
  const me = useMe();
  const lines = [
    { name: "OpenAI clients", text: `${location.origin}/v1`, what: "as their base URL" },
    { name: "Anthropic clients", text: location.origin, what: "as their base URL" },
    { name: "Coding agents", text: "mooring run -- claude", what: "in front of any of them" },
  ];
  return (
    <div className="min-h-0 flex-1 overflow-y-auto">
      <div className="mx-auto flex min-h-full w-full max-w-3xl flex-col justify-center px-4 py-10 md:px-6">
        <Mark className="mb-5 size-11" />
        <h1 className="text-2xl font-semibold tracking-tight text-balance">Every conversation, where you can find it again.</h1>
        <p className="mt-2 max-w-[58ch] text-pretty text-soft">
          {readOnly
            ? "Mooring routes your clients' sessions and keeps their figures. This server keeps no texts (sessions.transcripts), so chats are held in your own client."
            : "Ask here, or let your own client talk through Mooring: both are kept, searched and counted in one place."}
        </p>
        <Trouble />
        <h2 className="mt-10 mb-2 text-sm font-medium text-soft">Connect a client</h2>
        <ul className="divide-y divide-line overflow-hidden rounded-xl border border-line bg-raised">
          {lines.map((line) => (
            <li key={line.name} className="flex flex-wrap items-center gap-x-4 px-4 py-2 sm:flex-nowrap">
              <span className="w-full shrink-0 pt-1 text-sm font-medium sm:w-36 sm:pt-0">{line.name}</span>
              <span className="flex min-w-0 flex-1 items-center gap-2">
                <code className="min-w-0 truncate text-sm text-accent">{line.text}</code>
                <span className="hidden shrink-0 text-sm text-faint md:inline">{line.what}</span>
              </span>
              <CopyButton text={line.text} label={`Copy for ${line.name}`} />
            </li>
          ))}
        </ul>
        {me.data?.keys && <p className="mt-3 text-sm text-soft">Clients need a key of yours, as their API key.</p>}
      </div>
    </div>
  );
}

/** Says so where no answer can be expected. */
function Trouble() {
  const upstreams = useUpstreams();
  if (!upstreams.data) return null;
  const bad = upstreams.data.filter((one) => one.health === "unhealthy");
  if (upstreams.data.length > 0 && bad.length === 0) return null;
  return (
    <div className="mt-5">
      <Notice tone={bad.length === upstreams.data.length ? "bad" : "warn"} icon={<CircleAlert />} action={<Link href="/upstreams" className="font-medium underline underline-offset-4">Upstreams</Link>}>
        {upstreams.data.length === 0
          ? "No upstream is configured, so nobody can answer. Add one to mooring.yaml."
          : `${bad.length === 1 ? "The upstream" : "The upstreams"} ${bad.map((one) => `“${one.name}”`).join(", ")} ${bad.length === 1 ? "does" : "do"} not answer at the moment.`}
      </Notice>
    </div>
  );
}
