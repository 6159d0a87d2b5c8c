"""Checks that what an object names exists: volumes, ConfigMaps, Secrets, claims, selectors, ports of policies."""

import tomllib
from pathlib import PurePosixPath

from build import Built, Workload
from code_facts import Facts
from problems import Problems

DNS = 53


def check(built: Built, secrets: dict[str, set[str]], facts: Facts, problems: Problems) -> None:
    stores = {
        "ConfigMap": {name: set(item["data"]) for name, item in built.names("ConfigMap").items()},
        "Secret": secrets,
    }
    for one in built.workloads:
        check_volumes(one, stores, built, problems)
    check_selectors(built, problems)
    for service in built.of("Service"):
        check_service(service, built, problems)
    for policy in built.of("NetworkPolicy"):
        check_policy(policy, built, problems)
    check_authentications(built, secrets, problems)
    check_settings(built, facts, problems)


def check_volumes(one: Workload, stores: dict, built: Built, problems: Problems) -> None:
    volumes = {volume["name"]: volume for volume in one.pod.get("volumes", [])}
    templates = {claim["metadata"]["name"] for claim in one.spec.get("volumeClaimTemplates", [])}
    mounts = one.container.get("volumeMounts", [])
    names = set(volumes) | templates
    for mount in mounts:
        problems.expect(mount["name"] in names, f"{one}: there is no volume {mount['name']}")
    for name in names - {mount["name"] for mount in mounts}:
        problems.expect(False, f"{one}: volume {name} is mounted nowhere")
    keys: dict[str, set[str]] = {}
    for name, volume in volumes.items():
        for kind, field, key in [("ConfigMap", "configMap", "name"), ("Secret", "secret", "secretName")]:
            if field in volume:
                target = volume[field][key]
                if problems.expect(target in stores[kind], f"{one}: there is no {kind} {target}"):
                    keys[name] = stores[kind][target]
        claim = volume.get("persistentVolumeClaim", {}).get("claimName")
        if claim:
            problems.expect(claim in claims(built), f"{one}: no StatefulSet makes the claim {claim}")
    for entry in one.container.get("env", []):
        for field, kind in [("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")]:
            source = entry.get("valueFrom", {}).get(field)
            if source:
                holds = source["key"] in stores[kind].get(source["name"], set())
                problems.expect(
                    holds, f"{one}: {entry['name']}: no {kind} {source['name']} with {source['key']}"
                )
    files = [value for value in one.env.values() if value.startswith(("/etc/", "/run/"))]
    files += [value for value in one.container.get("command", []) if value.startswith(("/etc/", "/run/"))]
    for file in files:
        check_file(one, PurePosixPath(file), mounts, keys, problems)
    for mount in mounts:
        if "subPath" in mount and mount["name"] in keys:
            holds = mount["subPath"] in keys[mount["name"]]
            problems.expect(holds, f"{one}: {mount['name']} has no key {mount['subPath']}")


def check_file(one: Workload, file: PurePosixPath, mounts: list, keys: dict, problems: Problems) -> None:
    """A file that a variable or an argument names is a key of what is mounted there."""
    there = [mount for mount in mounts if PurePosixPath(mount["mountPath"]) == file.parent]
    if not problems.expect(there, f"{one}: nothing is mounted at {file.parent}"):
        return
    holds = file.name in keys.get(there[0]["name"], set())
    problems.expect(holds, f"{one}: {there[0]['name']} has no key {file.name}")
    problems.expect("subPath" not in there[0], f"{one}: {file} does not change with its source")


def check_authentications(built: Built, secrets: dict[str, set[str]], problems: Problems) -> None:
    for name, item in built.names("TriggerAuthentication").items():
        for target in item["spec"]["secretTargetRef"]:
            holds = target["key"] in secrets.get(target["name"], set())
            problems.expect(
                holds, f"TriggerAuthentication {name}: no Secret {target['name']} with {target['key']}"
            )


