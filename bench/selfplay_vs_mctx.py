"""Compares Ouro's self-play with mctx and pgx on JAX: Connect Four, both on all cores.

    python3 -m venv target/venv && target/venv/bin/pip install "jax[cpu]" mctx pgx
    cargo build --release -p ouro-actor --example bench_selfplay
    target/venv/bin/python bench/selfplay_vs_mctx.py

Both programs play games of new weights against themselves. They use the same network (a residual
tower of 32 channels and 4 blocks with the heads of Ouro's preset `small`) and the same search
(AlphaZero's: PUCT with 50 simulations, Dirichlet noise at the root, moves sampled by visits). mctx
searches a batch of games in lockstep, each search from an empty tree, on XLA's CPU threads. Ouro
keeps its trees from move to move and makes 50 further simulations. A position is one decided move.

They run in alternating turns of some seconds each, after a warm-up (for JAX, compiling), so that
other load on the machine affects both alike. The script prints the positions per second of both
turn by turn, their medians, and the median of the ratios of neighbouring turns. It prints the same
per CPU-second, which other load changes less. If a package is missing, the script names the
command that installs it and exits with 0.
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

PACKAGES = 'pip install "jax[cpu]" mctx pgx'


def load():
    """The packages, or `None` if they are not installed."""
    try:
        import jax
        import mctx
        import pgx
    except ImportError as missing:
        print(f"skipped: {missing.name} is not installed; {PACKAGES}")
        return None
    return jax, mctx, pgx


class Mctx:
    """Games in lockstep on JAX."""

    def __init__(self, packages, games, simulations, channels, blocks):
        self.jax, self.mctx, pgx = packages
        self.games, self.simulations = games, simulations
        self.env = pgx.make("connect_four")
        jax = self.jax
        self.key = jax.random.PRNGKey(0)
        self.weights = self.initialize(channels, blocks)
        self.init = jax.jit(jax.vmap(self.env.init))
        self.turn = jax.jit(self.play)
        self.state = self.init(jax.random.split(self.fresh(), games))
        self.step()

    def fresh(self):
        self.key, fresh = self.jax.random.split(self.key)
        return fresh

    def initialize(self, channels, blocks):
        jax = self.jax
        planes = self.env.observation_shape[-1]
        cells = self.env.observation_shape[0] * self.env.observation_shape[1]

        def normal(*shape, fan):
            return jax.random.normal(self.fresh(), shape) * (2.0 / fan) ** 0.5

        def conv(size, ins, outs):
            weight = normal(size, size, ins, outs, fan=size * size * ins)
            return weight, jax.numpy.zeros(outs)

        def linear(ins, outs):
            return normal(ins, outs, fan=ins), jax.numpy.zeros(outs)

        tower = [
            (conv(3, channels, channels), conv(3, channels, channels)) for _ in range(blocks)
        ]
        return {
            "stem": conv(3, planes, channels),
            "tower": tower,
            "policy_conv": conv(1, channels, 4),
            "policy": linear(4 * cells, self.env.num_actions),
            "value_conv": conv(1, channels, 2),
            "value_hidden": linear(2 * cells, 64),
            "value": linear(64, 1),
        }

    def network(self, weights, planes):
        """Logits and values; batch norm is folded into the convolutions, as for playing."""
        jax, relu = self.jax, self.jax.nn.relu

        def conv(x, layer):
            dimensions = ("NHWC", "HWIO", "NHWC")
            y = jax.lax.conv_general_dilated(
                x, layer[0], (1, 1), "SAME", dimension_numbers=dimensions
            )
            return y + layer[1]

        def linear(x, layer):
            return x @ layer[0] + layer[1]

        def flat(x):
            return x.reshape(x.shape[0], -1)

        x = relu(conv(planes.astype(jax.numpy.float32), weights["stem"]))
        for first, second in weights["tower"]:
            x = relu(x + conv(relu(conv(x, first)), second))
        logits = linear(flat(relu(conv(x, weights["policy_conv"]))), weights["policy"])
        hidden = linear(flat(relu(conv(x, weights["value_conv"]))), weights["value_hidden"])
        return logits, jax.numpy.tanh(linear(relu(hidden), weights["value"])[:, 0])

    def play(self, weights, state, key):
        """Searches every game, plays its move, and restarts the games that ended."""
        jax, env = self.jax, self.env
        numpy = jax.numpy

        def masked(logits, state):
            lowest = numpy.finfo(logits.dtype).min
            return numpy.where(state.legal_action_mask, logits, lowest)

        def recurrent(weights, _key, action, state):
            mover = state.current_player
            state = jax.vmap(env.step)(state, action)
            logits, value = self.network(weights, state.observation)
            rows = numpy.arange(state.rewards.shape[0])
            done = state.terminated
            output = self.mctx.RecurrentFnOutput(
                reward=state.rewards[rows, mover],
                discount=numpy.where(done, 0.0, -1.0),
                prior_logits=masked(logits, state),
                value=numpy.where(done, 0.0, value),
            )
            return output, state

        search, begin = jax.random.split(key)
        logits, value = self.network(weights, state.observation)
        root = self.mctx.RootFnOutput(prior_logits=logits, value=value, embedding=state)
        decided = self.mctx.muzero_policy(
            params=weights,
            rng_key=search,
            root=root,
            recurrent_fn=recurrent,
            num_simulations=self.simulations,
            invalid_actions=~state.legal_action_mask,
            dirichlet_alpha=10.83 / 7,
            qtransform=self.mctx.qtransform_by_parent_and_siblings,
        )
        stepped = jax.vmap(env.step)(state, decided.action)
        fresh = jax.vmap(env.init)(jax.random.split(begin, self.games))

        def either(old, new):
            ended = stepped.terminated.reshape((-1,) + (1,) * (old.ndim - 1))
            return numpy.where(ended, new, old)

        return jax.tree_util.tree_map(either, stepped, fresh)

    def step(self):
        self.state = self.turn(self.weights, self.state, self.fresh())
        self.jax.block_until_ready(self.state)

    def measure(self, seconds):
        """Positions per second, and per CPU-second."""
        moves, begin, busy = 0, time.perf_counter(), time.process_time()
        while time.perf_counter() - begin < seconds:
            self.step()
            moves += self.games
        return moves / (time.perf_counter() - begin), moves / (time.process_time() - busy)


def ouro(binary, seconds, simulations, games, remembered):
    """Positions per second, and per CPU-second."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = usage.ru_utime + usage.ru_stime
    command = [binary, "--json", "--seconds", str(seconds), "--simulations", str(simulations)]
    command += ["--games", str(games), "--remembered", str(remembered)]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = usage.ru_utime + usage.ru_stime - busy
    speed = report["positions_per_second"]
    # The program warms up for a quarter of the time, at the same speed.
    return speed, speed * seconds * 1.25 / busy


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=8.0, help="seconds per turn")
    parser.add_argument("--simulations", type=int, default=50)
    parser.add_argument("--games", type=int, default=64, help="Ouro's games per thread")
    parser.add_argument(
        "--mctx-games", type=int, default=64, help="games in lockstep; 64 is faster than 256 and 1,024"
    )
    parser.add_argument(
        "--remembered", type=int, default=0, help="size of Ouro's cache of evaluated positions"
    )
    parser.add_argument(
        "--binary",
        type=pathlib.Path,
        default=pathlib.Path("target/release/examples/bench_selfplay"),
    )
    arguments = parser.parse_args()
    packages = load()
    if packages is None:
        return 0
    if not arguments.binary.exists():
        build = "cargo build --release -p ouro-actor --example bench_selfplay"
        print(f"{arguments.binary} is missing: run `{build}` first")
        return 69
    print(f"{os.cpu_count()} cores, {arguments.simulations} simulations, compiling", flush=True)
    theirs = Mctx(packages, arguments.mctx_games, arguments.simulations, 32, 4)
    pairs = []
    for turn in range(arguments.turns):
        them = theirs.measure(arguments.seconds)
        us = ouro(
            arguments.binary,
            arguments.seconds,
            arguments.simulations,
            arguments.games,
            arguments.remembered,
        )
        pairs.append((us, them))
        print(
            f"turn {turn + 1}: ouro {us[0]:.0f} positions/s, mctx {them[0]:.0f}; per "
            f"CPU-second {us[1]:.0f} and {them[1]:.0f}",
            flush=True,
        )
    for index, unit in enumerate(["second", "CPU-second"]):
        us = statistics.median(pair[0][index] for pair in pairs)
        them = statistics.median(pair[1][index] for pair in pairs)
        ratio = statistics.median(pair[0][index] / pair[1][index] for pair in pairs)
        print(f"positions per {unit}: ouro {us:.0f}, mctx {them:.0f}, ratio {ratio:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
