"""MLX on the CPU.

eager builds the graph and evaluates it op by op, compile is the same function through mx.compile, which needs a C++ compiler.
"""
import functools

import peer

mx, = peer.needs("mlx.core")

mx.set_default_device(mx.cpu)


# peer.tiny, small -----------------------------------------------------------------------------------------------------------------

small = functools.partial(peer.small, relu=lambda x: mx.maximum(x, 0.0))


def graph(function, wrap=lambda f: f):
    """New leaves in each step."""
    def build(job):
        a, b, last = job.number("a"), job.number("b"), {}
        gradient = wrap(mx.value_and_grad(function, argnums=(0, 1)))

        def step(_):
            last["result"] = gradient(mx.array(a, mx.float64), mx.array(b, mx.float64))
            mx.eval(last["result"])

        return step, lambda: (last["result"][0].item(), [slope.item() for slope in last["result"][1]])
    return "fp64", build


# gpt, mlp ------------------------------------------------------------------------------------------------------------------

def cross_entropy(logits, targets):
    chosen = mx.take_along_axis(logits, targets[..., None], -1).squeeze(-1)
    return mx.mean(mx.logsumexp(logits, -1) - chosen)


def gpt(job):
    batch, context, width, heads = (job.size(name) for name in ("batch", "context", "width", "heads"))

    def attention(x, qkv):
        parts = (x @ qkv.T).reshape(batch, context, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)
        mixed = mx.fast.scaled_dot_product_attention(*parts, scale=(width // heads)**-0.5, mask="causal")
        return mixed.swapaxes(1, 2).reshape(batch, context, width)

    def loss(weights, tokens, targets):
        wte, wpe, *blocks, head, bias = weights
        x = wte[tokens] + wpe
        for at in range(0, len(blocks), 11):
            gain1, bias1, qkv, proj, proj_bias, gain2, bias2, fc1, fc1_bias, fc2, fc2_bias = blocks[at:at + 11]
            x = x + attention(mx.fast.layer_norm(x, gain1, bias1, 1e-5), qkv) @ proj.T + proj_bias
            x = x + mx.maximum(mx.fast.layer_norm(x, gain2, bias2, 1e-5) @ fc1.T + fc1_bias, 0.0) @ fc2.T + fc2_bias
        return cross_entropy(x @ head.T + bias, targets)
    return loss


def mlp(_):
    def loss(weights, tokens, targets):
        embedding, hidden, hidden_bias, output, output_bias = weights
        x = embedding[tokens].reshape(len(tokens), -1)
        return cross_entropy(mx.tanh(x @ hidden.T + hidden_bias) @ output.T + output_bias, targets[:, 0])
    return loss


def network(model, wrap=lambda f: f):
    def build(job):
        loss = model(job)
        weights = [mx.array(part) for part in job.weights()]
        batches = [tuple(map(mx.array, pair)) for pair in job.batches()]
        gradient, last = wrap(mx.value_and_grad(loss)), {}

        def step(i):
            last["result"] = gradient(weights, *batches[i])
            mx.eval(last["result"])

        return step, lambda: (last["result"][0].item(), mx.concatenate([part.flatten() for part in last["result"][1]]))
    return "fp32", build


peer.main(mx.__version__, {
    "tiny": {"eager": graph(peer.tiny), "compile": graph(peer.tiny, mx.compile)},
    "small": {"eager": graph(small), "compile": graph(small, mx.compile)},
    "gpt": {"eager": network(gpt), "compile": network(gpt, mx.compile)},
    "mlp": {"eager": network(mlp), "compile": network(mlp, mx.compile)},
})
