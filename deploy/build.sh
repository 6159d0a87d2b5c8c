#!/usr/bin/env bash
# Compiles Ouro in a container and builds the images ouro-arena, ouro-learner, ouro-actor, ouro
# and ouro-redis.
#
#   deploy/build.sh [--mesa]
#
# --mesa also builds ouro-learner-mesa, for AMD and Intel GPUs. OURO_TAG sets the tag (latest).
# Needs BuildKit and a registry; deploy/offline/build.sh needs neither.
set -euo pipefail
cd "$(dirname "$0")/.."

bases=(base base-gpu base-redis)
case "${1-}" in
    "") ;;
    --mesa) bases+=(base-mesa) ;;
    *)
        echo "build.sh: unknown argument '$1'; usage: deploy/build.sh [--mesa]" >&2
        exit 64
        ;;
esac

for target in binaries "${bases[@]}"; do
    DOCKER_BUILDKIT=1 docker build -f deploy/build.Dockerfile --target "$target" -t "ouro-$target" .
done
exec deploy/images.sh "$@"
