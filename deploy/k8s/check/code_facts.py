"""What the code, the docs and the scripts say: variables, flags, ports, images, metrics, defaults."""

import re
from pathlib import Path

SETTINGS = "crates/settings/src"

# The command lines of the services, by image.
MAINS = {
    "ouro-arena": "arena/src/bin/ouro-arena.rs:Arguments",
    "ouro-learner": "learner/src/main.rs:Arguments",
    "ouro-learner-mesa": "learner/src/main.rs:Arguments",
    "ouro-actor": "actor/src/main.rs:Arguments",
}


class Facts:
    """Names and defaults, read from the sources in `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.structs = self._structs()
        self.ports = self._ports()
        # Images as `images.sh` builds them, and those whose process is not Ouro's.
        self.images = set(re.findall(r"^ *image (\S+) ", self.text("deploy/images.sh"), re.M))
        self.metrics = self._metrics()
        self.settings = self._settings()
        self.drain_seconds = float(self.default("drain_seconds"))
        self.store_name = self.default("store_name").split('"')[1]

    def text(self, path: str) -> str:
        return (self.root / path).read_text()

    def default(self, key: str) -> str:
        """The default of a key of `[deploy]`."""
        source = self.text(f"{SETTINGS}/deploy.rs")
        body = source[source.index("impl Default for Deployment") :]
        return re.search(rf"\b{key}: (.+?),\n", body)[1]

    def _structs(self) -> dict[str, str]:
        """Bodies of the structs and enums of command lines, by file and name."""
        patterns = [
            "actor/src/main.rs",
            "learner/src/main.rs",
            "arena/src/bin/*.rs",
            "arena/src/**/command.rs",
        ]
        patterns += [f"{SETTINGS}/arguments.rs", "cli/src/commands/*.rs"]
        found = {}
        for pattern in patterns:
            for path in sorted(self.root.glob(pattern)):
                name = path.relative_to(self.root)
                for one in re.finditer(
                    r"^(?:pub(?:\(\w+\))? )?(?:struct|enum) (\w+) \{\n(.*?)^\}", path.read_text(), re.M | re.S
                ):
                    found[f"{name}:{one[1]}"] = one[2]
                    found.setdefault(one[1], one[2])
        return found

    def program(self, image: str, arguments: list[str]) -> tuple[set[str], set[str]] | None:
        """Variables and flags of the program of an image with a subcommand; `None` if it has no such
        subcommand."""
        verb = next((argument for argument in arguments if not argument.startswith("-")), None)
        if image == "ouro":
            path = f"cli/src/commands/{verb}.rs"
            if not (self.root / path).exists():
                return None
            bodies = [body for name, body in self.structs.items() if name.startswith(path)]
            return self._merged(bodies)
        body = self.structs[MAINS[image]]
        if verb is None:
            return self._merged([body])
        verbs = self.structs[MAINS[image].replace(":Arguments", ":Verb")]
        one = re.search(rf"^    {verb.replace('-', ' ').title().replace(' ', '')}(\((?:Box<)?(\w+)>?\))?,$", verbs, re.M)
        if one is None:
            return None
        return self._merged([self.structs[one[2]]] if one[2] else [body])

    def _merged(self, bodies: list[str]) -> tuple[set[str], set[str]]:
        variables, flags = set(), set()
        for body in bodies:
            variables |= set(re.findall(r'env = "(\w+)"', body))
            fields = re.findall(r"#\[arg\(([^\]]*\blong\b[^\]]*)\)\]\s+(?:pub(?:\(\w+\))? )?(\w+):", body)
            flags |= {"--" + field.replace("_", "-") for _, field in fields}
            inner = re.findall(r"#\[command\(flatten\)\]\s+(?:pub(?:\(\w+\))? )?\w+: (\w+)", body)
            for found in (self._merged([self.structs[name]]) for name in inner):
                variables |= found[0]
                flags |= found[1]
        return variables, flags

    @property
    def all_variables(self) -> set[str]:
        return {name for body in self.structs.values() for name in re.findall(r'env = "(\w+)"', body)}

    def _ports(self) -> dict[str, dict[str, int]]:
        """Ports by image and by the name of the port."""

        def port(path: str, pattern: str) -> int:
            found = re.search(pattern, self.text(path))
            assert found, f"{path} has no {pattern}"
            return int(found[1].replace("_", ""))

        deploy = f"{SETTINGS}/deploy.rs"
        ports = {
            "ouro-arena": {
                "grpc": port(deploy, r"arena: Address::loopback\(([\d_]+)\)"),
                "web": port(
                    f"{SETTINGS}/deploy/web_address.rs", r"SocketAddr::from\(\(\[127, 0, 0, 1\], ([\d_]+)\)\)"
                ),
            },
            "ouro-learner": {"grpc": port(deploy, r"learner: Address::loopback\(([\d_]+)\)")},
            "ouro-actor": {"health": port("actor/src/main.rs", r"such as 127\.0\.0\.1:(\d+)")},
            "ouro-redis": {"redis": port("deploy/redis/redis.conf", r"(?m)^port (\d+)$")},
            "ouro": {},
        }
        ports["ouro-learner-mesa"] = ports["ouro-learner"]
        command = "arena/src/workers/command.rs"
        if (self.root / command).exists():
            ports["ouro-arena worker"] = {"health": port(command, r"such as 127\.0\.0\.1:(\d+)")}
        if (self.root / "docs/metrics.md").exists():
            self.metrics_port = port("docs/metrics.md", r"--metrics 127\.0\.0\.1:(\d+)")
        else:
            self.metrics_port = None
        return ports

    def _metrics(self) -> dict[str, tuple[set[str], str]]:
        """Labels and meaning of each series."""
        path = self.root / "docs/metrics.md"
        lines = path.read_text().splitlines() if path.exists() else []
        rows = [
            [cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")
        ]
        return {row[0].strip("`"): (set(re.findall(r"`(\w+)`", row[2])), row[3]) for row in rows}

    def _settings(self) -> dict[str, dict[str, str]]:
        """Keys and defaults by section, `""` for the top level."""
        sections: dict[str, dict[str, str]] = {}
        section = ""
        for line in self.text("docs/settings.md").splitlines():
            if line.startswith("## "):
                section = "" if line == "## Top level" else line[3:]
                sections[section] = {}
            row = re.match(r"\| `(\w+)` \| .+? \| (.+?) \|", line)
            if row:
                sections[section][row[1]] = row[2].strip("`")
        return sections
