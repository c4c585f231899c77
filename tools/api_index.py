#!/usr/bin/env python3
"""Makes docs/api.md: every public name of namespace burtorch, its header, and a line that says what it is.

usage: api_index.py [--check | --print | --self-test] [ROOT]

Without an option docs/api.md is written. --check compares it and fails if it is out of date. Either way a public name that
nothing describes is an error. The line of a name is the first sentence of
  1. the /// comment above it, or above the declaration before it if no blank line lies between them (overloads),
  2. the comment that opens the header, for a type with a header of its own name,
  3. the formula in docs/operators.md, for the function of an operator,
  4. the list LINES below.
Declarations are found by their layout, which clang-format sees to: what is in namespace burtorch begins at column 0.
"""
import pathlib
import re
import sys
import tempfile

# Headers of the engine, which users do not include and whose names may change: no part of the index.
INTERNAL = {
    "core/analysis.hpp", "core/handle.hpp", "core/list_mode.hpp", "core/mark.hpp", "core/op_dispatch.hpp",
    "base/reserve.hpp", "core/selection.hpp", "core/storage.hpp", "core/sweep.hpp", "core/tape_names.hpp",
    "core/tape_slot.hpp", "core/value_lists.hpp", "data/bpe_merges.hpp", "data/byte_alphabet.hpp", "data/pre_tokens.hpp",
    "data/unicode_classes.hpp", "data/unicode_ranges.hpp", "data/utf8.hpp", "functional/inputs.hpp", "graph/arguments.hpp", "graph/unrolled.hpp",
    "graph/memory.hpp", "graph/plan.hpp", "graph/program.hpp", "graph/rules.hpp", "graph/run.hpp", "graph/argument_tree.hpp",
    "graph/replay_code.hpp", "graph/trace.hpp", "io/convert.hpp", "io/crc32c.hpp", "io/half.hpp", "io/header_text.hpp",
    "io/json.hpp", "io/npy_header.hpp", "io/readable_file.hpp", "io/safetensors_header.hpp", "io/printable.hpp",
    "model/validated.hpp", "oracle/non_finite.hpp", "oracle/two_points.hpp", "ops/instruction.hpp", "ops/kernels.hpp", "ops/list.hpp", "ops/op_list.hpp",
    "ops/vjp_reads.hpp", "simd/lanes.hpp", "simd/pack_math.hpp", "simd/transpose.hpp", "viz/dot_drawing.hpp",
    "viz/dot_text.hpp", "viz/plain_number.hpp", "viz/python_script.hpp",
}
# Names of those headers that users do write.
PUBLIC = {"Binding", "Block", "BytePairMerge", "DotDirection", "DotOptions", "Instruction", "NodeIndex", "onlyOps", "TapeCapacity", "TensorInfo"}
# Lines for names that have no /// comment. The list only shrinks: a new name gets its comment in the header.
LINES = {
    "activationFromName": "The activation with that name",
    "Adam": "Adam, as in PyTorch",
    "addInplace": "x += y, as a new node",
    "AnySchedule": "A variant of all schedules",
    "BinaryOp": "What an operator of two numbers derives from",
    "BlockOp": "What an operator that turns a list into a block derives from",
    "CharMlpConfig": "Sizes of a CharMlp",
    "Compiled": "A compile-time graph, as `compile` returns it",
    "ConstantRate": "The same learning rate at every step",
    "CurvePoint": "A point of a curve",
    "defaultConfig": "The configuration that the build asks for (BURTORCH_NAMES, BURTORCH_CHECKS, BURTORCH_THREADS, NDEBUG)",
    "divInplace": "x /= y, as a new node",
    "DotDirection": "Whether a graph is drawn from top to bottom or from left to right",
    "DotOptions": "Size, contents, direction and title of a drawn graph",
    "EventFileOptions": "Options of an EventFile",
    "failureHandler": "The handler that is called where exceptions are off",
    "gainOf": "The gain that keeps the size of a signal through a layer with this activation",
    "GptConfig": "Sizes and variants of a Gpt",
    "HeatMap": "A table of numbers to be drawn as colours",
    "HeatMapOptions": "Titles and labels of a heat map",
    "LayerOp": "What a layer derives from",
    "LeafOp": "What a leaf derives from",
    "log": "log(x)",
    "MapOptions": "Options of a MappedFile",
    "MlpConfig": "Sizes and activations of an Mlp",
    "multInplace": "x *= y, as a new node",
    "nameOf": "The name of an activation, or of a part of the data",
    "OfArity": "What all operators of an arity derive from",
    "packWidth": "How many numbers a SIMD register holds",
    "PairOp": "What an operator of two lists derives from",
    "Part": "The part of the data to train on, or that to validate with",
    "PlainOf": "The type of constants beside a number type",
    "PlotOptions": "Title, labels and number of points of a plot",
    "RawSave": "Whether a raw save replaces the file as a whole or overwrites it in place",
    "Recorded": "A recorded function, as `record` returns it",
    "SamplingOptions": "Temperature and top-k of generated text",
    "SaveOptions": "Whether a save waits until the file is on the disk",
    "select": "`condition ? a : b`, in every mode",
    "setFailureHandler": "Sets the handler that is called where exceptions are off; returns the one before",
    "ShowPlotOptions": "Options of showPlot",
    "subInplace": "x -= y, as a new node",
    "SweepResult": "Whether a sweep finished, and how many instructions it visited",
    "SweepStatus": "Whether a sweep finished or was stopped",
    "TernaryOp": "What an operator of three numbers derives from",
    "TextOptions": "Options of a TextCorpus",
    "TokenizerOptions": "Options of a Tokenizer",
    "StopReason": "Why a training ended",
    "TrainingOptions": "Options of a Training: steps, batch, clipping, validation",
    "transpose": "The transpose of a matrix",
    "UnaryOp": "What an operator of one number derives from",
    "ValueAndGrad": "What `valueAndGrad` of a compile-time graph returns",
    "VaryingOp": "What an operator of a list derives from",
    "WindowOptions": "Length and distance of the windows of a text",
    "WordList": "A list of words as tokens, with its vocabulary and its parts",
    "WordOptions": "Options of a WordList",
}

