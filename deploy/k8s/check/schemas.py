"""Validates objects against the schemas of Kubernetes and KEDA. Unknown fields are mistakes."""

import json
from pathlib import Path

import jsonschema
import kubernetes_validate

from build import Built
from problems import Problems

# The oldest version of Kubernetes that the manifests are for, and the newest with a schema.
VERSIONS = ["1.29", "1.37"]


def check(built: Built, root: Path, problems: Problems) -> None:
    keda = json.loads((root / "deploy/k8s/check/keda.schema.json").read_text())
    for item in built.objects:
        name = f"{item['kind']} {item['metadata']['name']}"
        if item["apiVersion"].startswith("keda.sh/"):
            validator = jsonschema.Draft202012Validator(keda)
            for error in validator.iter_errors(item):
                path = ".".join(str(part) for part in error.absolute_path)
                problems.expect(False, f"{name}: {path}: {error.message}")
            problems.checked += 1
            continue
        for version in VERSIONS:
            try:
                kubernetes_validate.validate(item, version, strict=True)
                problems.checked += 1
            except kubernetes_validate.ValidationError as error:
                path = ".".join(str(part) for part in error.path)
                problems.expect(False, f"{name}: {path}: {error.message} (Kubernetes {version})")
            except kubernetes_validate.SchemaNotFoundError as error:
                problems.expect(False, f"{name}: {error.message}")
