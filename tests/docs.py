"""Checks that what the documents show is true.

docs.py table PROGRAM FILE     the table in FILE is what PROGRAM prints
docs.py readme FILE COMPILER INCLUDE   the first C++ program in FILE prints what the README says
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
    if printed != said.group(1):
        sys.exit(f"the README says '{said.group(1)}', its program prints '{printed}'")


if __name__ == "__main__":
    {"table": check_table, "readme": check_readme}[sys.argv[1]](*sys.argv[2:])
