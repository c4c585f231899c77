"""PyTorch on one thread, or as many as the job says.

eager is what a user writes. For gpt, eager goes head by head as the paper's baseline does, fused has q, k, v in one product and
all heads at once; torchscript is the paper's form, compile is fused through torch.compile. For saveload, eager saves a list of
seven tensors, stacked one tensor, bytes its raw bytes through NumPy. For mlp with 16 predictions a sample, paper is the paper's form.
Larger GPTs are in pytorch_shapes.py, optimisers in pytorch_optimise.py.
"""
import os
import warnings

import peer

torch, = peer.needs("torch")
from torch.nn.functional import cross_entropy  # noqa: E402

import pytorch_optimise  # noqa: E402
import pytorch_shapes  # noqa: E402

torch.set_num_threads(peer.job().threads())


# tiny, small -----------------------------------------------------------------------------------------------------------------

def tiny(a, b):
    c = a + b
    d = a * b + b**3
    e = c - d
    f = e**2
    return f / 2.0


def small(a, b):
    c = a + b
    d = a * b + b**3
    c = c + c + 1.0
    c = c + 1.0 + c - a
    d = d + d * 2.0 + torch.relu(b + a)
    d = d + 3.0 * d + torch.relu(b - a)
    e = c - d
    f = e**2
    g = f / 2.0
    return g + 10.0 / f


def graph(function, wrap=lambda f: f):
    """Leaves and graph built anew in each step."""
    def build(job):
        wrapped = wrap(function)
        last = {}

        def step(_):
            a = torch.tensor(job.number("a"), dtype=torch.float64, requires_grad=True)
            b = torch.tensor(job.number("b"), dtype=torch.float64, requires_grad=True)
            root = wrapped(a, b)
            root.backward()
            last["root"], last["a"], last["b"] = root, a, b

        return step, lambda: (last["root"].item(), [last["a"].grad.item(), last["b"].grad.item()])
    return "fp64", build


def scripted(function):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.script(function)


# saveload --------------------------------------------------------------------------------------------------------------------

def activations(job):
    return list(peer.small_nodes(*(torch.tensor(job.number(name), dtype=torch.float64) for name in "ab"), torch.relu))


def save(path, nodes):
    torch.save(nodes, path)


def save_stacked(path, nodes):
    torch.save(torch.stack(nodes), path)


def save_bytes(path, nodes):
    with open(path, "wb") as file:
        file.write(torch.stack(nodes).numpy().tobytes())


