"""Writes what PyTorch answers, value and gradients, for every operator at odd points (zeros, denormals, overflow edges, inf, NaN),
so that the C++ tests can compare with it on a machine without torch.

Run (needs torch, takes seconds): python3 tests/reference/make_edges.py > tests/reference/edges.txt
The head of the output, HEADER below, says what a line means and where a number is not simply torch's.
"""
import struct
from math import inf, nan

import torch
import torch.nn.functional as F

HEADER = f"""\
# PyTorch {torch.__version__}, CPU ({torch.backends.cpu.get_cpu_capability()}), written by make_edges.py
# op dtype arity x [y|c] upstream value dx [dy]
# arity: 1 = one input x; 2 = inputs x and y; c = one input x and a constant c (no gradient).
# dx, dy: the gradient that backward hands to each input when the operator's own gradient is `upstream`.
# Numbers are IEEE bit patterns in hex, 16 digits for f64 and 8 for f32; every NaN is written as 7ff8000000000000 / 7fc00000.
# Computed on tensors of one element; on longer ones, or on another CPU, torch may round the last bits differently.
# max and min of zeros of opposite sign: there torch's code paths disagree, and the sign is IEEE 754's (max +0, min -0).
# cdiv is the true division tensor(c) / x: Python's `c / x` on a tensor is x.reciprocal() * c and overflows early."""

DTYPES = {"f64": (torch.float64, "d", "Q"), "f32": (torch.float32, "f", "I")}  # name: torch type, struct codes of number and bits

UNARY = {
    "relu": torch.relu, "tanh": torch.tanh, "exp": torch.exp, "negativeLog": lambda x: -torch.log(x), "sigmoid": torch.sigmoid,
    "inv": torch.reciprocal, "sqr": torch.square, "pow3": lambda x: x**3, "logarithm": torch.log, "sqrt": torch.sqrt,
    "invSqrt": torch.rsqrt, "neg": torch.neg, "sin": torch.sin, "cos": torch.cos, "abs": torch.abs,
    "softplus": F.softplus, "softplus_logaddexp": lambda x: torch.logaddexp(x, torch.zeros_like(x)),
    "leakyRelu": lambda x: F.leaky_relu(x, 0.01), "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "erf": torch.erf, "log1p": torch.log1p, "expm1": torch.expm1,
}
for n in (2, 3, 0.5, -1, 0, 1, 2.5):
    UNARY[f"pow_{n}"] = lambda x, n=n: torch.pow(x, n)

BINARY = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "max": torch.maximum, "min": torch.minimum,
    "mean": lambda x, y: (x + y) / 2, "addSquares": lambda x, y: x * x + y * y,
    "meanSquares": lambda x, y: (x * x + y * y) / 2, "negativeMean": lambda x, y: -((x + y) / 2),
}

WITH_CONSTANT = {
    "mulc": lambda x, c: x * c, "addc": lambda x, c: x + c, "csub": lambda x, c: c - x,
    "divc": lambda x, c: x / c, "cdiv": lambda x, c: torch.full_like(x, c) / x,
}


def numberOf(bits, dtype):
    _, number, word = DTYPES[dtype]
    return struct.unpack(number, struct.pack(word, bits))[0]


def hexOf(value, dtype):
    _, number, word = DTYPES[dtype]
    bits = struct.unpack(word, struct.pack(number, value if value == value else nan))[0]
    return f"{bits:0{2 * struct.calcsize(number)}x}"


def points(dtype):
    """All points, and the fewer ones for operators with a second number (their crossing would make the file large)."""
    info = torch.finfo(DTYPES[dtype][0])
    f64 = dtype == "f64"
    denormal = numberOf(1, dtype)
    tiny, huge = (1e-200, 1e200) if f64 else (1e-30, 1e30)
    middle = numberOf(0x000123456789ABCD if f64 else 0x00012345, dtype)
    expEdges = (709.7, 710.0, 745.2, 746.0) if f64 else (88.7, 89.0, 103.9, 104.0)
    magnitudes = (0.0, denormal, middle, info.tiny, tiny, 0.4, 1.0, 2.3, 20.0, 40.0, *expEdges, huge, info.max, inf)
    few = (0.0, -0.0, 1.0, -1.0, 0.4, -2.3, denormal, -denormal, info.max, -info.max, inf, -inf, nan, tiny)
    return [sign * m for m in magnitudes for sign in (1, -1)] + [nan], few


def evaluate(function, dtype, inputs, constants, upstream):
    """[value, gradient of each input]"""
    tensors = [torch.tensor([x], dtype=DTYPES[dtype][0], requires_grad=True) for x in inputs]
    y = function(*tensors, *constants)
    gradients = torch.autograd.grad(y, tensors, torch.full_like(y, upstream))
    return [t.item() for t in (y, *gradients)]


def cases(dtype):
    """(operator, function, arity, inputs, constants, upstream)"""
    every, few = points(dtype)
    f64 = dtype == "f64"  # fp32 takes fewer upstreams: the file stays below 3 MB
    for op, function in UNARY.items():
        for x in every:
            for g in (1.0, 0.0, -0.0, inf, -inf, nan, 0.75) if f64 else (1.0, 0.0, -0.0, inf, nan):
                yield op, function, "1", (x,), (), g
    for op, function in BINARY.items():
        for x in few:
            for y in few:
                for g in (1.0, 0.0, inf, nan, 0.75) if f64 else (1.0, 0.0, inf, nan):
                    yield op, function, "2", (x, y), (), g
    for op, function in WITH_CONSTANT.items():
        for c in (0.0, -0.0, 1.5, -2.0, inf, nan):
            for x in few:
                for g in (1.0, 0.0, -0.0, inf, nan, 0.75) if f64 else (1.0, 0.0, inf, nan):
                    yield op, function, "c", (x,), (c,), g


def main():
    torch.set_num_threads(1)
    print(HEADER)
    for dtype in DTYPES:
        for op, function, arity, inputs, constants, upstream in cases(dtype):
            results = evaluate(function, dtype, inputs, constants, upstream)
            if op in ("max", "min") and inputs[0] == inputs[1] == 0:
                x, y = inputs
                results[0] = x + y if op == "max" else -(-x - y)
            numbers = [hexOf(v, dtype) for v in (*inputs, *constants, upstream, *results)]
            print(op, dtype, arity, *numbers)


if __name__ == "__main__":
    main()
