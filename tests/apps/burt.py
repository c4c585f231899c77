#!/usr/bin/env python3
"""What burt promises: results, errors of one sentence with exit code 2, runs that survive, the live line.

usage: burt.py PROGRAM [CASE...]
"""
import ast
import json
import math
import os
import pathlib
import pty
import random
import re
import resource
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unicodedata
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "io"))
import tensorboard_live

BURT = os.path.abspath(sys.argv[1])
SMALL = ["--layers", "1", "--width", "8", "--heads", "2", "--context", "8", "--batch", "4", "--sample-length", "20"]


class Burt(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def burt(self, *arguments, code=0, path=os.environ.get("PATH", "")):
        done = subprocess.run([BURT, *arguments], cwd=self.path, capture_output=True, text=True,
                              errors="surrogateescape", timeout=120, env={**os.environ, "PATH": path})
        self.assertEqual(done.returncode, code, (arguments, done.stdout, done.stderr))
        return done

    def train(self, *arguments, code=0):
        return self.burt("train", "gpt", *SMALL, *arguments, code=code)

    def refused(self, *arguments, **more):
        """One sentence on stderr, exit code 2, and nothing new in the folder."""
        before = sorted(self.path.rglob("*"))
        done = self.burt(*arguments, code=2, **more)
        self.assertRegex(done.stderr, r"\Aburt: [^\n]+\n\Z")
        self.assertEqual(sorted(self.path.rglob("*")), before)
        return done.stderr

    def header(self, name):
        """Tensors and metadata of a safetensors file."""
        data = (self.path / name).read_bytes()
        tensors = json.loads(data[8:8 + struct.unpack_from("<Q", data)[0]])
        return tensors, tensors.pop("__metadata__")

    def same_state(self, *folders):
        """The runs ended with the same numbers, to the bit; what only concerns saving may differ."""
        data = [(self.path / folder / "state.safetensors").read_bytes() for folder in folders]
        bodies = {state[8 + struct.unpack_from("<Q", state)[0]:] for state in data}
        steps = {json.dumps([self.header(folder + "/state.safetensors")[1][key] for key in
                             ("training.step", "training.random", "training.optimizer")]) for folder in folders}
        self.assertEqual((len(bodies), len(steps)), (1, 1))

    def steps_in(self, folder, may_be_cut=False):
        lines = (self.path / folder / "metrics.csv").read_text().splitlines(keepends=True)[1:]
        return [int(line.split(",")[0]) for line in lines if line.endswith("\n") or not may_be_cut]

    def write(self, name, data):
        (self.path / name).write_bytes(data)
        return name


class Training(Burt):
    def test_leaves_a_model_metrics_and_a_curve(self):
        done = self.train("--steps", "20", "--eval-every", "10", "--out", "run")
        self.assertIn("step 10/20", done.stdout)
        self.assertIn("step 20/20", done.stdout)
        self.assertNotIn("\r", done.stdout)
        rows = (self.path / "run/metrics.csv").read_text().splitlines()
        self.assertEqual(len(rows), 21)
        lines = [json.loads(line) for line in (self.path / "run/metrics.jsonl").read_text().splitlines()]
        self.assertEqual([line["step"] for line in lines], list(range(1, 21)))
        self.assertEqual([line["step"] for line in lines if "validation_loss" in line], [10, 20])
        xml.etree.ElementTree.parse(self.path / "run/loss.svg")
        self.assertTrue((self.path / "run/state.safetensors").stat().st_size > 1000)
        self.assertFalse((self.path / "run/model.safetensors").exists())

    def test_learns(self):
        self.train("--steps", "300", "--eval-every", "300", "--out", "run")
        lines = [json.loads(line) for line in (self.path / "run/metrics.jsonl").read_text().splitlines()]
        self.assertLess(lines[-1]["validation_loss"], 0.8 * lines[0]["loss"])

    def test_takes_any_text_and_makes_a_new_folder_each_time(self):
        self.write("text", "άλφα βήτα γάμμα δέλτα\n".encode() * 20)
        for _ in range(2):
            self.train("--steps", "2", "--data", "text")
        self.assertTrue((self.path / "runs/gpt-1/state.safetensors").exists())
        self.assertTrue((self.path / "runs/gpt-2/state.safetensors").exists())

    def test_bytes_that_are_no_text_are_learned_too(self):
        self.write("bytes", bytes(range(256)) * 4)
        done = self.train("--steps", "2", "--data", "bytes")
        self.assertIn("tokens are bytes", done.stdout)
        self.assertTrue(done.stdout.replace("\n", "").isprintable())

    def test_the_same_seed_gives_the_same_model(self):
        for out, seed in (("a", "5"), ("b", "5"), ("c", "6")):
            self.train("--steps", "5", "--seed", seed, "--out", out)
        a, b, c = ((self.path / out / "state.safetensors").read_bytes() for out in "abc")
        self.assertEqual(a, b)
        self.assertNotEqual(a, c)

    def test_a_tile_of_one_learns_the_same(self):
        losses = []
        for tile in ("1", "4"):
            self.train("--steps", "10", "--tile", tile, "--out", tile)
            losses.append(json.loads((self.path / tile / "metrics.jsonl").read_text().splitlines()[-1])["loss"])
        self.assertAlmostEqual(losses[0], losses[1], delta=1e-4 * losses[0])

    def test_every_optimizer_and_schedule(self):
        for optimizer in ("sgd", "momentum", "nesterov", "adam", "adamw"):
            self.train("--steps", "3", "--optimizer", optimizer)
        for schedule in ("constant", "step", "cosine"):
            self.train("--steps", "3", "--schedule", schedule)

    def test_a_gpt2_like_variant(self):
        self.train("--steps", "3", "--final-norm", "--attention-bias", "--gelu", "--init", "gpt2", "--out", "run")
        self.burt("sample", "--model", "run", "--length", "5")

    def test_a_model_says_what_it_is(self):
        version = self.burt("--version").stdout.split()[1]
        self.train("--steps", "3", "--out", "gpt", "--gelu")
        self.burt("train", "mlp", "--hidden", "8", "--steps", "4", "--out", "mlp")
        for model in ("gpt", "mlp"):
            self.burt("export", model, "--out", model + ".safetensors")
        tensors, gpt = self.header("gpt.safetensors")
        self.assertGreater(len(gpt.pop("vocabulary")), 20)
        size = tensors["wte.weight"]["shape"][0]
        self.assertEqual(gpt, {"model": "gpt", "vocabulary_size": str(size), "context": "8", "width": "8", "layers": "1",
                               "heads": "2", "hidden": "32", "final_norm": "0", "attention_bias": "0", "gelu": "1",
                               "activation": "gelu", "padded_vocabulary": "0", "norm_epsilon": "1e-05", "dropout": "0", "no_biases": "0", "tied": "0",
                               "step": "3", "burtorch": version})
        _, mlp = self.header("mlp.safetensors")
        self.assertGreater(len(mlp.pop("vocabulary")), 20)
        self.assertEqual(mlp, {"model": "mlp", "vocabulary_size": "27", "context": "16", "embedding": "64", "hidden": "8",
                               "step": "4", "burtorch": version})

    def test_activations_by_name(self):
        self.train("--steps", "3", "--out", "flag", "--gelu")
        self.train("--steps", "3", "--out", "name", "--activation", "gelu")
        self.same_state("flag", "name")
        self.train("--steps", "5", "--schedule", "constant", "--out", "whole", "--activation", "gelu-tanh")
        self.train("--steps", "3", "--schedule", "constant", "--out", "part", "--activation", "gelu-tanh")
        metadata = self.header("part/state.safetensors")[1]
        self.assertEqual((metadata["gelu"], metadata["activation"]), ("0", "gelu-tanh"))
        resume = ["train", "gpt", "--resume", "part", "--steps", "5"]
        for flags in (["--gelu"], ["--activation", "gelu"], ["--activation", "relu"]):
            self.assertIn(flags[0] + (" " + flags[1] if len(flags) > 1 else "") + " contradicts", self.refused(*resume, *flags))
        self.burt(*resume, "--activation", "gelu-tanh")
        self.same_state("whole", "part")
        self.assertIn("expected one of relu, gelu, gelu-tanh, got 'swish'", self.refused("train", "gpt", "--activation", "swish"))

    def test_a_padded_vocabulary_has_more_rows_and_no_more_tokens(self):
        self.train("--steps", "3", "--out", "run", "--padded-vocabulary", "128", "--tied", "--init", "gpt2")
        tensors, metadata = self.header("run/state.safetensors")
        self.assertEqual(tensors["wte.weight"]["shape"], [128, 8])
        self.assertLess(int(metadata["vocabulary_size"]), 128)
        self.burt("train", "gpt", "--resume", "run", "--steps", "5")
        self.assertTrue(self.burt("sample", "--model", "run", "--length", "50", "--temperature", "100").stdout)
        self.assertIn("padded to 5", self.refused("train", "gpt", "--padded-vocabulary", "5"))

    def test_dropout_is_in_the_training_alone_and_resumes_with_the_same_bits(self):
        drop = ["--dropout", "0.2", "--schedule", "constant", "--context", "12"]
        self.train("--steps", "30", "--out", "whole", *drop)
        self.train("--steps", "11", "--out", "part", *drop, "--threads", "1")
        self.assertEqual(self.header("part/state.safetensors")[1]["dropout"], "0.2")
        self.burt("train", "gpt", "--resume", "part", "--steps", "30", "--threads", "3")
        self.same_state("whole", "part")
        self.train("--steps", "11", "--out", "none", *drop[2:])
        # The first loss differs, the validation of the same parameters does not.
        rows = [(self.path / run / "metrics.csv").read_text().splitlines()[1].split(",") for run in ("whole", "none")]
        self.assertNotEqual(rows[0][1], rows[1][1])
        outputs = {self.burt("sample", "--model", "part", "--length", "20", "--seed", "1").stdout for _ in range(2)}
        self.assertEqual(len(outputs), 1)
        # Another one for the rest of a run.
        self.burt("train", "gpt", "--resume", "part", "--steps", "33", "--dropout", "0")
        self.assertEqual(self.header("part/state.safetensors")[1]["dropout"], "0")
        self.assertIn("--dropout: expected a number from 0 to 0.999999, got '1'", self.refused("train", "gpt", "--dropout", "1"))

    def test_a_run_from_before_dropout_has_none(self):
        self.train("--steps", "3", "--out", "run")
        path = self.path / "run/state.safetensors"
        data = path.read_bytes()
        length = struct.unpack_from("<Q", data)[0]
        header = json.loads(data[8:8 + length])
        del header["__metadata__"]["dropout"]
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        path.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length:])
        self.burt("train", "gpt", "--resume", "run", "--steps", "5")
        self.assertEqual(self.header("run/state.safetensors")[1]["dropout"], "0")

    def test_gpts_without_biases_and_with_a_tied_head_train_and_resume(self):
        self.train("--steps", "3", "--out", "run", "--no-biases", "--tied", "--final-norm")
        names = set(self.header("run/state.safetensors")[0])
        self.assertFalse([name for name in names if name.endswith(".bias") or name.startswith("head")])
        self.burt("train", "gpt", "--resume", "run", "--steps", "5")
        self.assertTrue(self.burt("sample", "--model", "run", "--length", "20").stdout)

    def test_a_model_alone_is_enough_to_sample(self):
        self.train("--steps", "3", "--out", "run", "--gelu", "--layers", "2")
        self.burt("export", "run", "--out", "alone")
        of = lambda model: self.burt("sample", "--model", model, "--length", "20").stdout
        self.assertEqual(of("run"), of("run/state.safetensors"))
        self.assertEqual(of("run"), of("alone"))
        shutil.rmtree(self.path / "run")
        self.assertTrue(of("alone"))

    def test_an_exported_model_is_the_parameters_and_nothing_else(self):
        self.train("--steps", "3", "--out", "run")
        self.burt("export", "run", "--out", "model.safetensors")
        model, state = self.header("model.safetensors"), self.header("run/state.safetensors")
        self.assertEqual(sorted([*model[0], "optimizer.memory"]), sorted(state[0]))
        self.assertFalse([key for key in model[1] if key.startswith(("run.", "training."))])
        self.assertEqual(model[1]["step"], state[1]["training.step"])
        self.refused("export", "run")
        self.refused("export", "nowhere", "--out", "other")
        self.refused("export", "--out", "other")

    def test_a_loss_that_is_not_finite_names_step_and_node(self):
        done = self.train("--steps", "50", "--optimizer", "sgd", "--lr", "1000", "--clip", "0", "--warmup", "0", code=1)
        self.assertRegex(done.stderr, r"step \d+: the loss is .*(node \d+|parameter)")

    def test_words(self):
        done = self.burt("train", "mlp", "--hidden", "8", "--steps", "50", "--out", "run")
        self.assertIn("vocabulary 27", done.stdout)
        words = self.burt("sample", "--model", "run", "--count", "5").stdout.splitlines()
        self.assertEqual(len(words), 5)


