"""Checks every container: image, variables, flags, ports, probes, and what it may do."""

import re

from build import Built, Workload
from code_facts import MAINS, Facts
from problems import Problems

# Variables that others than Ouro read.
FOREIGN = {"NVIDIA_DRIVER_CAPABILITIES", "NVIDIA_VISIBLE_DEVICES", "RUST_LOG"}
# Variables with the address of a service, and the image that answers there.
ADDRESSES = {"OURO_ARENA": "ouro-arena", "OURO_LEARNER": "ouro-learner"}
# Largest share of a container's memory that the data of Redis may take. A rewrite of its file needs the rest.
REDIS_SHARE = 0.75
# Bytes of the units of Kubernetes and of Redis, in lower case.
UNITS = {"": 1}
for power, letter in enumerate("kmg", 1):
    UNITS |= {letter: 1000**power, f"{letter}i": 1024**power, f"{letter}b": 1024**power}


def check(built: Built, facts: Facts, problems: Problems) -> None:
    images = {one.container["image"].rpartition(":")[2] for one in built.workloads}
    problems.expect(len(images) == 1, f"the images have several versions: {sorted(images)}")
    for one in built.workloads:
        problems.expect(len(one.pod["containers"]) == 1, f"{one} has several containers")
        image, program = identify(one.container["image"], one.container.get("args", []))
        if problems.expect(image in facts.images, f"{one}: images.sh builds no {image}"):
            check_names(f"{one}", image, one.env, arguments(one), facts, problems)
            check_ports(one, program, facts, built, problems)
        check_credential(one, problems)
        check_probes(one, problems)
        check_rights(one, problems)
        check_redis(one, problems)


def identify(reference: str, args: list[str]) -> tuple[str, str]:
    """The image of a reference, and its program with the subcommand that listens elsewhere."""
    image = reference.rpartition("/")[2].partition(":")[0]
    return image, f"{image} worker" if args[:1] == ["worker"] else image


def arguments(one: Workload) -> list[str]:
    return one.container.get("command", [])[1:] + one.container.get("args", [])


def check_names(where: str, image: str, env: dict, args: list[str], facts: Facts, problems: Problems) -> None:
    """Variables and flags exist in the program."""
    if image not in MAINS and image != "ouro":
        # Redis and the like.
        ours = [name for name in env if name.startswith("OURO_")]
        problems.expect(not ours, f"{where}: {image} does not know the variables {ours}")
        return
    known = facts.program(image, args)
    if not problems.expect(known, f"{where}: {image} has no command {args[:1]}"):
        return
    for name in env:
        holds = name in known[0] or name in FOREIGN
        problems.expect(holds, f"{where}: {image} does not know the variable {name}")
    for flag in (argument.partition("=")[0] for argument in args if argument.startswith("--")):
        problems.expect(flag in known[1], f"{where}: {image} does not know the flag {flag}")


def check_ports(one: Workload, program: str, facts: Facts, built: Built, problems: Problems) -> None:
    expected = dict(facts.ports.get(program, {}))
    problems.expect(program in facts.ports, f"{one}: the code has no ports of {program}")
    if "OURO_METRICS" in one.env:
        expected["metrics"] = facts.metrics_port
    problems.expect(one.ports == expected, f"{one}: ports are {one.ports}, in the code {expected}")
    main = expected.get("grpc", expected.get("health"))
    for variable, port in [
        ("OURO_LISTEN", main),
        ("OURO_WEB", expected.get("web")),
        ("OURO_METRICS", facts.metrics_port),
    ]:
        if variable in one.env:
            holds = one.env[variable] == f"0.0.0.0:{port}"
            problems.expect(holds, f"{one}: {variable} is {one.env[variable]}, not 0.0.0.0:{port}")
    services = built.names("Service")
    for variable, image in ADDRESSES.items():
        if variable in one.env:
            check_address(
                f"{one}: {variable}", one.env[variable], image, "grpc", services, facts, built, problems
            )
    store = re.fullmatch(r"redis://\w+@(.+)", one.env.get("OURO_STORE", ""))
    if store:
        check_address(f"{one}: OURO_STORE", store[1], "ouro-redis", "redis", services, facts, built, problems)
    for name in ["startupProbe", "readinessProbe", "livenessProbe"]:
        probe = one.container.get(name, {})
        if "grpc" in probe:
            port = probe["grpc"]["port"]
            problems.expect(port == main, f"{one}: {name} asks port {port}, not {main}")
    notes = one.template["metadata"].get("annotations", {})
    if "prometheus.io/port" in notes or "OURO_METRICS" in one.env:
        holds = notes.get("prometheus.io/port") == str(facts.metrics_port)
        problems.expect(holds, f"{one}: Prometheus is told another port than {facts.metrics_port}")