NAMESPACE = re.compile(r"^(?:inline )?namespace(?: ([\w:]+?))?(?:::inline BURTORCH_TARGET)?((?:::\w+)*) \{(.*\})?")
REQUIRES = re.compile(r"requires\s*(?:requires\s*)?(?=\()")
HEAD = [
    re.compile(r"^(?:class|struct|enum class|enum|union) (?:\[\[\w+\]\] )?(\w+)(?! *<|::)(?=[ :;]|$)"),
    re.compile(r"^concept (\w+)"),
    re.compile(r"^using (\w+)\b.*="),
    re.compile(r"^(?:inline |static |constexpr |constinit |thread_local )+[\w:<>, *&]*?\b(\w+)(?:<[^=]*>)? ?(?:=|\{|$)"),
]
FUNCTION = re.compile(r"(?<![\w:~])(\w+)\(")


def closing(text, at):
    """Where the bracket that opens at `at` is closed."""
    pairs = {"(": ")", "{": "}", "<": ">", "[": "]"}
    depth = 0
    for i in range(at, len(text)):
        if text[i] == text[at]:
            depth += 1
        elif text[i] == pairs[text[at]] and text[i - 1] != "-":
            depth -= 1
            if depth == 0:
                return i
    return len(text) - 1


def without_code(line):
    """A line without its comment and the contents of its literals."""
    line = re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'', '""', line)
    return re.sub(r"//.*", "", line)


def without_template(text):
    """A declaration without template heads, constraints, attributes and macros."""
    text = " ".join(text.split())
    while True:
        before = text
        if match := re.match(r"template ?<", text):
            text = text[closing(text, match.end() - 1) + 1:].strip()
        if match := REQUIRES.match(text):
            end = closing(text, match.end())
            if "requires requires" in text[:match.end()]:
                end = closing(text, text.index("{", end))
            text = re.sub(r"^\s*(?:&&|\|\|)\s*", "requires ", text[end + 1:].strip())
        elif match := re.match(r"requires requires \{", text):
            text = text[closing(text, match.end() - 1) + 1:].strip()
        elif match := re.match(r"requires [\w:]+(<)?", text):
            end = closing(text, match.end() - 1) + 1 if match[1] else match.end()
            text = re.sub(r"^\s*(?:&&|\|\|)\s*", "requires ", text[end:].strip())
        text = re.sub(r"^(?:\[\[.*?\]\]|BURTORCH_INLINE|explicit) ?", "", text)
        if text == before:
            return text


