#!/usr/bin/env python3
"""Writes char_mlp.bin: losses and gradients of the char MLP (paper 2.4, 4 hidden units) as PyTorch computes them, in fp64.

As make_gpt.py: 10 losses of plain SGD with learning rate 0.1 on one batch, then every gradient at the first step.

usage: make_char_mlp.py [FILE]    needs torch
"""
import pathlib
import struct
import sys

import torch

from make_gpt import RATE, SEED, STEPS, Rng

BATCH, HIDDEN = 11, 4


def main():
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    rng = Rng(SEED)
    shapes = [(27, 64), (HIDDEN, 1024), (HIDDEN,), (27, HIDDEN), (27,)]
    draw = lambda shape: torch.tensor([rng.uniform() * 0.4 - 0.2 for _ in range(torch.Size(shape).numel())])
    table, w1, b1, w2, b2 = parameters = [draw(s).view(s).requires_grad_() for s in shapes]
    tokens = torch.tensor([[rng.below(27) for _ in range(16)] for _ in range(BATCH)])
    targets = torch.tensor([rng.below(27) for _ in range(BATCH)])
    losses, first = [], None
    for _ in range(STEPS):
        hidden = torch.tanh(table[tokens].flatten(1) @ w1.T + b1)
        loss = torch.nn.functional.cross_entropy(hidden @ w2.T + b2, targets)
        gradients = torch.autograd.grad(loss, parameters)
        losses.append(loss.item())
        first = torch.cat([g.flatten() for g in gradients]) if first is None else first
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients):
                parameter.sub_(RATE * gradient)
    numbers = losses + first.tolist()
    path = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("char_mlp.bin"))
    path.write_bytes(struct.pack(f"<{len(numbers)}d", *numbers))
    print(f"{path.name}: {len(first)} gradients, losses {losses[0]:.6f} ... {losses[-1]:.6f}, torch {torch.__version__}")


if __name__ == "__main__":
    main()
