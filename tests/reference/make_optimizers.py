"""Writes what PyTorch's optimisers, gradient clipping and learning-rate schedules do, step by step, so that the C++
tests can compare with it on a machine without torch.

Run (needs torch, takes seconds): python3 tests/reference/make_optimizers.py > tests/reference/optimizers.txt
The head of the output, HEADER below, says what a line means.
"""
import random
import re
import warnings

import torch
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR, StepLR

HEADER = f"""\
# PyTorch {torch.__version__}, CPU, written by make_optimizers.py
# Numbers are hexadecimal floats; those of f32 are fp32 numbers. Names of options are those of the C++ structs.
# values TYPE x...          where every case of this type starts
# gradients TYPE STEP g...  the gradient of step 0, 1, ...
# rule TYPE NAME OPTIONS    a case: field=number, exempt=FIRST:COUNT (no decay there), halved=N (the rate halves every N steps)
#   after STEP x...         the values after that step
#   memory m...             what the rule remembers after the last step: momenta, or means and then means of squares; or none
# norm TYPE MAX NORM        clip_grad_norm_ to MAX of the gradient `before`, which has NORM; then lines before and after
# value TYPE MAX            clip_grad_value_ to MAX; then lines before and after
# rates NAME OPTIONS r...   a schedule: its rates at step 0, 1, ..."""

TYPES = {"f64": torch.float64, "f32": torch.float32}
COUNT, STEPS = 7, 10

# Name here, options; the options of the C++ structs, of which PyTorch's are made below.
RULES = [
    ("sgd", {}),
    ("sgd", {"learningRate": 0.1}),
    ("sgd", {"learningRate": 0.05, "weightDecay": 0.3}),
    ("sgd", {"learningRate": 0.05, "weightDecay": 0.3, "exempt": (2, 3)}),
    ("momentum", {}),
    ("momentum", {"learningRate": 0.02, "momentum": 0.75}),
    ("momentum", {"learningRate": 0.02, "momentum": 0.6, "weightDecay": 0.2}),
    ("nesterov", {}),
    ("nesterov", {"learningRate": 0.02, "momentum": 0.75}),
    ("nesterov", {"learningRate": 0.02, "momentum": 0.6, "weightDecay": 0.2}),
    ("adam", {}),
    ("adam", {"learningRate": 0.03, "beta1": 0.8, "beta2": 0.95, "epsilon": 1e-3}),
    ("adam", {"learningRate": 0.03, "beta1": 0.0, "beta2": 0.5, "weightDecay": 0.4}),
    ("adam", {"learningRate": 0.03, "weightDecay": 0.4, "halved": 3}),
    ("adamw", {}),
    ("adamw", {"learningRate": 0.03, "beta1": 0.8, "beta2": 0.95, "epsilon": 1e-3, "weightDecay": 0.4}),
    ("adamw", {"learningRate": 0.03, "weightDecay": 0.4, "exempt": (2, 3)}),
    ("adamw", {"learningRate": 0.03, "weightDecay": 0.4, "halved": 3}),
]


def hexOfOne(number):
    """float.hex() without the zeros at the end."""
    return re.sub(r"\.?0*p", "p", float(number).hex())


def hexOf(numbers):
    return " ".join(map(hexOfOne, numbers))


def startAndGradients(dtype):
    """Parameter 3 never gets a gradient, 4 now and then, 5 large ones, 6 tiny ones."""
    draw = random.Random(20240817)
    start = torch.tensor([draw.uniform(-2, 2) for _ in range(COUNT)], dtype=dtype)
    scale = [1, 1, 3, 0, 1, 1e5, 1e-9]
    rows = []
    for step in range(STEPS):
        row = [draw.uniform(0.2, 1) * draw.choice((1, 1, -1)) * s for s in scale]
        if step % 3 != 1:
            row[4] = 0.0
        rows.append(torch.tensor(row, dtype=dtype))
    return start, rows


def optimiserOf(name, options, groups):
    rate = {"lr": options["learningRate"]} if "learningRate" in options else {}
    decay = {"weight_decay": options["weightDecay"]} if "weightDecay" in options else {}
    if name in ("sgd", "momentum", "nesterov"):
        momentum = 0 if name == "sgd" else options.get("momentum", 0.9)
        return torch.optim.SGD(groups, momentum=momentum, nesterov=name == "nesterov", foreach=False, **rate, **decay)
    betas = {"betas": (options["beta1"], options["beta2"])} if "beta1" in options else {}
    epsilon = {"eps": options["epsilon"]} if "epsilon" in options else {}
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[name]
    return kind(groups, foreach=False, **rate, **decay, **betas, **epsilon)