def name_of(declaration):
    """The name that a declaration introduces, or None."""
    if re.match(r"template ?<> ?|extern template|template (?:class|struct) ", declaration):
        return None
    text = without_template(declaration)
    if re.search(r"\boperator\b", re.split(r"[({]", text)[0]) or re.match(r"using [\w:]+;|friend |static_assert|BURTORCH_", text):
        return None
    for pattern in HEAD[:3]:
        if match := pattern.match(text):
            return None if re.fullmatch(r"(?:class|struct|enum class) \w+(?: : [\w:]+)?;", text) else match[1]
    if re.match(r"(?:class|struct) ", text):
        return None  # a specialisation
    head = text.split("{")[0].split("=")[0]
    plain = re.sub(r"decltype\(.*?\)", "", head)
    if "(" not in plain or re.match(r"inline constexpr [\w:<>, ]+ \w+ ?$", plain):
        match = HEAD[3].match(text)
        return match[1] if match else None
    before = plain.split("(")[0]
    if "->" in plain and re.match(r"^\w+\(", plain):
        return None  # a deduction guide
    if re.search(r"::~?\w+$", before):
        return None  # a member, defined outside its class
    match = re.search(r"(\w+)$", before)
    return match[1] if match and " " in before else None


def sentence(lines):
    """The first sentence of a comment, as one line."""
    text = " ".join(line.strip().lstrip("/").strip() for line in lines)
    text = re.split(r"(?<!\.)\.(?=\s+[A-Z`(])", text)[0].strip()
    head = re.split(r":(?=\s+[`\"{(])", text)[0]  # without the example after a colon, if enough is left
    text = head if len(head.split()) > 2 else text
    return (text if text.endswith("...") else text.rstrip(".:")).replace("|", "\\|")


def opening(lines):
    """The comment that opens a header, up to its first blank line."""
    comment = []
    for line in lines:
        if not line.startswith("//") or line.strip() == "//":
            break
        comment.append(line)
    return sentence(comment)


def declarations(lines):
    """(declaration, comment lines, whether it follows another one at once) in namespace burtorch."""
    spaces, comment, depth, text, follows = [], [], 0, "", False
    for raw in lines:
        line = without_code(raw)
        if depth == 0 and not text:
            if match := NAMESPACE.match(line):
                if not match[3]:
                    spaces.append((match[1] or "(none)") + match[2])
                comment, follows = [], False
                continue
            if line.startswith("}") and not line.startswith("};"):
                if spaces:
                    spaces.pop()
                comment, follows = [], False
                continue
            if raw.startswith("///"):
                comment.append(raw)
                follows = False
                continue
            if raw.startswith("//"):
                comment = []
                continue
            if not line.strip() or line.startswith("#"):
                comment, follows = [], False
                continue
        if spaces != ["burtorch"]:
            depth += line.count("{") - line.count("}")
            continue
        text += line + "\n"
        depth += line.count("{") - line.count("}")
        ends = line.rstrip().endswith((";", "}")) and not re.match(r"\s*requires\b", line)
        if depth == 0 and ends:
            yield text.strip(), comment, follows
            text, comment, follows = "", [], True


def formulas(root):
    rows = re.findall(r"^\| `(\w+)` \| `\w+` \| [^|]+ \| (.*) \|$", (root / "docs/operators.md").read_text(), re.M)
    return dict(rows)


