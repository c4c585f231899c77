#!/usr/bin/env python3
"""The lab judges before it times, and reports what it found.

usage: lab.py <burtorch_bench> <source directory>
A stand-in for the interpreter of the peers plays a right one, a liar, one that dies and one that is not installed.
"""
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

BENCH, ROOT = pathlib.Path(sys.argv.pop(1)).resolve(), pathlib.Path(sys.argv.pop(1)).resolve()
LAB = ROOT / "benchmarks" / "lab"

STAND_IN = """#!{python}
import array, os, pathlib, sys
experiment, folder, *settings = sys.argv[2:]
pathlib.Path({log!r}).open("a").write(" ".join([experiment, *settings]) + "\\n")
if {mode!r} == "missing":
    print("No module named 'nothing'", file=sys.stderr)
    sys.exit(77)
print("version 1.2", "mode eager {dtype} 3.5 file_bytes=77", sep="\\n")
if "only=eager" not in settings:
    print("failed graph it did not like the graph")
print("ready", flush=True)
for line in sys.stdin:
    if {mode!r} == "dies":
        print("out of luck", file=sys.stderr)
        sys.exit(1)
    command, mode, *rest = line.split()
    if command == "run":
        print(int(rest[0]) * 1_000_000, flush=True)
    else:
        array.array("d", map(float, {gradient})).tofile(open(pathlib.Path(folder) / "gradient.bin", "wb"))
        print({loss!r}, flush=True)
"""
RIGHT = {"gradient": ["-35", "1050"], "loss": 612.5}  # text, so that "nan" is a number too


def row(experiment, system, mode, ns, **more):
    """A row as the bench writes it."""
    found = {"experiment": experiment, "system": system, "mode": mode, "dtype": "fp64", "params": {"iterations": 100}, "work": "gradient",
             "ns_min": ns, "ns_median": ns, "spread": 0.02, "ratio_to_limit": ns / 8 if ns else None, "gradient_ok": ns is not None,
             "init_ms": 1, "version": "1"}
    return found | more


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()) if hasattr(self, "enterContext")
                                   else tempfile.mkdtemp())

    def run_lab(self, script, *arguments):
        return subprocess.run([sys.executable, LAB / f"{script}.py", *map(str, arguments)], capture_output=True, text=True,
                              env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})

    def write(self, name, *rows):
        path = self.folder / name
        machine = {"machine": {"cpu": "a <processor>", "cores": 2, "command": "./bench all"}}
        path.write_text("".join(json.dumps(one) + "\n" for one in (machine, *rows)))
        return path


