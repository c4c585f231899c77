#!/usr/bin/env python3
"""Generated scripts and pictures, read back by Python: data never become code, and come back as they were.

With any Python: scripts parse, differ in nothing but their data from a script with harmless labels, hold every label and
number unchanged, and say one sentence where there is no Matplotlib. With Matplotlib they also draw, and show labels
literally whatever the user's settings are. BURTORCH_PYTHON names the interpreter.

usage: scripts.py DUMP [CASE...]    DUMP is the program of script_dump.cpp
"""
import ast
import codecs
import importlib.util
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

DUMP = os.path.abspath(sys.argv[1])
SCRIPTS = ("curves.py", "function.py", "heat.py", "basic.py", "heats.py")
HAS_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None
needs_matplotlib = unittest.skipUnless(HAS_MATPLOTLIB, f"{sys.executable} has no Matplotlib")

HOSTILE = [b"'", b'"', b"\\", b"\\'", b"'''", b'"""', b"\n", b"\r\n", b"\t\v\f\0", b"$(touch x)", b"`touch x`",
           b"</script>", b"<!--", b"]]>", b"&amp;", b"{0}%s%n", b"#", b"')\nimport os\nos.abort()\n('", b"\\u0027",
           b"\\N{APOSTROPHE}", b"$x$", b"$\\frac{", b"\\$5", b"_hidden", b"", b" ", b"\xff\xfe", b"a\xc3",
           b"\xed\xa0\x80", b"\xc0\x80", "\u202e\u2028\ufeff\ufffe\uffff".encode(), "日本語 é 😀".encode(),
           b"long " * 400, "é".encode() * 300, bytes(range(1, 128)), bytes(range(128, 256))]
NUMBERS = [0.0, -0.0, 0.1, 1 / 3, -2.5, 5e-324, 2.0 ** 64, 2.0 ** 53 + 2, 123456789012345678.0, 1.7976931348623157e308,
           -1.7976931348623157e308, float("inf"), float("-inf"), float("nan"), float.fromhex("0x1.23456789abcdep-7")]

# Each argument is SCRIPT:PICTURE.
RUN = """
import runpy, sys
for argument in sys.argv[1:]:
    sys.argv = argument.split(":")
    runpy.run_path(sys.argv[0], run_name="__main__")["plt"].close("all")
"""

# One U+FFFD for each byte that is not UTF-8; Python's own "replace" takes several together.
codecs.register_error("each byte", lambda error: ("\ufffd", error.start + 1))


def data_of(script):
    """The call json.loads(...) whose result is DATA."""
    tree = ast.parse(script)
    calls = [node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "DATA"]
    assert len(calls) == 1 and ast.unparse(calls[0].func) == "json.loads", calls
    assert isinstance(calls[0].args[0], ast.Constant) and len(calls[0].args) == 1
    return tree, calls[0]


def code_of(script):
    """The script without its data."""
    tree, call = data_of(script)
    call.args[0] = ast.Constant("")
    return ast.dump(tree)


def bits(number):
    return struct.pack(">d", number).hex()


class Scripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def dump(self, labels, numbers):
        """{name: text} of everything that the program writes."""
        lines = [f"label x{label.hex()}" for label in labels] + [f"number x{bits(x)}" for x in numbers]
        (self.path / "input").write_text("\n".join(lines))
        subprocess.run([DUMP, self.path / "input", self.path], check=True, timeout=60)
        return {file.name: file.read_text(encoding="utf-8") for file in self.path.iterdir() if file.suffix in (".py", ".svg")}

    def run_scripts(self, *outs, rc=""):
        """Runs scripts one after the other, in one process for the sake of time: {script: picture}."""
        (self.path / "rc").write_text(rc)
        done = subprocess.run([sys.executable, "-c", RUN, *outs], cwd=self.path, capture_output=True, text=True,
                              timeout=600, env={**os.environ, "MATPLOTLIBRC": str(self.path / "rc")})
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])


