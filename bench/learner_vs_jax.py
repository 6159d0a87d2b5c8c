"""Times optimiser steps of Ouro's learner and of JAX on the same core.

    python3 -m venv target/venv && target/venv/bin/pip install jax
    cargo build --release -p ouro-cli
    target/venv/bin/python bench/learner_vs_jax.py

For every network and batch size, both programs take steps of AlphaZero's loss with AdamW on random
positions: the same residual tower with batch norm, the same shapes, f32, one thread pinned to one
core. They run in short alternating turns, so that other load on the machine affects both alike.
Times are CPU time.

The script prints the median of both in samples per second, and the median of the ratios of
neighbouring turns; above 1, Ouro is faster. Linux only. If JAX or the release build is missing, the
script names it and exits with 77.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MISSING = 77

# Name in `ouro bench net`: planes, height, width, channels, blocks, policy and value channels,
# value units.
NETWORKS = {
    "tower_10x1": (7, 10, 10, 10, 1, 2, 1, 32),
    "small": (12, 11, 11, 32, 4, 4, 2, 64),
    "medium": (12, 11, 11, 64, 6, 4, 2, 128),
}
ACTIONS = 4
EPSILON = 1e-5
MOMENTUM = 0.1


def find_binary(given):
    """The release build of `ouro`."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    path = pathlib.Path(given) if given else target / "release" / "ouro"
    if not path.exists():
        print(f"{path} is missing: run `cargo build --release -p ouro-cli` first", file=sys.stderr)
        sys.exit(MISSING)
    return path


