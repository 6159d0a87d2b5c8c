"""Checks what scales: targets, limits, queries, streams, and the time that a pod has to stop."""

import re
import tomllib

from build import Built
from code_facts import Facts
import queries
from problems import Problems

# Labels that Prometheus adds at a scrape.
ADDED = {"namespace", "pod", "instance", "job"}


def check(built: Built, facts: Facts, problems: Problems) -> None:
    settings = tomllib.loads(built.settings or "")
    drain = settings.get("deploy", {}).get("drain_seconds", facts.drain_seconds)
    for one in built.workloads:
        if one.name in ("actor", "worker"):
            seconds = one.pod.get("terminationGracePeriodSeconds", 30)
            problems.expect(seconds >= drain + 15, f"{one} has {seconds} s to stop, but drains for {drain} s")
    authentications = built.names("TriggerAuthentication")
    for item in built.of("ScaledObject"):
        name, spec = f"ScaledObject {item['metadata']['name']}", item["spec"]
        target = spec["scaleTargetRef"]["name"]
        chosen = [one for one in built.workloads if one.kind == "Deployment" and one.name == target]
        if problems.expect(chosen, f"{name}: there is no Deployment {target}"):
            problems.expect(
                "replicas" not in chosen[0].spec, f"{name}: an apply of {target} would reset the number"
            )
        least, most = spec.get("minReplicaCount", 0), spec.get("maxReplicaCount", 100)
        problems.expect(least <= spec.get("fallback", {}).get("replicas", -1) <= most, f"{name}: no fallback")
        if target == "actor":
            limit = int(facts.settings["intake"]["max_streams"])
            limit = settings.get("intake", {}).get("max_streams", limit)
            problems.expect(most <= limit, f"{name}: {most} actors, but the learner accepts {limit}")
        if target == "worker":
            problems.expect(least >= 1, f"{name}: without a worker the arena issues no jobs")
        for trigger in spec["triggers"]:
            metadata = trigger["metadata"]
            reference = trigger.get("authenticationRef", {}).get("name")
            problems.expect(
                not reference or reference in authentications, f"{name}: no TriggerAuthentication {reference}"
            )
            if trigger["type"] == "prometheus":
                check_query(name, metadata["query"], built, facts, problems)
                if target == "actor":
                    queries.check(name, metadata["query"], problems)
                problems.expect(
                    metadata.get("ignoreNullValues") == "false", f"{name}: no series would count as 0"
                )
            if trigger["type"] == "redis-streams":
                check_stream(name, metadata, built, facts, problems)


def check_query(name: str, query: str, built: Built, facts: Facts, problems: Problems) -> None:
    """Series, labels and their values are those of docs/metrics.md, and a pod of the overlay reports them."""
    series = re.findall(r"\b(ouro_\w+|process_\w+)\b(?:\{([^}]*)\})?", query)
    problems.expect(series, f"{name}: the query names no series")
    for metric, selector in series:
        if not problems.expect(metric in facts.metrics, f"{name}: docs/metrics.md has no {metric}"):
            continue
        labels, meaning = facts.metrics[metric]
        for label, value in re.findall(r'(\w+)="([^"]*)"', selector):
            if label == "namespace":
                problems.expect(value == "ouro", f"{name}: {metric} of another namespace, {value}")
            elif problems.expect(label in labels | ADDED, f"{name}: {metric} has no label {label}"):
                problems.expect(
                    label in ADDED or f"`{value}`" in meaning, f"{name}: {metric} has no {label} {value}"
                )
        service = metric.split("_")[1]
        reports = any(one.name == service and "OURO_METRICS" in one.env for one in built.workloads)
        problems.expect(reports, f"{name}: no pod reports {metric}")


def check_stream(name: str, metadata: dict, built: Built, facts: Facts, problems: Problems) -> None:
    """Address, stream and group are those of the arena's queue."""
    path = "arena/src/workers/queue.rs"
    if not problems.expect((facts.root / path).exists(), f"{name}: the arena has no queue of jobs"):
        return
    queue = facts.text(path)
    key = re.search(r'fn key\(.*?format!\("(.+?)"\)', facts.text("arena/src/store/redis.rs"), re.S)[1]
    part = re.search(r'Key::Jobs => "(\w+)"', queue)[1]
    store = built_store_name(built) or facts.store_name
    expected = (
        key.replace("{{", "{").replace("}}", "}").replace("{{name}", "{" + store).replace("{name}", store)
    )
    expected = expected.replace("{part}", part)
    problems.expect(
        metadata["stream"] == expected, f"{name}: the stream is {metadata['stream']}, in the code {expected}"
    )
    group = f"'{metadata['consumerGroup']}'"
    problems.expect(
        f"'XREADGROUP', 'GROUP', {group}" in queue, f"{name}: the arena has no consumer group {group}"
    )
    host, _, port = metadata["address"].partition(":")
    service = built.names("Service").get(host.partition(".")[0])
    if problems.expect(service, f"{name}: there is no Service {host}"):
        ports = [entry["port"] for entry in service["spec"]["ports"]]
        problems.expect(int(port) in ports, f"{name}: {host} has no port {port}")


def built_store_name(built: Built) -> str | None:
    """The name of the run in Redis, if a variable or run.toml sets it."""
    names = {one.env["OURO_STORE_NAME"] for one in built.workloads if "OURO_STORE_NAME" in one.env}
    return names.pop() if names else tomllib.loads(built.settings).get("deploy", {}).get("store_name")
