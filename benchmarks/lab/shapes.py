"""The sections on GPTs beyond the paper's, and on threads."""
from parts import Section, failed, fastest, figure, ours, over_limit, percent, varying
from results import duration, times


def shapes(results):
    """GPTs beyond the paper's: a section for each shape and batch, gradient and step side by side."""
    found = []
    rows = [row for row in results.of("gpt") if row.param("shape") != "paper"]
    points = {}
    for row in rows:
        points.setdefault(tuple(varying(sorted(row["params"].items(), key=lambda item: item[0] != "shape"))), []).append(row)
    for point, rows in points.items():
        best = {work: fastest(ours([row for row in rows if row["work"] == work])) for work in ("gradient", "step")}
        head = ["system", "mode", "work", "version", "time", "x limit", "x our time", "share of the FMA peak", "error against FP64"]
        lines = [[row["system"], row["mode"], row["work"], row["version"], duration(row.ns) if row.ns else failed(row), over_limit(row),
                  times(row.ns / best[row["work"]].ns) if row.ns and best.get(row["work"]) else "", percent("peak_share")(row),
                  figure("gradient_error", lambda x: f"{x:.1e}")(row)] for row in rows]
        found.append(Section(f"A GPT of {', '.join(point)} (FP32)", "A step is the gradient and AdamW. The limit is OpenBLAS on the "
                             "products alone.", [(head, lines)]))
    return found


def by_threads(rows, counts):
    """A line for each system, mode and work of one model."""
    at = {(row["system"], row["mode"], row["work"], row.param("threads")): row for row in rows}
    best = {(work, count): fastest(row for row in ours(rows) if (row["work"], row.param("threads")) == (work, count))
            for work in ("gradient", "step") for count in counts}
    for name in dict.fromkeys(key[:3] for key in at):
        found = {count: at.get((*name, count)) for count in counts}
        rival = {count: best.get((name[2], count)) for count in counts}
        yield [*name, *((duration(row.ns) if row.ns else failed(row)) if row else "" for row in found.values()),
               *(figure("ratio_to_one_thread", times)(found[count] or {}) for count in counts[1:]),
               *(times(row.ns / rival[count].ns) if row and row.ns and rival[count] else "" for count, row in found.items())]


def threads(results):
    """What more threads bring: models, and one graph of scalars by several builders."""
    rows = results.of("threads")
    if not rows:
        return None
    counts = results.values("threads", "threads")
    named = [f"{count:g} thread{'s' if count > 1 else ''}" for count in counts]
    columns = [*named, *(f"{name}, x one thread" for name in named[1:]), *(f"{name}, x our time" for name in named)]
    models = {}
    for row in rows:
        if row["work"] != "build":
            models.setdefault((row.param("shape"), row.param("batch")), []).append(row)
    tables = [([f"{shape}, batch {batch:g}", "", "", *columns], list(by_threads(chosen, counts)))
              for (shape, batch), chosen in models.items()]
    if builds := [row for row in rows if row["work"] == "build"]:
        tables.append((["system", "recorded by", "nodes", "time", "per node", "x one builder", "x serial"], [
            [row["system"], "the tape itself" if row["mode"] == "serial" else f"builders: {row.param('threads'):g}",
             f"{row.param('nodes'):,.0f}",
             *([duration(row.ns), duration(row.ns / row.param("nodes"))] if row.ns else [failed(row), ""]),
             figure("ratio_to_one_thread", times)(row) if row["mode"] != "serial" else "", figure("ratio_to_serial", times)(row)]
            for row in builds]))
    return Section("Threads (FP32, graphs of scalars FP64)", "GPTs by several threads, each on as many cores; PyTorch's fused attention, "
                   "alone and compiled. A step is the gradient and AdamW. Below 1 is a gain. Then one graph of scalars, recorded by the tape "
                   "itself or by `Builders`; sweeping it is not in the time.", tables)
