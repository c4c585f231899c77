"""Runs every experiment, one after the other, and makes the report.

usage: ./bench all [--peers all|none|a,b] [--quick] [--repeats N] [--core K] [--only a,b] [--out FILE]
Writes results/<date>.json (JSON lines) and the page beside it. An experiment that fails is named; the others go on.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys
import time

EXPERIMENTS = ("tiny", "small", "saveload", "moons", "mlp", "gpt", "threads", "kernels", "optimise", "pack", "memory", "compile", "scale", "energy")
WITHOUT_PEERS = ("moons", "compile", "scale", "kernels", "pack")
# GPTs beyond the paper's; the largest takes minutes and 6 GB.
SHAPES, LARGEST = ("nano", "baby", "gpt2"), "gpt2"
HERE = pathlib.Path(__file__).resolve().parent


def field(path, name):
    try:
        for line in pathlib.Path(path).read_text().splitlines():
            if line.startswith(name):
                return line[len(name):].strip(" \t:=")
    except OSError:
        pass
    return ""


def machine(program, command):
    about = json.loads(subprocess.run([program, "--about"], capture_output=True, text=True, check=True).stdout)
    os_name = field("/etc/os-release", "PRETTY_NAME").strip('"') or platform.system()
    memory = field("/proc/meminfo", "MemTotal").split()
    return {"cpu": field("/proc/cpuinfo", "model name"), "cores": os.cpu_count(),
            "memory_gb": round(int(memory[0]) / 2**20) if memory else None, "system": f"{os_name}, Linux {'.'.join(platform.release().split('.')[:2])}",
            "date": datetime.date.today().isoformat(), "command": command, **about}


def main():
    parser = argparse.ArgumentParser(prog="bench all", description=__doc__.split("usage:")[0])
    parser.add_argument("program", help=argparse.SUPPRESS)
    parser.add_argument("--peers", default="none")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--repeats")
    parser.add_argument("--core")
    parser.add_argument("--only", help="these experiments, with commas between them")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    chosen = options.only.split(",") if options.only else EXPERIMENTS
    for name in chosen:
        if name not in EXPERIMENTS:
            parser.error(f"there is no experiment '{name}'; there are: {' '.join(EXPERIMENTS)}")
    flags = ["--peers", options.peers, *(["--quick"] if options.quick else [])]
    for name in ("repeats", "core"):
        flags += [f"--{name}", getattr(options, name)] if getattr(options, name) else []
    out = options.out or pathlib.Path("results") / f"{datetime.date.today().isoformat()}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_suffix(".part")
    command = " ".join(["./bench all", *flags, *(["--only", options.only] if options.only else [])])
    part.write_text(json.dumps({"machine": machine(options.program, command)}) + "\n")
    failed = []
    for i, name in enumerate(chosen, 1):
        started = time.monotonic()
        print(f"== [{i}/{len(chosen)}] {name}", flush=True)
        own = flags[2:] if name in WITHOUT_PEERS else flags
        code = subprocess.run([options.program, name, *own, "--json", part]).returncode
        for shape in SHAPES if name == "gpt" else ():
            if shape != LARGEST or not options.quick:
                code = subprocess.run([options.program, name, "--shape", shape, *own, "--json", part]).returncode or code
        if code != 0:
            failed.append(name)
        print(f"== {name}: {'done' if code == 0 else f'failed with {code}'} in {time.monotonic() - started:.0f} s", flush=True)
    os.replace(part, out)
    print(f"wrote {out}", flush=True)
    subprocess.run([sys.executable, HERE / "report.py", out], check=True)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
