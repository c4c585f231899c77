"""What the report says: sections of sentences, tables and charts, made from a file of results. Nothing here is a figure."""
import paper
from parts import (OURS, Chart, Section, eager, failed, fastest, figure, growth, kb, ours, over_limit, peers, percent, place, rows_text,
                   varying)
from results import duration, times
from shapes import shapes, threads

MODES = ("Ours: `eager` records on a tape anew each time, `static` is `compile`, `replay` is `record`, `scratch` is "
         "`backwardWithScratchStorage`; `batch` works on arrays of inputs, `dependent` makes each input wait for the last output. "
         "The limit `dependent` is the unit.")


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


def grid(results, experiment, param, title, text, printed, figures, **fixed):
    """mlp and gpt: a column per size, a row per system and mode. `figures` are further figures of our rows: {name: row -> text}."""
    rows = results.of(experiment, **fixed)
    if not rows:
        return None
    values = sorted({row.param(param) for row in rows} - {None})
    at = {(row["system"], row["mode"], row.param(param)): row for row in rows}
    names = list(dict.fromkeys((row["system"], row["mode"]) for row in rows))
    timed = [name for name in names if any(row.ns for row in rows if (row["system"], row["mode"]) == name)]
    head = [param, ""] + [f"{value:g}" for value in values]

    def line(name, show):
        found = [at.get((*name, value)) for value in values]
        return [*name, *(show(row) if row else "" for row in found)]

    best = {value: fastest(ours([row for row in rows if row.param(param) == value])) for value in values}
    tables = [(head, [line(name, lambda row: duration(row.ns) if row.ns else failed(row)) for name in timed])]
    more = [[OURS, f"{name[1]}, {what}", *line(name, show)[2:]] for what, show in figures.items() for name in timed if name[0] == OURS]
    if more:
        tables.append((head, more))
    slower = [line(name, lambda row: times(row.ns / best[row.param(param)].ns) if row.ns and best[row.param(param)] else "")
              for name in timed if name[0] not in (OURS, "limit")]
    if slower:
        tables.append((["times our time", *head[1:]], slower))
    for name, (_, columns) in printed.items():
        base = columns["burtorch", "eager"]
        tables.append(([f"paper, {name}", *head[1:]], [
            [system, f"{mode}, x its BurTorch", *(times(x / y) for x, y in zip(column, base))]
            for (system, mode), column in columns.items() if system != "burtorch"]))
    charts = []
    for value in (values[0], values[-1]):
        chosen = sorted((row for row in rows if row.param(param) == value and row.ns), key=lambda row: row.ns)
        charts.append(Chart(f"{param} {value:g}, one gradient, logarithmic", [(row.name, row.ns, row["system"]) for row in chosen]))
    charts.append(growth(f"one gradient by {param}", param, rows))
    without = sorted({f"{row.name} ({failed(row)})" for row in rows if (row["system"], row["mode"]) not in timed})
    note = f" No times: {', '.join(without)}." if without else ""
    return Section(title, text + note, tables, charts)


def plain(results, experiment, title, text, columns, modes=None, by=()):
    """Rows with their own figures: {head: row -> text}. `by`: (mode, parameter) that lines are drawn for."""
    rows = [row for row in results.of(experiment) if modes is None or row["mode"] in modes]
    if not rows:
        return None
    charts = [growth(f"one {rows[0]['work']} by {param}", param, [row for row in rows if row["mode"] == mode]) for mode, param in by]
    return Section(title, text, [(list(columns), [[show(row) for show in columns.values()] for row in rows])], charts)


