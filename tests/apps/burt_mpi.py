#!/usr/bin/env python3
"""What burt --mpi promises, with real processes: the bits of one process for any number of ranks, files of rank 0 only, ends that
leave a state to resume from, and messages on the wire that are what was counted.

usage: burt_mpi.py PROGRAM [CASE...]       exit code 77: mpirun or burt-mpi is not here
"""
import csv
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

BURT = os.path.abspath(sys.argv[1])
# What a test must say that a user at a terminal need not: it may be root in a container with fewer cores than ranks.
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                  OMPI_MCA_btl_vader_single_copy_mechanism="none", PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe")
TRAIN = ["train", "gpt", "--batch", "20", "--shards", "5", "--layers", "1", "--width", "12", "--heads", "2", "--sample-every", "0",
         "--sample-length", "5", "--eval-every", "7", "--eval-batches", "2", "--schedule", "constant"]


class Mpi(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def burt(self, *arguments, ranks=None, code=0):
        launcher = ["mpirun", "-n", str(ranks)] if ranks else []
        done = subprocess.run([*launcher, BURT, *arguments, *(["--mpi"] if ranks else [])], cwd=self.path,
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, (arguments, done.stdout, done.stderr))
        return done

    def start(self, ranks, *arguments):
        """A run in the background, whose output goes to files; it is ended with the test."""
        with open(self.path / "out", "w") as out, open(self.path / "err", "w") as err:
            run = subprocess.Popen(["mpirun", "-n", str(ranks), BURT, *arguments, "--mpi"], cwd=self.path, stdout=out, stderr=err)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        return run

    def wait_for(self, what, seconds=20):
        end = time.monotonic() + seconds
        while not (found := what()):
            self.assertLess(time.monotonic(), end, ("waited in vain", self.said()))
            time.sleep(0.02)
        return found

    def said(self):
        return (self.path / "out").read_text() + (self.path / "err").read_text()

    def process_of(self, run, rank):
        for entry in pathlib.Path("/proc").iterdir():
            try:
                is_child = entry.name.isdigit() and int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1]) == run.pid
                if is_child and f"OMPI_COMM_WORLD_RANK={rank}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                    return int(entry.name)
            except OSError:
                pass
        self.fail(f"rank {rank} is not there")

    def end_of(self, run, seconds):
        """How long it took to end."""
        start = time.monotonic()
        run.wait(timeout=seconds)
        return time.monotonic() - start

    def rows(self, folder, name="metrics.csv"):
        with open(self.path / folder / name) as file:
            return [{key: row[key] for key in row if key != "seconds"} for row in csv.DictReader(file)]

    def numbers(self, folder, name="state.safetensors"):
        """The bytes of all tensors of a state, without its texts."""
        data = (self.path / folder / name).read_bytes()
        return data[8 + struct.unpack("<Q", data[:8])[0]:]

    def assert_same_run(self, folder, other):
        self.assertEqual(self.rows(folder), self.rows(other))
        self.assertEqual(self.numbers(folder), self.numbers(other))

    # Trainings

    def test_a_training_has_the_bits_of_one_process_and_its_files(self):
        alone = self.burt(*TRAIN, "--steps", "20", "--threads", "2", "--out", "alone")
        files = sorted(p.name for p in (self.path / "alone").iterdir())
        for ranks, threads in ((1, 1), (2, 1), (3, 2), (7, 1)):
            done = self.burt(*TRAIN, "--steps", "20", "--threads", str(threads), "--out", f"on{ranks}", ranks=ranks)
            self.assert_same_run(f"on{ranks}", "alone")
            self.assertEqual(sorted(p.name for p in (self.path / f"on{ranks}").iterdir()), files)
            self.assertEqual(done.stderr, "")
            self.assertEqual(done.stdout.count("step 20/20"), 1, done.stdout)
            self.assertEqual("2 of them have nothing to do" in done.stdout, ranks == 7, done.stdout)
            sample = alone.stdout.split("--- sample\n")[1].split("\nsaved")[0]
            self.assertIn(f"--- sample\n{sample}\nsaved", done.stdout.replace("\r", ""))
        self.assertEqual(sorted(p.name for p in self.path.iterdir()), ["alone", "on1", "on2", "on3", "on7"])

    def test_a_run_is_resumed_on_another_number_of_ranks(self):
        self.burt(*TRAIN, "--steps", "30", "--out", "whole")
        self.burt(*TRAIN, "--steps", "10", "--out", "parts", ranks=2)
        self.burt("train", "--resume", "parts", "--steps", "18", ranks=3)
        self.burt("train", "--resume", "parts", "--steps", "25", ranks=1)
        self.burt("train", "--resume", "parts", "--steps", "30")
        whole, parts = self.rows("whole"), self.rows("parts")
        for row in parts:  # the end of each part has a validation of its own
            if row["step"] in ("10", "18", "25"):
                row["validation_loss"] = whole[int(row["step"]) - 1]["validation_loss"]
        self.assertEqual(parts, whole)
        self.assertEqual(self.numbers("parts"), self.numbers("whole"))

    def check_that_it_goes_on(self, folder):
        """Resumes a run on another number of ranks, and compares it with one that nothing happened to."""
        steps = len(self.rows(folder)) + 12
        self.burt("train", "--resume", folder, "--steps", str(steps), ranks=2)
        self.burt(*TRAIN, "--steps", str(steps), "--out", "whole")
        self.assertEqual(self.numbers(folder), self.numbers("whole"))
        validated = [{**row, "validation_loss": ""} for row in self.rows(folder)]
        self.assertEqual(validated, [{**row, "validation_loss": ""} for row in self.rows("whole")])

    def started_training(self, ranks, *more):
        run = self.start(ranks, *TRAIN, "--steps", "100000", "--out", "run", *more)
        self.wait_for(lambda: "step 14/" in self.said())
        return run

    def test_a_rank_that_is_killed_ends_the_run_which_is_resumed(self):
        run = self.started_training(3, "--save-every", "1h")
        os.kill(self.process_of(run, 1), signal.SIGKILL)
        self.assertLess(self.end_of(run, 20), 10)
        self.assertNotEqual(run.returncode, 0)
        self.assertRegex(self.said(), r"burt: rank 0 was stopped while it waited for rank \d[^\n]*died")
        steps = int(re.search(r"stopped after step (\d+); resume, .* --resume run --mpi", self.said())[1])
        self.assertEqual(len(self.rows("run")), steps)
        self.assertGreaterEqual(steps, 14)
        self.check_that_it_goes_on("run")

    def test_without_rank_0_the_last_save_stands(self):
        run = self.started_training(3, "--save-every", "1")
        os.kill(self.process_of(run, 0), signal.SIGKILL)
        self.assertLess(self.end_of(run, 20), 10)
        self.assertNotEqual(run.returncode, 0)
        self.check_that_it_goes_on("run")

    def test_a_rank_that_falls_silent_is_given_up(self):
        run = self.started_training(3, "--save-every", "1h", "--patience", "1")
        silent = self.process_of(run, 2)
        os.kill(silent, signal.SIGSTOP)
        self.assertLess(self.end_of(run, 20), 10)
        self.assertEqual(run.returncode, 3)
        self.assertRegex(self.said(), r"burt: [^\n]*rank \d heard nothing of rank \d for 1\.\d s")
        self.check_that_it_goes_on("run")

    def test_a_signal_to_one_rank_stops_all(self):
        for rank in (0, 1):
            shutil.rmtree(self.path / "run", ignore_errors=True)
            shutil.rmtree(self.path / "whole", ignore_errors=True)
            run = self.started_training(2, "--save-every", "1h")
            os.kill(self.process_of(run, rank), signal.SIGTERM)
            self.assertLess(self.end_of(run, 20), 10)
            self.assertEqual(run.returncode, 143 if rank == 0 else 3)
            self.assertIn("stopped after step", self.said())
            self.check_that_it_goes_on("run")

    # Federated

    def test_federated_methods_have_the_curves_of_one_process(self):
        arguments = ["optimise", "--workers", "7", "--epochs", "12"]
        for method, numbers in (("ef21", (1, 3, 8)), ("ef21-w", (3,)), ("marina", (3, 8)), ("vr-marina", (3,))):
            self.burt(*arguments, "--method", method, "--out", f"{method}-alone")
            for ranks in numbers:
                done = self.burt(*arguments, "--method", method, "--out", f"{method}-{ranks}", ranks=ranks)
                self.assertEqual(self.rows(f"{method}-{ranks}/{method}"), self.rows(f"{method}-alone/{method}"))
                if ranks > 1:
                    self.check_wire(done.stdout, self.rows(f"{method}-{ranks}/{method}")[-1], ranks, 7)

    def check_wire(self, said, last, ranks, workers):
        """Measured bytes are counted bytes and the stated headers: 24 bytes upwards, 16 downwards."""
        up, counted, up_headers, up_messages, down, shared, down_headers, down_messages, counted_down = map(int, re.search(
            r"up (\d+) bytes = (\d+) counted \+ (\d+) of (\d+) headers; down (\d+) = (\d+) \+ (\d+) of (\d+) headers, where (\d+)",
            said).groups())
        self.assertEqual(8 * counted, int(last["bits_up"]))
        self.assertEqual(up, counted + 24 * up_messages)
        self.assertEqual(up_headers, 24 * up_messages)
        self.assertEqual(8 * counted_down, int(last["bits_down"]))
        self.assertEqual(down_messages, (ranks - 1) * int(last["round"]))
        self.assertEqual(down, shared + 16 * down_messages)
        self.assertEqual(down_headers, 16 * down_messages)
        if ranks == workers + 1:
            self.assertEqual(shared, counted_down)

    def test_blocks_that_are_sent_during_the_sweep_give_the_same_curve(self):
        for method in ("ef21:topk:0.1", "marina:randk:0.1"):
            arguments = ["optimise", "--problem", "gpt", "--samples", "18", "--workers", "3", "--step-size", "0.1", "--epochs", "3",
                         "--blockwise", "--method", method]
            name = method.replace(":", "-")
            self.burt(*arguments, "--out", f"{name}-alone")
            done = self.burt(*arguments, "--out", f"{name}-ranks", ranks=4)
            self.assertEqual(self.rows(f"{name}-ranks/{name}"), self.rows(f"{name}-alone/{name}"))
            self.check_wire(done.stdout, self.rows(f"{name}-ranks/{name}")[-1], 4, 3)

    def test_a_federated_run_outlives_a_rank_that_is_killed(self):
        arguments = ["optimise", "--workers", "6", "--method", "ef21", "--every", "1"]
        run = self.start(4, *arguments, "--epochs", "10000000", "--out", "run")
        self.wait_for(lambda: "step size" in self.said())
        time.sleep(1.5)
        os.kill(self.process_of(run, 3), signal.SIGKILL)
        self.assertLess(self.end_of(run, 20), 10)
        self.assertIn("stopped; resume with", self.said())
        done = int(self.rows("run/ef21")[-1]["round"])
        self.assertGreater(done, 0)
        self.burt("optimise", "--resume", "run", "--epochs", str(done + 50), ranks=3)
        self.burt(*arguments, "--epochs", str(done + 50), "--out", "whole")
        self.assertEqual(self.rows("run/ef21"), self.rows("whole/ef21"))

    # Mistakes

    def test_a_mistake_is_said_once_and_ends_all_ranks(self):
        for arguments, part in ((["optimise", "--method", "page"], "--mpi is for methods of a server and workers"),
                                (["optimise", "--method", "ef21", "--workers", "9999"], "cannot share"),
                                (["train", "gpt", "--stepz", "3"], "unknown option '--stepz'")):
            done = self.burt(*arguments, ranks=3, code=2)
            self.assertEqual(len(re.findall(r"^burt: ", done.stderr, re.M)), 1, done.stderr)
            self.assertIn(part, done.stderr)
        self.assertEqual(list(self.path.iterdir()), [])

    def test_ranks_that_start_from_something_else_are_found(self):
        start = [BURT, *TRAIN, "--mpi", "--steps", "5", "--seed"]
        done = subprocess.run(["mpirun", "-n", "1", *start, "1", "--out", "run", ":", "-n", "1", *start, "2"], cwd=self.path,
                              capture_output=True, text=True, timeout=60)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("rank 1 has other options, data or parameters than rank 0", done.stderr)

    def test_burt_without_burt_mpi_says_how_to_get_it(self):
        shutil.copy(BURT, self.path / "burt")
        done = subprocess.run([self.path / "burt", *TRAIN, "--mpi"], cwd=self.path, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"\Aburt: --mpi needs burt-mpi beside burt[^\n]*libopenmpi-dev[^\n]*\n\Z")


if __name__ == "__main__":
    if shutil.which("mpirun") is None or not os.path.exists(os.path.join(os.path.dirname(BURT), "burt-mpi")):
        print("skipped: mpirun or burt-mpi is not here")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
