"""What the peers in Python share: their job, and the conversation with the harness (benchmarks/peers.hpp tells it).

A peer has one function per experiment that gives its ways, {mode: (dtype, build)}. `build(job)` gives `step(i)`, which computes
value and gradient for batch i and waits for them, and `answer()`, which gives (loss, flat gradient) of the last step; a third
thing may be figures of this way, {name: number}.
"""
import importlib
import math
import os
import pathlib
import sys
import time


def needs(*modules):
    """Imports what the peer compares; without it the peer ends, and says what is missing."""
    try:
        return [importlib.import_module(name) for name in modules]
    except ImportError as error:
        print(error, file=sys.stderr)
        sys.exit(77)


class Job:
    def __init__(self, arguments):
        self.experiment, self.folder = arguments[0], pathlib.Path(arguments[1])
        self.settings = dict(word.split("=", 1) for word in arguments[2:])

    def number(self, name):
        return float(self.settings[name])

    def size(self, name):
        return int(self.number(name))

    def has(self, name):
        return self.number(name) != 0

    def threads(self):
        return int(self.settings.get("threads", 1))

    def shapes(self):
        """Of the weights, in the order of torch's model.parameters(); matrices are [out, in]."""
        if self.experiment == "mlp":
            hidden = self.size("hidden")
            return [(27, 64), (hidden, 16 * 64), (hidden,), (27, hidden), (27,)]
        vocabulary, context, width, layers = (self.size(name) for name in ("vocabulary", "context", "width", "layers"))

        def linear(inputs, outputs, bias="biases"):
            return [(outputs, inputs)] + [(outputs,)] * self.has(bias)
        norm = [(width,)] * (1 + self.has("biases"))
        block = [*norm, *linear(width, 3 * width, "attention_biases"), *linear(width, width), *norm, *linear(width, 4 * width),
                 *linear(4 * width, width)]
        return [(vocabulary, width), (context, width), *(block * layers), *(norm * self.has("final_norm")),
                *(linear(width, vocabulary) * (not self.has("tied")))]

    def weights(self):
        """Arrays of fp32, one for each shape."""
        import numpy
        numbers, parts = numpy.fromfile(self.folder / "weights.bin", dtype=numpy.float32), []
        for shape in self.shapes():
            count = math.prod(shape)
            parts.append(numbers[:count].reshape(shape))
            numbers = numbers[count:]
        assert not numbers.size, numbers.size
        return parts

    def batches(self):
        """(tokens, targets) of each batch, a row per sample, int32."""
        import numpy
        context, wanted = (16, 1) if self.experiment == "mlp" else (self.size("context"),) * 2
        batch = self.size("batch")
        parts = numpy.fromfile(self.folder / "batches.bin", dtype=numpy.int32).reshape(-1, batch * (context + wanted))
        return [(part[:batch * context].reshape(batch, context), part[batch * context:].reshape(batch, wanted))
                for part in parts]


def job():
    """This process's."""
    return Job(sys.argv[1:])


def tiny(a, b):
    """Figure 1, in anybody's numbers."""
    c = a + b
    d = a * b + b**3
    e = c - d
    f = e**2
    return f / 2.0


def small_nodes(a, b, relu):
    """Figure 2, Listing F.8: the seven things that have names there."""
    c = a + b
    d = a * b + b**3
    c = c + c + 1.0
    c = c + 1.0 + c - a
    d = d + d * 2.0 + relu(b + a)
    d = d + 3.0 * d + relu(b - a)
    e = c - d
    f = e**2
    g = f / 2.0
    return a, b, c, d, e, f, g + 10.0 / f


def small(a, b, relu):
    return small_nodes(a, b, relu)[-1]


def files(make, save, load):
    """For saveload: make(job) gives the nodes; save(path, nodes); load(path) gives what numpy takes for numbers."""
    def build(job):
        nodes, path, last = make(job), str(job.folder / f"saved-{make.__name__}-{save.__name__}"), {}
        save(path, nodes)

        def step(_):
            if job.number("load"):
                last["found"] = load(path)
            else:
                save(path, nodes)

        def answer():
            numbers = [float(x) for x in (last["found"] if job.number("load") else load(path))]
            return numbers[-1], numbers
        return step, answer, {"file_bytes": os.path.getsize(path)}
    return "fp64", build


def say(*words):
    print(*words, flush=True)


def main(version, experiments):
    """Takes part: {experiment: {mode: (dtype, build)}}."""
    job = Job(sys.argv[1:])
    say("version", version)
    running = {}
    # The steps of a method have no end: the last one is followed by the next, and every run begins with the first.
    batches = 32 if job.experiment == "mlp" else sys.maxsize if job.experiment.startswith("optimise") else int(job.settings.get("batches", 1))
    for mode, (dtype, build) in experiments.get(job.experiment, {}).items():
        if mode not in job.settings.get("only", mode).split(","):
            continue
        if "list" in job.settings:
            say("mode", mode, dtype, 0)
            continue
        started = time.perf_counter()
        try:
            step, answer, *figures = build(job)
            step(0)
        except Exception as error:  # whatever went wrong is the row's text
            say("failed", mode, f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")
            continue
        more = [f"{name}={value}" for part in figures for name, value in part.items()]
        say("mode", mode, dtype, (time.perf_counter() - started) * 1e3, *more)
        running[mode] = step, answer
    say("ready")
    for line in sys.stdin:
        command, mode, *rest = line.split()
        step, answer = running[mode]
        if command == "run":
            calls = int(rest[0])
            started = time.perf_counter_ns()
            for i in range(calls):
                step(i % batches)
            say(time.perf_counter_ns() - started)
        else:
            import numpy
            loss, gradient = answer()
            numpy.asarray(gradient, dtype=numpy.float64).tofile(job.folder / "gradient.bin")
            say(repr(float(loss)))
