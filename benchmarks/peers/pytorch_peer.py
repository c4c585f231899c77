#!/usr/bin/env python3
"""PyTorch on the work of ./bench gpt and ./bench mlp: one thread, FP32, the same loss over the same positions.

Reads parameters (fp32), tokens and targets (int32) from the files it is given and prints one JSON object per row:
mode, ns_min, ns_median, spread, init_ms, and the file with its gradient (fp32), which the caller compares.

usage: pytorch.py gpt|mlp --parameters FILE --batch B --batches FILE --out FOLDER [--hidden E] [--repeats N] [--modes a,b]
"""
import argparse
import json
import pathlib
import statistics
import time

import torch
from torch.nn.functional import cross_entropy

VOCABULARY, CONTEXT, WIDTH, LAYERS, HEADS = 65, 8, 24, 6, 6
MLP_VOCABULARY, MLP_CONTEXT, MLP_EMBEDDING = 27, 16, 64


class Block(torch.nn.Module):
    """One layer: q, k, v in one product and all heads at once (fused), or head by head as the paper's baseline."""

    def __init__(self, is_fused):
        super().__init__()
        self.is_fused = is_fused
        self.ln1 = torch.nn.LayerNorm(WIDTH)
        self.qkv = torch.nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.proj = torch.nn.Linear(WIDTH, WIDTH)
        self.ln2 = torch.nn.LayerNorm(WIDTH)
        self.fc1 = torch.nn.Linear(WIDTH, 4 * WIDTH)
        self.fc2 = torch.nn.Linear(4 * WIDTH, WIDTH)
        self.register_buffer("later", torch.triu(torch.ones(CONTEXT, CONTEXT, dtype=torch.bool), 1), persistent=False)

    def attention(self, x):
        size = WIDTH // HEADS
        if self.is_fused:
            split = lambda t: t.view(*t.shape[:2], HEADS, size).transpose(1, 2)
            q, k, v = (split(t) for t in self.qkv(x).split(WIDTH, dim=2))
            weights = torch.softmax((q @ k.transpose(2, 3) * size**-0.5).masked_fill(self.later, float("-inf")), -1)
            return (weights @ v).transpose(1, 2).reshape(x.shape)
        heads = []
        wq, wk, wv = self.qkv.weight.split(WIDTH)
        for h in range(HEADS):
            rows = slice(h * size, (h + 1) * size)
            q, k, v = x @ wq[rows].T, x @ wk[rows].T, x @ wv[rows].T
            weights = torch.softmax((q @ k.transpose(1, 2) * size**-0.5).masked_fill(self.later, float("-inf")), -1)
            heads.append(weights @ v)
        return torch.cat(heads, -1)

    def forward(self, x):
        x = x + self.proj(self.attention(self.ln1(x)))
        return x + self.fc2(torch.relu(self.fc1(self.ln2(x))))


class Gpt(torch.nn.Module):
    def __init__(self, is_fused):
        super().__init__()
        self.wte = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.wpe = torch.nn.Embedding(CONTEXT, WIDTH)
        self.blocks = torch.nn.ModuleList(Block(is_fused) for _ in range(LAYERS))
        self.head = torch.nn.Linear(WIDTH, VOCABULARY)
        self.register_buffer("places", torch.arange(CONTEXT), persistent=False)

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe(self.places)
        for block in self.blocks:
            x = block(x)
        return cross_entropy(self.head(x).view(-1, VOCABULARY), targets.reshape(-1))


class CharMlp(torch.nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.embedding = torch.nn.Embedding(MLP_VOCABULARY, MLP_EMBEDDING)
        self.hidden = torch.nn.Linear(MLP_CONTEXT * MLP_EMBEDDING, hidden)
        self.output = torch.nn.Linear(hidden, MLP_VOCABULARY)

    def forward(self, tokens, targets):
        return cross_entropy(self.output(torch.tanh(self.hidden(self.embedding(tokens).flatten(1)))), targets.reshape(-1))


def load(model, numbers):
    at = 0
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(numbers[at:at + parameter.numel()].view_as(parameter))
            at += parameter.numel()
    assert at == numbers.numel(), (at, numbers.numel())


def measure(model, batches, repeats):
    """Seconds of one gradient: the first call apart, then the minimum and median of repeats of many calls."""
    def gradient(i):
        for parameter in model.parameters():
            parameter.grad = None
        model(*batches[i % len(batches)]).backward()

    start = time.perf_counter()
    gradient(0)
    init = time.perf_counter() - start
    found = torch.cat([p.grad.flatten() for p in model.parameters()])
    for i in range(5):
        gradient(i)
    start = time.perf_counter()
    gradient(0)
    calls = max(1, int(0.05 / (time.perf_counter() - start)))
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        for i in range(calls):
            gradient(i)
        times.append((time.perf_counter() - start) / calls)
    return found, init, times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("experiment", choices=["gpt", "mlp"])
    parser.add_argument("--parameters", required=True)
    parser.add_argument("--batches", required=True, help="int32: tokens then targets of each batch")
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--modes", default="eager,fused,compile")
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)

    context, wanted = (CONTEXT, CONTEXT) if options.experiment == "gpt" else (MLP_CONTEXT, 1)
    numbers = torch.frombuffer(bytearray(pathlib.Path(options.parameters).read_bytes()), dtype=torch.float32)
    raw = torch.frombuffer(bytearray(pathlib.Path(options.batches).read_bytes()), dtype=torch.int32).long()
    batches = [(part[:options.batch * context].view(options.batch, context), part[options.batch * context:])
               for part in raw.split(options.batch * (context + wanted))]
    for mode in options.modes.split(","):
        if options.experiment == "mlp":
            if mode == "fused":
                continue
            model = CharMlp(options.hidden)
        else:
            model = Gpt(is_fused=mode != "eager")
        load(model, numbers)
        run = torch.compile(model) if mode == "compile" else model
        found, init, times = measure(run, batches, options.repeats)
        path = pathlib.Path(options.out) / f"pytorch_{mode}.bin"
        path.write_bytes(found.numpy().tobytes())
        print(json.dumps({"mode": mode, "version": torch.__version__, "ns_min": min(times) * 1e9,
                          "ns_median": statistics.median(times) * 1e9, "spread": max(times) / min(times) - 1,
                          "init_ms": init * 1e3, "gradient": str(path)}), flush=True)


if __name__ == "__main__":
    main()
