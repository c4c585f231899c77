#!/usr/bin/env python3
"""Our .npy files against the NumPy of this machine.

NumPy loads the arrays that we save, and would have written the same bytes. Of files of NumPy, and of such files with
each bit flipped and cut at each byte, we read what NumPy reads or refuse it; whole files of numbers are never refused.

usage: npy_live.py DUMP    DUMP is the program of safetensors_dump.cpp
Exit code: 0 all right, 1 a difference, 77 skipped because numpy cannot be imported.
"""
import io
import pathlib
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy
except ImportError as reason:
    print(f"skipped: {sys.executable} cannot import what is needed ({reason}); BURTORCH_PYTHON names another one")
    sys.exit(77)

import make_npy
from dumped import damaged, ours

SHAPES = {"f8": (7, 3), "f4": (2, 3, 4, 5), "i8": (100,), "i4": (1, 9), "u1": (16, 16), "scalar": (), "none": (3, 0, 2),
          "deep": (1,) * 32}
TYPES = {"scalar": "f8", "none": "f4", "deep": "f4"}


def saved(array, **options):
    file = io.BytesIO()
    numpy.lib.format.write_array(file, array, allow_pickle=False, **options)
    return file.getvalue()


def theirs(data):
    """(dtype, shape, bytes) as our program prints them, or the error as text."""
    try:
        array = numpy.load(io.BytesIO(data), allow_pickle=False)
    except Exception as error:
        return f"error: {error!r}"
    dtype = array.dtype.str
    wide = {"<f8": "f8", "<f4": "f8", "<f2": "f8", "<i8": "i8", "<i4": "i8", "|u1": "i8"}.get(dtype, dtype)
    # The numbers of a type that we do not read are compared as they are stored.
    order = "C" if dtype in ("<f8", "<f4", "<f2", "<i8", "<i4", "|u1") or array.flags.c_contiguous else "F"
    return dtype, list(array.shape), array.astype(wide).tobytes(order)


def check_ours(dump, folder):
    subprocess.run([dump, "--arrays", folder], check=True)
    for name, shape in SHAPES.items():
        data = (folder / f"{name}.npy").read_bytes()
        array = numpy.load(folder / f"{name}.npy", mmap_mode=None if name in ("none", "scalar") else "r")
        dtype = numpy.dtype(TYPES.get(name, name))
        wanted = (numpy.arange(numpy.prod(shape)) / (8 if dtype.kind == "f" else 1)).astype(dtype).reshape(shape)
        if array.dtype != dtype or array.shape != shape or not numpy.array_equal(array, wanted):
            sys.exit(f"{name}: NumPy reads {array.dtype} {array.shape} {array}, expected {wanted}")
        if (len(data) - array.nbytes) % 64 != 0:
            sys.exit(f"{name}: the numbers begin at byte {len(data) - array.nbytes}")
        # A longer header has room for growth in newer versions of NumPy, and so other bytes.
        if name != "deep" and data != saved(wanted):
            sys.exit(f"{name}: NumPy writes {saved(wanted)[:128]}, we {data[:128]}")
    return len(SHAPES)


def check_theirs(dump, folder):
    arrays = make_npy.arrays()
    refused = {"big", "text"}
    whole = [saved(array) for name, array in arrays.items() if name not in refused]
    whole += [saved(arrays["f8"], version=(major, 0)) for major in (2, 3)]
    cases = list(whole)
    for file in (saved(arrays["f8"]), saved(arrays["fortran"], version=(2, 0)), saved(arrays["i4"])):
        cases += damaged(file)
    accepted, only_theirs = 0, []
    for i, answer in enumerate(ours(dump, folder, cases)):
        wanted = theirs(cases[i])
        if isinstance(answer, str):
            if not isinstance(wanted, str):
                only_theirs.append(answer)
            if i < len(whole):
                sys.exit(f"whole file {i}: {answer}")
        elif answer.get("") != wanted:
            sys.exit(f"case {i}: we read {answer}, NumPy {wanted}, of {cases[i]}")
        else:
            accepted += 1
    for name in refused:
        if not isinstance(ours(dump, folder, [saved(arrays[name])])[0], str):
            sys.exit(f"{name}: we read it")
    return len(cases), accepted, only_theirs


def main():
    dump = pathlib.Path(sys.argv[1]).resolve()
    warnings.simplefilter("ignore")  # of NumPy about headers that look old
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        written = check_ours(dump, folder)
        cases, accepted, only_theirs = check_theirs(dump, folder)
    print(f"{written} arrays loaded in NumPy; {cases} files, {accepted} read alike, "
          f"{len(only_theirs)} read by NumPy only; numpy {numpy.__version__}")
    for answer in only_theirs[:5]:
        print("  ", answer)


if __name__ == "__main__":
    main()
