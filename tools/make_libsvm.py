#!/usr/bin/env python3
"""Writes two data sets of scikit-learn as LIBSVM files: the breast cancer of Wisconsin and the handwritten digits.

usage: make_libsvm.py FOLDER            writes FOLDER/breast_cancer.libsvm and FOLDER/digits.libsvm
       make_libsvm.py --check FOLDER    fails if a file of these in FOLDER is not what would be written

Needs scikit-learn, which brings the data; without it nothing is written, or checked, and the exit code is 77. Labels and the order
of samples and features are scikit-learn's, indices count from 1, zeros are left out, and numbers have as many digits as they need:
so the files are the same everywhere, byte for byte. data/README.md says whose they are.
"""
import pathlib
import sys

SKIPPED = 77


def number(x):
    """The shortest text that is read as this double; whole numbers have no point."""
    x = float(x)
    return str(int(x)) if x.is_integer() and abs(x) < 1e15 else repr(x)


def line(label, row):
    entries = [f"{column}:{number(x)}" for column, x in enumerate(row, 1) if x != 0]
    return " ".join([number(label), *entries]) + "\n"


def contents(datasets):
    """(name, bytes) of each file."""
    for name, data in (("breast_cancer", datasets.load_breast_cancer()), ("digits", datasets.load_digits())):
        text = "".join(line(label, row) for label, row in zip(data.target, data.data))
        yield f"{name}.libsvm", text.encode("ascii")


def main(arguments):
    if arguments in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 0
    is_check = arguments[:1] == ["--check"]
    if len(arguments) != 1 + is_check or arguments[-1].startswith("-"):
        print("make_libsvm.py: expected one folder, or --check and a folder; see --help", file=sys.stderr)
        return 2
    try:
        from sklearn import datasets
    except ImportError:
        print("skipped: scikit-learn is not installed (pip install scikit-learn)")
        return SKIPPED
    folder = pathlib.Path(arguments[-1])
    found, result = 0, 0
    for name, content in contents(datasets):
        file = folder / name
        if not is_check:
            file.write_bytes(content)
        elif file.is_file():
            found += 1
            if file.read_bytes() != content:
                print(f"{file} is not what tools/make_libsvm.py makes; run it again or undo the change")
                result = 1
    if is_check and found == 0:
        print(f"{folder} has none of the files that tools/make_libsvm.py makes")
        result = 1
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
