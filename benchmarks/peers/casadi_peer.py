"""CasADi: the SX expression and its jacobian are one Function, made once and evaluated by its virtual machine with new inputs.

sx calls the Function from Python, buffer evaluates it on memory that is bound to it once.
"""
import array
import functools

import peer

casadi, = peer.needs("casadi")


small = functools.partial(peer.small, relu=lambda x: casadi.fmax(x, 0.0))


def compiled(function):
    inputs = casadi.SX.sym("a"), casadi.SX.sym("b")
    root = function(*inputs)
    return casadi.Function("gradient", inputs, [root, casadi.jacobian(root, casadi.vertcat(*inputs))])


def sx(function):
    def build(job):
        a, b, last = job.number("a"), job.number("b"), {}
        gradient = compiled(function)

        def step(_):
            last["result"] = gradient(a, b)

        return step, lambda: (last["result"][0], last["result"][1].full().ravel())
    return "fp64", build


def buffer(function):
    def build(job):
        a, b = job.number("a"), job.number("b")
        gradient = compiled(function)
        bound, run = gradient.buffer()
        inputs, root, slopes = [array.array("d", [0.0]) for _ in range(2)], array.array("d", [0.0]), array.array("d", [0.0] * 2)
        for i, place in enumerate(inputs):
            bound.set_arg(i, memoryview(place))
        for i, place in enumerate((root, slopes)):
            bound.set_res(i, memoryview(place))

        def step(_):
            inputs[0][0], inputs[1][0] = a, b
            run()

        step.keeps = gradient, bound  # run() holds neither
        return step, lambda: (root[0], slopes)
    return "fp64", build


peer.main(casadi.__version__, {
    "tiny": {"sx": sx(peer.tiny), "buffer": buffer(peer.tiny)},
    "small": {"sx": sx(small), "buffer": buffer(small)},
})
