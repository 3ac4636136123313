/** Programs by the names that people know them by. What is not here is called as it calls itself. */
const known: Record<string, string> = {
  "mooring-workspace": "These pages",
  "claude-code": "Claude Code",
  codex: "Codex",
  opencode: "OpenCode",
  "gemini-cli": "Gemini CLI",
  "qwen-code": "Qwen Code",
  "kilo-code": "Kilo Code",
  "roo-code": "Roo Code",
  cline: "Cline",
  copilot: "Copilot",
  crush: "Crush",
  goose: "Goose",
  zed: "Zed",
  amp: "Amp",
};

export const clientName = (client: string) => known[client] ?? client;

/** A project's last folder: its path says little at its beginning. */
export const projectName = (project: string) => project.replace(/[/\\]+$/, "").split(/[/\\]/).at(-1) || project;
