#!/usr/bin/env python3
"""GPT-2 checkpoints of Hugging Face's `transformers`: small models with random weights, saved there and loaded here.

Logits, loss and every gradient must agree with PyTorch's in FP32 to rounding, for F32, F16 and BF16 files, for each activation,
with another epsilon and inner width, with and without the prefix of the names. What we save must load in transformers with the
same parameters, bit for bit, and so with equal logits.

usage: gpt2_live.py DUMP    DUMP is the program of gpt2_dump.cpp
Exit code: 0 all right, 1 a difference, 77 skipped because transformers cannot be imported.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
try:
    import safetensors.torch
    import torch
    import transformers
    from transformers import GPT2Config, GPT2LMHeadModel
except ImportError as reason:
    print(f"skipped: {sys.executable} cannot import what is needed ({reason}); BURTORCH_PYTHON names another one")
    sys.exit(77)

torch.set_num_threads(1)
transformers.utils.logging.disable_progress_bar()
SIZES = dict(n_layer=3, n_head=4, n_embd=32, n_positions=16, vocab_size=61, bos_token_id=0, eos_token_id=0)
NO_DROPOUT = dict(attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0)
TURNED = ("attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")


def model_of(seed, **options):
    torch.manual_seed(seed)
    model = GPT2LMHeadModel(GPT2Config(**{**SIZES, **NO_DROPOUT, **options})).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # far from the zeros and ones of a start
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return model


def error_of(ours, theirs, exact):
    """Our error and PyTorch's own, against FP64, both relative to the largest number."""
    scale = exact.abs().max().item()
    return ((ours.double() - exact).abs().max().item() / scale, (theirs.double() - exact).abs().max().item() / scale)


def check(dump, folder, model, without_prefix=False):
    path = folder / "model"
    model.save_pretrained(path)
    if without_prefix:
        file = path / "model.safetensors"
        tensors = {name.removeprefix("transformer."): t for name, t in safetensors.torch.load_file(file).items()}
        tensors["h.0.attn.bias"] = torch.ones(1, 1, 16, 16)
        tensors["lm_head.weight"] = tensors["wte.weight"].clone()
        safetensors.torch.save_file(tensors, file, {"format": "pt"})
    copy = folder / "copy"
    copy.mkdir()
    torch.manual_seed(1)
    tokens, targets = torch.randint(0, SIZES["vocab_size"], (2, 2, SIZES["n_positions"]))
    words = lambda t: ",".join(map(str, t.flatten().tolist()))
    done = subprocess.run([dump, str(path), words(tokens), words(targets), str(folder / "results"), str(copy)],
                          capture_output=True, text=True)
    if done.returncode != 0:
        return [f"gpt2_dump failed: {done.stderr}"]
    ours = safetensors.torch.load_file(folder / "results")

    def theirs(of):
        of.zero_grad()
        logits = of(tokens).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        loss.backward()
        results = {"logits": logits.detach().flatten(0, 1), "loss": loss.detach().reshape(1)}
        for name, parameter in of.transformer.named_parameters():
            results[name] = parameter.grad.T if name.endswith(TURNED) else parameter.grad
        return {name: t.clone() for name, t in results.items()}

    single = theirs(model.float())
    exact = theirs(model.double())
    problems = [f"other tensors: {sorted(set(ours) ^ set(exact))}"] if set(ours) != set(exact) else []
    for name in set(ours) & set(exact):
        error, rounding = error_of(ours[name], single[name], exact[name])
        # As exact as PyTorch's own FP32, but for luck in the last bits.
        if not error <= max(4 * rounding, 2e-6):
            problems.append(f"{name}: our error is {error:.1e}, PyTorch's {rounding:.1e}")

    again = GPT2LMHeadModel.from_pretrained(copy).eval()
    model.float()
    for (name, a), (_, b) in zip(again.named_parameters(), model.named_parameters(), strict=True):
        if not torch.equal(a, b):
            problems.append(f"saved and loaded again, {name} is different")
    with torch.no_grad():
        logits, were = again(tokens).logits, model(tokens).logits
        # gelu_pytorch_tanh is saved as gelu_new, the same function in another order of operations.
        renamed = again.config.activation_function != model.config.activation_function
        if not (torch.allclose(logits, were, rtol=1e-5, atol=1e-5) if renamed else torch.equal(logits, were)):
            problems.append("saved and loaded again, the logits are different")
    return problems


def main():
    cases = {f"activation {name}": (dict(activation_function=name), {})
             for name in ("gelu_new", "gelu", "relu", "tanh", "gelu_pytorch_tanh")}
    cases["epsilon and inner width"] = (dict(layer_norm_epsilon=1e-3, n_inner=40), {})
    cases["names without prefix"] = ({}, dict(without_prefix=True))
    failures = 0
    for seed, (title, (options, more)) in enumerate(cases.items()):
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            with tempfile.TemporaryDirectory() as folder:
                problems = check(sys.argv[1], pathlib.Path(folder), model_of(seed, **options).to(dtype), **more)
            for problem in problems:
                print(f"{title}, {dtype}: {problem}")
            failures += bool(problems)
    print(f"{3 * len(cases)} models, {failures} with differences")
    return failures > 0


sys.exit(main())
