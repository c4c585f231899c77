"""What the report says: sections of sentences, tables and charts, made from a file of results. Nothing here is a figure."""
from dataclasses import dataclass, field

import paper
from results import duration, times

OURS = "burtorch"


@dataclass
class Chart:
    """Bars on a logarithmic axis: (label, nanoseconds, is it ours)."""
    title: str
    bars: list


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


def graph(results, experiment, title, text, tables):
    """tiny and small: one row per system and mode, beside the paper's ratio."""
    rows = results.of(experiment)
    if not rows:
        return None
    base = eager(rows)
    head = ["system", "mode", "version", "one gradient", "x limit", "x our eager"]
    head += [f"{name}: x its BurTorch" for name in tables]
    lines = []
    for row in rows:
        line = [row["system"], row["mode"], row["version"] if row["system"] != "limit" else ""]
        if row.ns:
            note = " (fp32)" if row["dtype"] == "fp32" else ""
            line += [duration(row.ns) + note, times(row["ratio_to_limit"]) if row["ratio_to_limit"] else "",
                     times(row.ns / base.ns) if base else ""]
        else:
            line += [failed(row), "", ""]
        for _, figures in tables.values():
            found = figures.get((row["system"], row["mode"]))
            line.append(times(found / figures["burtorch", "eager"]) if found else "")
        lines.append(line)
    bars = [(row.name, row.ns, row["system"]) for row in sorted((r for r in rows if r.ns), key=lambda r: r.ns)]
    return Section(title, text, [(head, lines)], [Chart("one gradient, logarithmic", bars)])


def grid(results, experiment, param, title, text, printed, **fixed):
    """mlp and gpt: a column per size, a row per system and mode."""
    rows = results.of(experiment, **fixed)
    if not rows:
        return None
    values = sorted({row.param(param) for row in rows})
    names = list(dict.fromkeys((row["system"], row["mode"]) for row in rows))
    at = {(row["system"], row["mode"], row.param(param)): row for row in rows}
    head = ["system", "mode"] + [f"{value:g}" for value in values]

    def line(name, show):
        cells = [show(at.get((*name, value))) for value in values]
        return [*name, *cells]

    best = {value: fastest(ours([r for r in rows if r.param(param) == value])) for value in values}
    tables = [(head, [line(name, lambda r: "" if r is None else duration(r.ns) if r.ns else failed(r)) for name in names])]
    limits = [name for name in names if name[0] in (OURS,)]
    shares = [[OURS, f"{name[1]}, x limit", *line(name, lambda r: times(r["ratio_to_limit"]) if r and r["ratio_to_limit"] else "")[2:]]
              for name in limits]
    shares += [[OURS, f"{name[1]}, share of the FMA peak",
                *line(name, lambda r: f"{100 * r['peak_share']:.0f} %" if r and r.get("peak_share") else "")[2:]] for name in limits]
    others = [name for name in names if name[0] not in (OURS, "limit")]
    slower = [line(name, lambda r: times(r.ns / best[r.param(param)].ns) if r and r.ns and best[r.param(param)] else "")
              for name in others]
    if any(any(cells[2:]) for cells in shares):
        tables.append((head, shares))
    if slower:
        tables.append((["times our time", *head[1:]], slower))
    for table, (machine, figures) in printed.items():
        base = figures["burtorch", "eager"]
        tables.append(([f"paper, {table}", *head[1:]], [
            [system, f"{mode}, x its BurTorch", *(times(x / y) for x, y in zip(times_, base))]
            for (system, mode), times_ in figures.items() if system != "burtorch"]))
    charts = []
    for value in (values[0], values[-1]):
        chosen = sorted((r for r in rows if r.param(param) == value and r.ns), key=lambda r: r.ns)
        charts.append(Chart(f"{param} {value:g}, logarithmic", [(r.name, r.ns, r["system"]) for r in chosen]))
    return Section(title, text, tables, charts)


def plain(results, experiment, title, text, columns):
    """Rows with their own figures: {head: row -> text}."""
    rows = results.of(experiment)
    if not rows:
        return None
    return Section(title, text, [(list(columns), [[show(row) for show in columns.values()] for row in rows])])


