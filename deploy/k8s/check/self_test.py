"""Plants mistakes in copies of the working tree and demands that the checks find each."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from problems import Problems

K8S = "deploy/k8s"

# File, what it says, the mistake, and a part of the message.
MISTAKES = [
    (
        "a key that the Secret does not have",
        f"{K8S}/base/learner.yaml",
        "/run/token/learner.token",
        "/run/token/learner.key",
        "has no key learner.key",
    ),
    (
        "a Secret that nothing makes",
        f"{K8S}/base/arena.yaml",
        "secretName: ouro-tokens",
        "secretName: ouro-token",
        "no Secret ouro-token",
    ),
    (
        "a caller without a token",
        f"{K8S}/base/arena.yaml",
        "OURO_TOKEN_FILE, value: /run/token/reader.token",
        "RUST_LOG, value: info",
        "no OURO_TOKEN_FILE",
    ),
    ("a wrong port", f"{K8S}/base/arena.yaml", "containerPort: 50061", "containerPort: 50062", "ports are"),
    (
        "a probe at a wrong port",
        f"{K8S}/base/actor.yaml",
        "grpc: {port: 50063}",
        "grpc: {port: 50061}",
        "asks port 50061",
    ),
    (
        "a policy for a wrong port",
        f"{K8S}/components/network-policies/policies.yaml",
        "port: 50062",
        "port: 50060",
        "nothing listens on port 50060",
    ),
    ("an unknown variable", f"{K8S}/base/actor.yaml", "OURO_THREADS", "OURO_THREAD", "variable OURO_THREAD"),
    (
        "a variable of another program",
        f"{K8S}/base/actor.yaml",
        "OURO_THREADS",
        "OURO_WEB",
        "variable OURO_WEB",
    ),
    (
        "an unknown variable in a compose file",
        "deploy/compose.yaml",
        "OURO_CACHE",
        "OURO_CACHED",
        "variable OURO_CACHED",
    ),
    (
        "a service without a certificate beside others with TLS",
        "deploy/compose.tls.yaml",
        "  ouro:\n    environment: *tls",
        "  ouro:\n    environment: {}",
        "ouro has no certificate",
    ),
    ("an unknown flag", f"{K8S}/base/verify.yaml", "args: [check, ", "args: [check, --deep, ", "flag --deep"),
    (
        "an unknown metric",
        f"{K8S}/components/autoscaling/actors.yaml",
        "ouro_learner_training_waiting_seconds_total",
        "ouro_learner_training_waiting_seconds",
        "has no ouro_learner_training_waiting_seconds",
    ),
    (
        "an unknown value of a label",
        f"{K8S}/components/autoscaling/actors.yaml",
        'reason="games"',
        'reason="actors"',
        "has no reason actors",
    ),
    (
        "a query that grows with the surplus",
        f"{K8S}/components/autoscaling/actors.yaml",
        "* (1 - clamp_max(max(rate(ouro_learner_intake",
        "/ (1 - clamp_max(max(rate(ouro_learner_intake",
        "the query answers otherwise",
    ),
    (
        "a misspelt field",
        f"{K8S}/base/learner.yaml",
        "terminationGracePeriodSeconds",
        "terminationGraceSeconds",
        "terminationGraceSeconds",
    ),
    (
        "a misspelt field of KEDA",
        f"{K8S}/components/autoscaling/actors.yaml",
        "cooldownPeriod",
        "coolDownPeriod",
        "coolDownPeriod",
    ),
    (
        "a misspelt option of a trigger",
        f"{K8S}/components/workers/autoscaling.yaml",
        "lagCount:",
        "lagcount:",
        "lagcount",
    ),
    (
        "a selector without pods",
        f"{K8S}/overlays/production/budgets.yaml",
        "{app.kubernetes.io/name: ouro-arena}",
        "{app.kubernetes.io/name: arena}",
        "selects 0 workloads",
    ),
    (
        "another consumer group",
        f"{K8S}/components/workers/autoscaling.yaml",
        "consumerGroup: workers",
        "consumerGroup: worker",
        "no consumer group",
    ),
    (
        "an image that nothing builds",
        f"{K8S}/base/actor.yaml",
        "image: ouro-actor:latest",
        "image: ouro-actors:latest",
        "builds no ouro-actors",
    ),
    (
        "more actors than the learner accepts",
        f"{K8S}/components/autoscaling/actors.yaml",
        "maxReplicaCount: 60",
        "maxReplicaCount: 65",
        "the learner accepts",
    ),
    (
        "less time to stop than the drain",
        f"{K8S}/base/actor.yaml",
        "terminationGracePeriodSeconds: 60",
        "terminationGracePeriodSeconds: 20",
        "but drains for",
    ),
    (
        "an old copy of redis.conf",
        f"{K8S}/components/redis/redis.conf",
        "appendfsync always",
        "appendfsync everysec",
        "differs from",
    ),
    (
        "Redis without a limit of its own",
        f"{K8S}/components/redis/redis.yaml",
        "            - --maxmemory\n            - 1400mb\n",
        "",
        "maxmemory is 0,",
    ),
    (
        "Redis with the whole memory of its container",
        f"{K8S}/components/redis/redis.yaml",
        "1400mb",
        "2gb",
        "maxmemory is 2gb,",
    ),
    (
        "Redis without a limit in a compose file",
        "deploy/compose.yaml",
        "      - --maxmemory\n      - ${REDIS_MAXMEMORY:-2gb}\n",
        "",
        "Redis has no maxmemory",
    ),
    (
        "Redis with a limit of 0 in a compose file",
        "deploy/compose.yaml",
        "REDIS_MAXMEMORY:-2gb",
        "REDIS_MAXMEMORY:-0",
        "Redis has no maxmemory",
    ),
    (
        "a limit of memory with an unknown unit",
        f"{K8S}/components/redis/redis.yaml",
        "1400mb",
        "1400xb",
        "1400xb is not a size of memory",
    ),
    (
        "an unknown key of run.toml",
        f"{K8S}/overlays/production/run.toml",
        "preset = ",
        "seeds = 1\npreset = ",
        "no key seeds",
    ),
    (
        "a patch of nothing",
        f"{K8S}/components/redis/arena.yaml",
        "name: arena\n",
        "name: arenas\n",
        "cannot be built",
    ),
]

# What the checks read.
READ = ["deploy", "crates/settings/src", "docs", "actor/src", "learner/src", "arena/src", "cli/src"]


def run(root: Path, check: Callable[[Path], Problems]) -> int:
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in READ:
            shutil.copytree(root / name, copy / name, ignore=shutil.ignore_patterns("secrets", "__pycache__"))
        sound = check(copy).found
        for problem in sound:
            print(f"FAIL  without a mistake: {problem}")
        failed += bool(sound)
        for what, file, before, after, message in MISTAKES:
            path = copy / file
            text = path.read_text()
            assert before in text, f"{file} has no {before!r}"
            path.write_text(text.replace(before, after))
            found = [problem for problem in check(copy).found if message in problem and problem not in sound]
            path.write_text(text)
            print(f"{'PASS' if found else 'FAIL'}  {what}: {found[0] if found else 'not found'}")
            failed += not found
    print(f"{len(MISTAKES) + 1 - failed} passed, {failed} failed")
    return 1 if failed else 0
