"""What sections are made of, and how rows are picked and put into words."""
from dataclasses import dataclass, field

from results import times

OURS = "burtorch"


@dataclass
class Chart:
    """Bars on a logarithmic axis: (label, nanoseconds, is it ours)."""
    title: str
    bars: list


@dataclass
class Growth:
    """Lines on logarithmic axes: {label: [(x, nanoseconds)]}."""
    title: str
    x: str
    lines: dict


@dataclass
class Section:
    title: str
    text: str = ""
    tables: list = field(default_factory=list)  # (head, rows)
    charts: list = field(default_factory=list)
    items: list = field(default_factory=list)  # a list of sentences


def failed(row):
    return row.get("failure", "").split(":")[0] or "no time"


def fastest(rows):
    return min((row for row in rows if row.ns), key=lambda row: row.ns, default=None)


def ours(rows):
    return [row for row in rows if row["system"] == OURS]


def peers(rows):
    return [row for row in rows if row["system"] not in (OURS, "limit")]


def eager(rows):
    return next((row for row in ours(rows) if row["mode"] == "eager" and row.ns), None)


def growth(title, param, rows, name=lambda row: row.name):
    lines = {}
    for row in rows:
        if row.ns and row.param(param):
            lines.setdefault(name(row), []).append((row.param(param), row.ns))
    return Growth(title, param, {label: sorted(points) for label, points in lines.items() if len(points) > 1})


def place(experiment, work):
    return f"{experiment}, {work}" if work in ("save", "load", "step", "build") else experiment


def varying(params):
    """What a row varies, in words; the paper's shape goes without saying."""
    return [f"{name} {value}" if isinstance(value, str) else f"{name} {value:g}" for name, value in params
            if name not in ("iterations", "tile") and value != "paper"]


def figure(name, show):
    return lambda row: show(row[name]) if row.get(name) is not None else ""


def rows_text(name):
    return figure(name, lambda x: f"{x:,.4g}")


def percent(name):
    return figure(name, lambda x: f"{100 * x:.0f} %")


def kb(name):
    return figure(name, lambda x: f"{x:,.0f}" if x else "")


over_limit = figure("ratio_to_limit", times)
