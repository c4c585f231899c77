#!/usr/bin/env python3
"""Writes BurTorch as one header.

usage: amalgamate.py OUT

OUT gets the umbrella header include/burtorch/burtorch.hpp with every header of the library expanded once, in
the order the compiler would see them, and the standard headers listed once at the top. A standard header
inside an #if stays where it is. A library header inside an #if is an error: expanding it there could hide it.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE_DIR = ROOT / "include"
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
CONDITION = re.compile(r"\s*#\s*(if|ifdef|ifndef|endif)\b")


class Amalgamation:
    def __init__(self):
        self.standard = set()
        self.done = set()
        self.body = []

    def add(self, header):
        if header in self.done:
            return
        self.done.add(header)
        kept = []
        depth = 0
        for number, line in enumerate(header.read_text(encoding="utf-8").splitlines(), 1):
            if line.strip() == "#pragma once":
                continue
            if condition := CONDITION.match(line):
                depth += -1 if condition[1] == "endif" else 1
            include = INCLUDE.match(line)
            own = include and self.library_header(*include.groups(), header)
            if own and depth:
                sys.exit(f"{header.relative_to(ROOT)}:{number}: a library header is included inside an #if")
            if own:
                self.add(own)
            elif include and not depth:
                self.standard.add(f"#include <{include[2]}>")
            else:
                kept.append(line)
        text = "\n".join(kept).strip()
        self.body += ["", f"// {header.relative_to(INCLUDE_DIR)}", re.sub(r"\n{3,}", "\n\n", text)]

    @staticmethod
    def library_header(quote, name, header):
        """The file an include names if it is one of ours, else None."""
        places = [header.parent, INCLUDE_DIR] if quote == '"' else [INCLUDE_DIR]
        for place in places:
            if (place / name).is_file():
                return (place / name).resolve()
        if quote == '"' or name.startswith("burtorch/"):
            sys.exit(f"{header.relative_to(ROOT)}: cannot find {name}")
        return None

    def text(self):
        version = re.search(r'BURTORCH_VERSION "([\d.]+)"', (ROOT / "include/burtorch/burtorch.hpp").read_text())[1]
        licence = (ROOT / "LICENSE").read_text(encoding="utf-8").strip().splitlines()
        top = [f"// BurTorch {version} as one header, made by tools/amalgamate.py: edit the sources."]
        top += ["//", *(f"// {line}".rstrip() for line in licence)]
        top += ["#pragma once", "", *sorted(self.standard)]
        return "\n".join(top + self.body) + "\n"


def main(arguments):
    if arguments in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 0
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("amalgamate.py: expected one argument, the file to write; see --help", file=sys.stderr)
        return 2
    single = Amalgamation()
    single.add(INCLUDE_DIR / "burtorch" / "burtorch.hpp")
    try:
        pathlib.Path(arguments[0]).write_text(single.text(), encoding="utf-8")
    except OSError as error:
        sys.exit(f"amalgamate.py: cannot write {arguments[0]}: {error.strerror}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
