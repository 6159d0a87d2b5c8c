"""Times optimiser steps of Ouro's learner and of PyTorch, on a GPU if there is one.

    python3 -m venv target/venv && target/venv/bin/pip install torch
    cargo build --release -p ouro-cli
    target/venv/bin/python bench/learner_vs_pytorch.py

For every network and batch size, both programs take steps of AlphaZero's loss with AdamW on random
positions that are already in the device's memory: the same residual tower with batch norm, the same
shapes, f32 (TF32 off). They run in alternating turns. Times are wall-clock time, because CPU time
does not include the GPU's work.

The script prints the median of both in samples per second, and the median of the ratios of
neighbouring turns; above 1, Ouro is faster. If PyTorch sees no GPU, both use one CPU thread. If
PyTorch or the release build is missing, the script names it and exits with 77.
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

# As in learner_vs_jax.py: planes, height, width, channels, blocks, policy and value channels,
# value units.
NETWORKS = {
    "tower_10x1": (7, 10, 10, 10, 1, 2, 1, 32),
    "small": (12, 11, 11, 32, 4, 4, 2, 64),
    "medium": (12, 11, 11, 64, 6, 4, 2, 128),
    "tower_128x10": (12, 11, 11, 128, 10, 4, 2, 128),
}
ACTIONS = 4


def find_binary(given):
    """The release build of `ouro`."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    path = pathlib.Path(given) if given else target / "release" / "ouro"
    if not path.exists():
        print(f"{path} is missing: run `cargo build --release -p ouro-cli` first", file=sys.stderr)
        sys.exit(MISSING)
    return path


def ouro(binary, device, network, batch, seconds):
    """Seconds per step of Ouro's learner."""
    command = [binary, "--json", "bench", "learner", "--device", device, "--network", network]
    command += ["--batch", str(batch), "--seconds", str(seconds), "--runs", "1"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return 1e-3 * report["measured"][0]["ms_per_step"]["median"]


def tower(torch, shape):
    """The residual tower as a module."""
    nn = torch.nn
    planes, height, width, channels, blocks, policy_channels, value_channels, hidden = shape

    def normed(side, inputs, outputs):
        return nn.Sequential(
            nn.Conv2d(inputs, outputs, side, padding=side // 2, bias=False),
            nn.BatchNorm2d(outputs),
        )

    class Tower(nn.Module):
        def __init__(self):
            super().__init__()
            cells = height * width
            self.stem = normed(3, planes, channels)
            pairs = [
                nn.ModuleList([normed(3, channels, channels) for _ in range(2)])
                for _ in range(blocks)
            ]
            self.blocks = nn.ModuleList(pairs)
            self.policy = normed(1, channels, policy_channels)
            self.logits = nn.Linear(policy_channels * cells, ACTIONS)
            self.value = normed(1, channels, value_channels)
            self.hidden = nn.Linear(value_channels * cells, hidden)
            self.result = nn.Linear(hidden, 1)

        def forward(self, x):
            x = torch.relu(self.stem(x))
            for first, second in self.blocks:
                x = torch.relu(x + second(torch.relu(first(x))))
            logits = self.logits(torch.relu(self.policy(x)).flatten(1))
            value = torch.relu(self.hidden(torch.relu(self.value(x)).flatten(1)))
            return logits, self.result(value)[:, 0]

    return Tower()


class Torch:
    """Steps of PyTorch on one network and batch size.

    With `upload` every step copies its batch from host memory, else the batch stays on the device.
    """

    def __init__(self, torch, device, shape, rows, compiled=False, upload=False):
        self.torch, self.device, self.upload = torch, device, upload
        planes, height, width = shape[:3]
        self.net = tower(torch, shape).to(device)
        if compiled:
            self.net = torch.compile(self.net)
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=1e-3, weight_decay=0.0)
        boards = (torch.rand(rows, planes, height, width, device=device) < 0.25).float()
        illegal = torch.zeros(rows, ACTIONS, dtype=torch.bool, device=device)
        policy = torch.rand(rows, ACTIONS, device=device)
        policy = policy / policy.sum(1, keepdim=True)
        values = 2 * torch.rand(rows, device=device) - 1
        batch = (boards, illegal, policy, values)
        self.batch = tuple(column.cpu() for column in batch) if upload else batch
        self.seconds(0)

    def step(self):
        torch = self.torch
        batch = self.batch
        if self.upload:
            batch = tuple(column.to(self.device) for column in batch)
        planes, illegal, policy, targets = batch
        logits, values = self.net(planes)
        log = torch.log_softmax(logits.masked_fill(illegal, -1e9), 1)
        loss = -(policy * log).sum(1).mean() + ((values - targets) ** 2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.optimizer.step()

    def wait(self):
        if self.device != "cpu":
            self.torch.cuda.synchronize()

    def seconds(self, seconds):
        """Seconds per step."""
        self.wait()
        count, begin = 0, time.perf_counter()
        while count < 3 or time.perf_counter() - begin < seconds:
            self.step()
            count += 1
            if count % 10 == 0:
                self.wait()
        self.wait()
        return (time.perf_counter() - begin) / count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ouro", help="the binary [default: the release build]")
    parser.add_argument("--network", nargs="*", default=["small", "medium"], choices=list(NETWORKS))
    parser.add_argument("--batch", nargs="*", type=int, default=[256, 1024])
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.0, help="seconds per turn")
    arguments = parser.parse_args()
    binary = find_binary(arguments.ouro)
    try:
        import torch
    except ImportError:
        print("PyTorch is missing: run `pip install torch` first", file=sys.stderr)
        sys.exit(MISSING)

    device, own_device = ("cuda", "vulkan") if torch.cuda.is_available() else ("cpu", "cpu")
    if device == "cpu":
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        torch.set_num_threads(1)
        where = "one CPU thread"
    else:
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        where = torch.cuda.get_device_name()
    print(f"torch {torch.__version__} on {where}; samples/s, medians of {arguments.turns} turns\n")
    print(f"{'network':<12}{'batch':>6}{'Ouro':>12}{'PyTorch':>12}{'ratio':>8}   range of ratios")
    for network in arguments.network:
        for rows in arguments.batch:
            other = Torch(torch, device, NETWORKS[network], rows)
            turns = [
                (
                    ouro(binary, own_device, network, rows, arguments.seconds),
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
