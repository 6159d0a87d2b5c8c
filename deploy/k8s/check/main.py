"""Validates the manifests and the compose files. check.sh starts this script and describes it."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

import build
import code_facts
import compose
import containers
import references
import scaling
import schemas
import self_test
from problems import Problems

ROOT = Path(__file__).resolve().parents[3]


def check(root: Path) -> Problems:
    """All problems of the working tree in `root`."""
    problems = Problems()
    facts = code_facts.Facts(root)
    secrets = secrets_of(root)
    overlays = sorted(path.parent for path in root.glob("deploy/k8s/overlays/*/kustomization.yaml"))
    assert overlays, "no overlay"
    for overlay in overlays:
        problems.where = overlay.name
        built = build.build(overlay, problems)
        if built is None:
            continue
        schemas.check(built, root, problems)
        references.check(built, secrets, facts, problems)
        containers.check(built, facts, problems)
        scaling.check(built, facts, problems)
    problems.where = "files"
    build.check_files(root, overlays, problems)
    compose.check(root, facts, problems)
    return problems


def secrets_of(root: Path) -> dict[str, set[str]]:
    """The keys of each Secret that secrets.sh makes."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"OURO_SECRETS": f"{folder}/secrets"}
        command = [root / "deploy/k8s/secrets.sh"]
        made = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return {
        secret["metadata"]["name"]: set(secret["data"])
        for secret in yaml.safe_load_all(made.stdout)
        if secret
    }


def main() -> int:
    if sys.argv[1:] == ["--self-test"]:
        return self_test.run(ROOT, check)
    if sys.argv[1:]:
        print("check.sh: unknown arguments; usage: deploy/k8s/check.sh [--self-test]", file=sys.stderr)
        return 64
    problems = check(ROOT)
    for problem in problems.found:
        print(problem)
    print(f"{problems.checked} passed, {len(problems.found)} failed")
    return 1 if problems.found else 0


if __name__ == "__main__":
    sys.exit(main())