def saveload(results):
    """Table 4: both ways in one line."""
    rows = results.of("saveload", megabytes=None)
    if not rows:
        return None
    printed, figures = next(iter(paper.SAVELOAD.items()))
    head = ["system", "mode", "version", "save", "x loop", "load", "x loop", "bytes", f"{printed}: save, s per 5,000", "load, s per 5,000", "bytes"]
    lines = []
    for name in dict.fromkeys((row["system"], row["mode"]) for row in rows):
        both = {row["work"]: row for row in rows if (row["system"], row["mode"]) == name}
        line = [*name, next((row["version"] for row in both.values() if name[0] not in (OURS, "limit")), "")]
        for work in ("save", "load"):
            row = both.get(work)
            line += ["", ""] if row is None else [duration(row.ns), times(row["ratio_to_limit"])] if row.ns else [failed(row), ""]
        line.append(next((f"{row['file_bytes']:.0f}" for row in both.values() if row.get("file_bytes")), ""))
        lines.append(line + [f"{x:g}" for x in figures[1].get(name, ())] + [""] * (0 if name in figures[1] else 3))
    tables = [(head, lines)]
    if large := results.of("saveload", megabytes=100):
        copy = next((row.ns for row in large if row["mode"] == "cp"), None)
        tables.append((["system", "mode", "100 MB", "x read", "x cp"], [
            [row["system"], row["mode"], duration(row.ns) if row.ns else failed(row), over_limit(row),
             times(row.ns / copy) if row.ns and copy else ""] for row in large]))
    return Section("Saving and loading (Table 4: seven numbers of the small graph)",
                   "The limit is the system's open, write or read, close; `truncate` cuts the file first, as torch.save and most programs do, "
                   "which some file systems (ext4) answer with a flush when the file is closed. Ours: `raw` writes in place, `atomic` replaces the file as a whole, "
                   "`durable` (the default) has it on the disk too. 100 MB: a safetensors file into the parameters of a model, beside one `read` and `cp`.",
                   tables)


def kernels(results):
    """One line for each kernel, shape and work, its limit beside it."""
    rows = results.of("kernels")
    if not rows:
        return None

    def key(row):
        return row["work"], tuple(sorted((name, value) for name, value in row["params"].items() if name != "iterations"))

    limits = {key(row): row for row in rows if row["system"] == "limit" and row["mode"] in ("stream", "openblas")}
    head = ["kernel", "shape", "work", "time", "ns per number", "GFLOP/s", "share of the FMA peak", "share of the memory's bandwidth", "limit", "x limit"]
    lines = []
    for row in ours(rows):
        sizes = [f"{row.param(name):,.0f}" for name in ("rows", "inner", "columns", "parameters") if row.param(name)]
        limit = limits.get(key(row))
        lines.append([row.param("kernel"), " x ".join(sizes), row["work"], duration(row.ns) if row.ns else failed(row),
                      figure("ns_per_number", lambda x: f"{x:.2g}")(row), figure("gflops", lambda x: f"{x:.3g}")(row), percent("peak_share")(row),
                      percent("bandwidth_share")(row), f"{limit['mode']}, {duration(limit.ns)}" if limit and limit.ns else "", over_limit(row)])
    return Section("Kernels, one by one (FP32)", "A gradient is the value and its way back. The limit `stream` is a loop that reads and writes the same arrays "
                   "and computes next to nothing, wherever they lie: arrays that a cache holds have more than all of the memory's bandwidth. The limit of products is OpenBLAS.",
                   [(head, lines)])


def losses(results):
    """Every point where somebody is faster, and where we are farthest from what the machine can do."""
    items = []
    points = {}
    for row in results.rows:
        if row["experiment"] in ("tiny", "small", "moons", "mlp", "gpt", "saveload", "threads"):
            key = row["experiment"], row["work"], tuple(sorted((k, v) for k, v in row["params"].items() if k not in ("iterations", "tile")))
            points.setdefault(key, []).append(row)
    for (experiment, work, params), rows in points.items():
        where = " ".join([place(experiment, work), *varying(params)])
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
    far = sorted((row for row in results.rows if row["system"] == OURS and row["experiment"] not in ("kernels", "optimise") and (row.get("ratio_to_limit") or 0) > 1),
                 key=lambda row: -row["ratio_to_limit"])
    for row in far[:8]:
        params = " ".join(varying(row["params"].items()))
        limit = {"save": "plain open, write and close", "load": "plain open, read and close"}.get(row["work"], "gradient by hand")
        if row["experiment"] == "gpt" and row.param("shape") != "paper":
            limit = "products by OpenBLAS"
        items.append(f"{place(row['experiment'], row['work'])} {params}".strip() + f": {row['mode']} takes {times(row['ratio_to_limit'])} times the {limit}.")
    slow = sorted((row for row in ours(results.of("kernels")) if (row.get("ratio_to_limit") or 0) > 1), key=lambda row: -row["ratio_to_limit"])
    for row in slow[:4]:
        limit = "the product by OpenBLAS" if row.param("kernel") == "product" else "a loop over the same memory"
        items.append(f"kernels, {row['work']} {' '.join(varying(row['params'].items()))}: takes {times(row['ratio_to_limit'])} times {limit}.")
    missing = sorted({row.name for row in peers(results.rows) if not row.ns})
    if missing:
        items.append("Not compared, for want of a time: " + ", ".join(missing) + ".")
    return Section("Where we lose", "Made from the results, nothing is left out: every point where another system is faster than our fastest "
                   "mode, our modes that are slower than a peer, and our rows farthest from the gradient by hand.", items=items)


