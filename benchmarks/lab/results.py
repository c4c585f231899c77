"""A file of results: JSON lines, the first about the machine, then one row each (BENCHMARKS rows as ./bench --json writes them)."""
import json


class Row(dict):
    """A row; what varies lies under params."""

    @property
    def name(self):
        return f"{self['system']} {self['mode']}".strip()

    @property
    def ns(self):
        return self.get("ns_min")

    def param(self, name):
        return self.get("params", {}).get(name)

    def key(self):
        """What makes it the same row in another file. Iterations are the harness's choice."""
        varying = {k: v for k, v in self.get("params", {}).items() if k not in ("iterations", "tile")}
        return self["experiment"], self["system"], self["mode"], self["dtype"], self["work"], tuple(sorted(varying.items()))


class Results:
    def __init__(self, path):
        self.machine, self.rows = {}, []
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    found = json.loads(line)
                except ValueError as error:
                    raise SystemExit(f"{path}:{number}: not a line of JSON: {error}") from None
                if "machine" in found:
                    self.machine = found["machine"]
                else:
                    if found["experiment"] == "gpt":  # older files have only the paper's
                        found["params"].setdefault("shape", "paper")
                    self.rows.append(Row(found))
        if not self.rows:
            raise SystemExit(f"{path}: no rows of results")

    def of(self, experiment, **params):
        """The rows of an experiment, in the order they were measured."""
        return [row for row in self.rows if row["experiment"] == experiment
                and all(row.param(name) == value for name, value in params.items())]

    def values(self, experiment, param):
        """What a parameter was set to, ascending."""
        return sorted({row.param(param) for row in self.of(experiment)} - {None})


def duration(ns):
    """A time as people read it, three digits."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


def times(ratio):
    """A ratio: 0.53, 7.2, 48, 1,300."""
    return f"{ratio:.2f}" if ratio < 3 else f"{ratio:.1f}" if ratio < 10 else f"{float(f'{ratio:.2g}'):,.0f}"
