"""PAGE and EF21 with TopK on the mini GPT in JAX: jit compiles the gradient of one sample and the vector work of a step; fused is one
compiled program for a whole step, all clients of EF21 side by side (vmap). Every run begins again at the same weights."""
import functools

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree


class Problem:
    def __init__(self, job, model):
        weights = [jnp.asarray(part) for part in job.weights()]
        self.start, self.unravel = ravel_pytree(weights)
        self.samples = [tuple(map(jnp.asarray, pair)) for pair in job.batches()]
        self.everything = tuple(jnp.concatenate(parts) for parts in zip(*self.samples))
        loss = model(job)
        self.gradient = jax.grad(lambda x, tokens, targets: loss(self.unravel(x), tokens, targets))


def way(method, model):
    def build(job):
        problem, last = Problem(job, model), {}
        run = method(job, problem)  # compiled functions live as long as the peer

        def step(i):
            if i == 0:
                last["at"] = run()
            last["x"] = jax.block_until_ready(next(last["at"]))

        return step, lambda: (0.0, last["x"] - problem.start)
    return "fp32", build


def page(is_fused, job, problem):
    schedule, rate = job.settings["schedule"].split(";"), jnp.float32(job.number("step"))
    gradient = problem.gradient if is_fused else jax.jit(problem.gradient)

    def renew(x, batch):
        estimate = gradient(x, *batch)
        return estimate, x - rate * estimate

    def correct(estimate, x, before, batch):
        estimate = estimate + gradient(x, *batch) - gradient(before, *batch)
        return estimate, x - rate * estimate

    if is_fused:
        renew, correct = jax.jit(renew), jax.jit(correct)

    def run():
        x = problem.start
        for choice in schedule:
            if choice == "all":
                estimate, after = renew(x, problem.everything)
            else:
                estimate, after = correct(estimate, x, before, problem.samples[int(choice)])
            before, x = x, after
            yield x
    return run


def ef21(is_fused, job, problem):
    sent, rate = job.size("sent"), jnp.float32(job.number("step"))

    def update(estimate, gradient):
        difference = gradient - estimate
        _, chosen = jax.lax.top_k(jnp.abs(difference), sent)
        return estimate.at[chosen].add(difference[chosen])

    if is_fused:
        tokens, targets = (jnp.stack(parts) for parts in zip(*problem.samples))

        @jax.jit
        def round_of_all(x, estimates):
            gradients = jax.vmap(problem.gradient, (None, 0, 0))(x, tokens, targets)
            estimates = jax.vmap(update)(estimates, gradients)
            return x - rate * estimates.mean(0), estimates
    else:
        gradient, update = jax.jit(problem.gradient), jax.jit(update)

    def run():
        x = problem.start
        estimates = jnp.zeros((len(problem.samples), x.size), x.dtype)
        if not is_fused:
            estimates = list(estimates)
        while True:
            if is_fused:
                x, estimates = round_of_all(x, estimates)
            else:
                estimates = [update(estimate, gradient(x, *batch)) for estimate, batch in zip(estimates, problem.samples)]
                x = x - rate * jnp.stack(estimates).mean(0)
            yield x
    return run


def ways(model):
    methods = {"optimise-page": page, "optimise-ef21-topk": ef21}
    return {name: {"jit": way(functools.partial(method, False), model), "fused": way(functools.partial(method, True), model)}
            for name, method in methods.items()}
