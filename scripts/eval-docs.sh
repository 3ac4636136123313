#!/usr/bin/env bash
# Puts what `make eval` prints into docs/identification.md, between its marks.
set -euo pipefail
cd "$(dirname "$0")/.."

doc=docs/identification.md
out=$(make --no-print-directory eval)

# block TITLE: what stands below that title, up to the next one.
block() { awk -v title="$1" '/^(The kept traces|Made-up traffic)/ { on = index($0, title) == 1; next } on' <<<"$out" | sed -e '/./,$!d' | awk '{ lines[NR] = $0; if (NF) last = NR } END { for (i = 1; i <= last; i++) print lines[i] }'; }

kept=$(mktemp) && made=$(mktemp) && next=$(mktemp)
trap 'rm -f "$kept" "$made" "$next"' EXIT
block "The kept traces" >"$kept"
block "Made-up traffic" >"$made"
[[ -s $kept && -s $made ]] || { echo "eval-docs: make eval printed no scores" >&2; exit 1; }

awk -v kept="$kept" -v made="$made" '
  /^<!-- eval:/ { print; file = /kept/ ? kept : made; print "```text"; while ((getline line < file) > 0) print line; print "```"; skip = 1; next }
  /^<!-- end -->/ { skip = 0 }
  !skip' "$doc" >"$next"
cat "$next" >"$doc"
