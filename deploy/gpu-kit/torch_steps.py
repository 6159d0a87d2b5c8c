"""Times optimiser steps of PyTorch on the networks and batches of `ouro bench gpu`.

Every finding is a line of JSON, printed as soon as it is known. The nets, the loss and the
optimiser are those of learner_vs_pytorch.py: f32 with TF32 off, AdamW, gradients clipped to norm 1.

Modes: `eager`, and `compile` for the network through torch.compile; with `+upload` every step
copies its batch from host memory, as Ouro's learner does, else the batch stays on the GPU. `eager`
and `eager+upload` come first, because compiling takes long. After --limit seconds no other
measurement starts. If PyTorch is missing, the script exits with 77.
"""

import argparse
import json
import sys
import time

from learner_vs_pytorch import MISSING, NETWORKS, Torch


def say(**finding):
    print(json.dumps(finding), flush=True)


def measure(torch, device, network, rows, mode, seconds):
    begin = time.perf_counter()
    steps = Torch(
        torch,
        device,
        NETWORKS[network],
        rows,
        compiled=mode.startswith("compile"),
        upload=mode.endswith("+upload"),
    )
    first = time.perf_counter() - begin
    steps.seconds(seconds / 4)
    times = sorted(1e3 * steps.seconds(seconds / 3) for _ in range(3))
    say(
        finding="steps",
        network=network,
        batch=rows,
        mode=mode,
        first_step_seconds=first,
        ms_per_step={"median": times[1], "min": times[0], "max": times[2]},
        samples_per_second=1e3 * rows / times[1],
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    networks = ["small", "medium", "tower_128x10"]
    parser.add_argument("--network", nargs="*", default=networks, choices=list(NETWORKS))
    parser.add_argument("--batch", nargs="*", type=int, default=[256, 1024, 4096])
    parser.add_argument("--seconds", type=float, default=0.6, help="seconds per number, about")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for everything")
    arguments = parser.parse_args()
    begin = time.perf_counter()
    try:
        import torch
    except ImportError as error:
        print(f"PyTorch is missing: {error}", file=sys.stderr)
        sys.exit(MISSING)

    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
    name = torch.cuda.get_device_name() if device == "cuda" else "cpu"
    say(finding="torch", version=torch.__version__, cuda=torch.version.cuda, device=name)
    for modes in (["eager", "eager+upload"], ["compile", "compile+upload"]):
        for network in arguments.network:
            for rows in arguments.batch:
                for mode in modes:
                    if time.perf_counter() - begin > arguments.limit:
                        say(finding="failed", network=network, batch=rows, mode=mode, error="no time")
                        continue
                    try:
                        measure(torch, device, network, rows, mode, arguments.seconds)
                    except Exception as error:  # The next measurement may well succeed.
                        text = str(error).strip().splitlines()
                        text = text[0] if text else type(error).__name__
                        say(finding="failed", network=network, batch=rows, mode=mode, error=text)


if __name__ == "__main__":
    main()
