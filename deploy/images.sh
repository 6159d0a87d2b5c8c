#!/usr/bin/env bash
# Builds the images of the services from ouro-binaries and the bases. build.sh and offline/build.sh
# make those and end with this script.
set -euo pipefail
cd "$(dirname "$0")"

tag="${OURO_TAG:-latest}"

# Builds image $1 from target $2, whose program is $3, with the other arguments.
image() {
    local name="$1:$tag" target="$2" program="$3"
    shift 3
    local output
    if ! output="$(docker build -q -t "$name" --target "$target" "$@" - <Dockerfile 2>&1)"; then
        echo "images.sh: cannot build $name: $output" >&2
        exit 1
    fi
    # Binaries that were compiled for a newer C library than that of the base do not start.
    if ! docker run --rm --network none --entrypoint "$program" "$name" --version; then
        echo "images.sh: the binary in $name does not start; compile it for the base" >&2
        exit 1
    fi
}

image ouro-arena arena ouro-arena
image ouro-learner learner ouro-learner
image ouro-actor actor ouro-actor
image ouro ouro ouro
image ouro-redis redis redis-server
for option in "$@"; do
    case "$option" in
        --mesa)
            image ouro-learner-mesa learner ouro-learner --build-arg LEARNER_BASE=ouro-base-mesa
            ;;
        --observability) image ouro-prometheus prometheus prometheus ;;
    esac
done
docker images --filter "reference=ouro*:$tag" --format '{{.Repository}}:{{.Tag}} {{.Size}}'
