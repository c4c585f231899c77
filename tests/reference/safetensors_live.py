#!/usr/bin/env python3
"""Our safetensors files against the Python package of this machine.

The package loads the model that we save into the equivalent PyTorch module. Of a file of the package, and of that file
with each bit flipped and cut at each byte, we read what the package reads or refuse it; whole files are never refused.
One difference is on purpose: a type that nobody knows is an error for the package when a file is opened, for us when
the tensor is read.

usage: safetensors_live.py DUMP    DUMP is the program of safetensors_dump.cpp
Exit code: 0 all right, 1 a difference, 77 skipped because torch or safetensors cannot be imported.
"""
import pathlib
import subprocess
import sys
import tempfile

try:
    import safetensors
    import torch
    from safetensors.torch import load_file, save
except ImportError as reason:
    print(f"skipped: {sys.executable} cannot import what is needed ({reason}); BURTORCH_PYTHON names another one")
    sys.exit(77)

import make_gpt
import make_safetensors
from dumped import damaged, ours


def theirs(data):
    try:
        return {name: (t["dtype"], list(t["shape"]), bytes(t["data"])) for name, t in safetensors.deserialize(data)}
    except safetensors.SafetensorError as error:
        return f"error: {error}"


def check_model(dump, folder):
    file = folder / "gpt.safetensors"
    subprocess.run([dump, "--write", file], check=True)
    model = make_gpt.Gpt()
    model.load_state_dict(load_file(file), strict=True)
    flat = torch.cat([p.detach().flatten() for p in model.parameters()])
    wanted = torch.arange(flat.numel(), dtype=torch.float32) / 8
    if not torch.equal(flat, wanted):
        sys.exit("the parameters of our model differ after loading them in PyTorch")
    return flat.numel()


def check_damage(dump, folder):
    small = {"b": torch.tensor([0.5, -1.25]), "w": torch.tensor([[0.1], [2.0]], dtype=torch.float64)}
    whole = [save(make_safetensors.floats(), {"format": "pt"}), save(make_safetensors.types()), save(small), save({})]
    cases = list(whole)
    for file in (whole[0], whole[2]):
        cases += damaged(file)
    accepted, only_theirs = 0, []
    for i, answer in enumerate(ours(dump, folder, cases)):
        wanted = theirs(cases[i])
        if isinstance(answer, str):
            if not isinstance(wanted, str):
                only_theirs.append(answer)
            if i < len(whole):
                sys.exit(f"whole file {i}: {answer}")
        elif isinstance(wanted, str) and "unknown variant" in wanted:
            unknown = [t for t, _, _ in answer.values() if t not in ("F32", "F64")]
            if not unknown or not f"`{unknown[0]}`" in wanted:
                sys.exit(f"case {i}: we read {answer}, the package says {wanted}")
        elif answer != wanted:
            sys.exit(f"case {i}: we read {answer}, the package {wanted}, of {cases[i]}")
        else:
            accepted += 1
    return len(cases), accepted, only_theirs


def main():
    dump = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        parameters = check_model(dump, folder)
        cases, accepted, only_theirs = check_damage(dump, folder)
    print(f"{parameters} parameters loaded in PyTorch; {cases} files, {accepted} read alike, "
          f"{len(only_theirs)} read by the package only; safetensors {safetensors.__version__}")
    for answer in only_theirs[:5]:
        print("  ", answer)


if __name__ == "__main__":
    main()