class Gate(Case):
    def rows_of(self, mode="right", dtype="fp64", experiment="tiny", peer="micrograd", **answer):
        stand_in = self.folder / "python"
        stand_in.write_text(STAND_IN.format(python=sys.executable, mode=mode, dtype=dtype, log=str(self.folder / "log"),
                                            **(RIGHT | answer)))
        stand_in.chmod(stand_in.stat().st_mode | stat.S_IXUSR)
        run = subprocess.run([BENCH, experiment, "--judge", "--peers", peer, "--json", "-"], capture_output=True, text=True,
                             env=os.environ | {"BURTORCH_PYTHON": str(stand_in)})
        self.assertEqual(run.returncode, 0, run.stderr)
        return [found for found in map(json.loads, run.stdout.splitlines()) if found["system"] == peer]

    def test_a_right_gradient_has_the_time_of_the_peers_own_clock(self):
        found = self.rows_of()[0]
        self.assertTrue(found["gradient_ok"])
        self.assertEqual(found["ns_min"], 1_000_000)
        self.assertEqual(found["version"], "1.2")
        self.assertEqual(found["init_ms"], 3.5)
        self.assertGreater(found["vm_hwm_kb"], 0)

    def test_a_wrong_gradient_has_no_time(self):
        for wrong in ({"gradient": ["-35", "1050.1"]}, {"gradient": ["-35"]}, {"gradient": ["nan", "1050"]}, {"loss": 612.6}):
            with self.subTest(wrong):
                found = self.rows_of(**wrong)[0]
                self.assertEqual(found["failure"], "wrong gradient")
                self.assertIsNone(found["ns_min"])
                self.assertFalse(found["gradient_ok"])

    def test_every_precision_has_its_tolerance(self):
        almost = {"gradient": ["-35", "1050.01"]}  # 1e-5
        self.assertTrue(self.rows_of(dtype="fp32", **almost)[0]["gradient_ok"])
        self.assertFalse(self.rows_of(dtype="fp64", **almost)[0]["gradient_ok"])

    def test_a_mode_that_did_not_work_is_a_row(self):
        found = self.rows_of()[1]
        self.assertEqual((found["mode"], found["failure"]), ("graph", "failed: it did not like the graph"))

    def test_a_peer_that_dies_is_a_row(self):
        found = self.rows_of("dies")[0]
        self.assertEqual((found["ns_min"], found["failure"]), (None, "failed: out of luck"))

    def test_a_peer_that_is_not_installed_is_a_row(self):
        self.assertEqual(self.rows_of("missing")[0]["failure"], "not installed: No module named 'nothing'")

    def test_files_are_judged_by_the_numbers_in_them(self):
        seven = [-4, 2, -1, 6, -7, 49, 24.70408163265306]
        found = self.rows_of(experiment="saveload", gradient=list(map(str, seven)), loss=seven[-1])
        timed = [one for one in found if one["mode"] == "eager"]
        self.assertEqual([(one["work"], one["gradient_ok"], one["file_bytes"]) for one in timed],
                         [("save", True, 77), ("load", True, 77)])
        wrong = [one for one in self.rows_of(experiment="saveload") if one["mode"] == "eager"]
        self.assertEqual([one["failure"] for one in wrong], ["wrong gradient"] * 2)

    def test_a_graph_by_builders_is_judged_as_every_gradient(self):
        run = subprocess.run([BENCH, "threads", "--shape", "build", "--judge", "--json", "-"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        found = list(map(json.loads, run.stdout.splitlines()))
        self.assertEqual([(one["mode"], one["params"]["threads"]) for one in found[:2]], [("serial", 1), ("builders", 1)])
        self.assertEqual({(one["work"], one["gradient_ok"]) for one in found}, {("build", True)})
        self.assertEqual([one["params"]["threads"] for one in found[1:]][-1], os.cpu_count())

    def test_methods_are_judged_by_their_iterates_and_have_targets(self):
        run = subprocess.run([BENCH, "optimise", "--judge", "--json", "-"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        found = list(map(json.loads, run.stdout.splitlines()))
        self.assertEqual([one["mode"] for one in found if not one["gradient_ok"]], [])
        ours = {one["mode"]: one for one in found if one["system"] == "burtorch" and "target" in one}
        self.assertEqual(set(ours), {"page", "ef21-randk", "marina-randk", "randseqk", "topk", "last-layer", "stoppable", "two-points",
                                     "difference"})
        self.assertEqual({one["work"] for mode, one in ours.items() if mode in ("page", "ef21-randk", "marina-randk")}, {"step"})
        for one in ours.values():  # what a row is measured by was timed as well
            self.assertGreater(one["ratio_to_limit"], 0)

    def test_a_method_with_other_iterates_has_no_time(self):
        found = self.rows_of(experiment="optimise", peer="pytorch")
        self.assertEqual({(one["params"]["method"], one["failure"]) for one in found if one["mode"] == "eager"},
                         {("page", "wrong gradient"), ("ef21-topk", "wrong gradient")})
        asked = (self.folder / "log").read_text().splitlines()
        self.assertTrue(any(line.startswith("optimise-page") and "schedule=all;" in line for line in asked))

    def test_networks_are_simulated_from_what_is_measured(self):
        run = subprocess.run([BENCH, "optimise", "--judge", "--simulate", self.folder], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        page, picture = (self.folder / "federated_costs.md").read_text(), (self.folder / "federated_costs.svg").read_text()
        self.assertEqual(page.count("the fastest |"), 4)  # two problems, two networks
        self.assertNotIn("nan", page)
        self.assertIn("</svg>", picture)
        self.assertEqual(subprocess.run([BENCH, "tiny", "--simulate", "x"], capture_output=True).returncode, 2)

    def test_memory_has_a_process_for_each_mode(self):
        found = self.rows_of(experiment="memory")
        self.assertEqual([(one["work"], one["mode"]) for one in found], [("tiny process", "eager"), ("gpt process", "eager")])
        self.assertTrue(found[0]["gradient_ok"])
        self.assertGreater(found[0]["vm_hwm_kb"], 0)
        self.assertGreater(found[0]["ns_min"], 1e6)
        self.assertEqual(found[1]["failure"], "wrong gradient")
        asked = [line.split()[-1] for line in (self.folder / "log").read_text().splitlines() if line.startswith("tiny")]
        self.assertEqual((asked[0], set(asked[1:])), ("list=1", {"only=eager"}))

    def test_unknown_peers_are_named(self):
        run = subprocess.run([BENCH, "tiny", "--peers", "abacus"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 2)
        self.assertIn("no peer 'abacus'", run.stderr)


class Report(Case):
    def report(self, *rows):
        results = self.write("one.json", *rows)
        run = self.run_lab("report", results, "--markdown", self.folder / "one.md", "--html", self.folder / "one.html")
        self.assertEqual(run.returncode, 0, run.stderr)
        return (self.folder / "one.md").read_text(), (self.folder / "one.html").read_text()

    def test_has_every_row_and_why_one_has_no_time(self):
        text, page = self.report(row("tiny", "limit", "dependent", 8), row("tiny", "burtorch", "eager", 40),
                                 row("tiny", "jax", "jit", None, failure="wrong gradient"), row("tiny", "micrograd", "eager", 20000))
        self.assertIn("| micrograd | eager | 1 | 20 µs | 2,500 | 500 |", text)
        self.assertIn("| jax | jit | 1 | wrong gradient |", text)
        self.assertIn("a &lt;processor&gt;", page)
        self.assertNotIn("<processor>", page)
        self.assertNotIn("http", page)

    def test_says_where_we_lose(self):
        text, _ = self.report(row("tiny", "burtorch", "eager", 40), row("tiny", "stan", "eager", 30))
        self.assertIn("tiny: stan eager takes 0.75 of our best (eager).", text)

    def test_is_never_without_a_loss(self):
        text, _ = self.report(row("tiny", "limit", "dependent", 8), row("tiny", "burtorch", "eager", 40), row("tiny", "stan", "eager", 70))
        self.assertIn("tiny: eager takes 5.0 times the gradient by hand.", text)

    def test_kernels_have_their_limit_beside_them(self):
        params = {"kernel": "gelu", "rows": 128, "columns": 768, "iterations": 20}
        product = {"kernel": "product", "rows": 24, "inner": 512, "columns": 24, "iterations": 9}
        text, _ = self.report(row("kernels", "limit", "stream", 10000, work="value", params=params, ratio_to_limit=1),
                              row("kernels", "burtorch", "layer", 25000, work="value", params=params, ratio_to_limit=2.5, ns_per_number=0.25,
                                  peak_share=0.4, bandwidth_share=1.2),
                              row("kernels", "burtorch", "layer", 3000, work="forward", params=product, ratio_to_limit=None, gflops=100))
        self.assertIn("| gelu | 128 x 768 | value | 25 µs | 0.25 |  | 40 % | 120 % | stream, 10 µs | 2.50 |", text)
        self.assertIn("| product | 24 x 512 x 24 | forward | 3 µs |  | 100 |", text)
        self.assertIn("kernels, value kernel gelu rows 128 columns 768: takes 2.50 times a loop over the same memory.", text)

    def test_packs_have_their_lanes_and_errors(self):
        graph = {"dtype": "fp64", "params": {"inputs": 100000, "lanes": 4}}
        function = {"dtype": "fp32", "work": "value", "params": {"function": "exp"}}
        text, _ = self.report(row("pack", "burtorch", "eager-pack", 1850000, **graph | {"ratio_to_limit": 0.286, "ns_per_input": 18.5}),
                              row("pack", "burtorch", "pack", 600, **function | {"ratio_to_limit": 0.101, "ns_per_number": 0.142, "ulp": 0.749}))
        self.assertIn("| burtorch | eager-pack |  | 4 | fp64 | 1.85 ms | 18.5 |  | 0.29 |  |", text)
        self.assertIn("| burtorch | pack | exp |  | fp32 | 600 ns |  | 0.142 | 0.10 | 0.75 |", text)

    def test_optimisers_have_their_targets_beside_them(self):
        method = {"params": {"method": "page", "batch": 1}, "work": "step", "dtype": "fp32"}
        text, _ = self.report(row("optimise", "limit", "gradients-of-page", 70000, **method | {"ratio_to_limit": 1}),
                              row("optimise", "burtorch", "page", 73500, **method | {"ratio_to_limit": 1.05, "target": 1.1}),
                              row("optimise", "jax", "jit", 1470000, **method | {"ratio_to_limit": 21, "times_ours": 20, "target_least": 20}))
        self.assertIn("| burtorch | page | step | 73.5 µs | 1.05 | 1.10 |", text)
        self.assertIn("| jax | jit | step | 1.47 ms | 21 |  | 20 | 20 |", text)
        self.assertNotIn("times the gradient by hand", text)

    def test_a_growth_is_a_line(self):
        rows = [row("gpt", "burtorch", "tiles", 100 * batch, params={"batch": batch}) for batch in (1, 2, 4)]
        _, page = self.report(*rows)
        line = re.search(r'<polyline class="burtorch" points="([^"]*)"', page)[1].split()
        self.assertEqual(len(line), 3)
        xs, ys = zip(*(map(float, point.split(",")) for point in line))
        self.assertAlmostEqual(xs[1] - xs[0], xs[2] - xs[1], delta=0.2)  # both axes are logarithmic
        self.assertAlmostEqual(ys[1] - ys[0], ys[2] - ys[1], delta=0.2)

    def test_shapes_stand_beside_each_other_with_their_errors(self):
        shape = {"params": {"shape": "nano", "batch": 12}, "dtype": "fp32"}
        text, _ = self.report(row("gpt", "limit", "openblas", 8e6, **shape),
                              row("gpt", "burtorch", "tiles", 16e6, gradient_error=5.9e-7, **shape),
                              row("gpt", "burtorch", "tiles", 20e6, **shape | {"work": "step"}),
                              row("gpt", "pytorch", "fused", 24e6, gradient_error=6.9e-7, **shape),
                              row("gpt", "pytorch", "fused", 25e6, **shape | {"work": "step"}))
        self.assertIn("## A GPT of shape nano, batch 12 (FP32)", text)
        self.assertIn("| pytorch | fused | gradient | 1 | 24 ms | 3,000,000 | 1.50 |  | 6.9e-07 |", text)
        self.assertIn("| pytorch | fused | step | 1 | 25 ms | 3,100,000 | 1.25 |", text)

    def test_threads_stand_side_by_side(self):
        def measured(system, mode, threads, ns, work="gradient", **more):
            params = {"shape": "nano", "batch": 12, "threads": threads}
            return row("threads", system, mode, ns, params=params, work=work, ratio_to_limit=None, **more)

        def built(mode, threads, ns, **more):
            return row("threads", "burtorch", mode, ns, params={"nodes": 1e6, "threads": threads}, work="build", ratio_to_limit=None, **more)
        text, _ = self.report(measured("burtorch", "tiles", 1, 20e6, ratio_to_one_thread=1), measured("burtorch", "tiles", 2, 11e6, ratio_to_one_thread=0.55),
                              measured("pytorch", "fused", 1, 30e6, ratio_to_one_thread=1), measured("pytorch", "fused", 2, None, failure="wrong gradient"),
                              built("serial", 1, 4e6, ratio_to_serial=1), built("builders", 2, 2.4e6, ratio_to_one_thread=0.6, ratio_to_serial=0.58))
        self.assertIn("| nano, batch 12 |  |  | 1 thread | 2 threads | 2 threads, x one thread | 1 thread, x our time | 2 threads, x our time |", text)
        self.assertIn("| burtorch | tiles | gradient | 20 ms | 11 ms | 0.55 | 1.00 | 1.00 |", text)
        self.assertIn("| pytorch | fused | gradient | 30 ms | wrong gradient |  | 1.50 |  |", text)
        self.assertIn("| burtorch | builders: 2 | 1,000,000 | 2.4 ms | 2.4 ns | 0.60 | 0.58 |", text)

    def test_the_page_fits_desktops_and_phones(self):
        browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if not browser:
            self.skipTest("no Chromium to look with")
        page = self.folder / "page.html"
        run = self.run_lab("report", ROOT / "docs" / "performance.json", "--html", page)
        self.assertEqual(run.returncode, 0, run.stderr)
        measure = "<script>document.title = [document.documentElement.scrollWidth, innerWidth, document.querySelectorAll('.bar').length]</script>"
        page.write_text(page.read_text().replace("</body>", measure + "</body>"))
        for width in (1280, 390):
            looked = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},900", "--dump-dom",
                                     f"--user-data-dir={self.folder}/profile", page.as_uri()], capture_output=True, text=True, timeout=120)
            found = re.search(r"<title>(\d+),(\d+),(\d+)</title>", looked.stdout)
            self.assertTrue(found, looked.stderr)
            needed, inner, bars = map(int, found.groups())
            self.assertLessEqual(needed, inner, f"the page is wider than a window of {width}")
            self.assertGreater(bars, 50)

    def test_bad_files_are_one_sentence(self):
        path = self.folder / "bad.json"
        for content, sentence in (("", "no rows"), ("{", "not a line of JSON")):
            path.write_text(content)
            run = self.run_lab("report", path)
            self.assertNotEqual(run.returncode, 0)
            self.assertIn(sentence, run.stderr)
            self.assertEqual(len(run.stderr.strip().splitlines()), 1)

    def test_the_document_is_what_the_results_say(self):
        run = self.run_lab("report", ROOT / "docs" / "performance.json", "--markdown", self.folder / "made.md")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual((self.folder / "made.md").read_text(), (ROOT / "docs" / "performance.md").read_text())


class Check(Case):
    def check(self, old, new):
        run = self.run_lab("check", self.write("old.json", *old), self.write("new.json", *new))
        return run.returncode, run.stdout

    def test_the_same_is_the_same(self):
        code, said = self.check([row("tiny", "burtorch", "eager", 40)], [row("tiny", "burtorch", "eager", 41)])
        self.assertEqual((code, said), (0, "0 slower, 0 lost, 0 faster, 1 the same\n"))

    def test_slower_beyond_the_noise_is_named(self):
        code, said = self.check([row("tiny", "burtorch", "eager", 40)], [row("tiny", "burtorch", "eager", 50)])
        self.assertEqual(code, 1)
        self.assertIn("slower: tiny burtorch eager", said)

    def test_noise_excuses(self):
        code, _ = self.check([row("tiny", "burtorch", "eager", 40, spread=0.2)], [row("tiny", "burtorch", "eager", 50, spread=0.2)])
        self.assertEqual(code, 0)

    def test_a_time_that_is_gone_is_named(self):
        code, said = self.check([row("tiny", "burtorch", "eager", 40)], [row("tiny", "burtorch", "eager", None, failure="wrong gradient")])
        self.assertEqual(code, 1)
        self.assertIn("lost: tiny burtorch eager", said)


if __name__ == "__main__":
    unittest.main()
