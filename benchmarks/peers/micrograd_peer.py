"""micrograd: one Python object per scalar, the graph built anew in each step."""
import importlib.metadata

import peer

engine, = peer.needs("micrograd.engine")


def tiny(a, b):
    c = a + b
    d = a * b + b**3
    e = c - d
    f = e**2
    return f / 2.0


def small(a, b):
    c = a + b
    d = a * b + b**3
    c = c + c + 1.0
    c = c + 1.0 + c - a
    d = d + d * 2.0 + (b + a).relu()
    d = d + 3.0 * d + (b - a).relu()
    e = c - d
    f = e**2
    g = f / 2.0
    return g + 10.0 / f


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


peer.main(importlib.metadata.version("micrograd"), {"tiny": {"eager": graph(tiny)}, "small": {"eager": graph(small)}})
