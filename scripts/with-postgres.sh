#!/usr/bin/env bash
# with-postgres.sh COMMAND ARGS…: runs the command beside a throw-away PostgreSQL, whose address is in
# MOORING_TEST_POSTGRES. Where that is set already, the server it names is used.
set -euo pipefail

[[ -z ${MOORING_TEST_POSTGRES:-} ]] || exec "$@"

found=$(command -v postgres || compgen -G '/usr/lib/postgresql/*/bin/postgres' | sort -V | tail -n 1 || true)
bin=$(dirname "$(readlink -f "$found")")
[[ -x $bin/initdb ]] || { echo "with-postgres: no PostgreSQL here; run scripts/setup-test.sh" >&2; exit 1; }

as=() # PostgreSQL refuses to run as root
dir=$(mktemp -d)
if [[ $EUID -eq 0 ]]; then
  as=(setpriv --reuid=postgres --regid=postgres --init-groups)
  chown postgres: "$dir"
fi

stop() {
  (cd "$dir" && "${as[@]}" "$bin/pg_ctl" -D "$dir/data" -m immediate -w stop >/dev/null 2>&1) || true
  rm -rf "$dir"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

free_port() { node -e 'const s=require("net").createServer();s.listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})'; }

cd_run() { (cd "$dir" && "${as[@]}" "$@"); }

cd_run "$bin/initdb" -D "$dir/data" -A trust -U mooring --no-sync -E UTF8 --locale=C >/dev/null
for attempt in 1 2 3; do # another program may take the port first
  port=$(free_port)
  if cd_run "$bin/pg_ctl" -D "$dir/data" -w -t 60 -l "$dir/log" -o "-c listen_addresses=127.0.0.1 -p $port \
    -c unix_socket_directories=$dir -c fsync=off -c full_page_writes=off -c max_connections=200" start >/dev/null; then
    break
  fi
  if [[ $attempt -eq 3 ]]; then
    cat "$dir/log" >&2
    exit 1
  fi
done
export MOORING_TEST_POSTGRES="postgres://mooring@127.0.0.1:$port/postgres?sslmode=disable"
"$@"
