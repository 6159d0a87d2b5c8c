#!/usr/bin/env bash
# Runs a command with a docker daemon of its own, and stops the daemon afterwards. For machines on
# which no daemon runs, such as those of CI.
#
#   deploy/with-dockerd.sh DIR COMMAND...
#
# DIR keeps the images for the next time. Needs root and dockerd.
set -euo pipefail

fail() {
    echo "with-dockerd.sh: $1" >&2
    exit "$2"
}

[ $# -ge 2 ] || fail "usage: deploy/with-dockerd.sh DIR COMMAND..." 64
[ "$(id -u)" = 0 ] || fail "dockerd needs root; run this script as root" 77
command -v dockerd >/dev/null || fail "dockerd is missing; install it" 69
mkdir -p "$1"
root="$(realpath "$1")"
shift

# Paths of sockets are limited to 107 bytes, so they are not below DIR.
run="$(mktemp -d /tmp/dockerd.XXXXXX)"
export DOCKER_HOST="unix://$run/docker.sock"
dockerd --host "$DOCKER_HOST" --data-root "$root" --exec-root "$run/exec" --pidfile "$run/pid" \
    >"$run/log" 2>&1 &
daemon=$!

stop() {
    kill "$daemon" 2>/dev/null || true
    wait "$daemon" 2>/dev/null || true
    # What the daemon started may still end and write here. Only the exit code of the command counts.
    rm -rf "$run" || true
}
trap stop EXIT

for _ in $(seq 60); do
    ! docker info >/dev/null 2>&1 || break
    kill -0 "$daemon" 2>/dev/null || fail "dockerd ended: $(tail -n 1 "$run/log")" 69
    sleep 1
done
docker info >/dev/null 2>&1 || fail "dockerd does not answer: $(tail -n 1 "$run/log")" 69
"$@"
