"""Compares Ouro's tree search with OpenSpiel's in C++: Connect Four, one random rollout each.

    python3 -m venv .venv && .venv/bin/pip install open_spiel
    cargo build --release -p ouro-search --example connect_four_rollouts
    .venv/bin/python bench/openspiel_mcts.py

Both programs search the empty board repeatedly, in alternating turns, with the same number of
simulations per search, on one thread. The script prints the median simulations per second of both,
and the median of the ratios of neighbouring turns. Times are CPU time, so that other load on the
machine does not count.
"""

import argparse
import pathlib
import resource
import statistics
import subprocess
import time

import pyspiel


def openspiel(searches, simulations, turn):
    """Simulations per second of OpenSpiel."""
    game = pyspiel.load_game("connect_four")
    state = game.new_initial_state()
    made = 0
    begin = time.process_time()
    for search in range(searches):
        seed = turn * searches + search
        evaluator = pyspiel.RandomRolloutEvaluator(1, seed)
        # Exploration constant 2, up to 1,000 MB, with the solver, as in OpenSpiel's examples.
        bot = pyspiel.MCTSBot(game, evaluator, 2.0, simulations, 1000, True, seed, False)
        made += bot.mcts_search(state).explore_count
    return made / (time.process_time() - begin)


def ouro(binary, searches, simulations):
    """Simulations per second of Ouro, including the start of its process."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = usage.ru_utime + usage.ru_stime
    command = [binary, str(searches), str(simulations)]
    made = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return made / (usage.ru_utime + usage.ru_stime - begin)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=11)
    parser.add_argument("--searches", type=int, default=20, help="searches per turn")
    parser.add_argument("--simulations", type=int, default=10_000, help="simulations per search")
    parser.add_argument(
        "--binary",
        type=pathlib.Path,
        default=pathlib.Path("target/release/examples/connect_four_rollouts"),
    )
    arguments = parser.parse_args()
    theirs, ours = [], []
    for turn in range(arguments.turns):
        theirs.append(openspiel(arguments.searches, arguments.simulations, turn))
        ours.append(ouro(arguments.binary, arguments.searches, arguments.simulations))
    ratio = statistics.median(own / other for own, other in zip(ours, theirs))
    print(f"OpenSpiel {statistics.median(theirs):>12,.0f} simulations/s")
    print(f"Ouro      {statistics.median(ours):>12,.0f} simulations/s")
    print(f"ratio     {ratio:>12.2f}")


if __name__ == "__main__":
    main()
