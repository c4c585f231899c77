#!/usr/bin/env python3
"""The folder tree is the architecture: includes under include/burtorch follow the table FOLDERS.

A folder may include itself and the folders that its line names; core includes nothing else but the
standard library. Every header has `#pragma once` and opens with a comment. Headers and core stay short. CONTRIBUTING.md
shows the table.

usage: include_direction.py [SOURCE_DIR]    check a source tree (default: the one this file is in)
       include_direction.py --map           print the table as CONTRIBUTING.md must show it
       include_direction.py --self-test     check that breaches planted in a temporary tree are found
Prints each breach as file:line: sentence, then the line budget. Exit code: 0 clean, 1 breach, 2 wrong usage.
"""
import pathlib
import re
import sys
import tempfile

# folder: (what it holds, the folders it may include). It may name only folders above it, so there are no circles.
FOLDERS = {
    "base": ("configuration, errors, random numbers, threads: used by everybody, knows nothing of tapes", ()),
    "ops": ("the operators, one struct each, their lists and kernels, dual numbers, what an instruction says", ("base",)),
    "simd": ("packs, their functions, loads of parts, transposes", ("base", "ops")),
    "core": ("the engine: tape, value, backward and its knobs", ("base", "ops", "simd")),
    "functional": ("gradients and Hessian-vector products of functions, gradient check", ("base", "ops", "core")),
    "graph": ("compile-time graphs, recorded functions", ("base", "ops", "simd", "core")),
    "parallel": ("several threads or processes at work on one thing: builders, ranks that exchange bytes", ("base", "core")),
    "mpi": ("ranks over MPI: the only folder that includes mpi.h, and only who wants MPI includes it", ("base", "parallel")),
    "nn": ("parameters, layers and losses, one per file", ("base", "ops", "simd", "core")),
    "model": ("composition of layers; no derivative is written here", ("base", "core", "nn")),
    "data": ("tokenizer, text, batches", ("base",)),
    "oracle": ("what an optimiser may ask of a function", ("base", "core", "parallel", "nn", "data")),
    "optimise": ("the methods of the paper's section 4: sampling, compressors, what workers and servers say",
                 ("base", "ops", "simd", "core", "parallel", "nn", "oracle")),
    "train": ("optimisers, the training loop", ("base", "ops", "simd")),
    "io": ("file formats: may fail, says why", ("base", "core", "data", "train")),
    "checkpoint": ("models and trainings as files", ("base", "nn", "model", "train", "io")),
    "viz": ("generated text (DOT, scripts, SVG): runs nothing", ("base", "ops", "core", "graph", "nn", "data", "io")),
    "debug": ("plots in a window while a program runs: the only folder that starts something", ("base", "io")),
}
HEADER_LINES = 350
CORE_LINES = 3188
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
# Core does no input or output; <iostream> would also run an initialiser in every program.
IO_HEADERS = {"iostream", "fstream", "print"}


def folder_map():
    """The table as CONTRIBUTING.md shows it."""
    lines = ["| folder | holds | may include |", "|---|---|---|"]
    for folder, (what, allowed) in FOLDERS.items():
        lines.append(f"| `{folder}/` | {what} | {' '.join(allowed) or 'only the standard library'} |")
    return "\n".join(lines) + "\n"


def target_of(quote, name, header, include):
    """The library header an include names, or None for a header of somebody else."""
    if quote == '"' and (header.parent / name).resolve().is_file():
        return (header.parent / name).resolve()
    if (include / name).is_file() or name.startswith("burtorch/"):
        return include / name
    return None


def folder_of(path, root):
    """'core' for root/core/x.hpp, '' for root/x.hpp and for the script header beside root."""
    parts = path.relative_to(root.parent).parts
    return parts[1] if len(parts) > 2 else ""


def breach_of_include(quote, name, header, root):
    """Why this include is not allowed, or None."""
    include = root.parent
    folder = folder_of(header, root)
    target = target_of(quote, name, header, include)
    if target is None:
        if quote == '"':
            return f'"{name}" is not a header of the library'
        if folder == "core" and ("/" in name or name.endswith(".h")):
            return f"core may include only itself and standard headers, not <{name}>"
        if folder == "core" and name in IO_HEADERS:
            return f"core does no input or output and must not include <{name}>"
        return None
    if not target.is_file():
        return f"{name} does not exist"
    if folder == "":
        return None
    wanted = folder_of(target, root)
    if wanted == "":
        return f"{folder} must not include {target.relative_to(include)}, which includes everything"
    allowed = FOLDERS[folder][1]
    if wanted != folder and wanted not in allowed:
        return f"{folder} must not include {wanted}, only {', '.join(allowed) or 'itself'}"
    return None


def breaches_of_header(header, root):
    """Yields (line number, sentence)."""
    lines = header.read_text(encoding="utf-8").splitlines()
    folder = folder_of(header, root)
    if folder and folder not in FOLDERS:
        yield 1, f"folder {folder} has no line in the table of {pathlib.Path(__file__).name}"
        return
    if "#pragma once" not in lines:
        yield 1, "the header has no #pragma once"
    opening = next((line for line in lines if line.strip() not in ("", "#pragma once")), "")
    if not opening.startswith(("//", "/*")):
        yield 1, "the header does not open with a comment that says what it is for"
    if len(lines) > HEADER_LINES:
        yield len(lines), f"the header has {len(lines)} lines, over {HEADER_LINES}: is it still one idea?"
    for number, line in enumerate(lines, 1):
        found = INCLUDE.match(line)
        sentence = found and breach_of_include(found[1], found[2], header, root)
        if sentence:
            yield number, sentence


