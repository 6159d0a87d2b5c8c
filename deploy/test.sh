#!/usr/bin/env bash
# Builds the images without a registry and tests a run in containers: health, ratings, metrics, scaling,
# secrets, isolation, kills of Redis and the arena, drains, a restart, the doctor, a backup, and TLS.
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

scratch="$(mktemp -d)"
export OURO_TAG=test OURO_SECRETS="$scratch/secrets"
export REDIS_IMAGE=ouro-redis:test PROMETHEUS_IMAGE=ouro-prometheus:test
export ARENA_PORT=0 LEARNER_PORT=0 WEB_PORT=0 PROMETHEUS_PORT=0 ACTOR_THREADS=1
export RUN_TOML=./run.toml COMPOSE_FILE="${COMPOSE_FILE:-compose.yaml}"
read -ra compose <<<"${COMPOSE:-docker-compose}"
project="ouro-test-$$"
compose+=(-p "$project")
images=(ouro-{arena,learner,actor,redis,prometheus} ouro)
events=

clean_up() {
    local code=$?
    [ -z "$events" ] || kill "$events" 2>/dev/null || true
    COMPOSE_PROFILES=observability,workers \
        "${compose[@]}" down --volumes --timeout 1 >/dev/null 2>&1 || true
    docker image rm "${images[@]/%/:test}" >/dev/null 2>&1 || true
    rm -rf "$scratch"
    exit "$code"
}
trap clean_up EXIT

pass() { echo "PASS  $1"; }

