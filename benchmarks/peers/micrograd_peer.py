"""micrograd: one Python object per scalar, the graph built anew in each step."""
import functools
import importlib.metadata

import peer

engine, = peer.needs("micrograd.engine")


small = functools.partial(peer.small, relu=lambda x: x.relu())


def graph(function):
    def build(job):
        x, y, last = job.number("a"), job.number("b"), {}

        def step(_):
            a, b = engine.Value(x), engine.Value(y)
            root = function(a, b)
            root.backward()
            last["result"] = root.data, [a.grad, b.grad]

        return step, lambda: last["result"]
    return "fp64", build


peer.main(importlib.metadata.version("micrograd"), {"tiny": {"eager": graph(peer.tiny)}, "small": {"eager": graph(small)}})
