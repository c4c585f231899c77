#!/usr/bin/env python3
"""Our DOT and the Graphviz of this machine: it takes every picture, and shows every name unchanged.

Names are read back in two ways: from the texts of the SVG, which is what a person sees, and from dot -Tplain, which repeats
labels as they were written.

usage: dot_live.py DUMP    DUMP is the program of dot_dump.cpp
Exit code: 0 all right, 1 a difference, 77 skipped because Graphviz is not installed.
"""
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

# What is given, as bytes, and what is to be seen: None if it is the same.
NAMES = [
    ("plain", None), ('"', None), ('quo"te', None), ("\\", None), ("back\\slash\\", None), ("\\\\", None), ('\\"', None),
    ("{", None), ("}", None), ("{a|b}", None), ("|", None), ("<", None), ("<port>", None), ("<b>bold</b>", None),
    ("<script>alert(1)</script>", None), ("&", None), ("&lt;", None), ("&amp;amp;", None), ("&#65;", None),
    ("&eacute;", None), ("\\N", None), ("\\G \\L \\T \\H \\E", None), ("\\n", None), ("\\l\\r", None),
    ("$(touch x)", None), ("`touch x`", None), ("a;b", None), ("]", None), ('"];}', None), ("a -> b", None),
    ("// no comment", None), ("/* no comment */", None), ("#1", None), ("%s%n", None), ("'", None), ("digraph", None),
    ("é→𝛼 日本", None), ("\u202eright to left", None), ("a b", None), ("two  spaces", None), (" at both ends ", None),
    ("   ", None), ("x" * 80, None), ("x" * 81, "x" * 80 + "..."), ("two\nlines", None), ("a\n\nb", None),
    ("tab\there", "tab\ufffdhere"), ("bell\x07", "bell\ufffd"), ("\x1b[31mred", "\ufffd[31mred"), ("\r", "\ufffd"),
    (b"\xff\xfe", "\ufffd\ufffd"), (b"\xc3", "\ufffd"), (b"a\xe2\x82z", "a\ufffd\ufffdz"), ("\uffff", "\ufffd"),
    ("\x85", "\ufffd"), (b"nul\0nul", "nul\ufffdnul"),
]


def as_bytes(name):
    return name if isinstance(name, bytes) else name.encode()


def graphviz(text, form):
    done = subprocess.run(["dot", "-T" + form], input=text, capture_output=True, timeout=60)
    complaints = done.stderr.decode("utf-8", "replace")
    if done.returncode or re.search("syntax error|bad label|UTF-8|Unknown|Unescaped|Illegal", complaints):
        sys.exit(f"dot -T{form} answers {done.returncode} and says {complaints!r} of\n{text.decode()}")
    return done.stdout.decode("utf-8")


def texts_of_nodes(svg):
    """{id: its texts}. Spaces of a label are no-break spaces in the SVG."""
    name = "{http://www.w3.org/2000/svg}"
    nodes = {}
    for group in xml.etree.ElementTree.fromstring(svg).iter(name + "g"):
        if group.get("class") == "node":
            texts = ["".join(text.itertext()).replace("\xa0", " ") for text in group.iter(name + "text")]
            nodes[group.find(name + "title").text] = texts
    return nodes


def check_names(dump, form, names):
    """Leaf i has name i. Its texts are the lines of the name, the operator, the index, value and gradient."""
    text = subprocess.run([dump, form, *(as_bytes(name).hex() for name, _ in names)], check=True,
                          capture_output=True).stdout
    nodes = texts_of_nodes(graphviz(text, "svg"))
    if len(nodes) != len(names) + 1:
        sys.exit(f"{form}: {len(nodes)} nodes for {len(names)} names")
    for i, (name, seen) in enumerate(names):
        wanted = [line for line in (name if seen is None else seen).split("\n") if line]
        found = [line for line in nodes[str(i)][:-4] if line]
        rest = nodes[str(i)][-4:]
        if found != wanted or rest != ["leaf (eLeaf)", f"#{i}", "value 1", "gradient 0"]:
            sys.exit(f"{form}: the name {name!r} is shown as {found!r}, the rest as {rest!r}")
    check_plain(text)


def check_plain(text):
    """Labels come back from dot -Tplain as they were written, none is missing."""
    written = re.findall(r'^  (\d+) \[.*?label="((?:[^"\\]|\\.)*)"', text.decode(), re.M)
    plain = graphviz(text, "plain")
    read = dict(re.findall(r'^node (\d+) \S+ \S+ \S+ \S+ ("(?:[^"\\]|\\.)*"|\S+)', plain, re.M))
    if len(read) != len(written):
        sys.exit(f"dot -Tplain gives {len(read)} nodes for {len(written)}")
    for node, label in written:
        if read.get(node) != f'"{label}"':
            sys.exit(f"dot -Tplain gives {read.get(node)!r} for the label {label!r}")


def check_title(dump):
    title = 'a "title" & <more> {of} | \\N it'
    text = subprocess.run([dump, "title", title.encode().hex()], check=True, capture_output=True).stdout
    svg = graphviz(text, "svg")
    shown = ["".join(t.itertext()).replace("\xa0", " ") for t in xml.etree.ElementTree.fromstring(svg).iter()
             if t.tag.endswith("}text")]
    if title not in shown:
        sys.exit(f"the title {title!r} is not among {shown!r}")


def check_pictures(dump):
    """Other kinds of pictures: how many nodes they have, and a text that must be seen."""
    for form, count, seen in (("cut", 3, "1 more node is not drawn; raise maxNodes"), ("layer", 4, "values all 0"),
                              ("compiled", 6, "select")):
        names = ["61", "62"] if form == "cut" else []
        text = subprocess.run([dump, form, *names], check=True, capture_output=True).stdout
        nodes = texts_of_nodes(graphviz(text, "svg"))
        if len(nodes) != count or not any(seen in texts for texts in nodes.values()):
            sys.exit(f"{form}: not {count} nodes, or {seen!r} is not seen in {nodes}")
        check_plain(text)


def main():
    if shutil.which("dot") is None:
        print("skipped: Graphviz's program dot is not installed")
        sys.exit(77)
    dump = sys.argv[1]
    for form in ("names", "across"):
        check_names(dump, form, NAMES)
        for case in NAMES:
            check_names(dump, form, [case])
    check_title(dump)
    check_pictures(dump)
    print(f"{len(NAMES)} names are shown unchanged, from top to bottom and from left to right")


if __name__ == "__main__":
    main()