fail() {
    echo "FAIL  $1"
    "${compose[@]}" ps || true
    [ ! -s "$scratch/events" ] || { echo "ended:"; ended; }
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
healthy() {
    local id found=
    for id in $(container "$1"); do
        found="$(field "$id" '{{.State.Health.Status}}')"
        [ "$found" = healthy ] || return 1
    done
    [ -n "$found" ]
}
# The last number of a field in the learner's log lines of a message: message, field.
logged() {
    docker logs "$(container learner)" 2>&1 | grep -F "\"message\":\"$1\"" \
        | sed -nE "s/.*\"$2\":([0-9]+).*/\\1/p" | tail -n 1
}
step() { logged trained step; }
trained_past() { [ "$(step)" -gt "$1" ]; }

# Runs a command of Redis in its container, as the arena unless OURO_USER names another user.
redis() {
    docker exec -e REDISCLI_AUTH="$password" "$redis_id" \
        redis-cli --no-auth-warning --user "${OURO_USER:-arena}" "$@"
}
# The log of the run in Redis.
log="ouro:{ouro}:log"
entries() { redis LLEN "$log"; }
has_more_entries() { [ "$(entries 2>/dev/null || echo 0)" -gt "$1" ] 2>/dev/null; }

# Seconds since a time in nanoseconds.
since() { echo "$((($(date +%s%N) - $1) / 100000000))" | sed -E 's/(.)$/.\1/; s/^\./0./'; }

# Asks a published port by HTTP: service, port, path.
get() {
    local address
    address="$("${compose[@]}" port "$1" "$2")"
    exec 3<>"/dev/tcp/${address%:*}/${address##*:}" || return 1
    printf 'GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n' \
        "$3" "$address" "$reader" >&3
    cat <&3
    exec 3>&-
}
# Players in the table of ratings on the web page, which has other tables too.
rated() {
    get arena 8080 / | tr '<' '\n' \
        | sed -nE '/^section id="ratings"/,/^\/section/s/^th scope="row">(.+)/\1/p'
}
# The value of a query to Prometheus whose result is one number.
query() { get prometheus 9090 "/api/v1/query?query=$1" | sed -nE 's/.*"value":\[[^,]*,"([^"]+)"\].*/\1/p'; }
queries() { [ "$(query "$1" 2>/dev/null)" = "$2" ]; }
rules_are_evaluated() {
    local sound
    sound="$(get prometheus 9090 '/api/v1/rules?type=alert' 2>/dev/null | grep -o '"health":"ok"' | wc -l)"
    [ "$sound" = "$(grep -c '^ *- alert:' observability/alerts.yml)" ]
}
generation_is_rated() { rated 2>/dev/null | grep -q '^generation-[1-9]'; }

# Actors that run and that the learner has welcomed by the names of their containers.
connected() {
    local id names
    names="$(docker logs "$(container learner)" 2>&1 \
        | sed -nE 's/.*"message":"actor connected","actor":"([^"]+)".*/\1/p')"
    for id in $(container actor); do
        grep -qx "actors.$(field "$id" '{{.Config.Hostname}}')" <<<"$names" || return 1
    done
    [ "$(container actor | wc -l)" = "$1" ]
}

# Services and exit codes of the containers that have ended, such as `actor 0`.
ended() { sort "$scratch/events" | uniq -c | sed -E 's/^ +//'; }
# Docker reports an end some time after `docker stop` has returned.
have_ended() { [ "$(ended)" = "$1" ]; }

offline/build.sh --observability "$binaries" || fail "the images cannot be built"
pass "images are built without a registry"

./secrets.sh >/dev/null || fail "the secrets cannot be made"
password="$(<"$OURO_SECRETS/redis-password")"
hash="$(sed -nE 's/^user arena .*#([0-9a-f]{64}) .*/\1/p' "$OURO_SECRETS/redis-users.acl")"
reader="$(<"$OURO_SECRETS/reader.token")"
[ ${#password} = 64 ] && [ ${#hash} = 64 ] && [ ${#reader} = 71 ] || fail "the secrets are incomplete"
./secrets.sh >/dev/null
[ "$reader" = "$(<"$OURO_SECRETS/reader.token")" ] || fail "secrets.sh does not keep what is there"

docker events --filter event=die --filter "label=com.docker.compose.project=$project" \
    --filter label=com.docker.compose.oneoff=False \
    --format '{{index .Actor.Attributes "com.docker.compose.service"}} {{.Actor.Attributes.exitCode}}' \
    >"$scratch/events" &
events=$!

# --- start ---
start=$(date +%s%N)
"${compose[@]}" up -d >"$scratch/up" 2>&1 || { cat "$scratch/up"; fail "the run does not start"; }
for service in redis arena learner; do
    healthy "$service" || fail "$service is not healthy, but services that need it have started"
done
pass "services start in the order of their health ($(since "$start") s)"
wait_for 120 "the actor is not healthy" healthy actor
pass "the actor is healthy"
wait_for 300 "no generation is rated" generation_is_rated
pass "the first generation that was trained is rated ($(since "$start") s after the start)"
if [ -n "${OURO_GRPCURL-}" ]; then
    ask() { # a token or nothing, the call and its arguments
        local token="$1" header=()
        shift
        [ -z "$token" ] || header=(-H "authorization: Bearer $token")
        "$OURO_GRPCURL" -plaintext "${header[@]}" "$@" 2>&1
    }
    arena="$("${compose[@]}" port arena 50061)" learner="$("${compose[@]}" port learner 50062)"
    ratings=ouro.arena.v1.ArenaService/GetRatings
    ask "$reader" "$arena" "$ratings" >"$scratch/ratings" || fail "GetRatings: $(<"$scratch/ratings")"
    grep -q '"player": "generation-[1-9]' "$scratch/ratings" || fail "GetRatings has no generation"
    pass "GetRatings lists it"

    # Expects a refusal: its code, who calls, and the call.
    refused() {
        local answer
        answer="$(ask "${@:3}" || true)"
        [[ "$answer" == *"$1"* ]] || fail "$2 is not refused: $answer"
    }
    forged="reader.$(printf 0%.0s {1..64})"
    actors="$(<"$OURO_SECRETS/actors.token")"
    push=ouro.learner.v1.LearnerService/Push
    refused "needs a token" "nobody" "" "$arena" "$ratings"
    refused Unauthenticated "a forged token" "$forged" "$arena" "$ratings"
    refused PermissionDenied "an actor that asks for ratings" "$actors" "$arena" "$ratings"
    refused PermissionDenied "a reader that pushes" "$reader" -d '{"hello":{"actor":"reader"}}' \
        "$learner" "$push"
    hello='{"hello":{"actor":"other","config_json":"{\"game\":\"tic_tac_toe\"}","version":1}}'
    refused "not one of actor other" "an actor under a foreign name" "$actors" -d "$hello" \
        "$learner" "$push"
    pass "no token, a forged one, a wrong role and a foreign name are refused"
fi
answer="$(reader='' rated 2>/dev/null || true)"
[ -z "$answer" ] || fail "the page needs no login"
pass "the page asks for a login"

# --- Redis ---
redis_id="$(container redis)"
[ "$(entries)" -gt 0 ] || fail "Redis has no results"
! docker cp "$(container arena):/var/lib/ouro/arena/results.log" "$scratch/" 2>/dev/null \
    || fail "the arena keeps its results in a file"
pass "the results are in Redis: $(entries) entries"

while read -ra command; do
    answer="$(redis "${command[@]}" 2>&1 || true)"
    [[ "$answer" == *NOPERM* ]] || fail "the arena may run ${command[*]}: $answer"
done <<EOF
FLUSHALL
CONFIG SET appendonly no
KEYS *
GET foreign
DEL $log
LTRIM $log 1 0
EVAL return(redis.call('FLUSHALL')) 0
ACL SETUSER arena +@all
SHUTDOWN
EOF
answer="$(OURO_USER=default redis PING 2>&1 || true)"
[[ "$answer" == *NOAUTH* ]] || fail "Redis answers without a user: $answer"
answer="$(OURO_USER=health redis LLEN "$log" 2>&1 || true)"
[[ "$answer" == *NOPERM* ]] || fail "the user of the health check may do more: $answer"
! docker run --rm --network "${project}_default" --entrypoint redis-cli ouro-redis:test -h redis \
    ping >/dev/null 2>&1 || fail "actors and the learner reach Redis"
pass "Redis refuses other users, keys and commands, and only the arena reaches it"

# Starts another arena, which ends with exit code $1 and one line of log that contains $2.
refuses() {
    local code=0
    "${compose[@]}" run --rm --no-deps "${@:3}" arena >"$scratch/refused" 2>&1 || code=$?
    [ "$code" = "$1" ] || fail "an arena ends with $code, not $1: $(tail -n 1 "$scratch/refused")"
    [ "$(grep -c '^{' "$scratch/refused")" = 1 ] || fail "not one line: $(<"$scratch/refused")"
    grep -q "$2" "$scratch/refused" || fail "no '$2' in: $(<"$scratch/refused")"
}
OURO_SECRETS="$scratch/wrong" ./secrets.sh >/dev/null
OURO_SECRETS="$scratch/wrong" refuses 69 "refuses the user or the password"
refuses 69 "cannot read /run/secrets/none: " -e OURO_STORE_PASSWORD_FILE=/run/secrets/none
! OURO_SECRETS="$scratch/none" "${compose[@]}" run --rm --no-deps arena >"$scratch/refused" 2>&1 \
    || fail "an arena starts without its secret"
grep -q "does not exist: $scratch/none/redis-password" "$scratch/refused" \
    || fail "a missing secret is not named: $(<"$scratch/refused")"
pass "a wrong password and a missing secret are refused in one line"

# --- isolation ---
for service in redis arena learner actor; do
    id="$(container "$service")"
    expected=65532
    [ "$service" != redis ] || expected=999
    user="$(docker top "$id" -o uid,pid | awk 'NR == 2 { print $1 }')"
    [ "$user" = "$expected" ] || fail "$service runs as user $user"
    ! docker cp run.toml "$id:/etc/passwd" 2>/dev/null || fail "$service can change its files"
    [ "$(field "$id" '{{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}}')" = "true [ALL]" ] \
        || fail "$service has a writable root file system or capabilities"
    ! docker exec "$id" /bin/sh -c true >/dev/null 2>&1 || fail "$service has a shell"
    ! docker port "$id" | grep -v ' 127\.0\.0\.1:' || fail "$service is reachable from outside"
done
! docker port "$redis_id" | grep . || fail "Redis has a port"
pass "no root, no capabilities, no shell, read-only files, ports on 127.0.0.1"

for image in "${images[@]}"; do
    root="$scratch/root"
    id="$(docker create "$image:test")"
    mkdir "$root"
    docker export "$id" | tar -x -C "$root"
    docker rm "$id" >/dev/null
    found="$(find "$root" -type f -perm /6000)"
    [ -z "$found" ] || fail "$image has setuid files: $found"
    found="$(find "$root" \( -name '*sh' -o -name busybox -o -name 'apt*' -o -name dpkg \
        -o -name 'python*' -o -name perl \) -path '*bin/*')"
    [ -z "$found" ] || fail "$image has shells or package managers: $found"
    ! grep -rqF -e "$password" -e "$hash" "$root" || fail "$image has a secret"
    rm -rf "$root"
done
pass "no setuid files, shells or package managers in ${images[*]}"

mapfile -t ids < <("${compose[@]}" ps -q)
{
    docker inspect "${ids[@]}" "${images[@]/%/:test}"
    for image in "${images[@]}"; do docker history --no-trunc "$image:test"; done
    for id in "${ids[@]}"; do
        cat "/proc/$(field "$id" '{{.State.Pid}}')"/{environ,cmdline}
        docker logs "$id" 2>&1
    done
} >"$scratch/public"
! grep -qaF -e "$password" -e "$hash" -e "${reader#*.}" -e "$(cut -d. -f2 "$OURO_SECRETS/actors.token")" \
    "$scratch/public" \
    || fail "a secret is in an image, an environment, a command line or a log"
grep -qa OURO_STORE_PASSWORD_FILE "$scratch/public" || fail "the scan for secrets read nothing"
pass "no secret in images, environments, command lines and logs"

# --- metrics ---
COMPOSE_PROFILES=observability "${compose[@]}" up -d --no-deps prometheus >"$scratch/up" 2>&1 \
    || { cat "$scratch/up"; fail "Prometheus does not start"; }
wait_for 60 "Prometheus is not healthy" healthy prometheus
wait_for 60 "not all processes report metrics" queries 'count(up==1)' 3
wait_for 60 "no generation in the metrics" queries 'count(ouro_arena_champion_elo)' 1

# --- scaling ---
for actors in 8 2; do
    before="$(step)"
    "${compose[@]}" up -d --no-recreate --scale "actor=$actors" >"$scratch/up" 2>&1 \
        || { cat "$scratch/up"; fail "cannot scale to $actors actors"; }
    wait_for 60 "not all of $actors actors are connected" connected "$actors"
    wait_for 120 "training has stopped with $actors actors" trained_past "$before"
    pass "$actors actors play under names of their own, and training goes on"
done
wait_for 20 "not only six actors with code 0 have ended" have_ended "6 actor 0"
pass "six actors drained with code 0"
wait_for 60 "Prometheus does not follow the actors" queries 'count(ouro_actor_games_total)' 2
wait_for 60 "Prometheus has no series of the learner" queries 'ouro_learner_connected_actors' 2
wait_for 60 "Prometheus has not evaluated all alerts" rules_are_evaluated
# Without alerts the count has no value, as a query that failed; the zero distinguishes the two.
firing="$(query 'count(ALERTS{alertstate="firing",severity!="info"})%20or%20vector(0)' || true)"
[ "$firing" = 0 ] || fail "alerts fire without a reason, or cannot be counted: '$firing'"
pass "Prometheus has the metrics of all processes and of each actor, and no alert fires"

# --- workers ---
helped() { get arena 8080 / | grep -q '2 workers help'; }
"${compose[@]}" --profile workers up -d --no-recreate --scale actor=2 --scale worker=2 >"$scratch/up" 2>&1 \
    || { cat "$scratch/up"; fail "workers do not start"; }
wait_for 60 "a worker is not healthy" healthy worker
wait_for 60 "the page does not know two workers" helped
password="$(<"$OURO_SECRETS/redis-worker-password")"
for command in "LLEN $log" "GET ouro:{ouro}:writer" "XTRIM ouro:{ouro}:jobs MAXLEN 0"; do
    read -ra words <<<"$command"
    answer="$(OURO_USER=worker redis "${words[@]}" 2>&1 || true)"
    [[ "$answer" == *NOPERM* ]] || fail "a worker may run $command: $answer"
done
password="$(<"$OURO_SECRETS/redis-password")"
mapfile -t ids < <(container worker)
docker stop "${ids[@]}" >/dev/null
wait_for 20 "workers have not drained" have_ended $'6 actor 0\n2 worker 0'
pass "two workers help with the matches, reach the queue alone, and drain with code 0"

# --- kills ---
redis LRANGE "$log" 0 -1 >"$scratch/log"
rated | sort >"$scratch/players"
for service in redis arena; do
    id="$(container "$service")"
    before="$(entries)" trained="$(step)" killed=$(date +%s%N)
    # `docker kill` would count as a stop, after which docker does not restart the container.
    kill -9 "$(field "$id" '{{.State.Pid}}')"
    wait_for 60 "$service does not recover" has_more_entries "$before"
    recovered="$(since "$killed")"
    wait_for 60 "training has stopped without $service" trained_past "$trained"
    [ "$(field "$id" '{{.RestartCount}}')" = 1 ] || fail "$service was not killed"
    pass "$service is killed, and $recovered s later new results are stored"
done
redis LRANGE "$log" 0 $(($(wc -l <"$scratch/log") - 1)) | cmp -s - "$scratch/log" \
    || fail "stored results have changed"
# A pipe to `grep -q` would fail when grep ends first, and the check would pass.
docker logs "$redis_id" >"$scratch/redis.log" 2>&1
! grep -q CRITICAL "$scratch/redis.log" || fail "Redis has not read all its file"
missing="$(rated | sort | comm -13 - "$scratch/players")"
[ -z "$missing" ] || fail "ratings are lost: $missing"
pass "all results and ratings from before the kills are there"

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

# --- restart in new containers ---
"${compose[@]}" logs --no-color learner >"$scratch/first"
saved="$(sed -nE 's/.*"message":"trained","step":([0-9]+).*/\1/p' "$scratch/first" | tail -n 1)"
"${compose[@]}" down >/dev/null 2>&1
"${compose[@]}" run --rm ouro check /var/lib/ouro >"$scratch/check" 2>&1 \
    || fail "the stopped run is not sound: $(tail -n 1 "$scratch/check")"
grep -q "as in $log of redis at redis:6379" "$scratch/check" \
    || fail "not the results in Redis were checked: $(<"$scratch/check")"
pass "the stopped run is sound: $(grep '^results' "$scratch/check")"
"${compose[@]}" up -d >"$scratch/up" 2>&1 || { cat "$scratch/up"; fail "the run does not restart"; }
resumed="$(logged ready step)"
[ "$resumed" -ge "$saved" ] || fail "the run resumes at step $resumed, but had reached $saved"
[ "$(rated | grep -c '^generation-')" -ge "$players" ] || fail "ratings are lost"
wait_for 120 "a resumed run does not train" trained_past "$resumed"
pass "new containers resume at step $resumed, with all ratings"

# --- doctor, backup and restore ---
"${compose[@]}" run --rm -T ouro doctor >"$scratch/doctor" 2>&1 \
    || fail "the doctor finds a failure: $(grep -a FAIL "$scratch/doctor")"
for line in 'OK    reach       arena' 'OK    reach       learner' 'OK    redis       store' \
    'OK    aof         store' 'OK    version     cluster' 'OK    tokens      learner'; do
    grep -qF "$line" "$scratch/doctor" || fail "no '$line' in: $(<"$scratch/doctor")"
done
pass "the doctor passes: $(tail -n 1 "$scratch/doctor")"
redis_id="$(container redis)"
redis LRANGE "$log" 0 -1 >"$scratch/log"
before="$(step)"
backup="$(COMPOSE="${compose[*]}" ./backup.sh "$scratch/backups" 2>"$scratch/copied")" \
    || fail "the run cannot be copied: $(<"$scratch/copied")"
wait_for 60 "training has stopped after the copy" trained_past "$before"
head -n "$(wc -l <"$scratch/log")" "$backup/arena/results.log" | cmp -s - "$scratch/log" \
    || fail "the copy lacks results"
pass "a running run is copied: $(tail -n 1 "$scratch/copied")"
"${compose[@]}" down --volumes --timeout 1 >/dev/null 2>&1
COMPOSE="${compose[*]}" ./backup.sh --restore "$backup" >"$scratch/restored" 2>&1 \
    || fail "the copy cannot be restored: $(<"$scratch/restored")"
! COMPOSE="${compose[*]}" ./backup.sh --restore "$backup" >"$scratch/restored" 2>&1 \
    || fail "a run is overwritten"
grep -q 'is not empty' "$scratch/restored" || fail "not the reason: $(<"$scratch/restored")"
"${compose[@]}" up -d >"$scratch/up" 2>&1 || { cat "$scratch/up"; fail "the restored run does not start"; }
resumed="$(logged ready step)"
[ "$resumed" -gt 0 ] || fail "the restored run starts anew"
wait_for 120 "a restored run does not train" trained_past "$resumed"
redis_id="$(container redis)"
redis LRANGE "$log" 0 $(($(wc -l <"$scratch/log") - 1)) | cmp -s - "$scratch/log" \
    || fail "restored results have changed"
pass "after its volumes are gone, the run continues from the copy at step $resumed, with all results"

# --- results in files ---
"${compose[@]}" down --volumes --timeout 1 >/dev/null 2>&1
export COMPOSE_FILE="$COMPOSE_FILE:compose.embedded.yaml"
"${compose[@]}" up -d arena >"$scratch/up" 2>&1 || { cat "$scratch/up"; fail "no run in files"; }
wait_for 60 "an arena with files is not healthy" healthy arena
[ -z "$(container redis)" ] || fail "Redis runs beside results in files"
"${compose[@]}" stop >/dev/null 2>&1
"${compose[@]}" run --rm ouro check /var/lib/ouro >"$scratch/check" 2>&1 \
    || fail "a run in files is not sound: $(tail -n 1 "$scratch/check")"
grep -q '^results.*as in the log' "$scratch/check" || fail "no results in files: $(<"$scratch/check")"
pass "compose.embedded.yaml keeps the results in files, without Redis"

# --- TLS ---
"${compose[@]}" down --volumes --timeout 1 >/dev/null 2>&1
./certificates.sh >/dev/null || fail "the certificates cannot be made"
tls="$OURO_SECRETS/tls"
OURO_CERTIFICATE_DAYS=0 ./certificates.sh expired reader >/dev/null || fail "no expired certificate"
# It ends in the second in which it is made.
sleep 2
OURO_CERTIFICATES="$scratch/foreign" ./certificates.sh admin admin >/dev/null || fail "no foreign authority"
export COMPOSE_FILE="$COMPOSE_FILE:compose.tls.yaml"
"${compose[@]}" up -d >"$scratch/up" 2>&1 || { cat "$scratch/up"; fail "the run does not start with TLS"; }
wait_for 120 "an actor does not connect with TLS" connected 1
wait_for 300 "training does not start with TLS" trained_past 0
pass "the run trains over TLS, and its health checks too"
"${compose[@]}" run --rm -T ouro doctor >"$scratch/doctor" 2>&1 \
    || fail "the doctor finds a failure with TLS: $(grep -a FAIL "$scratch/doctor")"
pass "the doctor passes over TLS: $(tail -n 1 "$scratch/doctor")"

arena="$("${compose[@]}" port arena 50061)" page="$("${compose[@]}" port arena 8080)"
# Opens a TLS connection with the certificate of holder $1, of the authority $2, and prints what OpenSSL says.
# The connection ends after $3 seconds, or earlier if the arena ends it: a refusal follows the handshake.
shake() {
    timeout 20 openssl s_client -connect "$arena" -alpn h2 -CAfile "$tls/ca.crt" -verify_return_error \
        -cert "$2/$1/tls.crt" -key "$2/$1/tls.key" < <(sleep "$3") 2>&1 | tr -d '\0' || true
}
answer="$(shake reader "$tls" 1)"
[[ "$answer" == *"Verify return code: 0 (ok)"* && "$answer" != *alert* ]] || fail "no TLS connection: $answer"
answer="$(shake expired "$tls" 20)"
[[ "$answer" == *"alert certificate expired"* ]] || fail "an expired certificate is not refused: $answer"
answer="$(shake admin "$scratch/foreign" 20)"
[[ "$answer" == *"alert unknown ca"* ]] || fail "a foreign certificate is not refused: $answer"
answer="$(timeout 20 openssl s_client -connect "$arena" -alpn h2 -CAfile "$scratch/foreign/ca.crt" \
    -verify_return_error </dev/null 2>&1 || true)"
[[ "$answer" == *"verify error"* ]] || fail "the arena has a certificate of another authority: $answer"
answer="$({ printf 'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'; sleep 2; } \
    | timeout 20 openssl s_client -quiet -connect "$page" -CAfile "$tls/ca.crt" -verify_return_error \
        -cert "$tls/reader/tls.crt" -key "$tls/reader/tls.key" 2>/dev/null || true)"
[[ "$answer" == "HTTP/1.1 200 "* ]] || fail "the page does not speak TLS: $answer"
pass "certificates that have expired or are of another authority get no connection"
if [ -n "${OURO_GRPCURL-}" ]; then
    with() { # a certificate, the call and its arguments
        "$OURO_GRPCURL" -cacert "$tls/ca.crt" -cert "$tls/$1/tls.crt" -key "$tls/$1/tls.key" "${@:2}" 2>&1
    }
    with reader "$arena" "$ratings" >"$scratch/ratings" || fail "a reader's certificate: $(<"$scratch/ratings")"
    answer="$(with actors "$arena" "$ratings" || true)"
    [[ "$answer" == *PermissionDenied* ]] || fail "an actor may ask for ratings: $answer"
    answer="$("$OURO_GRPCURL" -cacert "$tls/ca.crt" "$arena" "$ratings" 2>&1 || true)"
    [[ "$answer" == *"client certificate or a token"* ]] || fail "a call without a certificate: $answer"
    ! "$OURO_GRPCURL" -plaintext -connect-timeout 3 "$arena" "$ratings" >/dev/null 2>&1 \
        || fail "the arena answers without TLS"
    learner="$("${compose[@]}" port learner 50062)"
    hello='{"hello":{"actor":"other","config_json":"{\"game\":\"tic_tac_toe\"}","version":1}}'
    answer="$(with actors -d "$hello" "$learner" "$push" || true)"
    [[ "$answer" == *"not one of actor other"* ]] || fail "an actor under a foreign name: $answer"
    pass "a certificate has its role and its name only, and without one or TLS there is no answer"
fi
# A renewed certificate needs no restart.
serial() {
    openssl s_client -connect "$arena" -alpn h2 </dev/null 2>/dev/null | openssl x509 -noout -serial
}
before="$(serial)"
./certificates.sh >/dev/null || fail "the certificates cannot be renewed"
is_renewed() { [ "$(serial)" != "$before" ]; }
wait_for 20 "the arena does not use its renewed certificate" is_renewed
[ "$(field "$(container arena)" '{{.RestartCount}}')" = 0 ] || fail "the arena was restarted"
pass "a renewed certificate counts without a restart"
echo "PASS  all checks"
