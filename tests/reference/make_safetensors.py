#!/usr/bin/env python3
"""Writes files with the Python package `safetensors`, for tests of our reader and writer.

python_types.safetensors    tensors of several types, hostile names, metadata
python_floats.safetensors   F32 and F64 only; our writer must give the same bytes

usage: make_safetensors.py [FOLDER]    needs torch and safetensors
"""
import pathlib
import sys

import torch
from safetensors.torch import save_file


def floats():
    return {
        "blocks.0.weight": torch.arange(6, dtype=torch.float32).reshape(2, 3) * 0.1 - 0.25,
        "blocks.0.bias": torch.tensor([1.5, -0.0, 3e38], dtype=torch.float32),
        "blocks.10.scale": torch.tensor([[0.1], [1e-300], [-1e300]], dtype=torch.float64),
        "head.weight": torch.tensor([[7.0]], dtype=torch.float32),
        "step": torch.tensor(12345.0, dtype=torch.float64),
        "unused": torch.zeros(0, 5, dtype=torch.float32),
    }


def types():
    return {
        "half": torch.tensor([0.5, -2.25, 65504.0, 2.0**-24, float("inf")], dtype=torch.float16),
        "brain": torch.tensor([[0.5, -3.0], [2.0**-133, 1.0 + 2.0**-7]], dtype=torch.bfloat16),
        "single": torch.tensor([0.1, -1e-45], dtype=torch.float32),
        "double": torch.tensor([0.1, 1e-320], dtype=torch.float64),
        "count": torch.tensor([-1, 2**62], dtype=torch.int64),
        "mask": torch.tensor([True, False, True]),
        "quote\" back\\slash \n \x01 é 😀": torch.tensor([1.0], dtype=torch.float32),
    }


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    save_file(floats(), folder / "python_floats.safetensors", metadata={"format": "pt"})
    save_file(types(), folder / "python_types.safetensors", metadata={"format": "pt", "noté \"q\"": "\t😀"})


if __name__ == "__main__":
    main()
