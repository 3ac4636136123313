#!/usr/bin/env bash
# fuzz.sh TIME: runs every fuzz target of the module for that long.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-30s}
grep -rlE '^func Fuzz[A-Z]' --include='*_test.go' internal | while read -r file; do
  pkg=./$(dirname "$file")
  grep -oE '^func Fuzz[A-Za-z0-9_]+' "$file" | while read -r _ name; do
    echo "== $pkg $name"
    go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" "$pkg" </dev/null
  done
done
