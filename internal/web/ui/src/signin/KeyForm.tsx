import { Eye, EyeOff } from "lucide-react";
import { useEffect, useRef, useState, type FormEvent } from "react";
import { api, ApiError, sentence } from "@/api/client";
import type { Me } from "@/api/types";
import { Button, cx, IconButton } from "@/ui";

/** Asks for the key. A password field, so that the browser offers to keep it. */
export function KeyForm({ onSignedIn }: { onSignedIn: (me: Me) => void }) {
  const field = useRef<HTMLInputElement>(null);
  const [key, setKey] = useState("");
  const [shown, setShown] = useState(false);
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState("");
  const [wait, setWait] = useCountdown();

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const typed = key.trim(); // what is pasted often brings the end of its line
    if (typed === "" || busy || wait > 0) {
      if (typed === "") setWrong("Paste your key first.");
      field.current?.focus();
      return;
    }
    setBusy(true);
    setWrong("");
    try {
      onSignedIn(await api<Me>("/api/sign-in", { method: "POST", body: { key: typed } }));
    } catch (error) {
      setWrong(wordsOf(error));
      if (error instanceof ApiError && error.status === 429) setWait(error.retryAfter ?? 30);
      setBusy(false);
      field.current?.select();
      field.current?.focus();
    }
  };

  return (
    <form onSubmit={(event) => void submit(event)} noValidate>
      <h1 className="text-base font-semibold">Sign in</h1>
      <p className="mt-1 mb-5 text-sm text-pretty text-soft">With your key for this server. Whoever runs it makes one for you with <code>mooring keys create</code>.</p>
      {/* Password managers keep a password under a name. */}
      <input type="text" name="username" autoComplete="username" value="mooring" readOnly hidden />
      <label htmlFor="key" className="mb-1.5 block text-sm font-medium">Key</label>
      <span className="relative flex">
        <input
          ref={field}
          id="key"
          name="key"
          type={shown ? "text" : "password"}
          autoComplete="current-password"
          autoCapitalize="none"
          autoCorrect="off"
          spellCheck={false}
          autoFocus
          value={key}
          onChange={(event) => {
            setKey(event.target.value);
            setWrong("");
          }}
          aria-invalid={wrong !== ""}
          aria-describedby="key-wrong"
          className={cx(
            "h-10 w-full min-w-0 rounded-lg border bg-page pr-11 pl-3 font-mono text-sm",
            wrong === "" ? "border-line-strong" : "border-bad",
          )}
        />
        <IconButton label={shown ? "Hide the key" : "Show the key"} size="sm" className="absolute top-1.5 right-1.5" aria-pressed={shown} onClick={() => setShown(!shown)}>
          {shown ? <EyeOff className="size-4" /> : <Eye className="size-4" />}
        </IconButton>
      </span>
      <p id="key-wrong" role="alert" className="mt-1.5 min-h-5 text-sm text-pretty text-bad">{wrong}</p>
      <Button type="submit" look="primary" busy={busy} disabled={wait > 0} className="mt-2 h-10 w-full">
        {wait > 0 ? `Try again in ${wait} s` : "Sign in"}
      </Button>
    </form>
  );
}

function wordsOf(error: unknown): string {
  if (!(error instanceof ApiError)) return sentence(error);
  if (error.status === 401) return "This server does not know that key. Check that it was copied whole; it may also have been revoked or have run out.";
  if (error.status === 429) return "Too many wrong keys came from here. Wait a moment, then try again.";
  return error.message;
}

/** Seconds that pass by themselves. */
function useCountdown() {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    if (seconds <= 0) return;
    const timer = setTimeout(() => setSeconds(seconds - 1), 1000);
    return () => clearTimeout(timer);
  }, [seconds]);
  return [seconds, (from: number) => setSeconds(Math.ceil(from))] as const;
}
