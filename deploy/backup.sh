#!/usr/bin/env bash
# Copies a run of compose.yaml while it continues, and makes a run of a copy.
#
#   deploy/backup.sh FOLDER              copies the run to a new folder in FOLDER, and prints its path
#   deploy/backup.sh --restore BACKUP    makes a run of a copy, on volumes without a run
#
# The copy has the results (also those in Redis), the weights, the training states and the journal. It does
# not have the secrets, .env and the metrics. Everybody who can enter FOLDER can read it.
#
#   COMPOSE    docker-compose, or "docker compose" (the default)
set -euo pipefail
here="$(dirname "$(realpath "$0")")"

fail() {
    echo "backup.sh: $1" >&2
    exit "$2"
}

case "$#:${1-}" in
    2:--restore) action=restore folder="$2" ;;
    1:--* | 1:) fail "unknown argument '${1-}'; usage: deploy/backup.sh FOLDER | --restore BACKUP" 64 ;;
    1:*) action=backup folder="$1" ;;
    *) fail "usage: deploy/backup.sh FOLDER | --restore BACKUP" 64 ;;
esac
read -ra compose <<<"${COMPOSE:-docker compose}"
run=/var/lib/ouro

if [ "$action" = backup ]; then
    mkdir -p -- "$folder" || fail "cannot create $folder" 73
    folder="$(realpath -- "$folder")"
    name="ouro-$(date -u +%Y%m%dT%H%M%SZ)"
    cd "$here"
    # The command writes as the user of this script. It starts and changes no other container.
    "${compose[@]}" run --rm -T --no-deps --user "$(id -u):$(id -g)" --volume "$folder:/backup" \
        ouro backup "$run" "/backup/$name" >&2
    echo "$folder/$name"
else
    [ -f "$folder/backup.json" ] || fail "$folder/backup.json is missing; name a complete backup" 66
    folder="$(realpath -- "$folder")"
    cd "$here"
    # Redis starts if it does not run, because it takes over the results.
    "${compose[@]}" run --rm -T --volume "$folder:/backup:ro" ouro restore /backup "$run"
fi
