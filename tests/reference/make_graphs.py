"""Asks PyTorch (fp64) for the values and gradients of programs of graph_dump, and writes them back with an `expect` line for each root.

Run (needs torch): graph_dump 1000000 420 200 | python3 tests/reference/make_graphs.py > tests/reference/graphs.txt
The format is explained in tests/reference/graph_program.hpp. Every rule below is a torch function; derivatives are autograd's.
"""
import sys

import torch
import torch.nn.functional as F

torch.set_num_threads(1)  # scalars: threads would only wait for each other

UNARY = {
    "relu": torch.relu, "tanh": torch.tanh, "exp": torch.exp, "negativeLog": lambda x: -torch.log(x), "sigmoid": torch.sigmoid,
    "inv": torch.reciprocal, "sqr": torch.square, "pow3": lambda x: x**3, "logarithm": torch.log, "sqrt": torch.sqrt,
    "invSqrt": torch.rsqrt, "neg": torch.neg, "sin": torch.sin, "cos": torch.cos, "abs": torch.abs,
    "softplus": lambda x: F.softplus(x, threshold=1000), "erf": torch.erf, "gelu": F.gelu,
    "geluTanh": lambda x: F.gelu(x, approximate="tanh"), "log1p": torch.log1p, "expm1": torch.expm1,
}
BINARY = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "mean": lambda x, y: (x + y) / 2,
    "addSquares": lambda x, y: x * x + y * y, "meanSquares": lambda x, y: (x * x + y * y) / 2,
    "negativeMean": lambda x, y: -(x + y) / 2, "max": torch.maximum, "min": torch.minimum,
}
CONSTANT = {
    "mulByConstant": lambda x, c: x * c, "addConstant": lambda x, c: x + c, "subFromConstant": lambda x, c: c - x,
    "divByConstant": lambda x, c: x / c, "constantDiv": lambda x, c: number(c) / x, "maxConstant": lambda x, c: torch.maximum(x, number(c)),
    "minConstant": lambda x, c: torch.minimum(x, number(c)), "leakyRelu": lambda x, c: F.leaky_relu(x, c), "pow": torch.pow,
}
LIST = {
    "reduceSum": torch.sum, "reduceSub": lambda v: v[0] - v[1:].sum(), "reduceMean": torch.mean, "reduceNegativeMean": lambda v: -v.mean(),
    "reduceSumOfSquares": lambda v: (v * v).sum(), "reduceMeanSquares": lambda v: (v * v).mean(),
    "varianceBiased": lambda v: v.var(unbiased=False), "variance": torch.var, "logSumExp": lambda v: torch.logsumexp(v, 0),
    "reduceMul": torch.prod,
}


def number(x):
    return torch.tensor(x, dtype=torch.float64)


def nodes_of(text):
    """The node numbers of a list: handles 0,2,1 or ranges [first:count:stride|...]."""
    if not text.startswith("["):
        return [int(word) for word in text.split(",")]
    numbers = []
    for part in text[1:-1].split("|"):
        first, count, stride = (int(word) for word in part.split(":"))
        numbers += [first + i * stride for i in range(count)]
    return numbers


def evaluate(lines):
    """The `expect` lines of one program."""
    leaves, nodes, roots = [], [], []
    stack = lambda text: torch.stack([nodes[i] for i in nodes_of(text)])
    for line in lines:
        word, *rest = line.split()
        op = word.split(".")[0]
        if op in ("leaf", "leaves"):
            new = [number(float.fromhex(x)).requires_grad_() for x in rest]
            leaves += new
            nodes += new
        elif op == "root":
            roots.append(nodes[int(rest[0])])
        elif op in UNARY:
            nodes.append(UNARY[op](nodes[int(rest[0])]))
        elif op in BINARY:
            nodes.append(BINARY[op](nodes[int(rest[0])], nodes[int(rest[1])]))
        elif op in CONSTANT:
            nodes.append(CONSTANT[op](nodes[int(rest[0])], float.fromhex(rest[1])))
        elif op in LIST:
            nodes.append(LIST[op](stack(rest[0])))
        elif op == "crossEntropy":
            nodes.append(F.cross_entropy(stack(rest[0]), torch.tensor(int(rest[1]))))
        elif op == "innerProduct":
            nodes.append(stack(rest[0]).dot(stack(rest[1])))
        elif op == "innerProductWithBias":
            nodes.append(stack(rest[0]).dot(stack(rest[1])) + nodes[int(rest[2])])
        elif op == "softmax":
            nodes += list(torch.softmax(stack(rest[0]), 0))
        elif hasattr(torch, op):  # a new operator of numbers that PyTorch calls by the same name
            nodes.append(getattr(torch, op)(*(nodes[int(node)] for node in rest)))
        else:
            raise ValueError("no rule for: " + line)
    for root in roots:
        gradients = torch.autograd.grad(root, leaves, retain_graph=True, allow_unused=True)
        numbers = [root.item()] + [0.0 if g is None else g.item() for g in gradients]
        yield "expect " + " ".join(short_hex(x) for x in numbers)


def short_hex(x):
    """float.hex without trailing zeros."""
    head, _, exponent = x.hex().partition("p")
    return (head.rstrip("0").rstrip(".") if "." in head else head) + ("p" + exponent if exponent else "")


def main():
    print(f"# Random programs of graph_dump; the `expect` lines are PyTorch {torch.__version__}'s, fp64, written by make_graphs.py.")
    program = []
    for line in [*sys.stdin, "program end"]:
        line = line.strip()
        if not line.startswith("program"):
            program.append(line)
            continue
        if program:
            print("\n".join([*program, *evaluate(program[1:])]))
        program = [line]


main()
