"""Times Ouro's CPU engine and onnxruntime on the same networks and the same core.

    python3 -m venv target/venv && target/venv/bin/pip install numpy onnx onnxruntime
    cargo build --release -p ouro-bench --example bench_net
    target/venv/bin/python bench/inference_vs_onnxruntime.py

For every network of `bench_net write` and every batch size, the script builds the same network as
ONNX from the safetensors file and checks that both programs give the same outputs. Both then
evaluate the same positions in alternating turns, each with one thread pinned to one core.

The script prints the median time per position of both programs, and the median of the ratios of
neighbouring turns; above 1, Ouro is faster. The column "python call" is the time per position of a
model that does nothing: about that much of onnxruntime's time is spent in Python and the session,
not in the network.

Times are CPU time of the process. Turns are short and alternate, so that other load on the machine
affects both programs alike. Linux only.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

BATCH_NORM_EPSILON = 1e-5
LEAKY_SLOPE = 0.1


def read_safetensors(path):
    """The spec and the tensors of a weights file."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    spec = json.loads(header.pop("__metadata__")["ouro"])["spec"]
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(data[begin:end], dtype="<f4").reshape(entry["shape"])
    return spec, tensors


class Graph:
    """An ONNX graph that grows node by node; values go by name."""

    def __init__(self, spec, tensors):
        self.spec, self.tensors = spec, tensors
        self.nodes, self.constants = [], {}

    def constant(self, name, values=None):
        if name not in self.constants:
            values = self.tensors[name] if values is None else values
            self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(values), name)
        return name

    def add(self, kind, *inputs, output=None, **attributes):
        output = output or f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def conv(self, x, name, bias=True):
        inputs = [x, self.constant(f"{name}.weight")]
        if bias:
            inputs.append(self.constant(f"{name}.bias"))
        pad = self.tensors[f"{name}.weight"].shape[-1] // 2
        return self.add("Conv", *inputs, pads=[pad] * 4)

    def normed(self, x, conv, norm):
        parts = ("weight", "bias", "running_mean", "running_var")
        inputs = [self.constant(f"{norm}.{part}") for part in parts]
        x = self.conv(x, conv, bias=False)
        return self.add("BatchNormalization", x, *inputs, epsilon=BATCH_NORM_EPSILON)

    def linear(self, x, name, output=None):
        inputs = [self.constant(f"{name}.weight"), self.constant(f"{name}.bias")]
        return self.add("Gemm", x, *inputs, transB=1, output=output)

    def relu(self, x):
        return self.add("Relu", x)

    def leaky(self, x):
        return self.add("LeakyRelu", x, alpha=LEAKY_SLOPE)

    def flatten(self, x):
        return self.add("Flatten", x)

    def value(self, x, name):
        if self.spec["architecture"].get("value") == "tanh":
            self.add("Tanh", self.linear(x, name), output="value")
        else:
            self.linear(x, name, output="value")

    def model(self):
        planes, actions = self.spec["planes"], self.spec["actions"]
        shape = ["batch", planes["channels"], planes["height"], planes["width"]]
        graph = helper.make_graph(
            self.nodes,
            "ouro",
            [helper.make_tensor_value_info("planes", TensorProto.FLOAT, shape)],
            [
                helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", actions]),
                helper.make_tensor_value_info("value", TensorProto.FLOAT, ["batch", 1]),
            ],
            list(self.constants.values()),
        )
        return serialized(graph)


