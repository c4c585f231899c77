"""Autograd: NumPy functions traced and differentiated anew in each step."""
import importlib.metadata

import peer

autograd, np = peer.needs("autograd", "autograd.numpy")


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
    d = d + d * 2.0 + np.maximum(b + a, 0.0)
    d = d + 3.0 * d + np.maximum(b - a, 0.0)
    e = c - d
    f = e**2
    g = f / 2.0
    return g + 10.0 / f


def graph(function):
    def build(job):
        a, b, last = job.number("a"), job.number("b"), {}
        gradient = autograd.value_and_grad(function, argnum=(0, 1))

        def step(_):
            last["result"] = gradient(a, b)

        return step, lambda: last["result"]
    return "fp64", build


peer.main(importlib.metadata.version("autograd"), {"tiny": {"eager": graph(tiny)}, "small": {"eager": graph(small)}})
