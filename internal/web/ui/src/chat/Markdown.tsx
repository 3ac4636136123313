import { isValidElement, memo, useMemo, type ReactNode } from "react";
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
    <div className="my-3 overflow-x-auto" tabIndex={0} role="region" aria-label="Table">
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

/** A model's words. HTML in them is shown as text, never as HTML. */
export const Markdown = memo(function Markdown({ text, streaming }: { text: string; streaming?: boolean }) {
  const list = useMemo(() => (streaming ? pieces(text) : [text]), [text, streaming]);
  return (
    <div className="md">
      {list.map((piece, i) => (
        <Piece key={i} text={piece} />
      ))}
    </div>
  );
});
