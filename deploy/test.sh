#!/usr/bin/env bash
# Builds the images without a registry and tests a run in containers: health, ratings, scaling,
# drains, a restart, and the isolation of the containers.
#
#   deploy/test.sh DIR
#
# DIR holds ouro-arena, ouro-learner, ouro-actor and ouro. Needs a docker daemon on this machine,
# and root for debootstrap. Prints a line per check, and stops at the first that fails. Containers,
# networks, volumes and images of the test are removed; the bases are kept for the next time.
#
#   COMPOSE         docker-compose (the default) or "docker compose"
#   OURO_GRPCURL    grpcurl, which then also asks for the ratings
set -euo pipefail

here="$(dirname "$(realpath "$0")")"
[ $# = 1 ] || {
    echo "test.sh: one folder of binaries is needed; usage: deploy/test.sh DIR" >&2
    exit 64
}
binaries="$(realpath -- "$1")"
cd "$here"

export OURO_TAG=test ARENA_PORT=0 LEARNER_PORT=0 WEB_PORT=0 ACTOR_THREADS=1
export RUN_TOML=./run.toml COMPOSE_FILE="${COMPOSE_FILE:-compose.yaml}"
read -ra compose <<<"${COMPOSE:-docker-compose}"
project="ouro-test-$$"
compose+=(-p "$project")
scratch="$(mktemp -d)"
events=

clean_up() {
    local code=$?
    [ -z "$events" ] || kill "$events" 2>/dev/null || true
    "${compose[@]}" down --volumes --timeout 1 >/dev/null 2>&1 || true
    docker image rm ouro{-arena,-learner,-actor,}:test >/dev/null 2>&1 || true
    rm -rf "$scratch"
    exit "$code"
}
trap clean_up EXIT

pass() { echo "PASS  $1"; }

fail() {
    echo "FAIL  $1"
    "${compose[@]}" ps || true
    "${compose[@]}" logs --no-color --tail 5 || true
    exit 1
}

# Polls until a command succeeds: seconds, what is expected, the command.
wait_for() {
    local deadline=$((SECONDS + $1)) what="$2"
    shift 2
    until "$@"; do
        [ "$SECONDS" -lt "$deadline" ] || fail "$what"
        sleep 0.5
    done
}

container() { "${compose[@]}" ps -q "$1"; }
field() { docker inspect -f "$2" "$1"; }
healthy() { [ "$(field "$(container "$1")" '{{.State.Health.Status}}')" = healthy ]; }
# The last number of a field in the learner's log lines of a message: message, field.
logged() {
    docker logs "$(container learner)" 2>&1 | grep -F "\"message\":\"$1\"" \
        | sed -nE "s/.*\"$2\":([0-9]+).*/\\1/p" | tail -n 1
}
step() { logged trained step; }
trained_past() { [ "$(step)" -gt "$1" ]; }

# Players in the table of ratings on the web page.
rated() {
    local address
    address="$("${compose[@]}" port arena 8080)"
    exec 3<>"/dev/tcp/${address%:*}/${address##*:}" || return 1
    printf 'GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$address" >&3
    tr '<' '\n' <&3 | sed -nE 's/^th scope="row">(.+)/\1/p'
    exec 3>&-
}
generation_is_rated() { rated 2>/dev/null | grep -q '^generation-[1-9]'; }

