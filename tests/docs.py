"""Checks that what the documents show is true.

docs.py table PROGRAM FILE          the table in FILE is what PROGRAM prints
docs.py tour FILE SOURCE EXPECTED   the C++ blocks of FILE are in SOURCE, its outputs together are EXPECTED
docs.py code COMPILER ROOT LIBRARY [FILE]
                                    every other C++ block of the documents compiles and runs; if a text block comes next,
                                    that is what it prints. They link burtorch::compiled, LIBRARY, which saves half of the time
docs.py shell COMPILER ROOT BURT    every command of the documents runs, or is listed here with the reason why not
docs.py paths ROOT                  every file that a document names exists
docs.py self-test                   the checks notice what they should

A C++ block shows the headers it needs. With `int main` it is compiled as it stands. Otherwise its #include and `using`
lines go to the top and the rest into main; what it takes for granted stands in a comment just before it, which readers of
the page do not see:  <!-- given: std::vector<double> xs(7); -->
"""
import concurrent.futures
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

# Their blocks are parts of one program each, which the tests build and run: `docs.py tour` compares them.
PARTS_OF_PROGRAMS = {"docs/tour.md": "examples/tour.cpp", "docs/files.md": "examples/files.cpp"}
# Commands that are not run, by how they begin, and why.
NOT_RUN = {
    "./test": "it runs this test",
    "./bench": "it takes minutes; tests/benchmarks/lab.py runs experiments",
    "./run burt train gpt --data input.txt": "it takes minutes, and a text that is not ours",
    "./run burt": None,  # run, see below
    "./run": "it trains for a minute; tests/apps/burt.py trains smaller models",
    "mpirun": "it needs MPI, and takes minutes; tests/apps/burt_mpi.py runs shorter ones",
    "g++ $(pkg-config": "tests/consumer installs the library first and does it",
}
FENCE = re.compile(r"(?:<!-- given: (?P<given>.*?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.S | re.M)


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"failed: {shlex.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def documents(root):
    """(name, text) of every page."""
    paths = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").glob("*.md"))]
    return [(path.relative_to(root).as_posix(), path.read_text()) for path in paths]


def check_table(program, file):
    printed = run(program)
    if printed not in pathlib.Path(file).read_text():
        sys.exit(f"{file} is out of date; it should hold:\n{printed}")


def check_tour(file, source, expected):
    text, program = pathlib.Path(file).read_text(), pathlib.Path(source).read_text()
    for block in re.findall(r"```cpp\n(.*?)```", text, re.S):
        if block not in program:
            sys.exit(f"{file} shows code that is not in {source}:\n{block}")
    if "".join(re.findall(r"```text\n(.*?)```", text, re.S)) != pathlib.Path(expected).read_text():
        sys.exit(f"the outputs shown in {file} are not those of {expected}")


def program_of(block, given):
    """A block as a program."""
    if re.search(r"\bint main\(", block):
        return block
    top, body = [], []
    for line in block.splitlines():
        (top if line.startswith(("#include", "using namespace")) else body).append(line)
    return "\n".join([*top, "int main() {", given or "", *body, "}", ""])


def programs_of(text):
    """(line, program, expected output or None) of every C++ block."""
    blocks = [block for block in FENCE.finditer(text) if block["language"] in ("cpp", "text")]
    for block, following in zip(blocks, [*blocks[1:], None]):
        if block["language"] == "text":
            continue
        expected = following["text"] if following and following["language"] == "text" else None
        yield text[:block.start("text")].count("\n"), program_of(block["text"], block["given"]), expected


def wrong_program(build, name, line, program, expected):
    """What is wrong with a program, or None."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "block.cpp")
        source.write_text(program)
        built = subprocess.run([*build[:1], "-std=c++20", "-O0", "-Wall", "-Wextra", "-Wno-unused", "-Werror", "-pthread",
                                str(source), *build[1:], "-o", f"{folder}/block"], capture_output=True, text=True)
        if built.returncode != 0:
            return f"{name}:{line}: the block does not compile:\n{program}\n{built.stderr}"
        done = subprocess.run([f"{folder}/block"], capture_output=True, text=True, cwd=folder)
    if done.returncode != 0:
        return f"{name}:{line}: the block ends with {done.returncode}:\n{program}\n{done.stderr}"
    if expected is not None and done.stdout != expected:
        return f"{name}:{line}: the page says\n{expected}the block prints\n{done.stdout}"
    return None


def check_code(compiler, root, library, only=None):
    root = pathlib.Path(root)
    build = [compiler, "-I", str(root / "include"), "-DBURTORCH_COMPILED", library]
    work = [(name, *program) for name, text in documents(root)
            if name not in PARTS_OF_PROGRAMS and only in (None, name) for program in programs_of(text)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = [w for w in pool.map(lambda w: wrong_program(build, *w), work) if w]
    if wrong or not work:
        sys.exit("\n".join(wrong) or "no C++ block was found")
    print(f"{len(work)} blocks compile and run")


def commands_of(text):
    """(line, command) of every line of a shell block, comments left out."""
    for block in FENCE.finditer(text):
        if block["language"] == "sh":
            for number, line in enumerate(block["text"].splitlines(), text[:block.start("text")].count("\n") + 1):
                if command := re.sub(r"(^|\s+)#.*", "", line).strip():
                    yield number, command


def reason_not_to_run(command):
    return next((why for start, why in NOT_RUN.items() if command.startswith(start)), None)


def check_shell(compiler, root, burt):
    """In a folder that looks like the root, with the README's first program in first.cpp."""
    root = pathlib.Path(root).resolve()
    ran, wrong = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("include", "tools", "data", "tests"):
            pathlib.Path(folder, name).symlink_to(root / name)
        first = next(programs_of((root / "README.md").read_text()))
        pathlib.Path(folder, "first.cpp").write_text(first[1])
        for name, text in documents(root):
            for line, command in commands_of(text):
                if why := reason_not_to_run(command):
                    print(f"{name}:{line}: not run: {command}: {why}")
                    continue
                words = shlex.split(command)
                if words[:2] == ["./run", "burt"]:
                    words[:2] = [os.path.abspath(burt)]
                elif words[0] == "g++":
                    words[0] = compiler
                done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
                ran += 1
                if done.returncode != 0:
                    wrong.append(f"{name}:{line}: failed: {command}\n{done.stdout}{done.stderr}")
                elif words[0] == "./first" and done.stdout != first[2]:
                    wrong.append(f"{name}:{line}: the first program prints {done.stdout}")
    print(f"{ran} commands ran, {len(wrong)} failed")
    if wrong:
        sys.exit("\n".join(wrong))


def paths_of(text):
    """The files that a page names, as `core/tape.hpp`, (core/tape.hpp) or a link, outside of blocks."""
    text = FENCE.sub("", text)
    named = re.findall(r"(?<![\w./<-])((?:[\w-]+/)+[\w-]+\.(?:hpp|h|cpp|py|sh|md|txt|json|cmake))(?![\w*])", text)
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", text)
    headers = re.findall(r"<(burtorch/[\w/]+\.hpp)>", text)
    return sorted({*named, *headers}), sorted(set(links))


def check_paths(root):
    """A file is named from the root, from include/burtorch or from tests; a link from its page."""
    root = pathlib.Path(root)
    wrong = []
    for name, text in documents(root):
        named, links = paths_of(text)
        places = [root, root / "include", root / "include/burtorch", root / "tests"]
        wrong += [f"{name}: there is no {path}" for path in named if not any((p / path).is_file() for p in places)]
        wrong += [f"{name}: its link {link} leads nowhere" for link in links if not (root / name).parent.joinpath(link).exists()]
    if wrong:
        sys.exit("\n".join(wrong))


def self_test():
    assert paths_of("`core/a.hpp` (nn/b.hpp) [x](docs/c.md) <burtorch/d.hpp> core/e.hppx `ops_*.hpp`") == (
        ["burtorch/d.hpp", "core/a.hpp", "docs/c.md", "nn/b.hpp"], ["docs/c.md"])
    page = ("# A\n```cpp\n#include <cstdio>\nint main() { std::puts(\"1\"); }\n```\n```text\n1\n```\n"
            "<!-- given: int x = 2; -->\n```cpp\n#include <cstdio>\nstd::printf(\"%d\\n\", x);\n```\nprints\n```text\n2\n```\n"
            "```sh\n./test --quick  # two minutes\n./run burt inspect x\n\n```\n")
    found = list(programs_of(page))
    assert [f[0] for f in found] == [2, 10] and [f[2] for f in found] == ["1\n", "2\n"], found
    assert list(commands_of(page)) == [(19, "./test --quick"), (20, "./run burt inspect x")], list(commands_of(page))
    assert reason_not_to_run("./test --quick") and not reason_not_to_run("./run burt inspect x")
    compiler = os.environ.get("CXX", "c++")
    for program, expected, said in ((found[0][1], "1\n", None), (found[0][1], "2\n", "the page says"),
                                    (found[1][1], "2\n", None), ("int main() { return 3; }", None, "ends with 3"),
                                    ("int main() { return x; }", None, "does not compile")):
        wrong = wrong_program([compiler], "page", 1, program, expected)
        assert (said in wrong if said else wrong is None), (program, wrong)
    print("self-test: right")


if __name__ == "__main__":
    {"table": check_table, "tour": check_tour, "code": check_code, "shell": check_shell, "paths": check_paths,
     "self-test": self_test}[sys.argv[1]](*sys.argv[2:])
