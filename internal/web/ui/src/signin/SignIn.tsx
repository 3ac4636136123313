import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState, type ReactNode } from "react";
import { useLocation, useSearchParams } from "wouter";
import { api, ApiError } from "@/api/client";
import { useMe } from "@/api/hooks";
import { keys } from "@/api/keys";
import type { Me } from "@/api/types";
import { useTitle } from "@/app/Page";
import { forgetDrafts, keepWho } from "@/chat/memory";
import { Button, ErrorState, Mark, Spinner } from "@/ui";
import { safeBack } from "./back";
import { KeyForm } from "./KeyForm";

/** Stands without the shell; `?back=/path` is where to go afterwards. */
export default function SignIn() {
  useTitle("Sign in");
  return (
    <main className="flex min-h-dvh flex-col items-center justify-center bg-canvas px-4 py-10">
      <div className="w-full max-w-sm">
        <p className="mb-5 flex items-center justify-center gap-2.5 text-lg font-semibold tracking-tight">
          <Mark className="size-7" /> Mooring
        </p>
        <div className="rounded-2xl border border-line bg-raised p-6 shadow-low">
          <Inside />
        </div>
      </div>
    </main>
  );
}

function Inside() {
  const client = useQueryClient();
  const me = useMe();
  const [, go] = useLocation();
  const [params] = useSearchParams();
  const leave = () => go(safeBack(params.get("back"), location.origin), { replace: true });
  const [entered, setEntered] = useState(false);

  if (me.data && !entered) return me.data.keys ? <Known me={me.data} onGo={leave} /> : <Open onGo={leave} />;
  if (me.isPending) {
    return <p className="flex justify-center py-8 text-faint"><Spinner /><span className="sr-only">One moment</span></p>;
  }
  if (me.error && !(me.error instanceof ApiError && me.error.status === 401)) {
    return <ErrorState error={me.error} retry={() => void me.refetch()} />;
  }
  return (
    <KeyForm
      onSignedIn={(now) => {
        setEntered(true);
        keepWho(JSON.stringify([now.tenant, now.key]));
        client.setQueryData(keys.me, now);
        leave();
      }}
    />
  );
}

/** Long enough to read the sentence. */
const moment = 2_000;

function Open({ onGo }: { onGo: () => void }) {
  useEffect(() => {
    const timer = setTimeout(onGo, moment);
    return () => clearTimeout(timer);
    // Once, when it appears.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, []);
  return (
    <Said title="No key is needed here">
      <p role="status" className="text-sm text-pretty text-soft">This server has no keys configured: it answers this machine alone, and everybody on it may use it. You are taken on in a moment.</p>
      <Button look="primary" className="mt-5 w-full" onClick={onGo}>Go on</Button>
    </Said>
  );
}

function Known({ me, onGo }: { me: Me; onGo: () => void }) {
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  const signOut = async () => {
    setBusy(true);
    await api("/api/sign-out", { method: "POST" }).catch(() => {});
    forgetDrafts();
    client.clear();
    location.reload();
  };
  return (
    <Said title="You are signed in">
      <p className="text-sm text-pretty text-soft">
        As <span className="font-medium text-ink">{me.key ?? "a user of this machine"}</span>, tenant <span className="font-medium text-ink">{me.tenant}</span>.
      </p>
      <Button look="primary" className="mt-5 w-full" onClick={onGo}>Go on</Button>
      {me.signed_in && <Button look="quiet" busy={busy} className="mt-2 w-full" onClick={() => void signOut()}>Sign out, to use another key</Button>}
    </Said>
  );
}

function Said({ title, children }: { title: string; children: ReactNode }) {
  return (
    <>
      <h1 className="mb-2 text-base font-semibold">{title}</h1>
      {children}
    </>
  );
}
