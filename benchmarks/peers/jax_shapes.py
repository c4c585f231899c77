"""JAX's GPTs of any shape (gpt_shapes.hpp), as one compiled program: loss and gradient, or a whole step with AdamW.

The step keeps its weights and moments in place (they are donated) and hands over no gradient. What it found is read off the first
moment that the same program makes of moments of zero: m = (1 - beta1) gradient.
"""
import functools

import jax
import jax.numpy as jnp

ACTIVATIONS = {"relu": jax.nn.relu, "gelu": functools.partial(jax.nn.gelu, approximate=False),
               "gelu-tanh": functools.partial(jax.nn.gelu, approximate=True)}
BETA1, BETA2, EPSILON, DECAY = 0.9, 0.999, 1e-8, 0.1


def cross_entropy(logits, targets):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], -1))


def layer_norm(x, gain, bias):
    centred = x - x.mean(-1, keepdims=True)
    y = centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * gain
    return y if bias is None else y + bias


def linear(x, weight, bias):
    y = x @ weight.T
    return y if bias is None else y + bias


def model(job):
    """loss(weights, tokens, targets); weights are a list in the order of job.shapes()."""
    heads, activation = job.size("heads"), ACTIVATIONS[job.settings["activation"]]
    layers, has_biases = job.size("layers"), job.has("biases")

    def attention(x):
        batch, context, width = x.shape
        q, k, v = x.reshape(batch, context, 3, heads, width // 3 // heads).transpose(2, 0, 3, 1, 4)
        scores = q @ k.swapaxes(-2, -1) * q.shape[-1]**-0.5
        past = jnp.tril(jnp.ones((context, context), bool))
        return (jax.nn.softmax(jnp.where(past, scores, -jnp.inf)) @ v).swapaxes(1, 2).reshape(batch, context, width // 3)

    def loss(weights, tokens, targets):
        rest = iter(weights)

        def take(has_bias=has_biases):
            return next(rest), next(rest) if has_bias else None
        wte, wpe = next(rest), next(rest)
        x = wte[tokens] + wpe
        for _ in range(layers):
            y = linear(layer_norm(x, *take()), *take(job.has("attention_biases")))
            x = x + linear(attention(y), *take())
            y = linear(layer_norm(x, *take()), *take())
            x = x + linear(activation(y), *take())
        if job.has("final_norm"):
            x = layer_norm(x, *take())
        return cross_entropy(x @ wte.T if job.has("tied") else linear(x, *take()), targets)
    return loss


def adamw(weight, gradient, m, v, count, rate):
    """Norms and biases do not decay."""
    m = BETA1 * m + (1 - BETA1) * gradient
    v = BETA2 * v + (1 - BETA2) * gradient**2
    move = m / (1 - BETA1**count) / (jnp.sqrt(v / (1 - BETA2**count)) + EPSILON)
    return weight - rate * (move + (DECAY * weight if weight.ndim > 1 else 0)), m, v


@functools.cache
def given(job):
    """Weights and batches, the same for every way."""
    return [jnp.asarray(part) for part in job.weights()], [tuple(map(jnp.asarray, pair)) for pair in job.batches()]


def flat(parts):
    return jnp.concatenate([part.ravel() for part in parts])


def gradient_of(job):
    weights, batches = given(job)
    gradient, last = jax.jit(jax.value_and_grad(model(job))), {}

    def step(i):
        last["loss"], last["gradient"] = jax.block_until_ready(gradient(weights, *batches[i]))

    return step, lambda: (last["loss"], flat(last["gradient"]))


def step_of(job):
    weights, batches = given(job)
    value_and_grad, rate = jax.value_and_grad(model(job)), jnp.float32(job.number("rate"))

    @functools.partial(jax.jit, donate_argnums=0)
    def train(state, count, tokens, targets):
        loss, gradients = value_and_grad(state[0], tokens, targets)
        moved = [adamw(*parts, count, rate) for parts in zip(state[0], gradients, *state[1:])]
        return loss, tuple(map(list, zip(*moved)))

    def start(weights):
        return [part.copy() for part in weights], *([jnp.zeros_like(part) for part in weights] for _ in range(2))
    now = {"state": start(weights), "count": 0}

    def step(i):
        now["count"], now["batch"] = now["count"] + 1, batches[i]
        _, now["state"] = jax.block_until_ready(train(now["state"], jnp.float32(now["count"]), *now["batch"]))

    def answer():
        loss, (_, m, _) = train(start(now["state"][0]), jnp.float32(1), *now["batch"])
        return loss, flat(m) / (1 - BETA1)
    return step, answer


def ways():
    return {"jit": ("fp32", gradient_of), "jit:step": ("fp32", step_of)}
