#!/usr/bin/env python3
"""Writes files with NumPy, for tests of our reader and writer.

numpy_NAME.npy        one of arrays(); of the types that we write, our writer must give the same bytes
numpy_versionN.npy    the same two numbers in later versions of the format

usage: make_npy.py [FOLDER]    needs numpy
"""
import pathlib
import sys

import numpy


def arrays():
    """Of every type that can be read, one that cannot, orders, no dimension and no numbers."""
    return {
        "f8": numpy.array([[0.1, -0.0, 1e300], [5e-324, -2.5, 3.0]]),
        "f4": numpy.array([0.1, -1e-45, 3e38], dtype="<f4"),
        "f2": numpy.array([[0.5, -2.25], [65504.0, 2.0**-24]], dtype="<f2"),
        "i8": numpy.array([-1, 2**62, 7], dtype="<i8"),
        "i4": numpy.array([[-(2**31)], [2**31 - 1]], dtype="<i4"),
        "u1": numpy.array([0, 128, 255], dtype="u1"),
        "bool": numpy.array([True, False, True]),
        "scalar": numpy.array(42.5),
        "none": numpy.zeros((4, 0, 2), dtype="<f4"),
        "fortran": numpy.asfortranarray(numpy.arange(24, dtype="<f8").reshape(2, 3, 4)),
        "big": numpy.array([1.0, 2.0], dtype=">f8"),
        "text": numpy.array(["a", "bc"]),
    }


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    for name, array in arrays().items():
        numpy.save(folder / f"numpy_{name}.npy", array)
    for version in (2, 3):
        with open(folder / f"numpy_version{version}.npy", "wb") as file:
            numpy.lib.format.write_array(file, numpy.array([0.5, -1.25]), version=(version, 0))


if __name__ == "__main__":
    main()