def save_bytes_in_place(path, nodes):
    """Without cutting the file first, as our raw mode: ext4 flushes a file that was cut when it is closed."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
    os.write(file, torch.stack(nodes).numpy().tobytes())
    os.close(file)


def load_bytes(path):
    with open(path, "rb") as file:
        return torch.frombuffer(bytearray(file.read()), dtype=torch.float64)


# gpt, mlp --------------------------------------------------------------------------------------------------------------------

class Block(torch.nn.Module):
    """One layer: q, k, v in one product and all heads at once (fused), or head by head as the paper's baseline."""

    def __init__(self, width, heads, context, is_fused):
        super().__init__()
        self.width, self.heads, self.is_fused = width, heads, is_fused
        self.ln1 = torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width, bias=False)
        self.proj = torch.nn.Linear(width, width)
        self.ln2 = torch.nn.LayerNorm(width)
        self.fc1 = torch.nn.Linear(width, 4 * width)
        self.fc2 = torch.nn.Linear(4 * width, width)
        self.register_buffer("later", torch.triu(torch.ones(context, context, dtype=torch.bool), 1), persistent=False)

    def weights(self, q, k):
        scores = (q @ k.transpose(-2, -1) * (self.width // self.heads)**-0.5).masked_fill(self.later, float("-inf"))
        return torch.softmax(scores, -1)

    def fused(self, x):
        batch, context, width = x.shape
        q, k, v = self.qkv(x).view(batch, context, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        return (self.weights(q, k) @ v).transpose(1, 2).reshape(batch, context, width)

    def by_heads(self, x):
        size = self.width // self.heads
        wq, wk, wv = self.qkv.weight.split(self.width)
        parts = []
        for h in range(self.heads):
            q, k, v = (x @ w[h * size:(h + 1) * size].t() for w in (wq, wk, wv))
            parts.append(self.weights(q, k) @ v)
        return torch.cat(parts, -1)

    def forward(self, x):
        y = self.ln1(x)
        x = x + self.proj(self.fused(y) if self.is_fused else self.by_heads(y))
        return x + self.fc2(torch.relu(self.fc1(self.ln2(x))))


class Gpt(torch.nn.Module):
    def __init__(self, vocabulary, context, width, heads, layers, is_fused):
        super().__init__()
        self.wte = torch.nn.Embedding(vocabulary, width)
        self.wpe = torch.nn.Embedding(context, width)
        self.blocks = torch.nn.ModuleList(Block(width, heads, context, is_fused) for _ in range(layers))
        self.head = torch.nn.Linear(width, vocabulary)
        self.register_buffer("places", torch.arange(context), persistent=False)

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe(self.places)
        for block in self.blocks:
            x = block(x)
        return cross_entropy(self.head(x).flatten(0, 1), targets.flatten())


class CharMlp(torch.nn.Module):
    def __init__(self, hidden, vocabulary=27, context=16, embedding=64):
        super().__init__()
        self.embedding = torch.nn.Embedding(vocabulary, embedding)
        self.hidden = torch.nn.Linear(context * embedding, hidden)
        self.output = torch.nn.Linear(hidden, vocabulary)

    def forward(self, tokens, targets):
        return cross_entropy(self.output(torch.tanh(self.hidden(self.embedding(tokens).flatten(1)))), targets.flatten())


class PaperMlp(CharMlp):
    """As the paper's baseline: all 16 predictions of a sample, each from a context that the later characters have left."""

    def forward(self, tokens, targets):
        context, parts, wanted = tokens.shape[1], [], torch.cat([tokens[:, 1:], targets], 1)
        for shift in range(context):
            parts.append(self.embedding(tokens))
            tokens = torch.roll(tokens, 1, 1)
            tokens[:, 0] = 0  # the mark for nothing
        x = torch.cat(parts[::-1], -1)  # the oldest character first
        return cross_entropy(self.output(torch.tanh(self.hidden(x))).flatten(0, 1), wanted.flatten())


def network(make, wrap=lambda model: model):
    """make(job) gives the module."""
    def build(job):
        model = make(job)
        with torch.no_grad():
            for parameter, part in zip(model.parameters(), job.weights(), strict=True):
                parameter.copy_(torch.from_numpy(part))
        batches = [tuple(torch.from_numpy(part).long() for part in pair) for pair in job.batches()]
        run, last = wrap(model), {}

        def step(i):
            for parameter in model.parameters():
                parameter.grad = None
            last["loss"] = run(*batches[i])
            last["loss"].backward()

        return step, lambda: (last["loss"].item(), torch.cat([p.grad.flatten() for p in model.parameters()]).numpy())
    return "fp32", build


def gpt_of(job, is_fused):
    return Gpt(*(job.size(name) for name in ("vocabulary", "context", "width", "heads", "layers")), is_fused)


def fused_gpt(job):
    return gpt_of(job, True)


def gpt(is_fused, wrap=lambda model: model):
    return network(lambda job: gpt_of(job, is_fused), wrap)


def mlp(wrap=lambda model: model):
    return network(lambda job: CharMlp(job.size("hidden")), wrap)


def mlp_ways():
    if peer.job().settings.get("predictions"):
        return {"paper": network(lambda job: PaperMlp(job.size("hidden")))}
    return {"eager": mlp(), "torchscript": mlp(scripted), "compile": mlp(torch.compile)}


peer.main(torch.__version__, {
    "tiny": {"eager": graph(tiny), "torchscript": graph(tiny, scripted), "compile": graph(tiny, torch.compile)},
    "small": {"eager": graph(small), "torchscript": graph(small, scripted), "compile": graph(small, torch.compile)},
    "saveload": {"eager": peer.files(activations, save, torch.load), "stacked": peer.files(activations, save_stacked, torch.load),
                 "bytes": peer.files(activations, save_bytes, load_bytes),
                 "bytes-in-place": peer.files(activations, save_bytes_in_place, load_bytes)},
    "gpt": {"eager": gpt(False), "fused": gpt(True), "torchscript": gpt(False, scripted), "compile": gpt(True, torch.compile)},
    "shape": pytorch_shapes.ways(),
    "mlp": mlp_ways(),
    **pytorch_optimise.ways(fused_gpt),
})