def check(source):
    """Returns (breaches as text, lines of the budget report)."""
    root = source.resolve() / "include" / "burtorch"
    headers = sorted([*root.rglob("*.h*"), *root.parent.glob("*.h")])
    if not headers:
        return [f"{source}: no headers under include/burtorch"], []
    breaches = [
        f"{header.relative_to(source.resolve())}:{number}: {sentence}"
        for header in headers
        for number, sentence in breaches_of_header(header, root)
    ]
    for place, (folder, (_, allowed)) in enumerate(FOLDERS.items()):
        breaches += [f"tests/include_direction.py:1: {folder} names {other}, which is not above it"
                     for other in allowed if other not in list(FOLDERS)[:place]]
    contributing = source / "CONTRIBUTING.md"
    if not contributing.is_file() or folder_map() not in contributing.read_text(encoding="utf-8"):
        breaches.append("CONTRIBUTING.md:1: the table of folders is out of date; include_direction.py --map prints it")
    size = {header: len(header.read_text(encoding="utf-8").splitlines()) for header in headers}
    core = sum(lines for header, lines in size.items() if folder_of(header, root) == "core")
    longest = max(headers, key=size.get)
    if core > CORE_LINES:
        breaches.append(f"include/burtorch/core:1: core has {core} lines, the limit is {CORE_LINES}")
    report = [
        f"core: {core} of {CORE_LINES} lines; all headers: {sum(size.values())} lines",
        f"longest header: {longest.relative_to(root.parent)}, {size[longest]} of {HEADER_LINES} lines",
    ]
    return breaches, report


def self_test():
    good = "// One idea.\n#pragma once\n"
    tape, linear = "burtorch/core/tape.hpp", "burtorch/nn/linear.hpp"
    clean = {
        "burtorch.h": good + '#include "burtorch/burtorch.hpp"\n',
        "burtorch/burtorch.hpp": good + f'#include "{linear}"\n#include "{tape}"\n',
        "burtorch/core/check.hpp": good + "#include <cstddef>\n",
        tape: good + '#include <span>\n#include "burtorch/core/check.hpp"\n#include "check.hpp"\n',
        linear: good + f"#include <{tape}>\n#include <sys/mman.h>\n",
        "burtorch/io/file.hpp": good,
        "burtorch/graph/plan.hpp": good,
        "../CONTRIBUTING.md": "# Contributing\n" + folder_map() + "more\n",
    }
    # One planted breach each: the changed file, its text, and what must be reported.
    planted = [
        (tape, good + f'#include "{linear}"\n', "tape.hpp:3: core must not include nn"),
        (tape, good + '#include "../nn/linear.hpp"\n', "tape.hpp:3: core must not include nn"),
        (tape, good + "#  include <burtorch/burtorch.hpp>\n", "tape.hpp:3: core must not include burtorch"),
        (tape, good + "#include <immintrin.h>\n", "tape.hpp:3: core may include only"),
        (tape, good + "#include <sys/mman.h>\n", "tape.hpp:3: core may include only"),
        (tape, good + "#include <iostream>\n", "tape.hpp:3: core does no input"),
        (tape, good + '#include "burtorch/core/gone.hpp"\n', "tape.hpp:3: burtorch/core/gone.hpp does"),
        (linear, good + '#include "eigen.hpp"\n', 'linear.hpp:3: "eigen.hpp" is not'),
        (linear, "#pragma once\nint x;\n", "linear.hpp:1: the header does not open"),
        (linear, "// One idea.\n", "linear.hpp:1: the header has no #pragma once"),
        (linear, good + "\n" * HEADER_LINES, "linear.hpp:352: the header has 352 lines"),
        (linear, good + '#include "burtorch/io/file.hpp"\n', "linear.hpp:3: nn must not include io, only base, ops, simd, core"),
        ("burtorch/io/file.hpp", good + '#include "burtorch/graph/plan.hpp"\n', "file.hpp:3: io must not include graph"),
        ("burtorch/misc/x.hpp", good, "x.hpp:1: folder misc has no line"),
        ("../CONTRIBUTING.md", folder_map().replace("| `nn/` |", "| `layers/` |"), "CONTRIBUTING.md:1: the table"),
    ]
    long_core = {f"burtorch/core/long{i}.hpp": good + "\n" * 340 for i in range(CORE_LINES // 340 + 1)}
    cases = [({}, None), *(({name: text}, expected) for name, text, expected in planted)]
    cases.append((long_core, f"lines, the limit is {CORE_LINES}"))
    failures = 0
    for change, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**clean, **change}.items():
                path = pathlib.Path(folder, "include", name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            found, _ = check(pathlib.Path(folder))
        right = len(found) == 1 and expected in found[0] if expected else not found
        if not right:
            failures += 1
            print(f"self-test: expected {expected or 'no breach'!r}, found {found}")
    print(f"self-test: {len(cases) - failures} of {len(cases)} cases right")
    return 1 if failures else 0


def main(arguments):
    if arguments in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 0
    if arguments == ["--map"]:
        print(folder_map(), end="")
        return 0
    if arguments == ["--self-test"]:
        return self_test()
    if len(arguments) > 1 or arguments and arguments[0].startswith("-"):
        print("include_direction.py: expected one source folder, --map or --self-test; see --help", file=sys.stderr)
        return 2
    source = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).parent.parent
    breaches, report = check(source)
    print("\n".join(breaches + report))
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