def build(spec, tensors):
    """The ONNX model of a spec, after the documentation of `NetSpec`."""
    net = spec["architecture"]
    g = Graph(spec, tensors)
    x = "planes"
    if net["kind"] == "conv":
        for layer in range(net["layers"]):
            x = g.relu(g.conv(x, f"conv.{layer}"))
        x = g.relu(g.linear(g.flatten(x), "hidden"))
        g.linear(x, "policy", output="logits")
        g.value(x, "value")
    elif net["kind"] == "residual":
        pooling = net.get("global_pooling")
        x = g.relu(g.normed(x, "stem.conv", "stem.norm"))
        for block in range(net["blocks"]):
            name = f"blocks.{block}"
            y = g.normed(x, f"{name}.conv1", f"{name}.norm1")
            if pooling and (block + 1) % pooling["every"] == 0:
                ends = [g.constant(f"ends{i}", np.array([i], np.int64)) for i in (0, 1)]
                last = g.constant("pooled", np.array([pooling["channels"]], np.int64))
                pooled = g.relu(g.add("Slice", y, ends[0], last, ends[1]))
                mean = g.flatten(g.add("GlobalAveragePool", pooled))
                top = g.flatten(g.add("GlobalMaxPool", pooled))
                shift = g.linear(g.add("Concat", mean, top, axis=1), f"{name}.pool")
                axes = g.constant("axes", np.array([2, 3], np.int64))
                y = g.add("Add", y, g.add("Unsqueeze", shift, axes))
            y = g.normed(g.relu(y), f"{name}.conv2", f"{name}.norm2")
            x = g.relu(g.add("Add", y, x))
        policy = g.flatten(g.relu(g.normed(x, "policy.conv", "policy.norm")))
        g.linear(policy, "policy.linear", output="logits")
        value = g.flatten(g.relu(g.normed(x, "value.conv", "value.norm")))
        g.value(g.relu(g.linear(value, "value.hidden")), "value.linear")
    elif net["kind"] == "two_conv":
        x = g.leaky(g.conv(g.leaky(g.conv(x, "conv.0")), "conv.1"))
        x = g.flatten(g.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]))
        policy = g.leaky(g.linear(g.leaky(g.linear(x, "policy.0")), "policy.1"))
        g.linear(policy, "policy.2", output="logits")
        value = g.leaky(g.linear(g.leaky(g.linear(x, "value.0")), "value.1"))
        g.value(value, "value.2")
    elif net["kind"] == "mlp":
        x = g.flatten(x)
        for layer in range(net["layers"]):
            x = g.relu(g.linear(x, f"hidden.{layer}"))
        g.linear(x, "policy", output="logits")
        g.value(x, "value")
    else:
        raise SystemExit(f"architecture {net['kind']!r} is unknown: add it to build()")
    return g.model()


