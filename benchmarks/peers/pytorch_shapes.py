"""PyTorch's GPTs of any shape (gpt_shapes.hpp): nanoGPT's, GPT-2's and the paper's, as the settings say.

q, k, v are one product. eager writes attention down, softmax and mask; fused leaves it to scaled_dot_product_attention; compile is
fused through torch.compile. Each has a second way that does a whole step: AdamW on top. All ways train one set of weights, as
GPT-2's fill half a gigabyte; the rate is so small that they never change.
"""
import functools

import torch
from torch.nn import functional

ACTIVATIONS = {"relu": functional.relu, "gelu": functional.gelu,
               "gelu-tanh": functools.partial(functional.gelu, approximate="tanh")}


@functools.cache
def later(context):
    return torch.ones(context, context, dtype=torch.bool).triu(1)


def explicit(q, k, v):
    scores = q @ k.transpose(-2, -1) * q.shape[-1]**-0.5
    return torch.softmax(scores.masked_fill(later(q.shape[-2]), float("-inf")), -1) @ v


def fused(q, k, v):
    return functional.scaled_dot_product_attention(q, k, v, is_causal=True)


class Block(torch.nn.Module):
    def __init__(self, job):
        super().__init__()
        width, bias = job.size("width"), job.has("biases")
        self.heads, self.activation = job.size("heads"), ACTIVATIONS[job.settings["activation"]]
        self.ln1 = torch.nn.LayerNorm(width, bias=bias)
        self.qkv = torch.nn.Linear(width, 3 * width, bias=job.has("attention_biases"))
        self.proj = torch.nn.Linear(width, width, bias=bias)
        self.ln2 = torch.nn.LayerNorm(width, bias=bias)
        self.fc1 = torch.nn.Linear(width, 4 * width, bias=bias)
        self.fc2 = torch.nn.Linear(4 * width, width, bias=bias)

    def forward(self, x, attention):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(self.ln1(x)).chunk(3, -1))
        x = x + self.proj(attention(q, k, v).transpose(1, 2).flatten(2))
        return x + self.fc2(self.activation(self.fc1(self.ln2(x))))


class Gpt(torch.nn.Module):
    """Its parameters() are in the order of job.shapes()."""

    def __init__(self, job):
        super().__init__()
        vocabulary, context, width = (job.size(name) for name in ("vocabulary", "context", "width"))
        self.wte = torch.nn.Embedding(vocabulary, width)
        self.wpe = torch.nn.Embedding(context, width)
        self.blocks = torch.nn.ModuleList(Block(job) for _ in range(job.size("layers")))
        self.norm = torch.nn.LayerNorm(width, bias=job.has("biases")) if job.has("final_norm") else torch.nn.Identity()
        self.head = torch.nn.Linear(width, vocabulary, bias=job.has("biases") and not job.has("tied"))
        if job.has("tied"):
            self.head.weight = self.wte.weight
        self.register_buffer("places", torch.arange(context), persistent=False)

    def forward(self, tokens, targets, attention):
        x = self.wte(tokens) + self.wpe(self.places)
        for block in self.blocks:
            x = block(x, attention)
        return functional.cross_entropy(self.head(self.norm(x)).flatten(0, 1), targets.flatten())


@functools.cache
def trained(job):
    """The model, what moves its weights, and the batches; the same for every way."""
    model = Gpt(job)
    with torch.no_grad():
        for parameter, part in zip(model.parameters(), job.weights(), strict=True):
            parameter.copy_(torch.from_numpy(part))
    matrices, vectors = ([p for p in model.parameters() if (p.dim() > 1) == is_matrix] for is_matrix in (True, False))
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    # Fused is the fastest on a CPU; the loop and foreach took four to six times as long for nano and baby.
    optimizer = torch.optim.AdamW(groups, lr=job.number("rate"), fused=True)
    return model, optimizer, [tuple(torch.from_numpy(part).long() for part in pair) for pair in job.batches()]


def way(attention, is_step=False, wrap=lambda model: model):
    def build(job):
        model, optimizer, batches = trained(job)
        run, last = wrap(model), {}

        def step(i):
            optimizer.zero_grad(set_to_none=True)
            last["loss"] = run(*batches[i], attention)
            last["loss"].backward()
            if is_step:
                optimizer.step()

        return step, lambda: (last["loss"].item(), torch.cat([p.grad.flatten() for p in model.parameters()]).numpy())
    return "fp32", build


def ways():
    found = {}
    for name, how in {"eager": (explicit,), "fused": (fused,), "compile": (fused, torch.compile)}.items():
        found[name] = way(how[0], False, *how[1:])
        found[f"{name}:step"] = way(how[0], True, *how[1:])
    return found
