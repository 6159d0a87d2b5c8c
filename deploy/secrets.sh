#!/usr/bin/env bash
# Makes the secrets of compose.yaml and k8s/: passwords for Redis and Grafana, the users of Redis with the hashes
# of these passwords, and the tokens of the learner, the actors, the workers of the arena and a reader. Repeated, it
# keeps what is there and writes the users of this version of Ouro.
#
#   deploy/secrets.sh [--renew]
#
# --renew makes other passwords and tokens. They take effect with the next start of the services. The
# tokens before stay valid until `ouro token revoke NAME --keep-newest`. The password of Grafana stays, because
# Grafana reads it at its first start only.
#
#   OURO_SECRETS    folder of the secrets (that of .env, or deploy/secrets)
set -euo pipefail
deploy="$(dirname "$(realpath "$0")")"
. "$deploy/secrets-folder.sh"
folder="$secrets"

fail() {
    echo "secrets.sh: $1" >&2
    exit "$2"
}

case "$*" in
    "" | --renew) ;;
    *) fail "unknown arguments '$*'; usage: deploy/secrets.sh [--renew]" 64 ;;
esac

# The folder keeps other users of this machine out. The files are readable, because containers mount them one by
# one and do not run as the user of this script.
(umask 077 && mkdir -p "$folder") || fail "cannot create $folder" 73
chmod 700 "$folder"

# Replaces file $1 by standard input in one step.
replace() {
    [ ! -d "$folder/$1" ] || fail "$folder/$1 is a folder; remove it" 73
    cat >"$folder/$1.new"
    chmod 444 "$folder/$1.new"
    mv -f "$folder/$1.new" "$folder/$1"
}

# Passwords, and the users of Redis with the hashes of theirs.
users="$(sed '/^#/d' "$deploy/redis/users.acl")"
for entry in arena:redis-password worker:redis-worker-password keda:redis-keda-password :grafana-password; do
    name="${entry#*:}"
    if [ ! -s "$folder/$name" ] || [ "${1-}:$name" = --renew:redis-password ] \
        || [ "${1-}:$name" = --renew:redis-worker-password ] || [ "${1-}:$name" = --renew:redis-keda-password ]; then
        od -An -v -N 32 -t x1 /dev/urandom | tr -d ' \n' | replace "$name"
    fi
    # The store ignores white space at the end of the file, and so does the hash.
    password="$(<"$folder/$name")"
    password="${password%"${password##*[![:space:]]}"}"
    hash="$(printf %s "$password" | sha256sum | cut -d ' ' -f 1)"
    users="${users//"{${entry%:*}_sha256}"/$hash}"
done
printf '%s\n' "$users" | replace redis-users.acl

# Tokens have the form NAME.SECRET, and tokens.toml holds the hashes of the secrets, as of `ouro token create`.
mkdir -p "$folder/tokens"
chmod 755 "$folder/tokens"
list="$folder/tokens/tokens.toml"
for entry in learner:learner actors:actor worker:worker reader:reader; do
    name="${entry%:*}" role="${entry#*:}"
    [ ! -s "$folder/$name.token" ] || [ "${1-}" = --renew ] || continue
    secret="$(od -An -v -N 32 -t x1 /dev/urandom | tr -d ' \n')"
    {
        [ ! -s "$list" ] || cat "$list"
        printf '[[token]]\nname = "%s"\nrole = "%s"\nsha256 = "%s"\ncreated = %s\n' "$name" "$role" \
            "$(printf %s "$secret" | sha256sum | cut -d ' ' -f 1)" "$(date +%s)"
    } | replace tokens/tokens.toml
    printf '%s.%s\n' "$name" "$secret" | replace "$name.token"
done
echo "the secrets are in $folder; reader.token is the one to ask the arena with"