# Actors that run and that the learner has welcomed by the names of their containers.
connected() {
    local id names
    names="$(docker logs "$(container learner)" 2>&1 \
        | sed -nE 's/.*"message":"actor connected","actor":"([^"]+)".*/\1/p')"
    for id in $(container actor); do
        grep -qx "$(field "$id" '{{.Config.Hostname}}')" <<<"$names" || return 1
    done
    [ "$(container actor | wc -l)" = "$1" ]
}

# Services and exit codes of the containers that have ended, such as `actor 0`.
ended() { sort "$scratch/events" | uniq -c | sed -E 's/^ +//'; }

offline/build.sh "$binaries" || fail "the images cannot be built"
pass "images are built without a registry"

docker events --filter event=die --filter "label=com.docker.compose.project=$project" \
    --format '{{index .Actor.Attributes "com.docker.compose.service"}} {{.Actor.Attributes.exitCode}}' \
    >"$scratch/events" &
events=$!

# --- start ---
start=$(date +%s%N)
since_start() { echo "$((($(date +%s%N) - start) / 100000000))" | sed -E 's/(.)$/.\1/; s/^\./0./'; }
"${compose[@]}" up -d >"$scratch/up" 2>&1 || { cat "$scratch/up"; fail "the run does not start"; }
for service in arena learner; do
    healthy "$service" || fail "$service is not healthy, but services that need it have started"
done
pass "services start in the order of their health ($(since_start) s)"
wait_for 120 "the actor is not healthy" healthy actor
pass "the actor is healthy"
wait_for 300 "no generation is rated" generation_is_rated
pass "the first generation that was trained is rated ($(since_start) s after the start)"
if [ -n "${OURO_GRPCURL-}" ]; then
    "$OURO_GRPCURL" -plaintext "$("${compose[@]}" port arena 50061)" \
        ouro.arena.v1.ArenaService/GetRatings >"$scratch/ratings" || fail "GetRatings fails"
    grep -q '"player": "generation-[1-9]' "$scratch/ratings" || fail "GetRatings has no generation"
    pass "GetRatings lists it"
fi

# --- isolation ---
for service in arena learner actor; do
    id="$(container "$service")"
    user="$(docker top "$id" -o uid,pid | awk 'NR == 2 { print $1 }')"
    [ "$user" = 65532 ] || fail "$service runs as user $user"
    ! docker cp run.toml "$id:/etc/passwd" 2>/dev/null || fail "$service can change its files"
    [ "$(field "$id" '{{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}}')" = "true [ALL]" ] \
        || fail "$service has a writable root file system or capabilities"
    ! docker exec "$id" /bin/sh -c true >/dev/null 2>&1 || fail "$service has a shell"
    ! docker port "$id" | grep -v ' 127\.0\.0\.1:' || fail "$service is reachable from outside"
done
pass "no root, no capabilities, no shell, read-only files, ports on 127.0.0.1"

# --- scaling ---
for actors in 8 2; do
    before="$(step)"
    "${compose[@]}" up -d --no-recreate --scale "actor=$actors" >"$scratch/up" 2>&1 \
        || { cat "$scratch/up"; fail "cannot scale to $actors actors"; }
    wait_for 60 "not all of $actors actors are connected" connected "$actors"
    wait_for 120 "training has stopped with $actors actors" trained_past "$before"
    pass "$actors actors play under names of their own, and training goes on"
done
[ "$(ended)" = "6 actor 0" ] || fail "not only six actors with code 0 have ended: $(ended)"
pass "six actors drained with code 0"

# --- stop ---
players="$(rated | grep -c '^generation-')"
for service in actor learner arena; do
    for id in $(container "$service"); do
        grace="$(field "$id" '{{.Config.StopTimeout}}')"
        before=$(date +%s%N)
        docker stop "$id" >/dev/null
        took=$((($(date +%s%N) - before) / 1000000))
        code="$(field "$id" '{{.State.ExitCode}}')"
        [ "$code" = 0 ] || fail "$service ended with code $code"
        [ "$took" -lt $((grace * 1000)) ] || fail "$service took $took ms to stop, of $grace s"
        pass "$service drains: code 0 after $took ms of $grace s"
    done
done

"${compose[@]}" run --rm ouro check /var/lib/ouro >"$scratch/check" 2>&1 \
    || fail "the stopped run is not sound: $(tail -n 1 "$scratch/check")"
pass "the stopped run is sound"

# --- restart in new containers ---
"${compose[@]}" logs --no-color learner >"$scratch/first"
saved="$(sed -nE 's/.*"message":"trained","step":([0-9]+).*/\1/p' "$scratch/first" | tail -n 1)"
"${compose[@]}" down >/dev/null 2>&1
"${compose[@]}" up -d >"$scratch/up" 2>&1 || { cat "$scratch/up"; fail "the run does not restart"; }
resumed="$(logged ready step)"
[ "$resumed" -ge "$saved" ] || fail "the run resumes at step $resumed, but had reached $saved"
[ "$(rated | grep -c '^generation-')" -ge "$players" ] || fail "ratings are lost"
wait_for 120 "a resumed run does not train" trained_past "$resumed"
pass "new containers resume at step $resumed, with all ratings"
echo "PASS  all checks"