class Data(Scripts):
    def test_scripts_parse_and_are_ascii(self):
        texts = self.dump(HOSTILE, NUMBERS)
        for name in SCRIPTS:
            ast.parse(texts[name])
            self.assertTrue(texts[name].isascii(), name)

    def test_labels_and_numbers_change_no_code(self):
        harmless = {name: code_of(text) for name, text in self.dump([b"a", b"b", b"c"], [1.0, 2.0]).items()
                    if name in SCRIPTS}
        for label in HOSTILE:
            texts = self.dump([label], NUMBERS)
            for name in SCRIPTS:
                self.assertEqual(code_of(texts[name]), harmless[name], (name, label))

    def loaded(self, name):
        _, call = data_of(self.dump(HOSTILE, NUMBERS)[name])
        return json.loads(call.args[0].value, **{k.arg: eval(k.value.id, {}) for k in call.keywords})

    def test_labels_come_back_as_they_were(self):
        wanted = [label.decode("utf-8", "each byte") for label in HOSTILE]
        self.assertEqual([curve["label"] for curve in self.loaded("curves.py")["curves"]], wanted)
        heat = self.loaded("heat.py")["maps"][0]
        self.assertEqual(heat["rowLabels"], wanted)
        self.assertEqual(heat["columnLabels"], wanted)
        self.assertEqual(heat["items"][0], wanted)
        self.assertEqual([heat["title"], heat["xLabel"], heat["yLabel"]], wanted[:3])

    def test_numbers_come_back_with_all_their_bits(self):
        wanted = [bits(x) for x in NUMBERS]
        for curve in self.loaded("curves.py")["curves"]:
            self.assertEqual([bits(y) for y in curve["y"]], wanted)
        self.assertEqual([bits(x) for x in self.loaded("basic.py")["maps"][0]["values"][0]], wanted)

    def test_pictures_are_xml_that_holds_the_labels(self):
        texts = self.dump(HOSTILE + ["naïve 日本".encode()], NUMBERS)
        for name in ("curves.svg", "heats.svg"):
            shown = [e.text for e in xml.etree.ElementTree.fromstring(texts[name]).iter("{http://www.w3.org/2000/svg}text")]
            for label in ("naïve 日本", "</script>", "&amp;", "]]>", "$(touch x)"):
                self.assertIn(label, shown, name)

    def test_without_matplotlib_there_is_one_sentence(self):
        self.dump([b"a"], [1.0])
        for name in SCRIPTS:
            # -I -S: without installed packages.
            done = subprocess.run([sys.executable, "-I", "-S", self.path / name], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertRegex(done.stderr, r"\A[^\n]*pip install matplotlib\n\Z")


@needs_matplotlib
class Drawing(Scripts):
    def draw_all(self, labels, numbers):
        self.dump(labels, numbers)
        self.run_scripts(*(f"{name}:{name}.png" for name in SCRIPTS))
        for name in SCRIPTS:
            picture = (self.path / f"{name}.png").read_bytes()
            self.assertEqual(picture[:8], b"\x89PNG\r\n\x1a\n")
            width, height = struct.unpack(">II", picture[16:24])
            self.assertTrue(200 < width < 6000 and 100 < height < 6000, (name, width, height))

    def test_hostile_labels_and_numbers_are_drawn(self):
        self.draw_all(HOSTILE, NUMBERS)

    def test_odd_numbers_are_drawn(self):
        for numbers in ([float("nan")], [float("inf"), float("-inf")], [0.0], [5e-324, 0.0], [7.0], [1.7e308, -1.7e308]):
            self.draw_all([b"a"], numbers)

    def test_labels_are_shown_literally_whatever_the_settings(self):
        labels = [b"costs $5 and $6", b"\\$x_1$", b"_hidden", b"$\\frac{"]
        self.dump(labels, [1.0, 2.0])
        for math in ("True", "False"):
            self.run_scripts("curves.py:curves.svg", "heat.py:heat.svg",
                             rc=f"svg.fonttype: none\ntext.usetex: True\ntext.parse_math: {math}\n")
            for name in ("curves.svg", "heat.svg"):
                shown = ["".join(e.itertext()) for e in xml.etree.ElementTree.parse(self.path / name).iter()
                         if e.tag.endswith("}text")]
                for label in labels:
                    self.assertIn(label.decode(), shown, (name, math))

    def test_a_script_alone_writes_a_picture(self):
        self.dump([b"a"], [1.0, 2.0])
        subprocess.run([sys.executable, self.path / "heat.py", self.path / "out.pdf"], check=True, timeout=60)
        self.assertEqual((self.path / "out.pdf").read_bytes()[:5], b"%PDF-")

    def test_where_no_window_can_be_opened_it_says_so(self):
        self.dump([b"a"], [1.0, 2.0])
        done = subprocess.run([sys.executable, self.path / "heat.py"], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "MPLBACKEND": "Agg"})
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"\A[^\n]*OUT.png\n\Z")


if __name__ == "__main__":
    if not HAS_MATPLOTLIB:
        print("nothing is drawn: there is no Matplotlib; BURTORCH_PYTHON names another interpreter", file=sys.stderr)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