def textOf(options):
    parts = []
    for field, value in options.items():
        number = f"{value[0]}:{value[1]}" if field == "exempt" else str(value) if field == "halved" else hexOfOne(value)
        parts.append(f"{field}={number}")
    return " ".join(parts)


def writeRule(name, options, dtype, start, gradients):
    first, count = options.get("exempt", (COUNT, 0))
    cuts = [(0, first, {}), (first, first + count, {"weight_decay": 0.0}), (first + count, COUNT, {})]
    cuts = [cut for cut in cuts if cut[0] < cut[1]]
    parts = [start[a:b].clone().requires_grad_() for a, b, _ in cuts]
    optimiser = optimiserOf(name, options, [{"params": [p], **more} for p, (_, _, more) in zip(parts, cuts)])
    schedule = StepLR(optimiser, options["halved"], 0.5) if "halved" in options else None
    print(f"rule {dtype} {name} {textOf(options)}".rstrip())
    for step, gradient in enumerate(gradients):
        for part, (a, b, _) in zip(parts, cuts):
            part.grad = gradient[a:b].clone()
        optimiser.step()
        if schedule:
            schedule.step()
        print("after", step, hexOf(torch.cat([p.detach() for p in parts])))
    keys = {"sgd": [], "momentum": ["momentum_buffer"], "nesterov": ["momentum_buffer"]}.get(name, ["exp_avg", "exp_avg_sq"])
    print("memory", hexOf(x for key in keys for p in parts for x in optimiser.state[p][key]) or "none")


def writeClipping(dtype, gradients):
    whole = torch.cat(gradients[:3])
    small = whole.abs().clamp(max=1) * whole.sign()
    for before in (small, whole):
        norm = float(before.double().norm())
        for most in (1.0, 0.0, norm / 2, norm * 2):
            parameter = torch.zeros_like(before, requires_grad=True)
            parameter.grad = before.clone()
            found = torch.nn.utils.clip_grad_norm_([parameter], most)
            print("norm", dtype, hexOfOne(most), hexOfOne(found))
            print("before", hexOf(before))
            print("after", hexOf(parameter.grad))
    for most in (0.5, 0.0, 1e6):
        parameter = torch.zeros_like(whole, requires_grad=True)
        parameter.grad = whole.clone()
        torch.nn.utils.clip_grad_value_([parameter], most)
        print("value", dtype, hexOfOne(most))
        print("before", hexOf(whole))
        print("after", hexOf(parameter.grad))


def writeRates(name, options, scheduleOf, count):
    parameter = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.SGD([parameter], lr=options["learningRate"])
    schedule = scheduleOf(optimiser)
    rates = []
    for _ in range(count):
        rates.append(optimiser.param_groups[0]["lr"])
        optimiser.step()
        schedule.step()
    print("rates", name, textOf({field: float(value) for field, value in options.items()}), hexOf(rates))


def warmupCosine(optimiser, minimum, warmup, total):
    """The line up and the cosine down as PyTorch has them; they coincide with ours up to step `total`."""
    cosine = CosineAnnealingLR(optimiser, total - warmup, eta_min=minimum)
    if warmup == 0:
        return cosine
    # The rate of step k is (k + 1) / (warmup + 1) of the full one.
    line = LinearLR(optimiser, start_factor=1 / (warmup + 1), end_factor=1.0, total_iters=warmup)
    return SequentialLR(optimiser, [line, cosine], milestones=[warmup])


def main():
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", message="The epoch parameter")  # SequentialLR's own call
    print(HEADER)
    for dtype, torchType in TYPES.items():
        start, gradients = startAndGradients(torchType)
        print("values", dtype, hexOf(start))
        for step, gradient in enumerate(gradients):
            print("gradients", dtype, step, hexOf(gradient))
        for name, options in RULES:
            writeRule(name, options, dtype, start, gradients)
        writeClipping(dtype, gradients)
    for factor, every in ((0.1, 4), (0.5, 1), (0.7, 3)):
        options = {"learningRate": 0.3, "factor": factor, "every": every}
        writeRates("step", options, lambda o, f=factor, e=every: StepLR(o, e, f), 12)
    for minimum, warmup, total in ((0.0, 0, 10), (0.02, 0, 11), (0.02, 3, 15), (0.0, 5, 6)):
        options = {"learningRate": 0.3, "minimumRate": minimum, "warmupSteps": warmup, "totalSteps": total}
        writeRates("cosine", options, lambda o, m=minimum, w=warmup, t=total: warmupCosine(o, m, w, t), total + 1)


if __name__ == "__main__":
    main()
