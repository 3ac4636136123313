#!/usr/bin/env bash
# Runs every test and fails where those that need PostgreSQL were skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

[[ -n ${MOORING_TEST_POSTGRES:-} ]] || { echo "go-test: MOORING_TEST_POSTGRES is not set; use scripts/with-postgres.sh" >&2; exit 1; }

# Make the tests with the JavaScript SDKs, and those in a browser, fail, not skip, where what they need is missing.
export MOORING_TEST_SDKS=required MOORING_TEST_E2E=required

contract=./internal/store/postgres
if [[ -d $contract ]]; then
  out=$(go test -count=1 -timeout 10m -v "$contract/..." 2>&1) || { echo "$out"; exit 1; }
  if ! grep -q '^ *--- PASS' <<<"$out" || grep -q '^ *--- SKIP' <<<"$out"; then
    echo "$out"
    echo "go-test: the store contract on PostgreSQL was skipped" >&2
    exit 1
  fi
fi

# -count=1: the black-box tests build the binary in a child process, which Go's test cache does not see.
packages=$(go list ./... | grep -v "/${contract#./}\$")
# shellcheck disable=SC2086 # a list
go test -count=1 -timeout 12m "$@" $packages
