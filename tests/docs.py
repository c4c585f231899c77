"""Checks that what the documents show is true.

docs.py table PROGRAM FILE     the table in FILE is what PROGRAM prints
docs.py readme FILE COMPILER INCLUDE   the first C++ program in FILE prints what the README says, the calls of
                                       compile-time graphs compile
docs.py tour FILE SOURCE EXPECTED      the C++ blocks of FILE are in SOURCE, its outputs together are EXPECTED
"""
import pathlib
import re
import subprocess
import sys
import tempfile


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def check_table(program, file):
    printed = run(program)
    if printed not in pathlib.Path(file).read_text():
        sys.exit(f"{file} is out of date; it should hold:\n{printed}")


def check_readme(file, compiler, include):
    text = pathlib.Path(file).read_text()
    program = re.search(r"```cpp\n(.*?)```", text, re.S)
    said = re.search(r"prints `([^`]*)`", text)
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "readme.cpp")
        source.write_text(program.group(1))
        run(compiler, "-std=c++20", "-O1", "-I", include, str(source), "-o", f"{folder}/readme")
        printed = run(f"{folder}/readme").strip()
        calls = next(b for b in re.findall(r"```cpp\n(.*?)```", text, re.S) if "burtorch::compile(" in b)
        source.write_text("#include <burtorch/burtorch.hpp>\n#include <vector>\nint main() {\n"
                          "std::vector<double> as(7), bs(7), das(7), dbs(7);\n" + calls + "}\n")
        run(compiler, "-std=c++20", "-fsyntax-only", "-I", include, str(source))
    if printed != said.group(1):
        sys.exit(f"the README says '{said.group(1)}', its program prints '{printed}'")


def check_tour(file, source, expected):
    text, program = pathlib.Path(file).read_text(), pathlib.Path(source).read_text()
    for block in re.findall(r"```cpp\n(.*?)```", text, re.S):
        if block not in program:
            sys.exit(f"{file} shows code that is not in {source}:\n{block}")
    if "".join(re.findall(r"```text\n(.*?)```", text, re.S)) != pathlib.Path(expected).read_text():
        sys.exit(f"the outputs shown in {file} are not those of {expected}")


if __name__ == "__main__":
    {"table": check_table, "readme": check_readme, "tour": check_tour}[sys.argv[1]](*sys.argv[2:])
