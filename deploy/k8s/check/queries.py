"""Evaluates the query that scales actors on made-up series, with promtool."""

import os
import subprocess
import tempfile
from pathlib import Path

import yaml

from problems import Problems

# Starvation, surplus, connected actors, and the actors that are then needed.
CASES = [(0.0, 0.0, 10, 10), (0.5, 0.0, 10, 20), (0.0, 0.5, 10, 5), (1.0, 0.0, 10, 50), (0.0, 1.0, 10, 1)]


def check(name: str, query: str, problems: Problems) -> None:
    rules = {"groups": [{"name": "actors", "rules": [{"record": "needed", "expr": query}]}]}
    # Without a series of the learner there is no answer, and KEDA falls back.
    tests = [test([], [])] + [
        test(series(starvation, surplus, actors), [{"labels": "{}", "value": needed}])
        for starvation, surplus, actors, needed in CASES
    ]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "rules.yml").write_text(yaml.safe_dump(rules))
        suite = {"rule_files": ["rules.yml"], "evaluation_interval": "30s", "tests": tests}
        (Path(folder) / "tests.yml").write_text(yaml.safe_dump(suite))
        command = [os.environ.get("OURO_PROMTOOL", "promtool"), "test", "rules", "tests.yml"]
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    answer = " ".join((ended.stdout + ended.stderr).split())
    problems.expect(ended.returncode == 0, f"{name}: the query answers otherwise: {answer[:400]}")


def series(starvation: float, surplus: float, actors: int) -> list[dict]:
    """Counters over 20 minutes, with other reasons that must not count."""
    pod = 'namespace="ouro",pod="learner-0"'

    def counter(name: str, reason: str, share: float) -> dict:
        return {
            "series": f'ouro_learner_{name}_waiting_seconds_total{{{pod},reason="{reason}"}}',
            "values": f"0+{30 * share}x40",
        }

    return [
        {"series": f"ouro_learner_connected_actors{{{pod}}}", "values": f"{actors}+0x40"},
        counter("training", "games", starvation),
        counter("training", "arena", 1.0),
        counter("intake", "training", surplus),
        counter("intake", "disk", 1.0),
    ]


def test(given: list[dict], expected: list[dict]) -> dict:
    asked = {"expr": "round(needed, 0.001)", "eval_time": "15m", "exp_samples": expected}
    return {"interval": "30s", "input_series": given, "promql_expr_test": [asked]}
