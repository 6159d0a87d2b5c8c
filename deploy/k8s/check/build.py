"""Builds overlays, and finds their objects."""

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from problems import Problems

WORKLOADS = {"Deployment", "StatefulSet", "CronJob"}


@dataclass
class Workload:
    """A pod template and what makes pods of it."""

    kind: str
    name: str
    spec: dict
    template: dict
    labels: dict = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"

    @property
    def pod(self) -> dict:
        return self.template["spec"]

    @property
    def container(self) -> dict:
        return self.pod["containers"][0]

    @property
    def env(self) -> dict[str, str]:
        return {entry["name"]: entry.get("value", "") for entry in self.container.get("env", [])}

    @property
    def ports(self) -> dict[str, int]:
        return {port["name"]: port["containerPort"] for port in self.container.get("ports", [])}


class Built:
    """The objects of an overlay."""

    def __init__(self, objects: list[dict]) -> None:
        self.objects = objects
        self.workloads = [workload(item) for item in objects if item["kind"] in WORKLOADS]

    def of(self, *kinds: str) -> list[dict]:
        return [item for item in self.objects if item["kind"] in kinds]

    def names(self, kind: str) -> dict[str, dict]:
        return {item["metadata"]["name"]: item for item in self.of(kind)}

    def matching(self, labels: dict) -> list[Workload]:
        """The workloads whose pods have all of `labels`."""
        return [one for one in self.workloads if labels.items() <= one.labels.items()]

    @property
    def settings(self) -> str:
        """The text of run.toml."""
        maps = [item for item in self.of("ConfigMap") if "run.toml" in item["data"]]
        return maps[0]["data"]["run.toml"] if maps else ""


def workload(item: dict) -> Workload:
    spec = item["spec"]
    template = (spec["jobTemplate"]["spec"] if item["kind"] == "CronJob" else spec)["template"]
    labels = template["metadata"].get("labels", {})
    return Workload(item["kind"], item["metadata"]["name"], spec, template, labels)


def build(overlay: Path, problems: Problems) -> Built | None:
    command = [os.environ.get("OURO_KUBECTL", "kubectl"), "kustomize", overlay]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if not problems.expect(made.returncode == 0, f"cannot be built: {made.stderr.strip()}"):
        return None
    objects = [item for item in yaml.safe_load_all(made.stdout) if item]
    names = [(item["kind"], item["metadata"]["name"]) for item in objects]
    problems.expect(len(names) == len(set(names)), "two objects have the same kind and name")
    for item in objects:
        where = f"{item['kind']} {item['metadata']['name']}"
        namespace = item["metadata"].get("namespace", "ouro")
        problems.expect(namespace == "ouro", f"{where} is in namespace {namespace}")
    return Built(objects)


def check_files(root: Path, overlays: list[Path], problems: Problems) -> None:
    """Every component is part of an overlay, and copies are equal to their originals."""
    folder = root / "deploy/k8s"
    used: set[Path] = set()
    waiting = list(overlays)
    while waiting:
        here = waiting.pop()
        made = yaml.safe_load((here / "kustomization.yaml").read_text())
        for entry in made.get("resources", []) + made.get("components", []):
            path = (here / entry).resolve()
            if path.is_dir() and path not in used:
                used.add(path)
                waiting.append(path)
            used.add(path)
        used.update((here / patch["path"]).resolve() for patch in made.get("patches", []) if "path" in patch)
        for generator in made.get("configMapGenerator", []):
            used.update((here / name).resolve() for name in generator["files"])
    for file in sorted(folder.glob("[bco]*/**/*")):
        if file.is_file() and file.parent.name != "check" and file.name != "kustomization.yaml":
            name = file.relative_to(root)
            problems.expect(file.resolve() in used, f"{name} is part of no overlay")
    for component in folder.glob("components/*"):
        problems.expect(component.resolve() in used, f"component {component.name} is part of no overlay")
    copy, original = folder / "components/redis/redis.conf", root / "deploy/redis/redis.conf"
    problems.expect(
        copy.read_bytes() == original.read_bytes(),
        "components/redis/redis.conf differs from deploy/redis/redis.conf; copy it",
    )
