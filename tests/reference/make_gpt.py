#!/usr/bin/env python3
"""Writes gpt.bin: losses and gradients of the mini GPT (paper 2.5) as PyTorch computes them, in fp64.

Parameters and tokens come from the library's own random numbers (SplitMix64), so only results are stored:
10 losses of plain SGD with learning rate 0.1 on one batch, then the gradient at the first step, every entry.

usage: make_gpt.py [FILE]    needs torch
"""
import pathlib
import struct
import sys

import torch

SEED, BATCH, STEPS, RATE = 7, 3, 10, 0.1
MASK = (1 << 64) - 1


class Rng:
    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def uniform(self):
        return (self.next() >> 11) / (1 << 53)

    def below(self, count):
        unfair = (1 << 32) % count
        while True:
            product = (self.next() >> 32) * count
            if (product & 0xFFFFFFFF) >= unfair:
                return product >> 32


class Block(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln1 = torch.nn.LayerNorm(width)
        self.attn = torch.nn.ModuleDict({"qkv": torch.nn.Linear(width, 3 * width, bias=False),
                                         "proj": torch.nn.Linear(width, width)})
        self.ln2 = torch.nn.LayerNorm(width)
        self.mlp = torch.nn.ModuleDict({"fc1": torch.nn.Linear(width, 4 * width),
                                        "fc2": torch.nn.Linear(4 * width, width)})

    def forward(self, x):
        batch, positions, width = x.shape
        split = lambda t: t.view(batch, positions, self.heads, width // self.heads).transpose(1, 2)
        q, k, v = (split(t) for t in self.attn["qkv"](self.ln1(x)).split(width, dim=2))
        scores = q @ k.transpose(2, 3) / (width // self.heads) ** 0.5
        later = torch.triu(torch.ones(positions, positions, dtype=torch.bool), 1)
        weights = torch.softmax(scores.masked_fill(later, float("-inf")), dim=-1)
        x = x + self.attn["proj"]((weights @ v).transpose(1, 2).reshape(batch, positions, width))
        return x + self.mlp["fc2"](torch.relu(self.mlp["fc1"](self.ln2(x))))


class Gpt(torch.nn.Module):
    def __init__(self, vocabulary=65, context=8, width=24, layers=6, heads=6):
        super().__init__()
        self.wte = torch.nn.Embedding(vocabulary, width)
        self.wpe = torch.nn.Embedding(context, width)
        self.blocks = torch.nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.head = torch.nn.Linear(width, vocabulary)

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return torch.nn.functional.cross_entropy(self.head(x).flatten(0, 1), targets.flatten())


def main():
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    model, rng = Gpt(), Rng(SEED)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            numbers = [rng.uniform() * 0.4 - 0.2 for _ in range(parameter.numel())]
            parameter.copy_(torch.tensor(numbers).view_as(parameter))
            if "ln" in name and name.endswith("weight"):
                parameter.add_(1.0)
    draw = lambda: torch.tensor([[rng.below(65) for _ in range(8)] for _ in range(BATCH)])
    tokens, targets = draw(), draw()
    losses, first = [], None
    for _ in range(STEPS):
        model.zero_grad()
        loss = model(tokens, targets)
        loss.backward()
        losses.append(loss.item())
        gradient = torch.cat([p.grad.flatten() for p in model.parameters()])
        first = gradient.clone() if first is None else first
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.sub_(RATE * parameter.grad)
    numbers = losses + first.tolist()
    path = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("gpt.bin"))
    path.write_bytes(struct.pack(f"<{len(numbers)}d", *numbers))
    print(f"{path.name}: {len(first)} gradients, losses {losses[0]:.6f} ... {losses[-1]:.6f}, torch {torch.__version__}")


if __name__ == "__main__":
    main()
