#!/usr/bin/env python3
"""Writes include/burtorch/data/unicode_ranges.hpp: which code points are letters, numbers and white space.

usage: make_unicode_ranges.py ROOT             writes the header of the tree in ROOT
       make_unicode_ranges.py --check ROOT     fails if the header is not what would be written
       make_unicode_ranges.py --self-test      checks that changed tables are found

The categories are those of Python's unicodedata, whose version of Unicode depends on Python's; a newer one comes with the
package unicodedata2, which is preferred where it is installed. A table is never replaced by one of an older version. The
check works with any version: with the table's own it compares the whole file; with an older one the characters that both
know must agree, with a newer one those that the table lists.
"""
import pathlib
import re
import sys
import unicodedata

try:
    import unicodedata2
    unicodedata = unicodedata2
except ImportError:
    pass

HEADER = "include/burtorch/data/unicode_ranges.hpp"
OTHER, LETTER, NUMBER, SPACE = range(4)
END = 0x110000
# White space that Unicode counts among the control characters.
CONTROL_SPACES = {*range(0x09, 0x0E), 0x85}

TEXT = """\
// Where the classes of code points change, by Unicode {version}. Written by tools/make_unicode_ranges.py: do not edit.
//
// The regular expression of GPT-2 knows letters (\\p{{L}}, categories L*), numbers (\\p{{N}}, N*), white space (\\s: Z*, tab to
// carriage return, U+0085) and everything else. An entry is first << 2 | class: from this code point on, up to the next
// entry's, that is the class (0 other, 1 letter, 2 number, 3 white space). unicode_classes.hpp reads it.
#pragma once

#include <cstdint>

#include "../base/config.hpp"

namespace burtorch::inline BURTORCH_TARGET {{

// clang-format off
inline constexpr std::uint32_t unicodeRanges[] = {{
{rows}
}};
// clang-format on

}}  // namespace burtorch::inline BURTORCH_TARGET
"""


def class_of(code_point):
    category = unicodedata.category(chr(code_point))
    if category[0] == "Z" or code_point in CONTROL_SPACES:
        return SPACE
    return {"L": LETTER, "N": NUMBER}.get(category[0], OTHER)


def entries_of(classes):
    return [c << 2 | classes[c] for c in range(END) if c == 0 or classes[c] != classes[c - 1]]


def header_of(classes, version):
    words = [f"0x{entry:X}" for entry in entries_of(classes)]
    rows = [", ".join(words[i:i + 11]) + "," for i in range(0, len(words), 11)]
    return TEXT.format(version=version, rows="\n".join(rows))


def read(text):
    """Version and classes of a header; the text must be one that `header_of` makes."""
    version = re.search(r"by Unicode (\d+\.\d+\.\d+)\.", text)
    entries = [int(word, 16) for word in re.findall(r"0x([0-9A-F]+),", text)]
    bounds = [entry >> 2 for entry in entries] + [END]
    if not version or bounds != sorted(set(bounds)) or bounds[0] != 0:
        return None, None
    classes = []
    for entry, last in zip(entries, bounds[1:]):
        classes += [entry & 3] * (last - (entry >> 2))
    return (version[1], classes) if header_of(classes, version[1]) == text else (None, None)


def number_of(version):
    return tuple(map(int, version.split(".")))


def breach_of(text, classes, version, assigned):
    """What is wrong with the text of a header, in the eyes of a version of Unicode; None if nothing."""
    its_version, its_classes = read(text)
    if its_version is None:
        return "is not a table that tools/make_unicode_ranges.py makes; run it again or undo the change"
    its, ours = number_of(its_version), number_of(version)
    for c in range(END):
        if classes[c] == its_classes[c]:
            continue
        if its == ours or (its > ours and assigned(c)) or (its < ours and its_classes[c] != OTHER):
            return f"has class {its_classes[c]} for U+{c:04X}, and Unicode {version} has {classes[c]}"
    return None


def self_test():
    classes = [OTHER] * END
    classes[0x20], classes[0x41], classes[0x661] = SPACE, LETTER, NUMBER
    changed = list(classes)
    changed[0x41] = NUMBER
    more = list(classes)
    more[0x42] = LETTER
    knows_42 = lambda c: True
    lacks_42 = lambda c: c != 0x42
    text = header_of(classes, "16.0.0")
    cases = [
        (text, classes, "16.0.0", knows_42, None),
        (text, changed, "16.0.0", knows_42, "U+0041"),
        (text, changed, "15.0.0", lacks_42, "U+0041"),
        (text, changed, "17.0.0", knows_42, "U+0041"),
        (text, more, "16.0.0", knows_42, "U+0042"),
        (text, more, "17.0.0", knows_42, None),
        (header_of(more, "16.0.0"), classes, "15.0.0", lacks_42, None),
        (header_of(more, "16.0.0"), classes, "15.0.0", knows_42, "U+0042"),
        (text.replace("0x105", "0x0105"), classes, "16.0.0", knows_42, "not a table"),
        (text + "\n", classes, "16.0.0", knows_42, "not a table"),
        ("", classes, "16.0.0", knows_42, "not a table"),
    ]
    failures = 0
    for i, (header, now, version, assigned, expected) in enumerate(cases):
        found = breach_of(header, now, version, assigned)
        if (expected is None) != (found is None) or expected and expected not in found:
            failures += 1
            print(f"self-test: case {i}: expected {expected}, found {found}")
    print(f"self-test: {len(cases) - failures} of {len(cases)} cases right")
    return 1 if failures else 0


def main(arguments):
    if arguments in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 0
    if arguments == ["--self-test"]:
        return self_test()
    is_check = arguments[:1] == ["--check"]
    if len(arguments) != 1 + is_check or arguments[-1].startswith("-"):
        print("make_unicode_ranges.py: expected a source folder, --check and one, or --self-test; see --help", file=sys.stderr)
        return 2
    path = pathlib.Path(arguments[-1]) / HEADER
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    version, classes = unicodedata.unidata_version, [class_of(c) for c in range(END)]
    if is_check:
        breach = breach_of(text, classes, version, lambda c: unicodedata.category(chr(c)) != "Cn")
        if breach:
            print(f"{path} {breach}")
        return 1 if breach else 0
    its_version, _ = read(text)
    if its_version and number_of(its_version) > number_of(version):
        print(f"make_unicode_ranges.py: {path} is of Unicode {its_version}, and this Python has {version}; "
              "use a newer one, or install unicodedata2", file=sys.stderr)
        return 1
    path.write_text(header_of(classes, version), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