def check_address(
    where: str,
    address: str,
    image: str,
    name: str,
    services: dict,
    facts: Facts,
    built: Built,
    problems: Problems,
) -> None:
    """`address` is that of a Service of pods with `image`, with the port of the code."""
    host, _, port = address.partition(":")
    host = host.removesuffix(".ouro.svc")
    problems.expect(int(port) == facts.ports[image][name], f"{where}: port {port} is not that of {image}")
    if not problems.expect(host in services, f"{where}: there is no Service {host}"):
        return
    service = services[host]["spec"]
    problems.expect(
        int(port) in [entry["port"] for entry in service["ports"]],
        f"{where}: Service {host} has no port {port}",
    )
    programs = {identify(one.container["image"], [])[0] for one in built.matching(service["selector"])}
    problems.expect(programs == {image}, f"{where}: Service {host} selects {sorted(programs)}")


def check_credential(one: Workload, problems: Problems) -> None:
    """A caller of a service, which is guarded, has a token."""
    calls = [name for name in ADDRESSES if name in one.env]
    problems.expect(not calls or "OURO_TOKEN_FILE" in one.env, f"{one}: has {calls} and no OURO_TOKEN_FILE")


def check_probes(one: Workload, problems: Problems) -> None:
    """A service has the three probes, and time to stop."""
    if one.kind == "CronJob":
        return
    for name in ["startupProbe", "readinessProbe", "livenessProbe"]:
        problems.expect(name in one.container, f"{one} has no {name}")
    seconds = one.pod.get("terminationGracePeriodSeconds", 30)
    problems.expect(seconds >= 60, f"{one} has {seconds} s to stop")


def check_rights(one: Workload, problems: Problems) -> None:
    """What a pod of the profile `restricted` may do, and less."""
    pod, container = one.pod["securityContext"], one.container["securityContext"]
    user = 999 if one.name == "redis" else 65532
    for key, value in [("runAsNonRoot", True), ("runAsUser", user), ("runAsGroup", user), ("fsGroup", user)]:
        problems.expect(pod.get(key) == value, f"{one}: {key} is not {value}")
    problems.expect(pod.get("seccompProfile") == {"type": "RuntimeDefault"}, f"{one}: no seccomp profile")
    problems.expect(
        container.get("readOnlyRootFilesystem") is True, f"{one}: the root file system can be written"
    )
    problems.expect(container.get("allowPrivilegeEscalation") is False, f"{one}: may gain privileges")
    problems.expect(container.get("capabilities") == {"drop": ["ALL"]}, f"{one}: has capabilities")
    problems.expect(
        one.pod.get("automountServiceAccountToken") is False, f"{one}: has a token of the API server"
    )
    problems.expect(one.pod.get("enableServiceLinks") is False, f"{one}: has variables of all Services")
    resources = one.container.get("resources", {})
    problems.expect("memory" in resources.get("limits", {}), f"{one}: has no limit of memory")
    problems.expect(
        {"cpu", "memory"} <= resources.get("requests", {}).keys(), f"{one}: requests no processor or memory"
    )


def check_redis(one: Workload, problems: Problems) -> None:
    """Redis refuses writes before the limit of its container ends it."""
    command = one.container.get("command", [])
    limit = one.container.get("resources", {}).get("limits", {}).get("memory")
    if command[:1] != ["redis-server"] or limit is None:
        return
    most = option(command, "--maxmemory") or "0"
    holds = 0 < size(f"{one}", most, problems) <= REDIS_SHARE * size(f"{one}", limit, problems)
    problems.expect(holds, f"{one}: maxmemory is {most}, not within {REDIS_SHARE:.0%} of the limit {limit}")


def option(command: list[str], name: str) -> str | None:
    """The argument after `name`."""
    return dict(zip(command, command[1:])).get(name)


def size(where: str, text: str, problems: Problems) -> float:
    """The bytes of a size of memory, such as 1.5Gi or 1400mb. Another text is a problem and gives 0."""
    parts = re.fullmatch(r"(\d+(?:\.\d+)?)(\w*)", text)
    unit = parts and UNITS.get(parts[2].lower())
    if not problems.expect(unit, f"{where}: {text} is not a size of memory"):
        return 0
    return float(parts[1]) * unit