def ouro(binary, network, batch, seconds):
    """CPU-seconds per step of Ouro's learner."""
    command = [binary, "--json", "bench", "learner", "--device", "cpu", "--network", network]
    command += ["--batch", str(batch), "--seconds", str(seconds), "--runs", "1"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return 1e-3 * report["measured"][0]["cpu_ms_per_step"]


def tower(jax, shape):
    """First parameters and the loss of a residual tower, channel-last."""
    jnp, lax = jax.numpy, jax.lax
    planes, height, width, channels, blocks, policy_channels, value_channels, hidden = shape
    keys = iter(jax.random.split(jax.random.key(1), 64))

    def weight(*dimensions):
        fan_in = 1
        for size in dimensions[:-1]:
            fan_in *= size
        return jax.random.normal(next(keys), dimensions) * (2 / fan_in) ** 0.5

    def normed(side, inputs, outputs):
        return {
            "w": weight(side, side, inputs, outputs),
            "scale": jnp.ones(outputs),
            "bias": jnp.zeros(outputs),
        }

    def linear(inputs, outputs):
        return {"w": weight(inputs, outputs), "b": jnp.zeros(outputs)}

    cells = height * width
    parameters = {
        "tower": [normed(3, planes, channels)]
        + [normed(3, channels, channels) for _ in range(2 * blocks)],
        "policy": normed(1, channels, policy_channels),
        "logits": linear(policy_channels * cells, ACTIONS),
        "value": normed(1, channels, value_channels),
        "hidden": linear(value_channels * cells, hidden),
        "result": linear(hidden, 1),
    }

    def conv_norm(x, layer, statistics):
        y = lax.conv_general_dilated(
            x, layer["w"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        mean, variance = y.mean((0, 1, 2)), y.var((0, 1, 2))
        statistics.append((mean, variance))
        return (y - mean) * lax.rsqrt(variance + EPSILON) * layer["scale"] + layer["bias"]

    def dense(x, layer):
        return x @ layer["w"] + layer["b"]

    def loss(parameters, batch):
        statistics = []
        layers = parameters["tower"]
        x = jax.nn.relu(conv_norm(batch["planes"], layers[0], statistics))
        for block in range(blocks):
            y = jax.nn.relu(conv_norm(x, layers[1 + 2 * block], statistics))
            x = jax.nn.relu(x + conv_norm(y, layers[2 + 2 * block], statistics))
        rows = x.shape[0]
        policy = jax.nn.relu(conv_norm(x, parameters["policy"], statistics)).reshape(rows, -1)
        logits = jnp.where(batch["legal"], dense(policy, parameters["logits"]), -1e9)
        value = jax.nn.relu(conv_norm(x, parameters["value"], statistics)).reshape(rows, -1)
        value = dense(jax.nn.relu(dense(value, parameters["hidden"])), parameters["result"])[:, 0]
        entropy = -(batch["policy"] * jax.nn.log_softmax(logits)).sum(1).mean()
        return entropy + ((value - batch["value"]) ** 2).mean(), statistics

    return parameters, loss


def step_function(jax, loss):
    """One step: gradient, clipping by the global norm, AdamW, running statistics."""
    jnp = jax.numpy
    tree = jax.tree

    def step(state, batch):
        parameters, first, second, running, count = state
        (_, statistics), gradient = jax.value_and_grad(loss, has_aux=True)(parameters, batch)
        norm = jnp.sqrt(sum((g**2).sum() for g in tree.leaves(gradient)))
        gradient = tree.map(lambda g: g * jnp.minimum(1.0, 1.0 / (norm + 1e-6)), gradient)
        first = tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
        second = tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradient)
        count += 1
        scale = 1e-3 * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
        parameters = tree.map(
            lambda p, m, v: p - scale * m / (jnp.sqrt(v) + 1e-5), parameters, first, second
        )
        running = tree.map(lambda r, s: r + MOMENTUM * (s - r), running, statistics)
        return parameters, first, second, running, count

    return jax.jit(step, donate_argnums=0)


class Jax:
    """Steps of JAX on one network and batch size."""

    def __init__(self, jax, shape, rows):
        self.jax = jax
        jnp = jax.numpy
        planes, height, width = shape[:3]
        keys = jax.random.split(jax.random.key(2), 4)
        policy = jax.random.uniform(keys[1], (rows, ACTIONS))
        self.batch = {
            "planes": (jax.random.uniform(keys[0], (rows, height, width, planes)) < 0.25) * 1.0,
            "legal": jnp.ones((rows, ACTIONS), bool),
            "policy": policy / policy.sum(1, keepdims=True),
            "value": jax.random.uniform(keys[2], (rows,), minval=-1.0),
        }
        parameters, loss = tower(jax, shape)
        statistics = jax.eval_shape(loss, parameters, self.batch)[1]
        zeros = lambda tree: jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), tree)
        self.state = (parameters, zeros(parameters), zeros(parameters), zeros(statistics), 0.0)
        self.step = step_function(jax, loss)
        for _ in range(3):
            self.state = self.step(self.state, self.batch)
        jax.block_until_ready(self.state)

    def seconds(self, seconds):
        """CPU-seconds per step."""
        count, begin, cpu = 0, time.perf_counter(), time.process_time()
        while count < 3 or time.perf_counter() - begin < seconds:
            self.state = self.step(self.state, self.batch)
            self.jax.block_until_ready(self.state)
            count += 1
        return (time.process_time() - cpu) / count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ouro", help="the binary [default: the release build]")
    parser.add_argument("--network", nargs="*", default=list(NETWORKS), choices=list(NETWORKS))
    parser.add_argument("--batch", nargs="*", type=int, default=[32, 256])
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=1.0, help="seconds per turn")
    parser.add_argument("--core", type=int, help="core to pin to [default: the last]")
    arguments = parser.parse_args()
    binary = find_binary(arguments.ouro)
    core = max(os.sched_getaffinity(0)) if arguments.core is None else arguments.core
    os.sched_setaffinity(0, {core})
    os.environ["XLA_FLAGS"] = (
        "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1 "
        + os.environ.get("XLA_FLAGS", "")
    )
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    try:
        import jax
    except ImportError:
        print("JAX is missing: run `pip install jax` first", file=sys.stderr)
        sys.exit(MISSING)

    print(f"jax {jax.__version__}, one thread; samples/s, medians of {arguments.turns} turns\n")
    print(f"{'network':<12}{'batch':>6}{'Ouro':>12}{'JAX':>12}{'ratio':>8}   range of ratios")
    for network in arguments.network:
        for rows in arguments.batch:
            other = Jax(jax, NETWORKS[network], rows)
            turns = [
                (
                    ouro(binary, network, rows, arguments.seconds),
                    other.seconds(arguments.seconds),
                )
                for _ in range(arguments.turns)
            ]
            own, theirs = (rows / statistics.median(times) for times in zip(*turns))
            ratios = [b / a for a, b in turns]
            print(
                f"{network:<12}{rows:>6}{own:>12.0f}{theirs:>12.0f}"
                f"{statistics.median(ratios):>8.2f}   {min(ratios):.2f} to {max(ratios):.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
