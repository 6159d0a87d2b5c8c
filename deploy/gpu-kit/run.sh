#!/bin/sh
# Measures this machine's GPU in under eight minutes: `./run.sh [OUT] [--minutes N]
# [--train-minutes N]`. The report goes to OUT/report.json and standard output, a summary to
# OUT/summary.txt and standard error, logs to OUT/logs. OUT is ./gpu-report unless given.
# README.md explains the report.
set -eu
kit=$(cd "$(dirname "$0")" && pwd)
case "${1:-}" in
    '' | -*) out=gpu-report ;;
    *)
        out=$1
        shift
        ;;
esac
mkdir -p "$out"
rm -rf "$out/run"
exec "$kit/bin/kit" gpu-kit run "$kit" "$out" "$@"
