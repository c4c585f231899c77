"""PAGE and EF21 with TopK on the mini GPT, as one writes them in PyTorch: flat vectors, torch.topk, a backward for every gradient. The
model is the fused one of pytorch_peer.py; compile runs it through torch.compile. Every run begins again at the same weights."""
import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters


class Problem:
    """Samples one by one, gradients as flat vectors."""

    def __init__(self, job, make, wrap):
        self.model = make(job)
        with torch.no_grad():
            for parameter, part in zip(self.model.parameters(), job.weights(), strict=True):
                parameter.copy_(torch.from_numpy(part))
        self.samples = [tuple(torch.from_numpy(part).long() for part in pair) for pair in job.batches()]
        self.everything = tuple(torch.cat(parts) for parts in zip(*self.samples))
        self.loss = wrap(self.model)
        self.start = parameters_to_vector(self.model.parameters()).detach().clone()

    def gradient(self, x, batch):
        vector_to_parameters(x, self.model.parameters())
        self.model.zero_grad()
        self.loss(*batch).backward()
        return torch.cat([parameter.grad.flatten() for parameter in self.model.parameters()])


def way(method, make, wrap=lambda model: model):
    def build(job):
        problem, last = Problem(job, make, wrap), {}

        def step(i):
            if i == 0:
                last["at"] = method(job, problem)
            last["x"] = next(last["at"])

        return step, lambda: (0.0, (last["x"] - problem.start).numpy())
    return "fp32", build


def page(job, problem):
    schedule, rate = job.settings["schedule"].split(";"), job.number("step")
    x = problem.start
    for choice in schedule:
        if choice == "all":
            estimate = problem.gradient(x, problem.everything)
        else:
            batch = problem.samples[int(choice)]
            estimate = estimate + problem.gradient(x, batch) - problem.gradient(before, batch)
        before, x = x, x - rate * estimate
        yield x


def ef21(job, problem):
    sent, rate = job.size("sent"), job.number("step")
    x = problem.start
    estimates = [torch.zeros_like(x) for _ in problem.samples]
    while True:
        for estimate, batch in zip(estimates, problem.samples):
            difference = problem.gradient(x, batch) - estimate
            magnitudes = difference.abs()
            least = torch.topk(magnitudes, sent, sorted=False).values.min()
            chosen = (magnitudes > least).nonzero().flatten()
            # Of equal numbers the first: torch.topk takes any, and embeddings of tokens and of places often have the same gradient.
            ties = (magnitudes == least).nonzero().flatten()[:sent - len(chosen)]
            chosen = torch.cat([chosen, ties])
            estimate[chosen] += difference[chosen]
        x = x - rate * torch.stack(estimates).mean(0)
        yield x


def ways(make):
    methods = {"optimise-page": page, "optimise-ef21-topk": ef21}
    return {name: {"fused": way(method, make), "compile": way(method, make, torch.compile)} for name, method in methods.items()}