class Resuming(Burt):
    def test_ctrl_c_saves_and_a_resumed_run_ends_with_the_same_bits(self):
        steps = ["--steps", "4000", "--eval-every", "100"]
        self.train(*steps, "--out", "whole")
        run = subprocess.Popen([BURT, "train", "gpt", *SMALL, *steps, "--out", "part"], cwd=self.path,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for line in run.stdout:
            if line.startswith("step 100"):
                run.send_signal(signal.SIGINT)
                break
        rest, errors = run.communicate(timeout=60)
        self.assertEqual((run.returncode, errors), (130, ""))
        self.assertIn("--resume part", rest)
        self.train(*steps, "--resume", "part")
        self.same_state("whole", "part")
        self.assertEqual(self.steps_in("part"), list(range(1, 4001)))

    def test_one_file_is_all_that_a_resumed_run_needs(self):
        self.train("--steps", "9", "--schedule", "constant", "--out", "whole")
        self.train("--steps", "5", "--schedule", "constant", "--out", "part")
        for file in (self.path / "part").iterdir():
            if file.name != "state.safetensors":
                file.unlink()
        self.burt("train", "gpt", "--steps", "9", "--resume", "part")
        self.same_state("whole", "part")

    def test_a_finished_run_wants_more_steps(self):
        self.train("--steps", "3", "--out", "run")
        self.assertIn("--steps", self.refused("train", "gpt", *SMALL, "--steps", "3", "--resume", "run"))

    def test_what_contradicts_the_run_is_refused(self):
        self.train("--steps", "3", "--out", "run")
        resume = ["train", "gpt", "--steps", "9", "--resume", "run"]
        for flag, value, was in (("--width", "16", "8"), ("--layers", "2", "1"), ("--heads", "4", "2"),
                                 ("--optimizer", "adam", "adamw"), ("--seed", "5", "1337"), ("--val-fraction", "0.2", "0.1")):
            self.assertIn(f"{flag} {value} contradicts the run in run, which has {flag} {was}",
                          self.refused(*resume, flag, value))
        self.assertIn("--gelu contradicts", self.refused(*resume, "--gelu"))
        self.assertIn("--data", self.refused(*resume, "--data", self.write("other", b"abc" * 100)))
        self.assertIn("--out", self.refused(*resume, "--out", "elsewhere"))
        self.assertIn("no such folder", self.refused("train", "gpt", "--resume", "nowhere"))
        self.assertIn("burt train --resume run", self.refused("train", "mlp", "--steps", "9", "--resume", "run"))
        self.burt(*resume, *SMALL, "--eval-every", "2", "--save-every", "3", "--lr", "0.001")

    def test_data_that_changed_or_went_away_is_noticed(self):
        text = b"to be or not to be, that is the question\n" * 20
        self.write("text", text)
        self.train("--steps", "3", "--data", "text", "--out", "run")
        resume = ["train", "gpt", "--steps", "5", "--resume", "run"]
        self.write("text", text[:-41])
        self.assertIn("has changed", self.refused(*resume))
        (self.path / "text").rename(self.path / "moved")
        self.assertIn("--data", self.refused(*resume))
        self.burt(*resume, "--data", "moved")

    def test_damaged_or_foreign_states_are_refused(self):
        self.train("--steps", "3", "--out", "run")
        resume = ["train", "gpt", "--steps", "9", "--resume", "run"]
        state = self.path / "run/state.safetensors"
        whole = state.read_bytes()
        self.burt("export", "run", "--out", "model")
        state.write_bytes(whole[:-1])
        self.refused(*resume)
        state.write_bytes((self.path / "model").read_bytes())
        self.assertIn("holds no state of a training", self.refused(*resume))
        state.write_bytes(whole)
        self.burt(*resume)


class Surviving(Burt):
    """Whatever ends a run, it can be resumed and ends with the bits of one that was not interrupted."""
    ODD = ["--layers", "2", "--width", "6", "--heads", "3", "--context", "5", "--hidden", "7", "--gelu", "--final-norm",
           "--batch", "3", "--tile", "2", "--lr", "0.0123", "--min-lr", "0.001", "--warmup", "7", "--clip", "0.7",
           "--weight-decay", "0.05", "--beta2", "0.95", "--seed", "18446744073709551615", "--val-fraction", "0.13",
           "--init", "gpt2", "--eval-every", "40", "--sample-every", "0", "--sample-length", "9", "--temperature", "0.7",
           "--top-k", "5", "--data", "a text", "--steps", "3000"]

    def setUp(self):
        super().setUp()
        self.write("a text", b"It was the best of times, it was the worst of times.\n" * 30)

    def start(self, *arguments, **more):
        return subprocess.Popen([BURT, *arguments], cwd=self.path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, env={**os.environ, "BURT_COMMAND": BURT}, **more)

    def stopped(self, run, number, at="step "):
        """What a run says that is sent a signal when a line begins with `at`."""
        for line in run.stdout:
            if line.startswith(at):
                run.send_signal(number)
                break
        rest, errors = run.communicate(timeout=60)
        self.assertEqual((run.returncode, errors), (128 + number, ""))
        return rest

    def test_the_printed_command_works_for_any_flags(self):
        self.burt("train", "gpt", *self.ODD, "--out", "whole")
        folder = "it's a $(run); 2"
        said = self.stopped(self.start("train", "gpt", *self.ODD, "--out", folder), signal.SIGINT)
        command = re.search(r"resume with: (.*)", said)[1]
        done = subprocess.run(shlex.split(command), cwd=self.path, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.same_state("whole", folder)
        self.assertEqual(self.steps_in(folder), list(range(1, 3001)))

    def test_a_word_model_is_resumed_by_its_folder_alone(self):
        odd = ["--hidden", "5", "--context", "4", "--embedding", "8", "--optimizer", "nesterov", "--schedule", "step",
               "--batch", "7", "--steps", "1500", "--eval-every", "50", "--save-every", "30", "--lr", "0.05"]
        self.burt("train", "mlp", *odd, "--out", "whole")
        self.stopped(self.start("train", "mlp", *odd, "--out", "part"), signal.SIGTERM)
        self.burt("train", "mlp", "--resume", "part")
        self.same_state("whole", "part")

    def test_sigterm_and_sighup_end_a_run_as_ctrl_c_does(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            folder = f"run{number}"
            said = self.stopped(self.start("train", "gpt", *self.ODD, "--out", folder), number)
            self.assertIn(f"--resume {folder}", said)
            self.assertGreater(int(self.header(folder + "/state.safetensors")[1]["step"]), 0)

    def test_an_ignored_sighup_stays_ignored(self):
        run = self.start("train", "gpt", *self.ODD, "--out", "run",
                         preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        run.stdout.readline()
        run.send_signal(signal.SIGHUP)
        run.communicate(timeout=60)
        self.assertEqual(run.returncode, 0)

    def test_a_kill_loses_at_most_the_last_interval(self):
        self.burt("train", "gpt", *self.ODD, "--out", "whole")
        moments = random.Random(7)
        arguments, kills, before = [*self.ODD, "--save-every", "25", "--out", "part"], 0, 0
        while True:
            run = self.start("train", "gpt", *arguments)
            try:
                _, errors = run.communicate(timeout=moments.uniform(0.02, 0.15) if kills < 8 else 60)
                self.assertEqual(run.returncode, 0, errors)
                break
            except subprocess.TimeoutExpired:
                run.kill()
                run.communicate()
                kills += 1
            if not (self.path / "part/state.safetensors").exists():
                continue
            arguments = ["--resume", "part"]
            step = int(self.header("part/state.safetensors")[1]["step"])
            self.assertEqual(step % 25, 0)
            self.assertGreaterEqual(step, before)
            # The record reaches further than the state by less than an interval, as far as it was written.
            self.assertLess(max(self.steps_in("part", True), default=0), step + 26)
            before = step
        self.assertGreater(kills, 0)
        self.same_state("whole", "part")
        self.assertEqual(self.steps_in("part"), list(range(1, 3001)))
        lines = (self.path / "part/metrics.jsonl").read_text().splitlines()
        self.assertEqual([json.loads(line)["step"] for line in lines], list(range(1, 3001)))

    def test_a_state_is_saved_at_every_validation(self):
        run = self.start("train", "gpt", *self.ODD, "--steps", "1000000", "--save-every", "0", "--out", "run")
        for line in run.stdout:
            if line.startswith("step 80/"):
                break
        time.sleep(0.05)
        run.kill()
        run.communicate()
        self.assertGreaterEqual(int(self.header("run/state.safetensors")[1]["step"]), 40)

    def test_a_closed_pipe_does_not_end_a_run(self):
        run = self.start("train", "gpt", *self.ODD, "--out", "run")
        run.stdout.readline()
        run.stdout.close()
        self.assertEqual((run.wait(60), run.stderr.read()), (0, ""))
        run.stderr.close()
        self.assertEqual(self.header("run/state.safetensors")[1]["step"], "3000")

    def test_a_loss_that_is_not_finite_leaves_the_last_finite_state(self):
        wild = ["--optimizer", "sgd", "--lr", "1000", "--clip", "0", "--warmup", "0", "--steps", "200", "--out", "run"]
        done = self.train(*wild, code=1)
        step = int(re.search(r"burt: step (\d+): the loss is", done.stderr)[1])
        kept = int(re.search(r"the state after step (\d+), with a finite loss, is saved", done.stderr)[1])
        self.assertEqual(kept, max(0, step - 2))  # step - 1 gave the parameters without a finite loss
        self.assertEqual(self.header("run/state.safetensors")[1]["step"], str(kept))
        self.assertTrue(self.burt("sample", "--model", "run", "--length", "5").stdout)
        command = re.search(r"smaller step: burt (.*)", done.stderr)[1].split()
        self.burt(*command[:-1], "0.001", "--clip", "1")

    def test_a_late_nan_keeps_the_steps_since_the_last_save(self):
        # The rate grows until the loss overflows, long after the first save and before the next one.
        self.train("--steps", "60", "--optimizer", "sgd", "--schedule", "constant", "--lr", "0.01", "--out", "run")
        done = self.burt("train", "gpt", "--resume", "run", "--steps", "400", "--clip", "0", "--lr", "40",
                         "--eval-every", "400", code=1)
        step = int(re.search(r"burt: step (\d+): the loss is", done.stderr)[1])
        self.assertEqual(self.header("run/state.safetensors")[1]["step"], str(max(60, step - 2)))

    def test_overwriting_waits_until_the_new_run_has_started(self):
        self.train("--steps", "5", "--out", "run")
        before = {file.name: file.read_bytes() for file in (self.path / "run").iterdir()}
        for arguments in (["--width", "100000", "--heads", "1"], ["--init", "zero"], ["--batch", "1000000"]):
            self.refused("train", "gpt", *SMALL, *arguments, "--out", "run", "--overwrite")
            self.assertEqual({file.name: file.read_bytes() for file in (self.path / "run").iterdir()}, before)
        self.train("--steps", "6", "--out", "run", "--overwrite")
        self.assertEqual(self.steps_in("run"), list(range(1, 7)))

    def test_closed_descriptors_do_not_end_up_in_the_metrics(self):
        for closed in ((1,), (0, 1), (0, 1, 2), (2,)):
            shutil.rmtree(self.path / "run", ignore_errors=True)
            done = subprocess.run([BURT, "train", "gpt", *SMALL, "--steps", "30", "--out", "run"], cwd=self.path,
                                  timeout=60, stdout=subprocess.DEVNULL,
                                  preexec_fn=lambda descriptors=closed: [os.close(fd) for fd in descriptors])
            self.assertEqual(done.returncode, 0)
            self.assertTrue((self.path / "run/metrics.csv").read_text().startswith("step,loss,"))
            self.assertEqual(self.steps_in("run"), list(range(1, 31)))
            self.assertTrue((self.path / "run/metrics.jsonl").read_text().startswith('{"step":1,'))

    def test_output_that_cannot_be_written_is_an_error(self):
        self.train("--steps", "2", "--out", "run")
        for arguments in (["--version"], ["--help"], ["train", "gpt", "--help"], ["sample", "--model", "run"],
                          ["graph", "tiny"], ["inspect", "run"], ["plot", "embedding", "--model", "run"],
                          ["train", "gpt", *SMALL, "--steps", "2"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([BURT, *arguments], cwd=self.path, stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertRegex(done.stderr, r"\Aburt: cannot write to stdout: [^\n]+\n\Z")


class Evaluating(Burt):
    def eval(self, model, *more):
        return json.loads(self.burt("eval", "--model", model, "--json", *more).stdout)

    def validation_loss(self, folder):
        return json.loads((self.path / folder / "metrics.jsonl").read_text().splitlines()[-1])["validation_loss"]

    def test_the_samples_of_a_validation_have_its_loss(self):
        self.train("--steps", "20", "--eval-batches", "7", "--val-fraction", "0.2", "--out", "run")
        found = self.eval("run", "--batches", "7")
        self.assertEqual((found["samples"], found["tokens"], found["part"]), (28, 7 * 4 * 8, "validation"))
        self.assertAlmostEqual(found["loss"], self.validation_loss("run"), delta=1e-6)
        for change in (["--tile", "1"], ["--tile", "3"], ["--threads", "1"]):
            self.assertAlmostEqual(self.eval("run", "--batches", "7", *change)["loss"], found["loss"], delta=1e-6)

    def test_windows_that_cover_the_same_tokens_have_the_same_loss(self):
        # With a context of 1 windows cannot overlap, and a word model has one sample for each token.
        self.train("--context", "1", "--steps", "20", "--eval-batches", "1000000", "--out", "gpt")
        self.burt("train", "mlp", "--hidden", "8", "--seed", "3", "--steps", "20", "--eval-batches", "1000000", "--out", "mlp")
        for run in ("gpt", "mlp"):
            found = self.eval(run)
            self.assertAlmostEqual(found["loss"], self.validation_loss(run), delta=1e-6)
            self.assertGreaterEqual(found["tokens"], found["part_tokens"] - 1)

    def test_each_token_of_a_part_is_guessed_once(self):
        self.write("text", "βήτα to be or not to be\n".encode() * 50)  # 24 characters, 28 bytes
        self.train("--steps", "5", "--data", "text", "--val-fraction", "0.25", "--out", "run")
        for part, tokens in (("validation", 300), ("train", 900), ("all", 1200)):
            found = self.eval("run", "--part", part)
            windows = (tokens - 1) // 8
            self.assertEqual((found["part_tokens"], found["samples"], found["tokens"]), (tokens, windows, 8 * windows))
            self.assertEqual(found["characters"], found["tokens"])
            self.assertGreater(found["bytes"], found["characters"])
            bits = found["loss"] / math.log(2)
            self.assertAlmostEqual(found["perplexity"], math.exp(found["loss"]), delta=1e-9)
            self.assertAlmostEqual(found["bits_per_token"], bits, delta=1e-9)
            self.assertAlmostEqual(found["bits_per_character"], bits, delta=1e-9)
            self.assertAlmostEqual(found["bits_per_byte"] * found["bytes"], bits * found["tokens"], delta=1e-6)

    def test_any_text_with_data(self):
        self.train("--steps", "200", "--eval-every", "200", "--out", "run")
        self.burt("export", "run", "--out", "alone")
        self.write("text", b"HUGO: good day to you, and to the rest of us.\n" * 5)
        found = self.eval("run", "--data", "text")
        self.assertEqual((found["part"], found["part_tokens"], found["data"]), ("all", 230, "text"))
        self.assertEqual(self.eval("alone", "--data", "text"), {**found, "model": "alone"})
        self.assertEqual(self.eval("run", "--data", "text", "--part", "validation")["part_tokens"], 23)
        self.write("noise", b"qzjxkvwQZJXKVW" * 20)
        self.assertGreater(self.eval("run", "--data", "noise")["loss"], found["loss"] + 0.5)
        self.burt("train", "mlp", "--hidden", "8", "--steps", "20", "--out", "mlp")
        self.write("words", b"anna\nbo\n")
        self.assertEqual(self.eval("mlp", "--data", "words")["tokens"], 8)

    def test_what_people_read(self):
        self.train("--steps", "5", "--out", "run")
        found, text = self.eval("run"), self.burt("eval", "--model", "run").stdout
        self.assertIn("run on the validation part of burt's own data\n", text)
        self.assertIn(f"{found['samples']} samples, {found['tokens']} of {found['part_tokens']} tokens\n", text)
        self.assertIn(f"\nloss        {found['loss']:.4f} nats per token\nperplexity  {found['perplexity']:.4f}\n", text)
        self.assertIn(f"{found['bits_per_character']:.4f} per character, {found['bits_per_byte']:.4f} per byte\n", text)

    def test_long_work_shows_how_far_it_is(self):
        self.train("--width", "64", "--layers", "4", "--steps", "1", "--out", "run")
        self.write("long", b"To be, or not to be, that is the question.\n" * 20_000)
        ours, theirs = pty.openpty()
        run = subprocess.Popen([BURT, "eval", "--model", "run", "--data", "long", "--threads", "1"], cwd=self.path,
                               stdout=subprocess.PIPE, stderr=theirs)
        os.close(theirs)
        shown = os.read(ours, 1000)
        run.kill()
        run.communicate()
        os.close(ours)
        self.assertRegex(shown.decode(), r"^\r\x1b\[Ksample \d+/107499  loss \d+\.\d+  \d+:\d\d left")

    def test_what_is_refused(self):
        text = b"to be or not to be, that is the question\n" * 20
        self.write("text", text)
        self.train("--steps", "3", "--data", "text", "--out", "run")
        self.burt("export", "run", "--out", "alone")
        refused = lambda *arguments: self.refused("eval", *arguments)
        self.assertIn("needs --model", refused())
        self.assertIn("--part: expected validation, train or all, got 'test'", refused("--model", "run", "--part", "test"))
        self.assertIn("there is no such file", refused("--model", "run", "--data", "missing"))
        self.assertIn("--data FILE", refused("--model", "alone"))
        self.write("foreign", "né".encode() * 20)
        self.assertRegex(refused("--model", "run", "--data", "foreign"), r"on foreign: 'é' \(U\+00E9\) at byte 1 .*vocabulary")
        self.write("short", b"to be or")
        self.assertIn("has 8 tokens, too few for this model, which needs at least 9", refused("--model", "run", "--data", "short"))
        self.assertIn("the validation part", refused("--model", "run", "--data", "short", "--part", "validation"))
        self.write("text", text[1:])
        self.assertIn("has changed", refused("--model", "run"))
        (self.path / "text").rename(self.path / "moved")
        self.assertIn("does not exist any more; pass it with --data", refused("--model", "run"))
        self.eval("run", "--data", "moved")
        refused("--model", "missing")


class Promises(Burt):
    """What the help of `burt train` says of single options, and what a run leaves on the screen."""

    def on_a_terminal(self, *arguments, until=None, code=0):
        """The lines that remain on a terminal; with `until` a Ctrl-C follows what was waited for."""
        ours, theirs = pty.openpty()
        run = subprocess.Popen([BURT, *arguments], cwd=self.path, stdout=theirs, stderr=theirs)
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:
                break
            if not part:
                break
            shown += part
            if until is not None and until in shown:
                run.send_signal(signal.SIGINT)
                until = None
        os.close(ours)
        self.assertEqual(run.wait(60), code, shown)
        # A carriage return and what clears the line begin it again.
        return [line.split("\r\x1b[K")[-1] for line in shown.decode().split("\r\n")]

    def test_accumulated_batches_are_one_batch(self):
        self.train("--steps", "20", "--batch", "32", "--out", "whole")
        self.train("--steps", "20", "--batch", "8", "--accumulate", "4", "--out", "parts")
        self.same_state("whole", "parts")
        self.assertEqual(self.steps_in("parts"), list(range(1, 21)))

    def test_memory_chooses_the_tile(self):
        size = lambda text: float(text.split()[0]) * {"KB": 2**10, "MB": 2**20}[text.split()[1]]
        tiles = []
        for limit in ("1M", "220K", "190K", "170K"):
            said = self.train("--steps", "2", "--batch", "32", "--memory", limit, "--out", limit).stdout
            needed, samples = re.search(r"memory: ([\d.]+ .B) .* for (\d+) samples? at a time", said).groups()
            self.assertLessEqual(size(needed), int(limit[:-1]) * 2**(20 if limit.endswith("M") else 10))
            tiles.append(int(samples))
            self.assertEqual(self.header(limit + "/state.safetensors")[1]["run.tile"], samples)
        self.assertEqual(tiles, sorted(tiles, reverse=True))
        self.assertGreater(tiles[0], tiles[-1])
        self.assertIn("--memory 100 KB is too little", self.refused("train", "gpt", *SMALL, "--memory", "100K"))
        self.assertIn("--tile 64 does not fit", self.refused("train", "gpt", *SMALL, "--memory", "190K", "--tile", "64"))

    def test_memory_also_holds_for_several_threads(self):
        size = lambda text: float(text.split()[0]) * {"KB": 2**10, "MB": 2**20}[text.split()[1]]
        needed, lanes = {}, {}
        for threads, limit in (("1", "450K"), ("6", "450K"), ("6", "1M")):
            out = threads + limit
            said = self.train("--steps", "3", "--batch", "512", "--threads", threads, "--memory", limit, "--out", out).stdout
            found = re.search(r"memory: ([\d.]+ .B) .* for 4 samples at a time(?: in each of (\d) threads)?", said)
            needed[out], lanes[out] = size(found[1]), int(found[2] or 1)
        self.assertLessEqual(needed["6450K"], 450 * 2**10)
        self.assertLess(lanes["1450K"], lanes["6450K"])
        self.assertLess(lanes["6450K"], lanes["61M"])
        self.assertLess(needed["6450K"], needed["61M"])
        self.same_state("1450K", "6450K", "61M")

    def test_a_validation_is_bounded(self):
        # A quarter of the batches between two of them, unless told.
        self.train("--steps", "20", "--eval-every", "20", "--out", "run")
        line = json.loads((self.path / "run/metrics.jsonl").read_text().splitlines()[-1])
        found = json.loads(self.burt("eval", "--model", "run", "--batches", "5", "--json").stdout)
        self.assertAlmostEqual(found["loss"], line["validation_loss"], delta=1e-6)

    def test_the_time_of_a_step_is_without_validation(self):
        start = time.time()
        done = self.train("--steps", "5", "--eval-every", "1", "--eval-batches", "1000000", "--out", "run")
        whole = time.time() - start
        self.assertLess(5 * float(re.findall(r"([\d.]+) ms/step", done.stdout)[-1]) / 1000, whole / 3)

    def test_a_run_is_saved_by_the_clock(self):
        self.assertRegex(self.burt("train", "gpt", "--help").stdout, r"--save-every N\|TIME\s[^-]*\(default 10m\)")
        long = ["train", "gpt", *SMALL, "--steps", "1000000000", "--eval-every", "1000", "--sample-every", "0"]
        state = lambda folder: int(self.header(folder + "/state.safetensors")[1]["step"])
        run = subprocess.Popen([BURT, *long, "--save-every", "1s", "--out", "often"], cwd=self.path, stdout=subprocess.DEVNULL)
        end = time.time() + 60
        while time.time() < end and not ((self.path / "often/state.safetensors").exists() and state("often") > 0):
            time.sleep(0.05)
        run.kill()
        run.wait()
        self.assertGreater(state("often"), 0)
        # By default not at validations, only every ten minutes.
        run = subprocess.Popen([BURT, *long, "--out", "rarely"], cwd=self.path, stdout=subprocess.PIPE)
        for line in run.stdout:
            if line.startswith(b"step 3000/"):
                break
        run.kill()
        run.communicate()
        self.assertEqual(state("rarely"), 0)

    def test_the_last_losses_stay_on_the_screen(self):
        losses = r"training loss \d+\.\d{4} \(mean of the last \d+ steps\), validation loss \d+\.\d{4} \(step \d+\)"
        lines = self.on_a_terminal("train", "gpt", *SMALL, "--steps", "40", "--out", "run")
        self.assertEqual(len([line for line in lines if re.fullmatch(losses, line)]), 1, lines)
        lines = self.on_a_terminal("train", "gpt", *SMALL, "--steps", "1000000000", "--eval-every", "20", "--out", "stopped",
                                   until=b"  val ", code=130)
        self.assertRegex(lines[-3], losses)
        self.assertEqual(lines[-2:], [lines[-2], ""])
        self.assertRegex(lines[-2], r"stopped after step \d+; resume with: burt train --resume stopped$")
        lines = self.on_a_terminal("train", "gpt", *SMALL, "--optimizer", "sgd", "--lr", "1000", "--clip", "0", "--warmup",
                                   "0", "--steps", "200", "--out", "wild", code=1)
        self.assertTrue(any(line.startswith("training loss ") for line in lines), lines)

    def test_every_printed_command_works_as_printed(self):
        folder = "it's a $(run); 2"
        for model in ("gpt", "mlp"):
            more = SMALL if model == "gpt" else ["--hidden", "8"]
            done = subprocess.run([BURT, "train", model, *more, "--steps", "3", "--out", folder + model], cwd=self.path,
                                  capture_output=True, text=True, env={**os.environ, "BURT_COMMAND": BURT})
            commands = done.stdout.split("what to try next:\n")[1].splitlines()
            self.assertEqual(len(commands), 4)
            for command in commands:
                ran = subprocess.run(shlex.split(command), cwd=self.path, capture_output=True, text=True)
                self.assertEqual((ran.returncode, ran.stderr), (0, ""), command)
        self.assertTrue((self.path / "model.safetensors").exists())


class TensorBoard(Burt):
    def events(self, folder):
        """[(values, first step)] of each event file, in the order in which TensorBoard reads them."""
        return [tensorboard_live.read_by_hand(path) for path in sorted(self.path.glob(f"{folder}/*tfevents*"))]

    def test_has_the_numbers_of_the_metrics(self):
        done = self.train("--steps", "20", "--eval-every", "10", "--out", "run", "--tensorboard")
        self.assertIn("tensorboard --logdir run", done.stdout)
        [(values, first)] = self.events("run")
        self.assertEqual(first, 1)
        found = {(tag, step): value for tag, step, value in values}
        self.assertEqual(len(found), len(values))
        names = {"loss": "loss/train", "validation_loss": "loss/validation", "learning_rate": "learning_rate",
                 "gradient_norm": "gradient_norm"}
        lines = [json.loads(line) for line in (self.path / "run/metrics.jsonl").read_text().splitlines()]
        wanted = {(names[key], line["step"]): value for line in lines for key, value in line.items() if key in names}
        self.assertEqual(sorted(found), sorted(wanted))
        self.assertEqual(len(found), 62)
        for key, value in found.items():
            self.assertAlmostEqual(tensorboard_live.number(value), wanted[key], delta=1e-7 * abs(wanted[key]))

    def test_a_resumed_run_makes_a_further_file(self):
        self.train("--steps", "5", "--out", "run", "--tensorboard")
        self.train("--steps", "9", "--resume", "run", "--tensorboard")
        files = self.events("run")
        self.assertEqual(sorted(first for _, first in files), [1, 6])
        steps = sorted(step for values, _ in files for tag, step, _ in values if tag == "loss/train")
        self.assertEqual(steps, list(range(1, 10)))

    def test_is_written_only_when_asked_for(self):
        self.train("--steps", "5", "--out", "run")
        self.assertEqual(self.events("run"), [])

    def test_a_full_disk_costs_the_curve_and_not_the_model(self):
        limit = lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
                         resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY)))
        arguments = ["train", "gpt", *SMALL, "--width", "4", "--steps", "600", "--out", "run", "--tensorboard"]
        done = subprocess.run([BURT, *arguments], cwd=self.path, capture_output=True, text=True, timeout=120,
                              preexec_fn=limit)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"(?m)\Aburt: cannot write '[^\n]+metrics.jsonl'[^\n]+\n"
                                      r"burt: cannot write '[^\n]+tfevents[^\n]+\n\Z")
        self.assertTrue(self.burt("sample", "--model", "run", "--length", "5").stdout)


def safetensors(tensors, metadata=None):
    """The bytes of a file; tensors are (name, dtype, shape, data)."""
    header, data = {} if metadata is None else {"__metadata__": metadata}, b""
    for name, dtype, shape, numbers in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(numbers)]}
        data += numbers
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def npy(descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def columns(text):
    """How many columns a terminal gives to a text."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


class Inspecting(Burt):
    def table(self, file):
        """The rows below the line of titles as lists of words, until the empty line before the totals."""
        lines = self.burt("inspect", file).stdout.splitlines()
        first = next(i for i, line in enumerate(lines) if line.split()[:3] == ["name", "shape", "dtype"])
        return [line.split() for line in lines[first + 1:-2]]

    def json(self, file):
        lines = [json.loads(line) for line in self.burt("inspect", file, "--json").stdout.splitlines()]
        return lines[0], lines[1:-1], lines[-1]

    def floats(self, *numbers):
        return struct.pack(f"<{len(numbers)}f", *numbers)

    def test_a_trained_model_fits_the_page_and_adds_up(self):
        self.burt("train", "gpt", "--steps", "2", "--out", "run")
        self.burt("export", "run", "--out", "model.safetensors")
        self.assertEqual(self.burt("inspect", "run").stdout, self.burt("inspect", "run/state.safetensors").stdout)
        for name, numbers in (("model.safetensors", 46289), ("run", 3 * 46289)):
            text = self.burt("inspect", name).stdout
            self.assertIn(f"{numbers} numbers, {4 * numbers} bytes; all finite", text)
            for key, value in (("model", "gpt"), ("step", "2"), ("burtorch", r"\d"), ("vocabulary", "characters")):
                self.assertRegex(text, rf"(?m)^  {key} +{value}")
            self.assertLess(max(map(len, text.splitlines())), 121)
        rows = self.table("model.safetensors")
        self.assertEqual(sum(int(row[3]) for row in rows), 46289)
        self.assertIn(["wte.weight", "[65,24]", "F32", "1560"], [row[:4] for row in rows])

    def test_statistics_of_every_real_type(self):
        for dtype, data in (("F64", struct.pack("<4d", 0.5, -2, 1, 0.5)), ("F32", self.floats(0.5, -2, 1, 0.5)),
                            ("F16", struct.pack("<4e", 0.5, -2, 1, 0.5)), ("BF16", bytes.fromhex("003f00c0803f003f"))):
            file = self.write("f", safetensors([("x", dtype, [2, 2], data)]))
            self.assertEqual(self.table(file)[0][:9], ["x", "[2,2]", dtype, "4", "-2", "0", "1", "0", "0"])
            _, (tensor,), _ = self.json(file)
            self.assertEqual((tensor["min"], tensor["mean"], tensor["max"], tensor["count"], tensor["bytes"]),
                             (-2, 0, 1, 4, len(data)))
            self.assertEqual(sum(tensor["histogram"]["counts"]), 4)

    def test_numbers_that_are_not_finite_are_counted_and_left_out(self):
        nan, inf = float("nan"), float("inf")
        file = self.write("f", safetensors([("bad", "F32", [6], self.floats(nan, 1, inf, 3, -inf, nan)),
                                            ("fine", "F32", [2], self.floats(1, 2)),
                                            ("worse", "F32", [2], self.floats(nan, nan))]))
        rows = self.table(file)
        self.assertEqual(rows[0][3:9], ["6", "1", "2", "3", "2", "2"])
        self.assertEqual(rows[1][3:9], ["2", "1", "1.5", "2", "0", "0"])
        self.assertEqual(rows[2][3:], ["2", "-", "-", "-", "2", "0"])
        self.assertIn("not finite: 4 NaN, 2 infinite", self.burt("inspect", file).stdout)
        worse = self.json(file)[1][2]
        self.assertEqual((worse["nan"], worse["min"], worse["mean"], worse["max"]), (2, None, None, None))
        self.assertEqual(worse["histogram"], {"lower": None, "width": None, "counts": []})

    def test_the_histogram_is_drawn(self):
        numbers = [0.5] * 8 + [1.5] * 4 + [15.5]
        file = self.write("f", safetensors([("x", "F32", [13], self.floats(*numbers))]))
        self.assertTrue(self.burt("inspect", file).stdout.splitlines()[3].endswith("  █▅" + 13 * " " + "▂"))
        self.assertEqual(self.json(file)[1][0]["histogram"],
                         {"lower": 0, "width": 1, "counts": [8, 4] + 13 * [0] + [1]})

    def test_types_without_statistics_have_dashes(self):
        file = self.write("f", safetensors([("i", "I64", [2], bytes(16)), ("b", "BOOL", [3], bytes(3)),
                                            ("new", "F4", [8], bytes(4))]))
        self.assertEqual(self.table(file), [["i", "[2]", "I64", "2", *"------", "16", "bytes"],
                                            ["b", "[3]", "BOOL", "3", *"------", "3", "bytes"],
                                            ["new", "[8]", "F4", "-", *"------", "4", "bytes"]])
        _, tensors, totals = self.json(file)
        self.assertNotIn("mean", tensors[0])
        self.assertEqual((tensors[2]["count"], tensors[2]["bytes"]), (None, 4))
        self.assertEqual(totals, {"tensors": 3, "numbers": 5, "bytes": 23})

    def test_no_numbers_and_no_tensors(self):
        file = self.write("f", safetensors([("none", "F32", [0, 5], b""), ("one", "F32", [], self.floats(7))]))
        self.assertEqual(self.table(file)[0], ["none", "[0,5]", "F32", "0", "-", "-", "-", "0", "0"])
        self.assertEqual(self.table(file)[1], ["one", "[]", "F32", "1", "7", "7", "7", "0", "0", "█"])
        self.assertIn("0 tensors, 0 numbers, 0 bytes", self.burt("inspect", self.write("g", safetensors([]))).stdout)

    def test_an_array_of_numpy(self):
        file = self.write("a.npy", npy("<f8", (2, 2), struct.pack("<4d", 0.5, -2, 1, 0.5)))
        self.assertEqual(self.table(file)[0][:9], ["a.npy", "[2,2]", "<f8", "4", "-2", "0", "1", "0", "0"])
        head, (tensor,), totals = self.json(file)
        self.assertEqual((head["format"], tensor["mean"], totals["bytes"]), ("npy", 0, 32))
        self.assertEqual(self.table(self.write("b", npy("<i8", (3,), bytes(24))))[0][2:],
                         ["<i8", "3", *"------", "24", "bytes"])

    def test_the_kind_is_recognised_by_content(self):
        self.write("model.npy", safetensors([("x", "F32", [1], self.floats(1))]))
        self.write("array.safetensors", npy("<f4", (1,), self.floats(1)))
        self.assertEqual(self.json("model.npy")[0]["format"], "safetensors")
        self.assertEqual(self.json("array.safetensors")[0]["format"], "npy")

    def test_hostile_names_and_metadata_do_not_reach_the_terminal(self):
        hostile = "\x1b[2J\x07\x9b31m\r\n\x7f\u202e\u2028\u200bname\t"
        data = safetensors([(hostile, "F32", [1], self.floats(1)), ("b", hostile, [1], b"1")], {hostile: hostile})
        for options in ([], ["--json"]):
            text = self.burt("inspect", self.write("f", data), *options).stdout
            self.assertTrue(text.replace("\n", "").isprintable(), repr(text))
            self.assertEqual(len(text.splitlines()), 8 if not options else 4)
        head, tensors, _ = self.json("f")
        self.assertEqual((head["metadata"], tensors[0]["name"]), ({hostile: hostile}, hostile))

    def test_columns_stay_aligned_for_names_of_any_length_and_script(self):
        names = ["w", "é" * 10, "層.0.重み", "a" + "\u0301" * 5, "😀.bias", "first." + "x" * 3000 + ".last",
                 "層" * 500, "\u0301" * 4000, "\x1b" * 50]
        file = self.write("f", safetensors([(name, "F32", [2], self.floats(-1, 1)) for name in names],
                                           {"層": "1", "ab": "2", "long": "v" * 5000}))
        lines = self.burt("inspect", file).stdout.splitlines()
        self.assertIn("  層    1", lines)
        self.assertIn("  ab    2", lines)
        self.assertIn("  long  " + "v" * 39 + "…" + "v" * 40 + " (5000 bytes)", lines)
        first = next(i for i, line in enumerate(lines) if line.startswith("name"))
        starts = {columns(line.split("[2]    F32")[0]) for line in lines[first + 1:-2]}
        self.assertEqual(starts, {lines[first].index("shape")})
        self.assertLess(max(map(columns, lines)), 121)
        self.assertTrue(any(line.startswith("first.xx") and ".last  [2]" in line for line in lines))

    def test_enormous_names_and_shapes_are_cut(self):
        data = safetensors([("n" * 5_000_000, "F32", [1] * 64, self.floats(1)), ("m", "U8", [10**18, 0], b"")])
        text = self.burt("inspect", self.write("f", data)).stdout
        self.assertLess(max(map(len, text.splitlines())), 121)

    def test_what_is_wrong_is_one_sentence(self):
        whole = safetensors([("x", "F32", [2], self.floats(1, 2))])
        array = npy("<f4", (2,), self.floats(1, 2))
        for data in (b"", b"x", b"PK\x03\x04", bytes(100), b"{}", whole[:-1], whole + b"x", whole[:12], array[:-1],
                     array + b"x", array[:9], npy(">f8", (1,), bytes(8)), npy("|O", (1,), bytes(8))):
            self.assertIn("'f'", self.refused("inspect", self.write("f", data)))
        for arguments in (["missing"], ["."], [], ["f", "f"], ["--colour"], ["f", "--json=1"], [""]):
            self.refused("inspect", *arguments)
        os.mkfifo(self.path / "pipe")
        self.assertIn("it is a pipe", self.refused("inspect", "pipe"))

    def test_output_that_cannot_be_written_is_an_error(self):
        self.write("f", safetensors([("x", "F32", [1], self.floats(1))]))
        with open("/dev/full", "w") as full:
            done = subprocess.run([BURT, "inspect", "f"], cwd=self.path, stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"\Aburt: cannot write [^\n]+\n\Z")


class Plots(Burt):
    """Of models that have learned next to nothing."""

    def gpt(self, *more):
        self.train("--steps", "2", "--layers", "2", "--out", "gpt", *more)
        return "gpt"

    def mlp(self):
        self.burt("train", "mlp", "--hidden", "8", "--steps", "2", "--out", "mlp")
        return "mlp"

    def maps(self, *arguments):
        """What a script that burt writes would draw."""
        tree = ast.parse(self.burt("plot", *arguments).stdout)
        data = next(node.value for node in tree.body
                    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "DATA")
        return json.loads(data.args[0].value)["maps"]

    def test_attention_of_the_last_layer(self):
        model = self.gpt()
        maps = self.maps("attention", "--model", model, "--prompt", "HUGO: a")
        self.assertEqual([heat["title"] for heat in maps], ["layer 2, head 1", "layer 2, head 2"])
        for heat in maps:
            self.assertEqual(heat["rowLabels"], ["H", "U", "G", "O", ":", "␣", "a"])
            self.assertEqual(heat["columnLabels"], heat["rowLabels"])
            for query, row in enumerate(heat["values"]):
                self.assertAlmostEqual(sum(row), 1, delta=1e-5)
                self.assertTrue(all(x > 0 for x in row[:query + 1]) and not any(row[query + 1:]), row)

    def test_attention_of_chosen_layers_and_heads(self):
        choose = ["attention", "--model", self.gpt(), "--prompt", "HUGO", "--layer"]
        titles = lambda *more: [heat["title"] for heat in self.maps(*choose, *more)]
        self.assertEqual(titles("all"), [f"layer {i}, head {j}" for i in (1, 2) for j in (1, 2)])
        self.assertEqual(titles("1", "--head", "2"), ["layer 1, head 2"])
        self.assertEqual(titles("all", "--head", "last"), ["layer 1, head 2", "layer 2, head 2"])

    def test_a_long_prompt_is_seen_from_its_end(self):
        heat = self.maps("attention", "--model", self.gpt(), "--prompt", "HUGO: good day")[0]
        self.assertEqual("".join(heat["rowLabels"]), "good␣day")

    def test_embeddings_of_both_kinds_of_model(self):
        heat, = self.maps("embedding", "--model", self.gpt())
        self.assertEqual({len(row) for row in heat["values"]}, {8})
        self.assertEqual(len(heat["rowLabels"]), len(heat["values"]))
        self.assertEqual(heat["rowLabels"][:2], ["\\n", "␣"])
        heat, = self.maps("embedding", "--model", self.mlp())
        self.assertEqual("".join(heat["rowLabels"]), ".abcdefghijklmnopqrstuvwxyz")

    def test_tokens_that_are_bytes_have_names(self):
        self.write("bytes", bytes(range(256)) * 4)
        heat, = self.maps("embedding", "--model", self.gpt("--data", "bytes"))
        self.assertEqual(heat["rowLabels"][255], "0xFF")
        self.assertEqual(heat["rowLabels"][7], "U+0007")
        self.assertEqual(len(set(heat["rowLabels"])), 256)

    def test_files(self):
        model = self.gpt()
        for name in ("plot.svg", "plot.py"):
            done = self.burt("plot", "embedding", "--model", model, "--out", name)
            self.assertEqual(done.stdout, "")
        root = xml.etree.ElementTree.parse(self.path / "plot.svg").getroot()
        cells = [e for e in root.iter() if e.tag.endswith("}title")]
        values = self.maps("embedding", "--model", model)[0]["values"]
        self.assertEqual([float(e.text) for e in cells], [x for row in values for x in row])
        self.assertEqual((self.path / "plot.py").read_text(), self.burt("plot", "embedding", "--model", model).stdout)

    def test_show_starts_python_and_reports_what_is_missing(self):
        model = self.gpt()
        # A stand-in that keeps what it was given; then a Python without packages.
        stand_in = self.path / "python"
        stand_in.write_text(f'#!/bin/sh\ncp "$2" "{self.path}/shown.py"\n')
        stand_in.chmod(0o700)
        show = ["plot", "embedding", "--model", model, "--show", "--python"]
        self.assertEqual(self.burt(*show, str(stand_in)).stdout, "")
        self.assertEqual((self.path / "shown.py").read_text(), self.burt("plot", "embedding", "--model", model).stdout)
        stand_in.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
        self.assertIn("pip install matplotlib", self.refused(*show, str(stand_in)))
        self.assertIn("no-such-python", self.refused(*show, "no-such-python"))

    def test_what_cannot_be_drawn_is_refused(self):
        gpt, mlp = self.gpt(), self.mlp()
        self.assertIn("attention or embedding", self.refused("plot"))
        self.assertIn("attention or embedding", self.refused("plot", "weights", "--model", gpt))
        self.assertIn("--model", self.refused("plot", "embedding"))
        self.assertIn("--prompt", self.refused("plot", "attention", "--model", gpt))
        self.assertIn("no attention", self.refused("plot", "attention", "--model", mlp, "--prompt", "a"))
        self.assertIn("U+00E9", self.refused("plot", "attention", "--model", gpt, "--prompt", "é"))
        for flag in ("--layer", "--head"):
            for value in ("0", "3", "-1", "1x", "first"):
                self.assertIn("from 1 to 2", self.refused("plot", "attention", "--model", gpt, "--prompt", "a", flag, value))
        self.assertIn(".svg", self.refused("plot", "embedding", "--model", gpt, "--out", "plot.png"))
        self.refused("plot", "embedding", "--model", gpt, "--out", "nowhere/plot.svg")
        self.refused("plot", "embedding", "--model", self.write("text", b"no model"))


def byte_alphabet():
    """GPT-2's character for each byte."""
    visible = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return [chr(byte if byte in visible else next(others)) for byte in range(256)]


def gpt2_words(merges):
    """The tokens of a small byte-pair tokenizer, in the order of their ids."""
    return ["<|endoftext|>", *byte_alphabet(), *(merge.replace(" ", "") for merge in merges)]


class Tokenizing(Burt):
    MERGES = ["t h", "th e", "\u0120 the", "l l", "\u00e2 \u0124"]

    def setUp(self):
        super().setUp()
        tokens = gpt2_words(self.MERGES)
        (self.path / "small").mkdir()
        self.write("small/vocab.json", json.dumps({token: i for i, token in enumerate(tokens)}).encode())
        self.write("small/merges.txt", "\n".join(["#version: 0.2", *self.MERGES, ""]).encode())

    def tokenize(self, *arguments, given=None, code=0):
        done = subprocess.run([BURT, "tokenize", *arguments], cwd=self.path, capture_output=True, input=given, timeout=60)
        self.assertEqual(done.returncode, code, (arguments, done))
        return done.stdout

    def test_prints_the_tokens_of_a_text(self):
        for given in (["--bpe", "small"], ["--vocab", "small/vocab.json", "--merges", "small/merges.txt"]):
            self.assertEqual(self.tokenize(*given, "--text", "the the"), b"258 259\n")
        self.assertEqual(self.tokenize("--bpe", "small", given=b"the\n"), b"258 11\n")
        self.write("text", b"the the")
        self.assertEqual(self.tokenize("--bpe", "small", "--data", "text"), b"258 259\n")
        self.assertEqual(self.tokenize("--bpe", "small", "--data", "text", "--count"),
                         b"2 tokens of a vocabulary of 262; 7 bytes, 3.50 per token\n")
        self.assertEqual(self.tokenize("--bpe", "small", "--count", given=b""), b"0 tokens of a vocabulary of 262; 0 bytes\n")
        self.assertEqual(self.tokenize("--bpe", "small", given=b""), b"\n")

    def test_the_other_names_of_the_files(self):
        (self.path / "small/vocab.json").rename(self.path / "small/encoder.json")
        (self.path / "small/merges.txt").rename(self.path / "small/vocab.bpe")
        self.assertEqual(self.tokenize("--bpe", "small", "--text", "the the"), b"258 259\n")

    def test_any_bytes_come_back(self):
        chance = random.Random(5)
        for given in (bytes(range(256)), chance.randbytes(200_000), b"", b"\0", "the \u20ac \u4e2d".encode() * 30_000):
            tokens = self.tokenize("--bpe", "small", given=given)
            self.assertEqual(self.tokenize("--bpe", "small", "--decode", given=tokens), given)

    def test_special_tokens_are_decoded_but_never_read(self):
        self.assertEqual(self.tokenize("--bpe", "small", "--decode", "--text", "0, 258"), b"<|endoftext|>the")
        self.assertNotIn(b"0", self.tokenize("--bpe", "small", "--text", "<|endoftext|>").split())

    def test_decoded_bytes_follow_the_tokens_at_once(self):
        run = subprocess.Popen([BURT, "tokenize", "--bpe", "small", "--decode"], cwd=self.path, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
        run.stdin.write(b"258 2")
        run.stdin.flush()
        self.assertEqual(os.read(run.stdout.fileno(), 100), b"the")
        run.stdin.write(b"59 261 173 ")  # two and one of the three bytes of a character
        run.stdin.flush()
        self.assertEqual(os.read(run.stdout.fileno(), 100), " the\u20ac".encode())
        self.assertEqual(run.communicate(b"12")[0], b"\x0b")

    def test_a_terminal_gets_nothing_that_it_obeys(self):
        ours, theirs = pty.openpty()
        tokens = self.tokenize("--bpe", "small", "--text", "the\x1b[2J\u202e \u20ac")
        subprocess.run([BURT, "tokenize", "--bpe", "small", "--decode"], cwd=self.path, input=tokens, stdout=theirs, check=True)
        os.close(theirs)
        self.assertEqual(os.read(ours, 1000).decode(), "the\u00b7[2J\u00b7 \u20ac")
        os.close(ours)

    def test_what_is_refused(self):
        for arguments in ([], ["--bpe", "small", "--vocab", "small/vocab.json"], ["--vocab", "small/vocab.json"],
                          ["--merges", "small/merges.txt"]):
            self.assertIn("needs --bpe DIR, or --vocab FILE and --merges FILE", self.refused("tokenize", *arguments))
        self.assertIn("vocab.json and merges.txt", self.refused("tokenize", "--bpe", "missing"))
        self.assertIn("exclude", self.refused("tokenize", "--bpe", "small", "--text", "a", "--data", "a"))
        self.assertIn("exclude", self.refused("tokenize", "--bpe", "small", "--count", "--decode"))
        self.assertIn("no such file", self.refused("tokenize", "--bpe", "small", "--data", "missing"))
        for ids, said in (("1 x", "'x' at byte 2"), ("262", "token 262 is outside the vocabulary of 262"), ("-1", "'-'"),
                          ("99999999999", "expected token ids"), ("1.5", "'.'")):
            self.assertIn(said, self.refused("tokenize", "--bpe", "small", "--decode", "--text", ids))
        self.write("small/merges.txt", b"q x\n")
        self.assertIn("'small/merges.txt': in line 1", self.refused("tokenize", "--bpe", "small", "--text", "a"))
        self.write("small/vocab.json", b'{"a": 0')
        self.assertIn("'small/vocab.json': at byte 7 of the file", self.refused("tokenize", "--bpe", "small", "--text", "a"))


class Gpt2(Burt):
    """For tests with a GPT-2 in Hugging Face's files, which they write themselves."""
    MERGES = ["t h", "th e", "\u0120 the", "o r", "\u00e2 \u0124"]
    TEXT = "the other day the weather was there, or not; \u20ac5 of the author's.\n".encode()
    WIDTH, HEADS, CONTEXT, HIDDEN, LAYERS = 4, 2, 6, 8, 2

    def setUp(self):
        super().setUp()
        self.rows = len(gpt2_words(self.MERGES))
        self.write_gpt2("hf")
        self.write("text", self.TEXT * 12)

    def write_tokenizer(self, folder):
        (self.path / folder).mkdir(exist_ok=True)
        tokens = gpt2_words(self.MERGES)
        self.write(folder + "/vocab.json", json.dumps({token: i for i, token in enumerate(tokens)}).encode())
        self.write(folder + "/merges.txt", "\n".join(["#version: 0.2", *self.MERGES, ""]).encode())

    def write_gpt2(self, folder, **changes):
        self.write_tokenizer(folder)
        config = {"model_type": "gpt2", "n_layer": self.LAYERS, "n_head": self.HEADS, "n_embd": self.WIDTH,
                  "n_positions": self.CONTEXT, "n_inner": self.HIDDEN, "vocab_size": self.rows,
                  "activation_function": "relu", **changes}
        self.write(folder + "/config.json", json.dumps(config).encode())
        w, h, chance = self.WIDTH, self.HIDDEN, random.Random(11)
        shapes = {"wte.weight": [self.rows, w], "wpe.weight": [self.CONTEXT, w], "ln_f.weight": [w], "ln_f.bias": [w]}
        for layer in range(self.LAYERS):
            for part, shape in (("ln_1", [w]), ("ln_2", [w]), ("attn.c_attn", [w, 3 * w]), ("attn.c_proj", [w, w]),
                                ("mlp.c_fc", [w, h]), ("mlp.c_proj", [h, w])):
                shapes[f"h.{layer}.{part}.weight"], shapes[f"h.{layer}.{part}.bias"] = shape, shape[-1:]
        self.tensors = {}
        for name, shape in shapes.items():
            numbers = [struct.unpack("<f", struct.pack("<f", chance.gauss(0, 0.6)))[0] for _ in range(math.prod(shape))]
            self.tensors[name] = numbers if len(shape) == 1 else [numbers[i:i + shape[1]] for i in range(0, len(numbers), shape[1])]
        flat = lambda t: [x for row in t for x in row] if isinstance(t[0], list) else t
        self.write(folder + "/model.safetensors", safetensors(
            [("transformer." + name, "F32", shapes[name], struct.pack(f"<{math.prod(shapes[name])}f", *flat(tensor)))
             for name, tensor in self.tensors.items()], {"format": "pt"}))

    def loss(self, tokens):
        """The mean loss over windows that do not overlap, as the definition of a GPT-2 has it."""
        def linear(x, name):
            weight, bias = self.tensors[name + ".weight"], self.tensors[name + ".bias"]
            return [sum(x[i] * weight[i][o] for i in range(len(x))) + bias[o] for o in range(len(bias))]

        def norm(x, name):
            mean = sum(x) / len(x)
            scale = 1 / math.sqrt(sum((v - mean) ** 2 for v in x) / len(x) + 1e-5)
            return [(v - mean) * scale * g + b for v, g, b in zip(x, self.tensors[name + ".weight"], self.tensors[name + ".bias"])]

        def attend(query, keys, values):
            scores = [sum(q * k for q, k in zip(query, key)) / math.sqrt(len(query)) for key in keys]
            weights = [math.exp(s - max(scores)) for s in scores]
            return [sum(w * v[i] for w, v in zip(weights, values)) / sum(weights) for i in range(len(query))]

        add = lambda x, y: [a + b for a, b in zip(x, y)]
        total, count, size = 0, 0, self.WIDTH // self.HEADS
        for start in range(0, len(tokens) - self.CONTEXT, self.CONTEXT):
            window = tokens[start:start + self.CONTEXT]
            xs = [add(self.tensors["wte.weight"][token], self.tensors["wpe.weight"][place]) for place, token in enumerate(window)]
            for layer in range(self.LAYERS):
                qkv = [linear(norm(x, f"h.{layer}.ln_1"), f"h.{layer}.attn.c_attn") for x in xs]
                part = lambda t, which, head: qkv[t][which * self.WIDTH + head * size:][:size]
                for t, x in enumerate(xs):
                    heads = [attend(part(t, 0, head), [part(s, 1, head) for s in range(t + 1)],
                                    [part(s, 2, head) for s in range(t + 1)]) for head in range(self.HEADS)]
                    xs[t] = add(x, linear(sum(heads, []), f"h.{layer}.attn.c_proj"))
                xs = [add(x, linear([max(0, v) for v in linear(norm(x, f"h.{layer}.ln_2"), f"h.{layer}.mlp.c_fc")],
                                    f"h.{layer}.mlp.c_proj")) for x in xs]
            for t, x in enumerate(xs):
                x = norm(x, "ln_f")
                logits = [sum(a * b for a, b in zip(x, row)) for row in self.tensors["wte.weight"]]
                most = max(logits)
                total += most + math.log(sum(math.exp(v - most) for v in logits)) - logits[tokens[start + t + 1]]
                count += 1
        return total / count

    def tokens(self, text):
        return list(map(int, self.burt("tokenize", "--bpe", "hf", "--text", text).stdout.split()))

    def eval(self, model, *more):
        return json.loads(self.burt("eval", "--model", model, "--data", "text", "--json", *more).stdout)


class Gpt2Models(Gpt2):
    """As they are, wherever burt takes a model."""

    def test_eval_agrees_with_the_definition(self):
        tokens = self.tokens((self.path / "text").read_text())
        found = self.eval("hf")
        self.assertEqual((found["part"], found["part_tokens"]), ("all", len(tokens)))
        self.assertEqual(found["samples"], (len(tokens) - 1) // 6)
        self.assertAlmostEqual(found["loss"], self.loss(tokens), delta=2e-5)
        seen = self.burt("tokenize", "--bpe", "hf", "--decode", "--text",
                         " ".join(map(str, tokens[1:found["tokens"] + 1]))).stdout
        self.assertEqual((found["bytes"], found["characters"]), (len(seen.encode()), len(seen)))
        self.assertEqual(self.eval("hf/model.safetensors")["loss"], found["loss"])
        self.assertIn("--data", self.refused("eval", "--model", "hf"))

    def test_samples_begin_with_the_prompt_and_keep_characters_whole(self):
        sample = lambda *more: self.burt("sample", "--model", "hf", "--length", "40", *more).stdout
        text = sample("--prompt", "the \u20ac")
        self.assertTrue(text.startswith("the \u20ac"), text)
        self.assertTrue(text.replace("\n", "").replace("\t", "").isprintable())
        self.assertTrue(sample("--seed", "3"))

    def test_a_sample_ends_with_the_end_of_the_text(self):
        # Each token is followed by token 0, whose embedding is the only one of its direction.
        self.LAYERS = 1
        self.write_gpt2("hf")
        data = (self.path / "hf/model.safetensors").read_bytes()
        tensors, _ = self.header("hf/model.safetensors")
        first = len(data) - max(t["data_offsets"][1] for t in tensors.values())
        data = bytearray(data)
        def fill(name, numbers):
            struct.pack_into(f"<{len(numbers)}f", data, first + tensors["transformer." + name]["data_offsets"][0], *numbers)
        fill("ln_f.weight", [0] * 4)
        fill("ln_f.bias", [9, 0, 0, 0])
        fill("wte.weight", [9, 0, 0, 0] + [0] * (4 * (self.rows - 1)))
        self.write("hf/model.safetensors", bytes(data))
        self.assertEqual(self.burt("sample", "--model", "hf", "--prompt", "the").stdout, "the\n")

    def test_inspect_shows_the_tensors_of_the_folder(self):
        text = self.burt("inspect", "hf").stdout
        self.assertIn("transformer.h.1.mlp.c_fc.weight", text)
        self.assertEqual(text, self.burt("inspect", "hf/model.safetensors").stdout)

    def test_plots_and_graphs(self):
        script = self.burt("plot", "attention", "--model", "hf", "--prompt", "the other").stdout
        self.assertIn('"rowLabels":["the","\\U00002423","o","the","r"]', script)
        self.assertIn("wte.weight", self.burt("graph", "gpt", "--model", "hf").stdout)
        self.burt("plot", "embedding", "--model", "hf", "--out", "embedding.svg")

    def test_more_rows_than_tokens(self):
        loss = self.eval("hf")["loss"]
        self.rows += 7
        self.write_gpt2("hf")
        self.assertNotEqual(self.eval("hf")["loss"], loss)
        self.burt("plot", "embedding", "--model", "hf", "--out", "embedding.svg")
        self.assertTrue(self.burt("sample", "--model", "hf", "--length", "200", "--temperature", "100").stdout)
        self.rows -= 8
        self.write_gpt2("hf")
        self.assertIn("do the files belong together?", self.refused("sample", "--model", "hf"))

    def test_files_that_are_missing(self):
        (self.path / "hf/merges.txt").unlink()
        self.assertIn("vocab.json and merges.txt", self.refused("sample", "--model", "hf"))
        (self.path / "hf/config.json").unlink()
        self.assertIn("config.json and model.safetensors", self.refused("sample", "--model", "hf"))
        self.write_gpt2("hf", model_type="llama")
        self.assertIn("'llama'", self.refused("sample", "--model", "hf"))


class BytePairRuns(Gpt2):
    def train_pairs(self, *arguments, code=0):
        return self.train("--data", "text", "--val-fraction", "0.3", "--schedule", "constant", *arguments, code=code)

    def test_a_run_learns_byte_pairs_and_needs_no_other_file(self):
        (self.path / "hf").rename(self.path / "pairs")
        done = self.train_pairs("--tokenizer", "pairs", "--steps", "9", "--out", "whole")
        self.assertIn(f"tokens of text, vocabulary {self.rows}", done.stdout)
        self.train_pairs("--tokenizer", "pairs", "--steps", "5", "--out", "part")
        files = {name: (self.path / "pairs" / name).read_bytes().decode() for name in ("vocab.json", "merges.txt")}
        shutil.rmtree(self.path / "pairs")
        for file in (self.path / "part").iterdir():
            if file.name != "state.safetensors":
                file.unlink()
        metadata = self.header("part/state.safetensors")[1]
        self.assertEqual({name: metadata[name] for name in files}, files)
        self.burt("train", "--resume", "part", "--steps", "9")
        self.same_state("whole", "part")
        self.assertTrue(self.burt("sample", "--model", "part", "--prompt", "the").stdout.startswith("the"))
        found = json.loads(self.burt("eval", "--model", "part", "--json").stdout)
        self.assertLess(found["tokens"], found["bytes"])
        self.burt("export", "part", "--out", "alone")
        self.assertEqual(self.burt("sample", "--model", "alone").stdout, self.burt("sample", "--model", "part").stdout)
        self.assertIn("--tokenizer other contradicts", self.refused("train", "--resume", "part", "--steps", "11", "--tokenizer", "other"))

    def test_a_damaged_tokenizer_in_a_state_is_noticed(self):
        self.train_pairs("--tokenizer", "hf", "--steps", "2", "--out", "run")
        state = self.path / "run/state.safetensors"
        whole = state.read_bytes()
        for old, new, said in ((b"o r", b"r o", "merges.txt"), (b"version: 0.2", b"version: 0.3", "damaged")):
            self.assertEqual(whole.count(old), 1, old)
            state.write_bytes(whole.replace(old, new))
            for command in (["sample", "--model", "run"], ["train", "--resume", "run", "--steps", "9"]):
                self.assertIn(said, self.refused(*command))

    def test_what_a_tokenizer_does_not_go_with(self):
        self.assertIn("vocab.json", self.refused("train", "gpt", "--tokenizer", "nowhere"))
        self.assertIn("--tokenizer is for gpt", self.refused("train", "mlp", "--tokenizer", "hf"))
        self.assertIn("leave out --tokenizer", self.refused("train", "gpt", "--init", "hf", "--tokenizer", "hf"))


class FineTuning(Gpt2):
    """Runs that begin with the parameters of a model."""
    START = ["train", "gpt", "--init", "hf", "--data", "text", "--val-fraction", "0.3", "--batch", "4", "--sample-length", "9"]

    def test_a_run_begins_with_the_parameters_of_a_gpt2(self):
        done = self.burt(*self.START, "--steps", "1", "--lr", "0", "--out", "run")
        self.assertIn("starts with the parameters of hf\n", done.stdout)
        self.assertEqual(self.eval("run")["loss"], self.eval("hf")["loss"])
        metadata = self.header("run/state.safetensors")[1]
        self.assertEqual([metadata[key] for key in ("context", "width", "layers", "heads", "hidden", "activation", "tied")],
                         ["6", "4", "2", "2", "8", "relu", "1"])

    def test_it_learns_resumes_and_needs_no_other_file(self):
        self.burt(*self.START, "--steps", "60", "--lr", "0.01", "--schedule", "constant", "--out", "whole")
        self.assertLess(self.eval("whole")["loss"], 0.8 * self.eval("hf")["loss"])
        self.burt(*self.START, "--steps", "35", "--lr", "0.01", "--schedule", "constant", "--out", "part")
        shutil.rmtree(self.path / "hf")
        self.burt("train", "--resume", "part", "--steps", "60")
        self.same_state("whole", "part")

    def test_a_shorter_context_takes_the_first_positions(self):
        self.burt(*self.START, "--context", "3", "--steps", "1", "--lr", "0", "--out", "run")
        self.CONTEXT = 3
        self.assertAlmostEqual(self.eval("run")["loss"], self.loss(self.tokens((self.path / "text").read_text())), delta=2e-5)

    def test_a_run_can_begin_with_another_run(self):
        self.train("--steps", "5", "--out", "first")
        self.write("letters", b"only some of its letters\n" * 20)
        again = ["train", "gpt", "--init", "first", "--data", "letters", "--batch", "4", "--out", "second"]
        self.burt(*again, "--steps", "3")
        first, second = self.header("first/state.safetensors")[1], self.header("second/state.safetensors")[1]
        self.assertEqual(first["vocabulary"], second["vocabulary"])
        self.assertEqual((second["run.lr"], second["run.min_lr"]),
                         ("0.0001", "1e-05"))
        self.burt("train", "--resume", "second", "--steps", "6")
        self.burt("train", "mlp", "--hidden", "8", "--steps", "2", "--out", "words")
        self.burt("train", "mlp", "--init", "words", "--steps", "2", "--out", "more")
        self.assertIn("burt train mlp", self.refused("train", "gpt", "--init", "words"))
        self.write("foreign", "né".encode() * 200)
        self.assertIn("U+00E9", self.refused("train", "gpt", "--init", "first", "--data", "foreign"))

    def test_sizes_are_those_of_the_model(self):
        self.assertIn("--layers 3 contradicts the model hf, which has --layers 2", self.refused(*self.START, "--layers", "3"))
        self.assertIn("--context 9 contradicts", self.refused(*self.START, "--context", "9"))
        self.assertIn("expected pytorch, gpt2 or the path of a model, got 'nowhere'", self.refused("train", "gpt", "--init", "nowhere"))
        (self.path / "hf").rename(self.path / "gpt2")
        self.assertIn("--init ./gpt2", self.refused("train", "gpt", "--init", "gpt2"))
        self.burt(*[word.replace("hf", "./gpt2") for word in self.START], "--steps", "2", "--out", "run")


class ExportingGpt2(Gpt2):
    def numbers(self, file):
        """The bytes of each tensor, by its name."""
        data = (self.path / file).read_bytes()
        tensors, _ = self.header(file)
        first = len(data) - max(tensor["data_offsets"][1] for tensor in tensors.values())
        return {name: (tensor["shape"], data[first:][slice(*tensor["data_offsets"])]) for name, tensor in tensors.items()}

    def test_what_was_read_is_written_again(self):
        self.burt("train", "gpt", "--init", "hf", "--data", "text", "--val-fraction", "0.3", "--steps", "1", "--batch", "4",
                  "--lr", "0", "--out", "run")
        done = self.burt("export", "run", "--format", "gpt2", "--out", "deep/copy")
        self.assertEqual(done.stdout, "")
        for name in ("vocab.json", "merges.txt"):
            ours, theirs = ((self.path / folder / name).read_bytes() for folder in ("deep/copy", "hf"))
            self.assertEqual(ours, theirs)
        ours, theirs = (self.numbers(folder + "/model.safetensors") for folder in ("deep/copy", "hf"))
        self.assertEqual(ours, theirs)
        config = json.loads((self.path / "deep/copy/config.json").read_text())
        self.assertEqual((config["n_layer"], config["n_inner"], config["vocab_size"]), (2, 8, self.rows))
        self.assertEqual(self.eval("deep/copy")["loss"], self.eval("hf")["loss"])
        self.burt("export", "hf", "--out", "one")
        self.assertEqual(self.eval("one")["loss"], self.eval("hf")["loss"])

    def test_a_run_of_characters_has_no_vocabulary_to_write(self):
        self.train("--steps", "2", "--final-norm", "--tied", "--out", "run")
        self.assertIn("no vocab.json", self.burt("export", "run", "--format", "gpt2", "--out", "copy").stdout)
        self.assertEqual(sorted(file.name for file in (self.path / "copy").iterdir()), ["config.json", "model.safetensors"])

    def test_what_is_no_gpt2_is_refused(self):
        self.train("--steps", "2", "--out", "run")
        self.burt("train", "mlp", "--hidden", "8", "--steps", "2", "--out", "mlp")
        export = lambda run, *more: self.refused("export", run, "--format", "gpt2", "--out", *more)
        self.assertRegex(export("run", "copy"), "as a GPT-2: .*--final-norm --tied")
        self.assertIn("kind mlp", export("mlp", "copy"))
        self.assertIn("holds a run", export("hf", "run"))
        self.assertIn("cannot make the folder 'text'", export("hf", "text"))
        self.assertIn("safetensors or gpt2", self.refused("export", "run", "--format", "onnx", "--out", "copy"))


class BadInput(Burt):
    def test_commands_and_flags(self):
        for arguments in ([], ["fly"], ["train"], ["train", "cnn"], ["train", "gpt", "--colour", "red"],
                          ["train", "gpt", "--steps"], ["train", "gpt", "--steps", "many"],
                          ["train", "gpt", "--steps", "0"], ["train", "gpt", "--lr", "-1"],
                          ["train", "gpt", "--lr", "nan"], ["train", "gpt", "--optimizer", "lion"],
                          ["train", "gpt", "--schedule", "bus"], ["train", "gpt", "--init", "zero"],
                          ["train", "gpt", "--gelu=yes"], ["sample"], ["sample", "--model", ""]):
            self.refused(*arguments)

    def test_files(self):
        for name, data in (("empty", b""), ("one", b"aaaaaaaa"), ("short", b"ab")):
            self.write(name, data)
        for name in ("missing", "empty", "one", "short", "."):
            self.refused("train", "gpt", "--data", name)
            self.refused("train", "mlp", "--data", name)
        self.refused("sample", "--model", "missing")
        self.refused("sample", "--model", "one")

    def test_sizes(self):
        self.refused("train", "gpt", "--width", "10", "--heads", "3")
        self.write("text", b"to be or not to be\n" * 5)
        self.refused("train", "gpt", "--data", "text", "--context", "90")
        self.refused("train", "gpt", "--data", "text", "--context", "8", "--batch", "5000")

    def test_a_run_is_not_overwritten(self):
        self.train("--steps", "2", "--out", "run")
        before = (self.path / "run/state.safetensors").read_bytes()
        self.assertIn("--overwrite", self.refused("train", "gpt", *SMALL, "--steps", "2", "--out", "run"))
        self.assertEqual((self.path / "run/state.safetensors").read_bytes(), before)
        self.train("--steps", "3", "--out", "run", "--overwrite")
        self.assertNotEqual((self.path / "run/state.safetensors").read_bytes(), before)

    def test_names_of_folders(self):
        self.assertIn("File name too long", self.refused("train", "gpt", "--out", "x" * 300))
        self.assertIn("--width", self.refused("train", "gpt", "--width", "100000", "--heads", "1"))
        self.write("file", b"")
        self.refused("train", "gpt", *SMALL, "--steps", "2", "--out", "file")

    def test_a_prompt_outside_the_vocabulary(self):
        self.train("--steps", "2", "--out", "run")
        self.assertIn("U+00E9", self.refused("sample", "--model", "run", "--prompt", "é"))


class HostileModels(Burt):
    """Small files that say something large, or hold what no training leaves."""

    def changed(self, **metadata):
        """A trained model with other metadata; what is None is left out."""
        data = (self.path / "model").read_bytes()
        length = struct.unpack_from("<Q", data)[0]
        header = json.loads(data[8:8 + length])
        known = {**header["__metadata__"], **metadata}
        header["__metadata__"] = {key: value for key, value in known.items() if value is not None}
        text = json.dumps(header).encode()
        return self.write("changed", struct.pack("<Q", len(text)) + text + data[8 + length:])

    def setUp(self):
        super().setUp()
        self.train("--steps", "2", "--out", "run")
        self.burt("export", "run", "--out", "model")

    def test_metadata_that_does_not_fit_the_tensors(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 28, 1 << 28))  # 256 MB
        for key, value in (("layers", 10**9), ("layers", 999), ("context", 2**61 + 8), ("context", 99_999),
                           ("width", 99_999), ("width", 2**63), ("hidden", 999_999), ("vocabulary_size", 2**31),
                           ("heads", 0), ("heads", 3), ("layers", -1), ("gelu", 2), ("vocabulary_size", 2**64)):
            file = self.changed(**{key: str(value)})
            for command in (["sample"], ["plot", "embedding"], ["graph", "gpt"]):
                start = time.time()
                done = subprocess.run([BURT, *command, "--model", file], cwd=self.path, capture_output=True, text=True,
                                      preexec_fn=None if "asan" in BURT else limit)
                self.assertEqual(done.returncode, 2, (key, value, command))
                self.assertRegex(done.stderr, r"\Aburt: [^\n]+\n\Z")
                self.assertLess(time.time() - start, 2)
        self.assertRegex(self.refused("sample", "--model", self.changed(layers="999")),
                         r"describes a model of \d+ parameters, but holds \d+")

    def test_a_file_from_before_a_switch_has_it_off(self):
        older = self.changed(tied=None, no_biases=None)
        of = lambda model: self.burt("sample", "--model", model, "--length", "20").stdout
        self.assertEqual(of(older), of("model"))
        self.assertIn("'layers'", self.refused("sample", "--model", self.changed(layers=None)))

    def test_weights_that_are_not_finite_are_named(self):
        data = bytearray((self.path / "model").read_bytes())
        tensors, _ = self.header("model")
        at = len(data) - max(t["data_offsets"][1] for t in tensors.values()) + tensors["head.bias"]["data_offsets"][0]
        for number in (float("nan"), float("inf")):
            struct.pack_into("<f", data, at, number)
            file = self.write("bad", bytes(data))
            for command in (["sample"], ["plot", "embedding"], ["plot", "attention", "--prompt", "a"], ["graph", "gpt"]):
                self.assertIn("'head.bias'", self.refused(*command, "--model", file))

    def test_samples_hold_no_control_characters(self):
        self.write("text", "".join(map(chr, [*range(1, 32), 127, 0x9b, 0x202e, *range(97, 110)])).encode() * 40)
        self.train("--steps", "1", "--data", "text", "--out", "wild")
        text = self.burt("sample", "--model", "wild", "--length", "2000", "--temperature", "5").stdout
        self.assertIn("·", text)
        self.assertIn("\n", text.strip("\n"))
        self.assertTrue(text.replace("\n", "").replace("\t", "").isprintable())


class Graphs(Burt):
    def dot(self, *arguments):
        """What is drawn: {id: label}, and the edges."""
        text = self.burt("graph", *arguments).stdout
        labels = dict(re.findall(r'^  (\d+) \[label="(.*?[^\\])"', text, re.M))
        return labels, re.findall(r"^  (\d+) -> (\d+)", text, re.M)

    def fake_dot(self, script):
        """A folder with a program dot of ours, to stand first in PATH."""
        folder = self.path / "bin"
        folder.mkdir(exist_ok=True)
        (folder / "dot").write_text("#!/bin/sh\n" + script + "\n")
        (folder / "dot").chmod(0o755)
        return str(folder) + os.pathsep + os.environ.get("PATH", "")

    def test_tiny_is_figure_1(self):
        labels, edges = self.dot("tiny")
        self.assertEqual((len(labels), len(edges)), (10, 12))
        self.assertEqual(labels["0"], "{{a|leaf (eLeaf)|#0}|{value -41|gradient -35}}")
        self.assertEqual(labels["1"], "{{b|leaf (eLeaf)|#1}|{value 2|gradient 1050}}")
        self.assertEqual(labels["9"], "{{g|div (eBinaryDiv)|#9}|{value 612.5|gradient 1}}")

    def test_small_is_figure_2(self):
        labels, edges = self.dot("small")
        self.assertEqual((len(labels), len(edges)), (32, 44))  # 20 operators of two numbers, 4 of one
        self.assertEqual(labels["0"], "{{a|leaf (eLeaf)|#0}|{value -4|gradient 138.834}}")
        self.assertEqual(labels["1"], "{{b|leaf (eLeaf)|#1}|{value 2|gradient 645.577}}")
        self.assertEqual(labels["31"], "{{g|add (eBinaryAdd)|#31}|{value 24.7041|gradient 1}}")

    def test_models_are_drawn_as_their_layers(self):
        for model, blocks, layers in (("mlp", 5, ["embedding", "linear", "tanh", "linear", "meanCrossEntropy"]),
                                      ("gpt", 15, ["attention", "layerNorm", "meanCrossEntropy"])):
            labels, edges = self.dot(model)
            self.assertEqual(sum("leaf (eLeaf)" in label for label in labels.values()), blocks)
            for layer in layers:
                self.assertTrue(any(re.search(r"[{|]%s}" % layer, label) for label in labels.values()), layer)
            loss = labels[str(max(map(int, labels)))]
            self.assertRegex(loss, r"^{{loss\|meanCrossEntropy}\|{#\d+\|value [345]\.\d+\|gradient 1}")
            self.assertNotIn("nan", loss)
            zeros = [label for label in labels.values() if "gradients all 0" in label]
            self.assertEqual(zeros, [])

    def test_a_trained_model_has_its_sizes(self):
        self.train("--steps", "2", "--out", "run")
        labels, _ = self.dot("gpt", "--model", "run")
        self.assertTrue(any(label.startswith("{{blocks.0.attn.qkv.weight 24 x 8|") for label in labels.values()))
        self.assertIn("run/state.safetensors, ",
                      self.burt("graph", "gpt", "--model", "run/state.safetensors").stdout)
        self.assertIn("kind 'gpt'", self.refused("graph", "mlp", "--model", "run"))

    def test_a_vocabulary_without_our_letters(self):
        self.write("text", "άλφα βήτα γάμμα δέλτα\n".encode() * 20)
        self.train("--steps", "2", "--data", "text", "--out", "run")
        self.dot("gpt", "--model", "run")

    def test_trained_words(self):
        self.burt("train", "mlp", "--context", "3", "--hidden", "8", "--steps", "2", "--out", "run")
        labels, _ = self.dot("mlp", "--model", "run")
        self.assertTrue(any(label.startswith("{{hidden.weight 8 x 192|") for label in labels.values()))

    def test_max_nodes(self):
        text = self.burt("graph", "gpt", "--max-nodes", "3").stdout
        self.assertRegex(text, r"\d+ more nodes are not drawn; raise maxNodes")
        self.assertEqual(len(re.findall(r"^  \d+ \[label=", text, re.M)), 3)

    def test_out_takes_dot(self):
        for name in ("a.dot", "a.gv", "a", "./b.c/a"):
            (self.path / "b.c").mkdir(exist_ok=True)
            done = self.burt("graph", "tiny", "--out", name)
            self.assertEqual((done.stdout, done.stderr), ("", ""))
            self.assertEqual((self.path / name).read_text(), self.burt("graph", "tiny").stdout)

    def test_a_picture_comes_from_the_program_dot(self):
        path = self.fake_dot('printf "%s\\n" "$#" "$@"; cat')
        for ending in ("svg", "png", "pdf"):
            self.burt("graph", "tiny", "--out", "$(touch x) `touch y`;." + ending, path=path)
            made = (self.path / ("$(touch x) `touch y`;." + ending)).read_text()
            self.assertEqual(made, f"1\n-T{ending}\n" + self.burt("graph", "tiny").stdout)
        self.assertEqual(len(list(self.path.iterdir())), 4)  # three pictures and bin

    def test_a_picture_by_graphviz(self):
        if shutil.which("dot") is None:
            self.skipTest("Graphviz is not installed")
        self.burt("graph", "tiny", "--out", "tiny.svg")
        texts = [text.text for text in xml.etree.ElementTree.parse(self.path / "tiny.svg").iter() if text.text]
        self.assertIn("612.5", " ".join(texts))
        self.burt("graph", "gpt", "--out", "gpt.png")
        self.assertEqual((self.path / "gpt.png").read_bytes()[:4], b"\x89PNG")

    def test_without_graphviz(self):
        self.assertEqual(self.refused("graph", "tiny", "--out", "a.svg", path=""),
                         "burt: Graphviz is not installed (there is no program dot): write a .dot file, or install "
                         "graphviz\n")
        self.burt("graph", "tiny", "--out", "a.dot", path="")

    def test_a_dot_that_fails(self):
        self.write("a.svg", b"old")
        for script in ("echo part; echo 'no fonts' >&2; exit 3", "exit 0", "kill -9 $$", "echo part; exec false"):
            path = self.fake_dot(script)
            said = self.refused("graph", "tiny", "--out", "a.svg", path=path)
            self.assertIn("no fonts" if "fonts" in script else "made no svg", said)
            self.assertEqual((self.path / "a.svg").read_bytes(), b"old")

    def test_what_is_refused(self):
        self.assertIn("tiny, small, mlp or gpt", self.refused("graph"))
        self.assertIn("'large'", self.refused("graph", "large"))
        self.assertIn(".svg", self.refused("graph", "tiny", "--out", "a.jpg"))
        self.assertIn("no folder", self.refused("graph", "tiny", "--out", "no folder/a.dot"))
        self.refused("graph", "tiny", "--model", "a.safetensors")
        self.refused("graph", "gpt", "--model", "missing")
        self.refused("graph", "tiny", "--max-nodes", "0")
        self.refused("graph", "tiny", "--wide")


class Looks(Burt):
    def test_help_of_every_command(self):
        for arguments in (["--help"], ["train", "--help"], ["train", "gpt", "--help"], ["train", "mlp", "--help"],
                          ["sample", "--help"], ["eval", "--help"], ["export", "--help"], ["graph", "--help"], ["graph", "gpt", "--help"], ["inspect", "--help"],
                          ["plot", "--help"], ["plot", "attention", "--help"], ["tokenize", "--help"], ["--version"]):
            done = self.burt(*arguments)
            self.assertTrue(done.stdout)
            self.assertLess(max(map(len, done.stdout.splitlines())), 121)
        for arguments in (["--help"], ["train", "gpt", "--help"]):
            self.assertRegex(self.burt(*arguments).stdout, r"Exit codes:\n(  \d+  .*\n)+")

    def test_a_terminal_gets_one_live_line(self):
        ours, theirs = pty.openpty()
        run = subprocess.Popen([BURT, "train", "gpt", *SMALL, "--steps", "3000"], cwd=self.path, stdout=theirs)
        os.close(theirs)
        shown, end = b"", time.time() + 60
        while time.time() < end:
            try:
                part = os.read(ours, 65536)
            except OSError:
                break
            if not part:
                break
            shown += part
        self.assertEqual(run.wait(60), 0)
        self.assertIn(b"\r\x1b[Kstep ", shown)
        self.assertIn("▁".encode(), shown)

    def test_samples_follow_their_seed(self):
        self.train("--steps", "2", "--out", "run")
        sample = lambda *more: self.burt("sample", "--model", "run", "--length", "30", *more).stdout
        self.assertEqual(sample("--seed", "1"), sample("--seed", "1"))
        self.assertNotEqual(sample("--seed", "1"), sample("--seed", "2"))
        self.assertEqual(sample("--temperature", "0", "--seed", "1"), sample("--temperature", "0", "--seed", "2"))
        self.assertTrue(sample("--prompt", "HUGO:").startswith("HUGO:"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
