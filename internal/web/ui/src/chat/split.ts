/**
 * Cuts Markdown where a new block begins for certain: before a heading or a fence at the line's start behind an empty line, and behind a
 * fence's end. While an answer streams only its last piece is read anew.
 */
export function pieces(markdown: string): string[] {
  const out: string[] = [];
  let piece: string[] = [];
  let fence = ""; // the open fence at the line's start
  const cut = () => {
    if (piece.length > 0) out.push(piece.join("\n"));
    piece = [];
  };
  for (const line of markdown.split("\n")) {
    const mark = /^(`{3,}|~{3,})(.*)$/.exec(line);
    if (fence !== "") {
      piece.push(line);
      if (mark && mark[1]![0] === fence[0] && mark[1]!.length >= fence.length && mark[2]!.trim() === "") {
        fence = "";
        cut();
      }
      continue;
    }
    const afterBlank = piece.length > 0 && piece.at(-1)!.trim() === "";
    if (mark && !(mark[1]![0] === "`" && mark[2]!.includes("`"))) {
      if (afterBlank) cut();
      fence = mark[1]!;
    } else if (afterBlank && /^#{1,6} /.test(line)) {
      cut();
    }
    piece.push(line);
  }
  cut();
  return out;
}
