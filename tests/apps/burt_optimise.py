#!/usr/bin/env python3
"""What burt optimise promises: curves that do not depend on threads or interruptions, pictures, errors of one sentence.

usage: burt_optimise.py PROGRAM [CASE...]
"""
import csv
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

BURT = os.path.abspath(sys.argv[1])
METHODS = ["gd", "sgd", "page", "ef21", "ef21-w", "marina", "vr-marina", "ringmaster", "mindflayer"]


class Optimise(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def burt(self, *arguments, code=0):
        done = subprocess.run([BURT, "optimise", *arguments], cwd=self.path, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, code, (arguments, done.stdout, done.stderr))
        return done

    def refused(self, *arguments):
        before = sorted(self.path.rglob("*"))
        done = self.burt(*arguments, code=2)
        self.assertRegex(done.stderr, r"\Aburt: [^\n]+\n\Z")
        self.assertEqual(sorted(self.path.rglob("*")), before)
        return done.stderr

    def curve(self, folder):
        with open(self.path / folder / "metrics.csv") as file:
            return list(csv.DictReader(file))

    def without_seconds(self, folder):
        return [{key: row[key] for key in row if key != "seconds"} for row in self.curve(folder)]

    def test_every_method_goes_down_and_has_its_record(self):
        done = self.burt("--compare", ",".join(METHODS), "--epochs", "40", "--out", "run")
        for method in METHODS:
            rows = self.curve(f"run/{method}")
            self.assertGreater(len(rows), 20, method)
            self.assertLess(float(rows[-1]["value"]), float(rows[0]["value"]), method)
            self.assertLess(float(rows[-1]["gap"]), float(rows[0]["gap"]), method)
            self.assertEqual(int(rows[-1]["bits_up"]) > 0, method.endswith("marina") or method.startswith("ef21"), method)
            self.assertTrue((self.path / f"run/{method}/state.safetensors").is_file())
            self.assertIn(method, done.stdout)
        picture = xml.etree.ElementTree.parse(self.path / "run/curves.svg").getroot()
        lines = [part for part in picture.iter() if part.tag.endswith("polyline")]
        # Loss and gradient, against gradients and seconds, and where bits are sent or clocks simulated against these.
        self.assertEqual(len(lines), 4 * len(METHODS) + 2 * 4 + 2 * 2)
        for method in METHODS:
            clock = self.curve(f"run/{method}")[-1]["simulated_seconds"]
            self.assertEqual(clock != "", method in ("ringmaster", "mindflayer"), method)

    def test_the_curve_is_the_same_for_any_number_of_threads(self):
        for problem in (["--compare", ",".join(METHODS)],
                        ["--compare", "page,marina", "--problem", "gpt", "--samples", "12", "--workers", "3", "--step-size", "0.05"]):
            curves = {}
            for threads in ("1", "2", "3"):
                out = f"{len(problem)}-{threads}"
                self.burt(*problem, "--epochs", "5", "--threads", threads, "--out", out)
                for method in problem[1].split(","):
                    curves.setdefault(method, []).append(self.without_seconds(f"{out}/{method}"))
            for method, (first, *others) in curves.items():
                for other in others:
                    self.assertEqual(other, first, (method, problem))

    def test_a_resumed_run_has_the_curve_of_one_that_was_not_interrupted(self):
        all_methods = ["--compare", ",".join(METHODS), "--every", "1"]
        self.burt(*all_methods, "--epochs", "30", "--out", "whole")
        self.burt(*all_methods, "--epochs", "12", "--out", "parts")
        self.burt("--resume", "parts", "--epochs", "30", "--threads", "1")
        for method in METHODS:
            whole, parts = self.without_seconds(f"whole/{method}"), self.without_seconds(f"parts/{method}")
            # The end of the first part is a row of its own.
            self.assertEqual([row for row in parts if row in whole], whole, method)
            self.assertLessEqual(len(parts), len(whole) + 1, method)

    def test_every_compressor(self):
        for name in ("identity", "randk:0.1", "randk:3", "randseqk:0.1", "natural", "levels:4"):
            self.burt("--method", f"marina:{name}", "--epochs", "5", "--out", f"marina-{name}")
        for name in ("identity", "randk:0.1", "randseqk:4", "topk:0.1", "topk:1", "permk", "natural", "levels:4"):
            self.burt("--method", "ef21", "--compressor", name, "--epochs", "5", "--out", f"ef21-{name}")
        full = int(self.curve("ef21-identity/ef21")[-1]["bits_up"])
        self.assertLess(int(self.curve("ef21-topk:1/ef21")[-1]["bits_up"]), full / 4)

    def test_every_problem(self):
        for arguments in (["least-squares"], ["softmax"], ["quadratic", "--dimension", "7"],
                          ["mlp", "--samples", "40", "--step-size", "0.1"],
                          ["gpt", "--samples", "12", "--step-size", "0.1"]):
            self.burt("--problem", *arguments, "--epochs", "8", "--out", arguments[0])
            rows = self.curve(f"{arguments[0]}/page")
            self.assertLess(float(rows[-1]["value"]), float(rows[0]["value"]), arguments)
            self.assertEqual(rows[0]["gap"] == "", arguments[0] in ("mlp", "gpt"))

    def test_proximal_steps_reach_the_minimum_of_f_plus_r(self):
        for regulariser in (["--l1", "0.5"], ["--box", "0.1"]):
            done = self.burt("--method", "gd", "--problem", "quadratic", "--condition", "20", *regulariser, "--out", regulariser[0])
            self.assertIn("minimum of f + R", done.stdout)
            rows = self.curve(f"{regulariser[0]}/gd")
            self.assertGreater(float(rows[0]["gap"]), 0.1)
            self.assertLess(float(rows[-1]["gap"]), 1e-10)
            self.assertLess(float(rows[-1]["gradient_norm"]), 1e-5)
            self.assertIn("proximal", self.refused("--method", "page", *regulariser))
        self.assertIn("expected one of them", self.refused("--method", "gd", "--l1", "1", "--box", "1"))

    def test_data_of_ones_own(self):
        (self.path / "own.libsvm").write_text("1 1:0.5 3:1\n-1 2:2\n1 1:1 2:0.25\n-1 3:-1\n")
        done = self.burt("--data", "own.libsvm", "--workers", "2", "--epochs", "50")
        self.assertIn("4 samples, 4 parameters", done.stdout)
        (self.path / "bad.libsvm").write_text("1 1:0.5\n-1 2:x\n")
        self.assertRegex(self.refused("--data", "bad.libsvm"), "bad.libsvm.*2")
        # Four samples: by default there are no more workers than that.
        self.assertIn("4 workers of 1 sample each", self.burt("--data", "own.libsvm", "--method", "ef21", "--epochs", "5").stdout)

    def test_a_run_that_diverges_says_so(self):
        done = self.burt("--method", "gd", "--problem", "quadratic", "--step-size", "10", code=1)
        self.assertIn("diverged", done.stderr)

    def test_what_is_wrong_is_one_sentence(self):
        for arguments, part in ((["--method", "adam"], "expected one of gd, sgd"),
                                (["--method", "page:topk:2"], "no compressor"),
                                (["--method", "ef21:topk:99"], "99"),
                                (["--method", "marina:topk:2"], "unbiased"),
                                (["--compare", "gd,gd"], "twice"),
                                (["--compare", "gd,"], "names of methods"),
                                (["--problem", "cubic"], "expected logistic"),
                                (["--problem", "gpt"], "--step-size"),
                                (["--problem", "gpt", "--method", "ef21-w", "--step-size", "1"], "choose ef21"),
                                (["--workers", "570"], "570 workers cannot share 569 samples"),
                                (["--method", "sgd", "--tau", "561"], "1 to 560"),
                                (["--data", "nowhere"], "nowhere"),
                                (["--problem", "quadratic", "--data", "x"], "has no data"),
                                (["--resume", "nowhere"], "nowhere")):
            self.assertIn(part, self.refused(*arguments), arguments)
        self.burt("--method", "gd", "--epochs", "1", "--out", "run")
        self.assertIn("already holds a run", self.refused("--out", "run"))
        self.assertIn("only --epochs", self.refused("--resume", "run", "--seed", "3"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
