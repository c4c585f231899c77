#!/usr/bin/env python3
"""Models from us to PyTorch and back: both find the same loss for the same file.

usage: models_live.py DUMP    DUMP is the program of models_dump.cpp
Exit code: 0 all right, 1 a difference, 77 skipped because torch or safetensors cannot be imported.
"""
import pathlib
import subprocess
import sys
import tempfile

try:
    import torch
    from safetensors.torch import load_file, save_file
except ImportError as reason:
    print(f"skipped: {sys.executable} cannot import what is needed ({reason}); BURTORCH_PYTHON names another one")
    sys.exit(77)

import make_models


def ours(*arguments):
    return float(subprocess.run([sys.argv[1], *map(str, arguments)], check=True, capture_output=True, text=True).stdout)


def compare(what, found, wanted):
    print(f"{what}: {found:.15g} and {wanted:.15g}")
    if not abs(found - wanted) <= 1e-12 * abs(wanted):
        sys.exit("they differ")


def main():
    with tempfile.TemporaryDirectory() as name:
        for model, (make, _, _) in make_models.MODELS.items():
            file = pathlib.Path(name) / model
            loss = ours(model, "--write", file)
            compare(f"{model} from us to PyTorch", make_models.loss(model, load_file(file)), loss)
            for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
                state = {key: value.to(dtype) for key, value in make().state_dict().items()}
                save_file(state, file)
                compare(f"{model} from PyTorch in {dtype} to us", ours(model, file),
                        make_models.loss(model, {key: value.double() for key, value in state.items()}))


if __name__ == "__main__":
    main()
