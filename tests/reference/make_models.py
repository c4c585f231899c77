#!/usr/bin/env python3
"""Writes models as PyTorch saves them, for tests of our loading: torch_gpt.safetensors and torch_mlp.safetensors.

Each is a module with PyTorch's own first weights, in fp32; the metadata says its loss for one sample, in fp64. The
models and the sample are those of exchange_models.hpp.

usage: make_models.py [FOLDER]    needs torch and safetensors
"""
import pathlib
import sys

import torch
from safetensors.torch import save_file

import make_gpt


class CharMlp(torch.nn.Module):
    def __init__(self, vocabulary, context, embedding, hidden):
        super().__init__()
        self.embedding = torch.nn.Embedding(vocabulary, embedding)
        self.hidden = torch.nn.Linear(context * embedding, hidden)
        self.output = torch.nn.Linear(hidden, vocabulary)

    def forward(self, tokens, targets):
        return torch.nn.functional.cross_entropy(self.output(torch.tanh(self.hidden(self.embedding(tokens).flatten(1)))),
                                                 targets.flatten())


VOCABULARY = 11
MODELS = {  # how to make it, tokens and targets of a sample
    "gpt": (lambda: make_gpt.Gpt(VOCABULARY, context=8, width=12, layers=2, heads=3), 8, 8),
    "mlp": (lambda: CharMlp(VOCABULARY, context=4, embedding=8, hidden=6), 4, 1),
}


def loss(name, state):
    """Of the module with these parameters, in fp64."""
    make, tokens, targets = MODELS[name]
    model = make()
    model.load_state_dict(state, strict=True)
    draw = lambda count, factor, shift: torch.tensor([[(factor * i + shift) % VOCABULARY for i in range(count)]])
    return model.double()(draw(tokens, 7, 3), draw(targets, 5, 1)).item()


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    torch.manual_seed(1)
    for name, (make, _, _) in MODELS.items():
        state = make().state_dict()
        file = folder / f"torch_{name}.safetensors"
        save_file(state, file, {"format": "pt", "loss": repr(loss(name, state))})
        print(f"{file.name}: loss {loss(name, state):.6f}, torch {torch.__version__}")


if __name__ == "__main__":
    main()
