"""Checks the compose files and the Dockerfile: variables, flags, ports, images, certificates, and the time to stop."""

import re
from pathlib import Path

import yaml

from code_facts import Facts
from containers import check_names, option, size
from problems import Problems


def check(root: Path, facts: Facts, problems: Problems) -> None:
    for path in sorted(root.glob("deploy/compose*.yaml")):
        for name, service in yaml.safe_load(path.read_text())["services"].items():
            check_service(f"{path.name}: {name}", name, service, facts, problems)
    check_tls(root, problems)
    for name in sorted(set(re.findall(r"\b(OURO_\w+)=", facts.text("deploy/Dockerfile")))):
        problems.expect(name in facts.all_variables, f"Dockerfile: no program knows the variable {name}")


def environment_of(service: dict) -> dict:
    environment = service.get("environment") or {}
    if isinstance(environment, list):
        environment = dict(entry.partition("=")[::2] for entry in environment)
    return environment


def substituted(text: str) -> str:
    """`text` with the defaults of its variables."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", text)


def check_tls(root: Path, problems: Problems) -> None:
    """Every service that knows the address of the arena needs a certificate in compose.tls.yaml."""
    services = {
        name: yaml.safe_load((root / "deploy" / name).read_text())["services"]
        for name in ("compose.yaml", "compose.tls.yaml")
    }
    for name, service in services["compose.yaml"].items():
        if "OURO_ARENA" in environment_of(service):
            own = environment_of(services["compose.tls.yaml"].get(name) or {})
            problems.expect("OURO_TLS_CERTIFICATE" in own, f"compose.tls.yaml: {name} has no certificate")


def check_service(where: str, name: str, service: dict, facts: Facts, problems: Problems) -> None:
    environment = environment_of(service)
    # An override names no image; then the service has the name of its program.
    reference = substituted(service.get("image", "") or "")
    image = reference.partition(":")[0] or {"ouro": "ouro", "worker": "ouro-arena"}.get(name, f"ouro-{name}")
    if image not in facts.images:
        # Others than Ouro's own, such as Prometheus.
        problems.expect(not image.startswith("ouro"), f"{where}: images.sh builds no {image}")
        return
    entrypoint = service.get("entrypoint", [])
    if entrypoint[:1] == ["redis-server"]:
        # Without it, the system ends Redis or another process once the memory of the machine is used up.
        most = substituted(option(entrypoint, "--maxmemory") or "0")
        problems.expect(size(where, most, problems) > 0, f"{where}: Redis has no maxmemory")
    arguments = service.get("command", [])
    arguments = arguments.split() if isinstance(arguments, str) else arguments
    if image == "ouro" and not arguments:
        # The command line of `docker compose run` names the command.
        for variable in environment:
            problems.expect(
                variable in facts.all_variables, f"{where}: no program knows the variable {variable}"
            )
    else:
        check_names(where, image, environment, arguments, facts, problems)
    known = facts.ports.get(image, {})
    expected = {
        "OURO_ARENA": facts.ports["ouro-arena"]["grpc"],
        "OURO_LEARNER": facts.ports["ouro-learner"]["grpc"],
    }
    for variable, port in expected.items():
        if variable in environment:
            holds = str(environment[variable]).endswith(f":{port}")
            problems.expect(holds, f"{where}: {variable} is {environment[variable]}, not port {port}")
    for entry in service.get("ports", []):
        inner = int(str(entry).rpartition(":")[2])
        holds = inner in known.values() or inner == facts.metrics_port
        problems.expect(holds, f"{where}: {image} has no port {inner}")
    if name in ("actor", "worker") and "image" in service:
        grace = int(str(service.get("stop_grace_period", "10s")).removesuffix("s"))
        problems.expect(grace >= facts.drain_seconds + 5, f"{where} has {grace} s to stop")