def identity():
    """A model that returns its single input."""
    shape = ["batch", 1]
    graph = helper.make_graph(
        [helper.make_node("Identity", ["planes"], ["same"])],
        "identity",
        [helper.make_tensor_value_info("planes", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("same", TensorProto.FLOAT, shape)],
    )
    return serialized(graph)


def serialized(graph):
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    return model.SerializeToString()


class Ours:
    """The release binary behind a pipe."""

    def __init__(self, binary):
        self.process = subprocess.Popen(
            [binary, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer:
            raise SystemExit("bench_net ended early: see its message above")
        return answer

    def seconds(self, calls):
        # The CPU clock of another process, numbered as in clock_getcpuclockid(3).
        clock = (~self.process.pid << 3) | 2
        start = time.clock_gettime(clock)
        self.ask("time", calls)
        return time.clock_gettime(clock) - start


class Theirs:
    """onnxruntime with one thread."""

    def __init__(self, model):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        providers = ["CPUExecutionProvider"]
        self.session = onnxruntime.InferenceSession(model, options, providers=providers)

    def bind(self, planes):
        """Buffers for the batch, so that a call neither copies nor allocates."""
        self.binding = self.session.io_binding()
        self.planes = onnxruntime.OrtValue.ortvalue_from_numpy(planes)
        self.binding.bind_ortvalue_input("planes", self.planes)
        self.outputs = {}
        for output in self.session.get_outputs():
            shape = [len(planes), output.shape[1]]
            value = onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros(shape, np.float32))
            self.outputs[output.name] = value
            self.binding.bind_ortvalue_output(output.name, value)

    def seconds(self, calls):
        run, binding = self.session.run_with_iobinding, self.binding
        start = time.process_time()
        for _ in range(calls):
            run(binding)
        return time.process_time() - start


def calls_for(side, least):
    """Calls that take at least `least` seconds together."""
    calls = 1
    while (taken := side.seconds(calls)) < least:
        calls = max(calls + 1, int(calls * min(8, 1.2 * least / max(taken, 1e-9))))
    return calls


def call_us(rounds, least):
    """Median microseconds of a call that computes nothing: the cost of Python and binding."""
    nothing = Theirs(identity())
    nothing.bind(np.zeros([1, 1], np.float32))
    calls = calls_for(nothing, least)
    return statistics.median(nothing.seconds(calls) / calls for _ in range(rounds)) * 1e6


def compare(ours, theirs, path, spec, batch, rounds, least):
    ours.ask("load", path, batch)
    with tempfile.NamedTemporaryFile() as file:
        ours.ask("evaluate", file.name)
        values = np.fromfile(file.name, dtype="<f4")
    planes = spec["planes"]
    shape = [batch, planes["channels"], planes["height"], planes["width"]]
    size, actions = int(np.prod(shape)), spec["actions"]
    theirs.bind(values[:size].reshape(shape).copy())
    theirs.seconds(1)
    logits = values[size : size + batch * actions].reshape(batch, actions)
    value = values[size + batch * actions :].reshape(batch, 1)
    pairs = [("logits", logits), ("value", value)]
    # numpy's maximum, unlike Python's, is NaN if anything is.
    difference = float(
        np.max([np.abs(theirs.outputs[name].numpy() - ours).max() for name, ours in pairs])
    )
    calls = [calls_for(side, least) for side in (ours, theirs)]
    times = []
    for turn in range(rounds):
        # The program that goes first alternates too.
        order = (0, 1) if turn % 2 == 0 else (1, 0)
        pair = [0.0, 0.0]
        for side in order:
            pair[side] = (ours, theirs)[side].seconds(calls[side]) / (calls[side] * batch)
        times.append(pair)
    return {
        "batch": batch,
        "ours_us": statistics.median(pair[0] for pair in times) * 1e6,
        "onnxruntime_us": statistics.median(pair[1] for pair in times) * 1e6,
        "ratio": statistics.median(pair[1] / pair[0] for pair in times),
        "largest_difference": difference,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default="target/release/examples/bench_net", type=pathlib.Path)
    parser.add_argument("--networks", default="", help="names, separated by commas [default: all]")
    parser.add_argument("--batches", default="1,8,32,128")
    parser.add_argument("--rounds", default=31, type=int, help="turns of each program")
    parser.add_argument("--milliseconds", default=20.0, type=float, help="minimum time of a turn")
    parser.add_argument("--core", default=None, type=int, help="core to pin to [default: the last]")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if not arguments.binary.exists():
        parser.error(f"{arguments.binary} is missing; see the head of this file for how to build it")
    core = max(os.sched_getaffinity(0)) if arguments.core is None else arguments.core
    os.sched_setaffinity(0, {core})

    results = []
    call = call_us(arguments.rounds, arguments.milliseconds * 1e-3)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([arguments.binary, "write", folder], check=True)
        ours = Ours(arguments.binary)
        wanted = [name for name in arguments.networks.split(",") if name]
        paths = {path.stem: path for path in sorted(pathlib.Path(folder).glob("*.safetensors"))}
        for name in wanted or paths:
            if name not in paths:
                parser.error(f"network {name!r} is unknown; known are {', '.join(paths)}")
            spec, tensors = read_safetensors(paths[name])
            theirs = Theirs(build(spec, tensors))
            for batch in map(int, arguments.batches.split(",")):
                least = arguments.milliseconds * 1e-3
                result = compare(ours, theirs, paths[name], spec, batch, arguments.rounds, least)
                result["python_call_us"] = call / batch
                results.append({"network": name} | result)
                if not arguments.json:
                    print(
                        f"{name:<14} batch {batch:>4}   ours {result['ours_us']:>8.2f} µs   "
                        f"onnxruntime {result['onnxruntime_us']:>8.2f} µs, "
                        f"python call {result['python_call_us']:>5.2f} µs of it   "
                        f"ratio {result['ratio']:>5.2f}   "
                        f"difference {result['largest_difference']:.1e}",
                        flush=True,
                    )
    if arguments.json:
        version = onnxruntime.__version__
        print(json.dumps({"onnxruntime": version, "core": core, "results": results}, indent=2))
    # `not all(... <= ...)` also fails on NaN, with which no comparison holds.
    if not all(result["largest_difference"] <= 1e-4 for result in results):
        sys.exit("the outputs differ by more than 1e-4")


if __name__ == "__main__":
    main()
