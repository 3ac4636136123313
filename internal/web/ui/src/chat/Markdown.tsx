import { isValidElement, memo, useDeferredValue, useMemo, type ReactNode } from "react";
import Renderer, { defaultUrlTransform, type Components, type UrlTransform } from "react-markdown";
import gfm from "remark-gfm";
import { Code } from "./Code";
import { safeImage } from "./parts";
import { pieces } from "./split";
import "./markdown.css";

const textOf = (node: ReactNode): string =>
  typeof node === "string" ? node : Array.isArray(node) ? node.map(textOf).join("") : isValidElement<{ children?: ReactNode }>(node) ? textOf(node.props.children) : "";

const components: Components = {
  a: ({ href, children }) => {
    if (!href) return <>{children}</>;
    return (
      <a href={href} target="_blank" rel="noopener noreferrer nofollow">
        {children}
      </a>
    );
  },
  img: ({ src, alt }) => {
    const url = typeof src === "string" ? safeImage(src) : null;
    if (url) return <img src={url} alt={alt ?? ""} loading="lazy" />;
    // Another server would learn from the picture who reads what, so it is a link.
    return typeof src === "string" && /^https?:/.test(src) ? (
      <a href={src} target="_blank" rel="noopener noreferrer nofollow">
        {alt || "Image"} ↗
      </a>
    ) : (
      <>{alt}</>
    );
  },
  pre: ({ children }) => {
    const inner = isValidElement<{ className?: string; children?: ReactNode }>(children) ? children.props : null;
    const language = /language-([^\s]+)/.exec(inner?.className ?? "")?.[1] ?? "";
    return <Code code={textOf(inner?.children ?? children).replace(/\n$/, "")} language={language} />;
  },
  table: ({ children }) => (
    <div className="my-3 overflow-x-auto" tabIndex={0} role="group" aria-label="Table">
      <table>{children}</table>
    </div>
  ),
  input: ({ checked }) => <input type="checkbox" checked={checked ?? false} disabled aria-label={checked ? "done" : "to do"} />,
};

const urls: UrlTransform = (url, key) => (key === "src" && url.startsWith("data:") ? (safeImage(url) ?? "") : defaultUrlTransform(url));
const plugins = [gfm];

const Piece = memo(function Piece({ text }: { text: string }) {
  return (
    <Renderer remarkPlugins={plugins} components={components} urlTransform={urls}>
      {text}
    </Renderer>
  );
});

/** Reading more than this at once would stop the page: it is read in pieces, while the page goes on. */
const long = 60_000;

/** A model's words. HTML in them is shown as text, never as HTML. */
export const Markdown = memo(function Markdown({ text, streaming }: { text: string; streaming?: boolean }) {
  const whole = text.length <= long;
  const later = useDeferredValue<string | null>(text, whole ? text : null);
  const shown = whole ? text : later;
  const list = useMemo(() => (shown === null ? null : streaming || !whole ? pieces(shown) : [shown]), [shown, streaming, whole]);
  if (list === null) return <div className="whitespace-pre-wrap">{text}</div>;
  return (
    <div className="md">
      {list.map((piece, i) => (
        <Piece key={i} text={piece} />
      ))}
    </div>
  );
});
