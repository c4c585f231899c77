"""Compares two files of results and names what became slower beyond the noise.

usage: ./bench check OLD NEW [--most RATIO]
Times are compared as multiples of the limit of their own run where there is one, since machines differ from day to day. A row
counts as slower if it takes more than RATIO times (1.1) as long and more than the spreads of both runs explain.
Exit code: 0 nothing is slower, 1 something is, 2 wrong usage.
"""
import argparse

from results import Results


def measure(row):
    """What is compared, and its name."""
    if row.get("ratio_to_limit"):
        return row["ratio_to_limit"], "x limit"
    return row.ns, "ns"


def main():
    parser = argparse.ArgumentParser(prog="bench check", description=__doc__.split("usage:")[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--most", type=float, default=1.1, help="how much longer a row may take (1.1)")
    options = parser.parse_args()
    old = {row.key(): row for row in Results(options.old).rows}
    worse, better, same, lost = [], [], 0, []
    for row in Results(options.new).rows:
        before = old.pop(row.key(), None)
        if before is None or not before.ns:
            continue
        if not row.ns:
            lost.append(f"{row['experiment']} {row.name} {row['params']}: {row.get('failure', 'no time')}, had one before")
            continue
        (now, unit), (then, unit_then) = measure(row), measure(before)
        if unit != unit_then:
            now, then, unit = row.ns, before.ns, "ns"
        ratio, noise = now / then, 1 + row["spread"] + before["spread"]
        text = f"{row['experiment']} {row.name} {row['params']}: {then:.4g} -> {now:.4g} {unit} ({ratio:.2f} times, noise {noise:.2f})"
        if ratio > max(options.most, noise):
            worse.append(text)
        elif ratio < 1 / max(options.most, noise):
            better.append(text)
        else:
            same += 1
    lost += [f"{row['experiment']} {row.name} {row['params']}: missing" for row in old.values() if row.ns]
    for title, lines in (("slower", worse), ("lost", lost), ("faster", better)):
        for line in lines:
            print(f"{title}: {line}")
    print(f"{len(worse)} slower, {len(lost)} lost, {len(better)} faster, {same} the same")
    return 1 if worse or lost else 0


if __name__ == "__main__":
    raise SystemExit(main())
