#!/usr/bin/env bash
# Installs what the tests need beside Go, Node and make. Does nothing where it is there already.
set -euo pipefail

missing=()
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || missing+=(chromium)
command -v postgres >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || missing+=(postgresql)
command -v curl >/dev/null || missing+=(curl)
((${#missing[@]})) || exit 0

sudo=()
if [[ $EUID -ne 0 ]]; then
  command -v sudo >/dev/null || { echo "setup-test: install these as root: ${missing[*]}" >&2; exit 1; }
  sudo=(sudo)
fi
echo "setup-test: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
# The cluster that Debian would make at installation is never used.
"${sudo[@]}" mkdir -p /etc/postgresql-common
[[ -e /etc/postgresql-common/createcluster.conf ]] ||
  echo 'create_main_cluster = false' | "${sudo[@]}" tee /etc/postgresql-common/createcluster.conf >/dev/null
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
