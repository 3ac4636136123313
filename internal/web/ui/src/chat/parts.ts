import type { Message, Part } from "@/api/types";

/** What a reader sees in a message, whatever protocol it came in. */
export type Block =
  | { kind: "text"; text: string }
  | { kind: "reminder"; text: string }
  | { kind: "thinking"; text: string }
  | { kind: "image"; url: string | null }
  | { kind: "file"; name: string }
  | { kind: "call"; id: string; name: string; args: string }
  | { kind: "result"; id: string; text: string; failed: boolean }
  | { kind: "other"; name: string; json: string };

const str = (value: unknown): string => (typeof value === "string" ? value : "");
const obj = (value: unknown): Record<string, unknown> => (value !== null && typeof value === "object" ? (value as Record<string, unknown>) : {});

/** The blocks of a message in their order; neighbouring texts are one. */
export function blocksOf(message: Pick<Message, "role" | "content" | "text">): Block[] {
  const { role, content, text } = message;
  const parts: Part[] = typeof content === "string" ? [{ type: "text", text: content }] : Array.isArray(content) ? content : [];
  const blocks = parts.flatMap((part) => blockOf(part));
  if (blocks.length === 0 && text !== "") blocks.push({ kind: "text", text });
  if (role === "tool") return [{ kind: "result", id: "", text: blocks.map(plain).join("\n"), failed: false }];
  return merged(role === "user" ? blocks.flatMap(withoutReminders) : blocks);
}

function blockOf(part: Part): Block[] {
  const type = str(part.type);
  switch (type) {
    case "thinking":
      return [{ kind: "thinking", text: str(part["thinking"]) }];
    case "redacted_thinking":
      return [];
    case "reasoning":
      return reasoning(part);
    case "image":
    case "image_url":
    case "input_image":
      return [{ kind: "image", url: imageURL(part) }];
    case "file":
    case "input_file":
    case "document":
      return [{ kind: "file", name: fileName(part) }];
    case "tool_use":
    case "server_tool_use":
      return [{ kind: "call", id: str(part["id"]), name: str(part["name"]), args: pretty(part["input"]) }];
    case "tool_call":
    case "function_call":
      return [call(part)];
    case "tool_result":
    case "function_call_output":
      return [{ kind: "result", id: str(part["tool_use_id"]) || str(part["call_id"]), text: resultText(part["content"] ?? part["output"]), failed: part["is_error"] === true }];
    case "refusal":
      return [{ kind: "text", text: str(part["refusal"]) }];
  }
  if (typeof part.text === "string") return [{ kind: "text", text: part.text }];
  return [{ kind: "other", name: type || "part", json: pretty(part) }];
}

function call(part: Part): Block {
  const named = part["function"] ?? part["custom"] ?? part;
  const { name, arguments: args, input } = obj(named);
  return { kind: "call", id: str(part["call_id"]) || str(part["id"]), name: str(name), args: pretty(args ?? input) };
}

function reasoning(part: Part): Block[] {
  const lists = [part["summary"], part["content"]].filter(Array.isArray) as unknown[][];
  const text = lists.flat().map((one) => str(obj(one)["text"])).filter(Boolean).join("\n\n") || str(part["text"]);
  return text === "" ? [] : [{ kind: "thinking", text }];
}

function imageURL(part: Part): string | null {
  const source = obj(part["source"]);
  if (source["type"] === "base64") return safeImage(`data:${str(source["media_type"])};base64,${str(source["data"])}`);
  const direct = part["image_url"];
  return safeImage(str(source["url"]) || str(direct) || str(obj(direct)["url"]));
}

/** An image's address if the page may load it: its own data, or this server's; another server would learn who reads what. */
export function safeImage(url: string): string | null {
  if (/^data:image\/(png|jpeg|gif|webp|avif);base64,/i.test(url)) return url;
  return url.startsWith("/") && !url.startsWith("//") && !url.includes("\\") ? url : null;
}

function fileName(part: Part): string {
  for (const holder of [part, obj(part["file"]), obj(part["source"])] as Record<string, unknown>[]) {
    for (const name of ["filename", "title", "name", "file_id"]) if (str(holder[name]) !== "") return str(holder[name]);
  }
  return "unnamed";
}

function resultText(content: unknown): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.flatMap((part) => blockOf(obj(part) as Part)).map(plain).join("\n");
  return content == null ? "" : pretty(content);
}

function plain(block: Block): string {
  switch (block.kind) {
    case "image":
      return "[screenshot]";
    case "file":
      return `[file: ${block.name}]`;
    case "other":
      return block.json;
    case "call":
      return `${block.name} ${block.args}`;
    default:
      return block.text;
  }
}

/** JSON for reading; a text that is JSON is read as such. */
export function pretty(value: unknown): string {
  if (typeof value === "string") {
    try {
      const inner: unknown = JSON.parse(value);
      return inner !== null && typeof inner === "object" ? JSON.stringify(inner, null, 2) : value;
    } catch {
      return value;
    }
  }
  return value == null ? "" : JSON.stringify(value, null, 2);
}

const reminder = /<(system-reminder|environment_context|user_instructions)>[\s\S]*?<\/\1>/g;

/** Coding agents write notes of their own into what their user says; those are folded away. */
function withoutReminders(block: Block): Block[] {
  if (block.kind !== "text" || !block.text.includes("</")) return [block];
  const notes = block.text.match(reminder);
  if (!notes) return [block];
  const rest = block.text.replace(reminder, "").trim();
  return [...notes.map((text): Block => ({ kind: "reminder", text })), ...(rest === "" ? [] : [{ kind: "text", text: rest } as Block])];
}

function merged(blocks: Block[]): Block[] {
  const out: Block[] = [];
  for (const block of blocks) {
    const before = out.at(-1);
    if (block.kind === "text" && block.text === "") continue;
    if (before && before.kind === block.kind && (block.kind === "text" || block.kind === "thinking" || block.kind === "reminder")) {
      out[out.length - 1] = { kind: block.kind, text: `${(before as { text: string }).text}\n\n${block.text}` };
    } else {
      out.push(block);
    }
  }
  return out;
}

/** What was typed in a message, without notes and results: what Edit shows and Retry sends again. */
export function typedText(message: Pick<Message, "role" | "content" | "text">): string {
  return blocksOf(message).flatMap((block) => (block.kind === "text" ? [block.text] : [])).join("\n\n");
}

export interface Shown {
  message: Message;
  blocks: Block[];
}

/** The result of each call, and the messages that are left to show once results stand with their calls. */
export function arrange(messages: Message[]): { shown: Shown[]; results: Map<string, Block & { kind: "result" }> } {
  const results = new Map<string, Block & { kind: "result" }>();
  const open: string[] = []; // calls without a result yet, the oldest first
  const shown: Shown[] = [];
  for (const message of messages) {
    const blocks = blocksOf(message);
    const left: Block[] = [];
    for (const block of blocks) {
      if (block.kind === "call" && block.id !== "") open.push(block.id);
      // The results of chat's tool messages name no call here; they come in the calls' order.
      const id = block.kind === "result" ? block.id || open[0] : undefined;
      if (block.kind === "result" && id !== undefined && open.includes(id)) {
        open.splice(open.indexOf(id), 1);
        results.set(id, block);
      } else {
        left.push(block);
      }
    }
    if (left.length > 0 || blocks.length === 0) shown.push({ message, blocks: left });
  }
  return { shown, results };
}