def energy(results):
    """Table 19: everybody's cost of 200,000 gradients of the small graph."""
    rows = results.of("energy")
    if not rows:
        return None
    is_measured = any(row.get("joules") is not None for row in rows)
    text = ("200,000 gradients of the small graph, scaled from as many as fit into two seconds. " +
            ("Joules are those of the whole processor package." if is_measured else "Energy: not measured, this machine does not count "
             "it; processor seconds and instructions (counted by the processor, or by valgrind for our eager) stand for it; an empty "
             "cell: not measured."))
    base = next((row for row in ours(rows) if row["mode"] == "eager" and row.get("cpu_seconds")), None)
    head = ["system", "mode", "seconds", "processor seconds", "x our eager", "instructions per gradient"]
    head += ["joules"] if is_measured else []
    figures = next(iter(paper.ENERGY.values()))[1]
    head.append(f"{next(iter(paper.ENERGY))}: energy, x its BurTorch")
    lines = []
    for row in rows:
        printed = figures.get((row["system"], row["mode"]))
        if not row.ns:
            lines.append([row["system"], row["mode"], failed(row)] + [""] * (len(head) - 3))
            continue
        line = [row["system"], row["mode"], f"{row.ns / 1e9:.3g}", f"{row.get('cpu_seconds', 0):.3g}",
                times(row.ns / base.ns) if base else "", rows_text("instructions_per_gradient")(row)]
        line += [rows_text("joules")(row)] if is_measured else []
        lines.append(line + [times(printed[1] / figures["burtorch", "eager"][1]) if printed else ""])
    return Section("Energy (Table 19)", text, [(head, lines)])


