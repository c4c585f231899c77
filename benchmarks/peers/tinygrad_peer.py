"""tinygrad on one thread of the CPU, which needs clang.

eager makes leaves and graph anew in each step (kernels come from its cache), jit replays what TinyJit captured: its inputs are
memory that each step writes to, because making a tensor costs more than the replay.
"""
import array
import functools
import importlib.metadata
import os

import peer

os.environ.setdefault("NUM_CPU_THREADS", "1")  # read at import
tinygrad, = peer.needs("tinygrad")
Tensor, fp64 = tinygrad.Tensor, {"dtype": tinygrad.dtypes.float64, "device": "CPU"}


small = functools.partial(peer.small, relu=lambda x: x.relu())


def gradient_of(function):
    """[value, slopes] of leaves with one entry; scalars would be constants to tinygrad, equal ones the same constant."""
    def gradient(a, b):
        root = function(a, b)
        return Tensor.cat(root, *root.sum().gradient(a, b)).realize()
    return gradient


def wait():
    tinygrad.Device["CPU"].synchronize()


def eager(function):
    def build(job):
        a, b, last, gradient = job.number("a"), job.number("b"), {}, gradient_of(function)

        def step(_):
            last["result"] = gradient(Tensor([a], **fp64), Tensor([b], **fp64))
            wait()

        return step, lambda: (last["result"].tolist()[0], last["result"].tolist()[1:])
    return "fp64", build


def jit(function):
    def build(job):
        a, b, last, gradient = job.number("a"), job.number("b"), {}, tinygrad.TinyJit(gradient_of(function))
        inputs = array.array("d", [a]), array.array("d", [b])
        leaves = [Tensor.from_blob(place.buffer_info()[0], (1,), **fp64) for place in inputs]

        def step(_):
            inputs[0][0], inputs[1][0] = a, b
            last["result"] = gradient(*leaves)
            wait()

        for _ in range(2):  # the first call runs, the second captures
            step(0)
        return step, lambda: (last["result"].tolist()[0], last["result"].tolist()[1:])
    return "fp64", build


peer.main(importlib.metadata.version("tinygrad"), {
    "tiny": {"eager": eager(peer.tiny), "jit": jit(peer.tiny)},
    "small": {"eager": eager(small), "jit": jit(small)},
})
