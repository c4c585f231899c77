"""JAX on one thread of the CPU.

eager is value_and_grad op by op, jit the same function compiled once and called with new inputs each time. Larger GPTs are in
jax_shapes.py, optimisers in jax_optimise.py.
"""
import functools
import os

import peer

# Read at import; XLA would otherwise take all cores.
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
os.environ.setdefault("JAX_PLATFORMS", "cpu")
jax, jnp = peer.needs("jax", "jax.numpy")

jax.config.update("jax_enable_x64", True)  # fp32 inputs stay fp32
jax.config.update("jax_cpu_enable_async_dispatch", False)  # each step waits anyway

import jax_optimise  # noqa: E402
import jax_shapes  # noqa: E402


# peer.tiny, small -----------------------------------------------------------------------------------------------------------------

small = functools.partial(peer.small, relu=jax.nn.relu)


def graph(function, is_compiled):
    """Eager: leaves and graph built anew in each step. Compiled: new inputs in each step."""
    def build(job):
        a, b, last = job.number("a"), job.number("b"), {}
        compiled = jax.jit(jax.value_and_grad(function, argnums=(0, 1)))

        def eager(_):
            leaves = jnp.float64(a), jnp.float64(b)
            last["result"] = jax.block_until_ready(jax.value_and_grad(function, argnums=(0, 1))(*leaves))

        def jit(_):
            last["result"] = compiled(a, b)
            last["result"][0].block_until_ready()  # the outputs of one program are ready together

        return jit if is_compiled else eager, lambda: last["result"]
    return "fp64", build


# gpt, mlp -------------------------------------------------------------------------------------------------------------------

def cross_entropy(logits, targets):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], -1))


def layer_norm(x, gain, bias):
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * gain + bias


def gpt(job):
    heads = job.size("heads")

    def attention(x, qkv):
        batch, context, width = x.shape
        q, k, v = (x @ qkv.T).reshape(batch, context, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)
        scores = q @ k.swapaxes(-2, -1) * (width // heads)**-0.5
        past = jnp.tril(jnp.ones((context, context), bool))
        return (jax.nn.softmax(jnp.where(past, scores, -jnp.inf)) @ v).swapaxes(1, 2).reshape(batch, context, width)

    def loss(weights, tokens, targets):
        wte, wpe, *blocks, head, bias = weights
        x = wte[tokens] + wpe
        for at in range(0, len(blocks), 11):
            gain1, bias1, qkv, proj, proj_bias, gain2, bias2, fc1, fc1_bias, fc2, fc2_bias = blocks[at:at + 11]
            x = x + attention(layer_norm(x, gain1, bias1), qkv) @ proj.T + proj_bias
            x = x + jax.nn.relu(layer_norm(x, gain2, bias2) @ fc1.T + fc1_bias) @ fc2.T + fc2_bias
        return cross_entropy(x @ head.T + bias, targets)
    return loss


def mlp(_):
    def loss(weights, tokens, targets):
        embedding, hidden, hidden_bias, output, output_bias = weights
        x = embedding[tokens].reshape(len(tokens), -1)
        return cross_entropy(jnp.tanh(x @ hidden.T + hidden_bias) @ output.T + output_bias, targets[:, 0])
    return loss


def network(model, wrap=lambda function: function):
    def build(job):
        loss = model(job)
        weights = [jnp.asarray(part) for part in job.weights()]
        batches = [tuple(map(jnp.asarray, pair)) for pair in job.batches()]
        gradient, last = wrap(jax.value_and_grad(loss)), {}

        def step(i):
            last["result"] = jax.block_until_ready(gradient(weights, *batches[i]))

        return step, lambda: (last["result"][0], jnp.concatenate([part.ravel() for part in last["result"][1]]))
    return "fp32", build


peer.main(jax.__version__, {
    "tiny": {"eager": graph(peer.tiny, False), "jit": graph(peer.tiny, True)},
    "small": {"eager": graph(small, False), "jit": graph(small, True)},
    "gpt": {"eager": network(gpt), "jit": network(gpt, jax.jit)},
    "shape": jax_shapes.ways(),
    "mlp": {"eager": network(mlp), "jit": network(mlp, jax.jit)},
    **jax_optimise.ways(gpt),
})