def sections(results):
    m = results.machine
    about = [f"{m.get('cpu', 'unknown processor')}, {m.get('cores', '?')} cores, {m.get('memory_gb', '?')} GB; {m.get('system', '')}; "
             f"{m.get('compiler', '')}, `{m.get('flags', '')}`; {m.get('date', '')}.",
             f"Command: `{m.get('command', './bench all')}`. Every system on one thread of one core, in turns, the minimum of "
             "many repeats; the gradient of every row was compared first, and a wrong one has no time. GPUs are left out: this is about one core.",
             *(["The section on threads: as many cores as threads."] if results.of("threads") else []),
             "x limit: multiples of the same gradient written by hand (of plain system calls for files), measured in the same run.", *filter(None, [m.get("note")])]
    found = [
        Section("How", items=about),
        graph(results, "tiny", "The tiny graph (Figure 1, 10 nodes, FP64)", MODES, paper.TINY),
        graph(results, "small", "The small graph (Figure 2, 32 nodes, FP64)", "The same modes.", paper.SMALL),
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
                          printed, {"x limit plain": over_limit, "x limit shared": figure("ratio_to_shared", times)} if batch > 1
                          else {"x limit": over_limit}, batch=batch, predictions=None))
        found.append(grid(results, "mlp", "hidden", f"The character MLP with 16 predictions per sample, batch {batch:g}",
                          "The paper's form of PyTorch's side: every prefix of a context is predicted from. Ours does the same work.",
                          {}, {}, batch=batch, predictions=16))
    found.append(grid(results, "gpt", "batch", "The mini GPT (46,289 parameters, FP32), by batch",
                      "PyTorch's eager goes head by head, as the paper's baseline; fused has all heads in one product.", paper.GPT,
                      {"x limit": over_limit, "share of the FMA peak": percent("peak_share"), "share of the memory's bandwidth": percent("bandwidth_share")}, shape="paper"))
    found += [*shapes(results), threads(results)]
    found += [
        kernels(results),
        plain(results, "optimise", "Optimisers inside backpropagation (FP32)", "Each row stands beside what it is measured by, in the same turns: a method beside "
              "the gradients that its steps ask for, RandSeqK beside RandK, TopK beside std::nth_element, the others beside one gradient or sweep of the mini GPT at b = 1. "
              "Of PyTorch and JAX: how many of our steps theirs takes.",
              {"system": lambda r: r["system"], "mode": lambda r: r["mode"], "work": lambda r: r["work"], "time": lambda r: duration(r.ns) if r.ns else failed(r),
               "x limit": over_limit, "target": figure("target", times), "x our time": figure("times_ours", times), "target, at least": figure("target_least", times)}),
        plain(results, "pack", "Packs", "Gradients of the small graph at 100,000 inputs on one tape, a lane for each; the unit is the tape of doubles. "
              "Functions of packs beside those of the C library, the unit; errors are the largest of 4,096 numbers.",
              {"system": lambda r: r["system"], "mode": lambda r: r["mode"], "function": lambda r: r.param("function") or "", "lanes": lambda r: f"{r.param('lanes'):g}" if r.param("lanes") else "",
               "type": lambda r: r["dtype"], "time": lambda r: duration(r.ns) if r.ns else failed(r), "ns for an input": figure("ns_per_input", lambda x: f"{x:.3g}"),
               "ns for a number": figure("ns_per_number", lambda x: f"{x:.3g}"), "x limit": over_limit, "ulp": figure("ulp", lambda x: f"{x:.2f}")}),
        plain(results, "memory", "Start and memory of whole processes", "Our training programs take ten steps of AdamW. The others compute "
              "one gradient and take no step, each mode in a process of its own; the time includes imports and compilation. Least of 40 starts; "
              "who takes long is started for two seconds, at least once.",
              {"system": lambda r: r["system"], "mode": lambda r: r["mode"], "work": lambda r: r["work"].replace(" process", ""), "batch": lambda r: f"{r.param('batch'):g}" if r.param("batch") else "",
               "tile": lambda r: {None: "", 0: "fastest"}.get(r.param("tile"), f"{r.param('tile') or 0:g}"),
               "start to first gradient": lambda r: duration(r.ns) if r.ns else failed(r), "peak virtual, KB": kb("vm_peak_kb"),
               "peak resident, KB": kb("vm_hwm_kb"), "private, KB": kb("private_dirty_kb"), "1.5 MB + 1.3 x its numbers, KB": kb("allowed_kb")}),
        plain(results, "compile", "What compile-time graphs cost the compiler", "",
              {"graph": lambda r: r["mode"], "nodes": lambda r: f"{r.param('nodes'):g}", "seconds": rows_text("seconds"),
               "added": rows_text("added_seconds"), "peak MB": rows_text("peak_mb")}),
        plain(results, "scale", "Growth of a graph", "Recording and sweeping, per node.",
              {"nodes": lambda r: f"{r.param('nodes'):,.0f}", "per node": lambda r: duration(r.ns), "bytes per node": rows_text("bytes_per_node")},
              ["eager"], [("eager", "nodes")]),
        plain(results, "scale", "Growth of a GPT", "One gradient of GPTs of other widths, and of the mini GPT with other batches.",
              {"parameters": lambda r: f"{r.param('parameters'):,.0f}", "batch": lambda r: f"{r.param('batch'):g}",
               "one gradient": lambda r: duration(r.ns) if r.ns else failed(r),
               "per sample and parameter": lambda r: duration(r.ns / r.param("parameters") / r.param("batch")) if r.ns else "",
               "share of the FMA peak": percent("peak_share")},
              ["gpt-parameters", "gpt-batch"], [("gpt-parameters", "parameters"), ("gpt-batch", "batch")]),
        saveload(results),
        energy(results),
        losses(results),
    ]
    return [section for section in found if section]