def claims(built: Built) -> set[str]:
    return {
        f"{claim['metadata']['name']}-{one.name}-{number}"
        for one in built.workloads
        for claim in one.spec.get("volumeClaimTemplates", [])
        for number in range(one.spec.get("replicas", 1))
    }


def check_selectors(built: Built, problems: Problems) -> None:
    for one in built.workloads:
        if one.kind == "CronJob":
            continue
        selected = built.matching(one.spec["selector"]["matchLabels"])
        problems.expect(selected == [one], f"{one} selects {[str(other) for other in selected]}")
        if one.kind == "StatefulSet":
            name = one.spec["serviceName"]
            problems.expect(name in built.names("Service"), f"{one}: there is no Service {name}")
        for spread in one.pod.get("topologySpreadConstraints", []):
            problems.expect(
                one in selected_by(spread["labelSelector"], built), f"{one}: is not among those it spreads"
            )
    for budget in built.of("PodDisruptionBudget"):
        name = budget["metadata"]["name"]
        chosen = selected_by(budget["spec"]["selector"], built)
        problems.expect(len(chosen) == 1, f"PodDisruptionBudget {name} selects {len(chosen)} workloads")


def selected_by(selector: dict, built: Built) -> list[Workload]:
    found = built.matching(selector.get("matchLabels", {}))
    for rule in selector.get("matchExpressions", []):
        assert rule["operator"] == "In", rule
        found = [one for one in found if one.labels.get(rule["key"]) in rule["values"]]
    return found


def check_service(service: dict, built: Built, problems: Problems) -> None:
    name, spec = service["metadata"]["name"], service["spec"]
    chosen = built.matching(spec["selector"])
    if not problems.expect(len(chosen) == 1, f"Service {name} selects {len(chosen)} workloads"):
        return
    for port in spec["ports"]:
        target = chosen[0].ports.get(port["targetPort"])
        problems.expect(
            target == port["port"],
            f"Service {name}: {chosen[0]} has no port {port['targetPort']} {port['port']}",
        )


def check_policy(policy: dict, built: Built, problems: Problems) -> None:
    """Both ends of each rule exist, and the receiving end listens on the port."""
    name, spec = f"NetworkPolicy {policy['metadata']['name']}", policy["spec"]
    own = selected_by(spec["podSelector"], built)
    problems.expect(own, f"{name} selects nothing")
    for direction, field in [("ingress", "from"), ("egress", "to")]:
        problems.expect(
            direction not in spec or direction.title() in spec["policyTypes"],
            f"{name}: {direction} has no effect",
        )
        for rule in spec.get(direction, []):
            problems.expect(rule.get("ports") and rule.get(field), f"{name}: a rule permits any peer or port")
            peers: list[Workload] = []
            for peer in rule.get(field, []):
                if "namespaceSelector" in peer:
                    continue
                chosen = selected_by(peer["podSelector"], built)
                problems.expect(chosen, f"{name}: {peer['podSelector']} selects nothing")
                peers += chosen
            listening = own if direction == "ingress" else peers
            for port in rule.get("ports", []):
                known = {number for one in listening for number in one.ports.values()} or {DNS}
                problems.expect(port["port"] in known, f"{name}: nothing listens on port {port['port']}")


def check_settings(built: Built, facts: Facts, problems: Problems) -> None:
    """run.toml has keys and a preset that exist."""
    text = built.settings
    if not problems.expect(text, "there is no run.toml"):
        return
    settings = tomllib.loads(text)
    preset = settings.pop("preset", None)
    source = facts.text("crates/settings/src/preset.rs")
    problems.expect(preset is None or f'"{preset}"' in source, f"run.toml: there is no preset {preset}")
    waiting = [("", settings)]
    while waiting:
        section, table = waiting.pop()
        for key, value in table.items():
            inner = f"{section}.{key}".strip(".")
            if isinstance(value, dict) and inner in facts.settings:
                waiting.append((inner, value))
            else:
                problems.expect(key in facts.settings.get(section, {}), f"run.toml: there is no key {inner}")