def losses(results):
    """Every point where somebody is faster, and where we are farthest from what the machine can do."""
    items = []
    points = {}
    for row in results.rows:
        if row["experiment"] in ("tiny", "small", "moons", "mlp", "gpt", "saveload"):
            key = row["experiment"], row["work"], tuple(sorted((k, v) for k, v in row["params"].items() if k not in ("iterations", "tile")))
            points.setdefault(key, []).append(row)
    for (experiment, _, params), rows in points.items():
        where = " ".join([experiment, *(f"{name} {value:g}" for name, value in params)])
        best = fastest(ours(rows))
        for row in peers(rows):
            if best and row.ns and row.ns < best.ns:
                items.append(f"{where}: {row.name} takes {times(row.ns / best.ns)} of our best ({best['mode']}).")
        for row in ours(rows):
            if not row.ns:
                items.append(f"{where}: {row.name} has no time: {failed(row)}.")
        rival = fastest(peers(rows))
        for row in ours(rows):
            if rival and row.ns and row.ns > rival.ns and row is not best:
                items.append(f"{where}: our mode {row['mode']} takes {times(row.ns / rival.ns)} times as long as {rival.name}.")
    far = sorted((row for row in results.rows if row["system"] == OURS and (row.get("ratio_to_limit") or 0) > 1),
                 key=lambda row: -row["ratio_to_limit"])
    for row in far[:8]:
        params = " ".join(f"{k} {v:g}" for k, v in row["params"].items() if k not in ("iterations", "tile"))
        items.append(f"{row['experiment']} {params}".strip() + f": {row['mode']} takes {times(row['ratio_to_limit'])} times the gradient by hand.")
    missing = sorted({row.name for row in peers(results.rows) if not row.ns})
    if missing:
        items.append("Not compared, for want of a time: " + ", ".join(missing) + ".")
    return Section("Where we lose", "Made from the results, nothing is left out: every point where another system is faster than our fastest "
                   "mode, our modes that are slower than a peer, and our rows farthest from the gradient by hand.", items=items)


def rows_text(name):
    return lambda row: f"{row.get(name):,.4g}" if row.get(name) is not None else ""


def sections(results):
    m = results.machine
    about = [f"{m.get('cpu', 'unknown processor')}, {m.get('cores', '?')} cores, {m.get('memory_gb', '?')} GB; {m.get('system', '')}; "
             f"{m.get('compiler', '')}, `{m.get('flags', '')}`; {m.get('date', '')}.",
             f"Command: `{m.get('command', './bench all')}`. Every system on one thread of one core, in turns, the minimum of "
             "many repeats; the gradient of every row was compared first, and a wrong one has no time. GPUs are left out: this is about one core.",
             "x limit: multiples of the same gradient written by hand, measured in the same run."]
    found = [
        Section("How", items=about),
        graph(results, "tiny", "The tiny graph (Figure 1, 10 nodes, FP64)", "", paper.TINY),
        graph(results, "small", "The small graph (Figure 2, 32 nodes, FP64)", "", paper.SMALL),
        plain(results, "moons", "A network in scalars: moons",
              "One full-batch gradient of micrograd's 2-16-16-1 network, 100 samples. The limit is plain loops by hand.",
              {"system": lambda r: r["system"], "mode": lambda r: r["mode"], "time": lambda r: duration(r.ns) if r.ns else failed(r),
               "x limit": lambda r: times(r["ratio_to_limit"]) if r["ratio_to_limit"] else ""}),
    ]
    for batch in results.values("mlp", "batch"):
        printed = {name: table for (name, b), table in paper.MLP.items() if b == batch}
        found.append(grid(results, "mlp", "hidden", f"The character MLP, batch {batch:g} (FP32), by hidden units",
                          "The limit `plain` does all the work of every sample; `shared` does what samples have in common once, as the library "
                          "does. In the paper, PyTorch predicts 16 characters per sample and BurTorch one; here everybody predicts one.",
                          printed, batch=batch))
    found.append(grid(results, "gpt", "batch", "The mini GPT (46,289 parameters, FP32), by batch",
                      "PyTorch's eager goes head by head, as the paper's baseline; fused has all heads in one product.", paper.GPT))
    found += [
        plain(results, "memory", "Start and memory of whole processes", "Training programs take ten steps of AdamW.",
              {"program": lambda r: r["mode"], "batch": lambda r: f"{r.param('batch'):g}" if r.param("batch") else "",
               "tile": lambda r: {None: "", 0: "fastest"}.get(r.param("tile"), f"{r.param('tile') or 0:g}"),
               "start to first gradient": lambda r: duration(r.ns), "peak resident, KB": rows_text("vm_hwm_kb"),
               "private, KB": rows_text("private_dirty_kb"), "1.5 MB + 1.3 x its numbers, KB": rows_text("allowed_kb")}),
        plain(results, "compile", "What compile-time graphs cost the compiler", "",
              {"graph": lambda r: r["mode"], "nodes": lambda r: f"{r.param('nodes'):g}", "seconds": rows_text("seconds"),
               "added": rows_text("added_seconds"), "peak MB": rows_text("peak_mb")}),
        plain(results, "scale", "Growth", "Recording and sweeping, per node.",
              {"nodes": lambda r: f"{r.param('nodes'):,.0f}", "per node": lambda r: duration(r.ns), "bytes per node": rows_text("bytes_per_node")}),
        losses(results),
    ]
    return [section for section in found if section]
