#!/usr/bin/env bash
# Prints the Secrets of the pods as manifests, one per reader, so that no pod sees what it does not need.
# deploy/secrets.sh makes their content, once, in a folder outside of git.
#
#   deploy/k8s/secrets.sh | kubectl apply --server-side -f -
#   deploy/k8s/secrets.sh --only ouro-tokens | kubectl apply --server-side -f -
#
# Repeated, the command changes what differs in the cluster. --renew first makes other passwords and tokens,
# as in deploy/secrets.sh. --only NAME prints a single Secret.
#
#   OURO_SECRETS      folder of the secrets (that of deploy/.env, or deploy/secrets)
#   OURO_NAMESPACE    namespace of the run (ouro)
#   OURO_KUBECTL      kubectl
set -euo pipefail
deploy="$(dirname "$(dirname "$(realpath "$0")")")"
. "$deploy/secrets-folder.sh"
folder="$secrets"
only=
if [ "${1-}" = --only ]; then
    only="${2:?--only needs the name of a Secret}"
    shift 2
fi

"$deploy/secrets.sh" "$@" >&2

# Prints Secret $1 with the other arguments.
secret() {
    local name="$1"
    shift
    [ "${only:-$name}" = "$name" ] || return 0
    echo ---
    "${OURO_KUBECTL:-kubectl}" create secret generic "$name" --namespace "${OURO_NAMESPACE:-ouro}" \
        --dry-run=client --output yaml "$@"
}

secret ouro-tokens --from-file="$folder/tokens/tokens.toml"
secret ouro-learner-token --from-file="$folder/learner.token"
secret ouro-reader-token --from-file="$folder/reader.token"
secret ouro-actors-token --from-file="$folder/actors.token"
secret ouro-worker-token --from-file="$folder/worker.token"
secret ouro-redis-users --from-file="$folder/redis-users.acl"
secret ouro-redis-arena --from-file="$folder/redis-password"
secret ouro-redis-worker --from-file="$folder/redis-worker-password"
secret ouro-redis-keda --from-literal=username=keda --from-file="$folder/redis-keda-password"