def index(root):
    """Yields (name, header, line, whether it is the header's own), the line being empty where nothing describes the name."""
    include = root / "include" / "burtorch"
    computes = formulas(root)
    for path in sorted(include.rglob("*.hpp")):
        header = path.relative_to(include).as_posix()
        lines = path.read_text(encoding="utf-8").splitlines()
        found, last = {}, ""
        for declaration, comment, follows in declarations(lines):
            is_type = re.match(r"(?:template ?<.*?>\s*)?(?:class|struct|enum|using)\b", declaration, re.S)
            own = sentence(comment) if comment else last if follows and not is_type else ""
            last = own
            name = name_of(declaration)
            if not name or (header in INTERNAL and name not in PUBLIC) or (header == "simd/pack.hpp" and name in (*computes, "log")):
                continue
            if not own and name.lower() == path.stem.replace("_", ""):
                own = opening(lines)
            if not own and name in computes:
                own = computes[name]
            found[name] = found.get(name) or own
        for name, line in found.items():
            yield name, header, line or LINES.get(name, ""), bool(line)


def page(entries):
    rows = [f"| `{name}` | `{header}` | {line} |" for name, header, line, _ in
            sorted(entries, key=lambda e: (e[0].lower(), e[0], e[1]))]
    return ("# Public names\n\nMade by `tools/api_index.py` from the headers, under `include/burtorch`; a test fails when it is out "
            "of date.\nNames in namespace `burtorch`; operators on numbers are in [operators.md](operators.md), the engine's own "
            "headers are left out.\n\n| name | header | what it is |\n|---|---|---|\n" + "\n".join(rows) + "\n")


def self_test():
    header = """// A thing: it does this. And more.
#pragma once
namespace burtorch::inline BURTORCH_TARGET {
namespace detail {
struct Hidden {};
}  // namespace detail
template <class T> class Thing;
/// Twice x. Exact.
template <class T>
requires requires(T x) { x + x; }
constexpr T twice(T x) { return x + x; }
inline int twice(int x) { return 2 * x; }
template <class T> class Thing {
  int operator()(int x) const { return x; }
};
template <> struct Thing<int> {};
template <class T> int Thing<T>::member() { return 0; }
Thing<int> operator+(Thing<int> x, Thing<int> y);
/// A kind of thing: `Kind::a`.
enum class Kind { a, b };

inline constexpr int undescribed = 3;
}  // namespace burtorch
"""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "include/burtorch/core").mkdir(parents=True)
        (root / "docs").mkdir()
        (root / "docs/operators.md").write_text("")
        (root / "include/burtorch/core/thing.hpp").write_text(header)
        found = {name: line for name, _, line, _ in index(root)}
    expected = {"twice": "Twice x", "Thing": "A thing: it does this", "Kind": "A kind of thing", "undescribed": ""}
    if found != expected:
        print(f"self-test: expected {expected}, found {found}")
        return 1
    print("self-test: right")
    return 0


def main(arguments):
    option = arguments.pop(0) if arguments and arguments[0].startswith("-") else ""
    if option in ("-h", "--help"):
        print(__doc__.strip())
        return 0
    if option == "--self-test":
        return self_test()
    if option not in ("", "--check", "--print") or len(arguments) > 1:
        print("api_index.py: expected --check, --print, --self-test or a source folder; see --help", file=sys.stderr)
        return 2
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parent.parent
    entries = list(index(root))
    missing = sorted({f"{name} ({header})" for name, header, line, _ in entries if not line})
    stale = sorted(set(LINES) - {name for name, _, _, is_own in entries if not is_own})
    text = page(entries)
    if option == "--print":
        print(text, end="")
    for name in missing:
        print(f"api_index.py: nothing describes {name}; write a /// comment above it", file=sys.stderr)
    for name in stale:
        print(f"api_index.py: {name} is gone or has a comment of its own; take it out of LINES", file=sys.stderr)
    known = {path.relative_to(root / "include/burtorch").as_posix() for path in (root / "include/burtorch").rglob("*.hpp")}
    for header in sorted(INTERNAL - known):
        print(f"api_index.py: INTERNAL names {header}, which does not exist", file=sys.stderr)
        stale.append(header)
    file = root / "docs/api.md"
    if option == "--check" and (not file.is_file() or file.read_text(encoding="utf-8") != text):
        print("docs/api.md is out of date; run tools/api_index.py", file=sys.stderr)
        return 1
    if option == "":
        file.write_text(text, encoding="utf-8")
    return 1 if missing or stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
