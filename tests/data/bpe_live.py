#!/usr/bin/env python3
"""Our tokens against those of Hugging Face's `tokenizers` (ByteLevelBPETokenizer, add_prefix_space off).

The package trains a vocabulary on a text of many scripts; where BURTORCH_GPT2 names a folder with GPT-2's own files, these
are used too. With each, every text must have the same ids: hostile texts by hand and by chance, megabytes of prose and of
many scripts, a megabyte without a space and one of blanks; with the first also code points of all planes beside letters,
numbers, punctuation and blanks. Ours must decode to the same bytes, and prose must not take us longer than the package on one
thread. Bytes that are not UTF-8 cannot be given to the package, which takes Python's str; ours must split them as the package
splits U+FFFD.

usage: bpe_live.py DUMP PROSE    DUMP is the program of bpe_dump.cpp, PROSE an English text
Exit code: 0 all right, 1 a difference, 77 skipped because tokenizers cannot be imported.
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
try:
    from tokenizers import ByteLevelBPETokenizer
    from tokenizers.pre_tokenizers import ByteLevel
except ImportError as reason:
    print(f"skipped: {sys.executable} cannot import what is needed ({reason}); BURTORCH_PYTHON names another one")
    sys.exit(77)

SEED = 3
# All of the planes that have letters, some of the others.
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF and (c < 0x34000 or c % 64 == 0)]
HOSTILE = [
    "", " ", "  ", "\n", "\0", "a\0b", "\x1b[2J\x07\x08\x7f", "\r\n\r\n \t\x0b\x0c", "\x1c\x1d\x1e\x1f", "\x85\xa0\u1680",
    "\u2000\u2007\u200a\u2028\u2029\u202f\u205f\u3000x", "a\u3000\u00a0b", "\u200b\u200c\u200d\u2060\ufeff", "\u202eabc\u202c",
    "'s't're've'm'll'd''", "it's 'tis ''s 's' 'S 'LL", "don\u2019t", "e\u0301\u0301 a\u0308b", "\u0301", "\U0001F469\u200d\U0001F4BB",
    "\U0001F1E9\U0001F1EA\U0001F44D\U0001F3FD", "\u0661\u0662\u0663 \u00bd\u2167\u2460\u3007 1\u0661a", "<|endoftext|>", "a<|endoftext|> b",
    "\u0120\u010a\u00ad\u0100", "\ufffd", "\ufffd\ufffd x", "\U0010ffff\ue000\uffff", "   a", "a   ", "a \n b", "\n\n\na", " \u4e2d\u6587 \u0e44\u0e17\u0e22",
    "\u0627\u0644\u0639\u0631\u0628\u064a\u0629 \u05e2\u05d1\u05e8\u05d9\u05ea \u0939\u093f\u0928\u094d\u0926\u0940", "x" * 5000, " " * 5000 + "x", "!" * 5000, "\n" * 4999, "1" * 777,
    "ab" * 3000, "\u00e9" * 2000, "a " * 3000, "https://a.b/c?d=e&f=%20#g_h-i~j", "int main() {\n\treturn x->y[0] << 2;\n}\n",
]
# Letters of scripts, to make words of.
SCRIPTS = [(0x61, 0x7A), (0x41, 0x5A), (0xC0, 0x24F), (0x370, 0x3FF), (0x400, 0x4FF), (0x5D0, 0x5EA), (0x620, 0x64A), (0x905, 0x939),
           (0xE01, 0xE3A), (0x10A0, 0x10FF), (0x1200, 0x1248), (0x3041, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x30, 0x39),
           (0x660, 0x669), (0x2000, 0x206F), (0x20A0, 0x20BF), (0x2190, 0x22FF), (0x300, 0x36F), (0x1F300, 0x1F64F), (0x10330, 0x1034A)]


def many_scripts(chance, size):
    """A text of about `size` bytes: words of one script each, with blanks and punctuation."""
    parts, length = [], 0
    while length < size:
        first, last = chance.choice(SCRIPTS)
        word = "".join(chr(chance.randint(first, last)) for _ in range(chance.randint(1, 9)))
        parts.append(word + chance.choice([" ", " ", " ", "", ", ", ".\n", "  ", "\n\n", "\t", "'s ", "\u3000", "\u00a0"]))
        length += len(parts[-1].encode())
    return "".join(parts)


def by_chance(chance, count):
    """Short texts of characters that decide about splits."""
    pool = [" ", " ", "\n", "\t", "'", "s", "t", "re", "ll", "a", "A", "1", "\u0661", "!", "_", "\u00e9", "\u0301", "\u4e2d", "\u00a0",
            "\u3000", "\u2028", "\U0001F600", "\u200d", "\0", "\ufffd", "the", " the", "ing"]
    return ["".join(chance.choice(pool) for _ in range(chance.randint(1, 25))) for _ in range(count)]


def every_code_point():
    """Each beside letters, numbers, punctuation and blanks, some hundred to a text."""
    for first in range(0, len(CODE_POINTS), 200):
        yield "".join(f"a{chr(c)}1{chr(c)}!{chr(c)} {chr(c)}\n" for c in CODE_POINTS[first:first + 200])


def ours(dump, files, texts):
    """The ids of texts, which are bytes."""
    given = b"".join(b"%d\n%b" % (len(text), text) for text in texts)
    lines = subprocess.run([dump, *files], input=given, capture_output=True, check=True).stdout.decode().splitlines()
    assert len(lines) == len(texts), (len(lines), len(texts))
    for line, text in zip(lines, texts):
        if line.startswith("not"):
            sys.exit(f"tokens that do not decode to their text: {text[:200]!r}")
    return [[int(word) for word in line.split()] for line in lines]


def compare(name, dump, files, tokenizer, texts):
    count = 0
    for text, mine in zip(texts, ours(dump, files, [text.encode() for text in texts])):
        theirs = tokenizer.encode(text).ids
        if mine != theirs:
            at = next((i for i, (a, b) in enumerate(zip(mine, theirs)) if a != b), min(len(mine), len(theirs)))
            sys.exit(f"{name}: token {at} of {text[:80]!r} is {mine[at:at + 3]}, and {theirs[at:at + 3]} for tokenizers, behind "
                     f"{tokenizer.decode(theirs[max(0, at - 5):at])!r}")
        count += len(mine)
    print(f"{name}: {len(texts)} texts, {sum(len(t.encode()) for t in texts)} bytes, {count} tokens alike")


def check_bytes(dump, files, tokenizer, chance):
    """Bytes that are not UTF-8: the words are those of the text with U+FFFD for each, and each word has its own bytes."""
    texts = []
    for _ in range(2000):
        parts = [chance.choice([b"\xff", b"\x80", b"\xc3", b"\xe2\x28", b"\xed\xa0\x80", b"a", b" ", b"  ", b"1", b"!", b"\n", b"'s"])
                 for _ in range(chance.randint(1, 12))]
        texts.append(b"".join(parts))
    splitter = ByteLevel(add_prefix_space=False)
    expected = []
    for text in texts:
        # One replacement for each byte: those of ours that do not belong to a character.
        repaired = text.decode("utf-8", "surrogateescape")
        words = []
        for _, (first, last) in splitter.pre_tokenize_str("".join("\ufffd" if 0xDC80 <= ord(c) <= 0xDCFF else c for c in repaired)):
            words.append(repaired[first:last].encode("utf-8", "surrogateescape"))
        expected.append(words)
    tokens = {i: token for token, i in tokenizer.get_vocab().items()}
    alphabet = {character: byte for byte, character in enumerate(byte_alphabet())}
    for text, ids, words in zip(texts, ours(dump, files, texts), expected):
        pieces = [bytes(alphabet[c] for c in tokens[i]) for i in ids]
        ends, at = set(), 0
        for piece in pieces:
            at += len(piece)
            ends.add(at)
        at = 0
        for word in words:
            at += len(word)
            if at not in ends:
                sys.exit(f"a token reaches over the end of the word {word!r} in {text!r}")
        if b"".join(pieces) != text:
            sys.exit(f"the tokens of {text!r} have other bytes: {pieces}")
    print(f"bytes that are not UTF-8: {len(texts)} texts are split as with U+FFFD")


def byte_alphabet():
    visible = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return [chr(byte if byte in visible else next(others)) for byte in range(256)]


def check_speed(name, dump, files, tokenizer, text):
    least = 1e9
    for _ in range(5):
        start = time.perf_counter()
        tokenizer.encode(text)
        least = min(least, time.perf_counter() - start)
    data = text.encode()
    mine = float(subprocess.run([dump, *files, "--time", "20"], input=data, capture_output=True, check=True).stdout)
    print(f"{name}: {len(data)} bytes of prose in {1e3 * mine:.1f} ms ({len(data) / mine / 1e6:.0f} MB/s), tokenizers "
          f"{1e3 * least:.0f} ms ({len(data) / least / 1e6:.1f} MB/s): {least / mine:.1f} times as fast")
    if mine > least:
        sys.exit(f"{name}: encoding takes longer than with tokenizers")


def check(name, dump, files, prose, chance):
    tokenizer = ByteLevelBPETokenizer(*files, add_prefix_space=False)
    compare(f"{name}, hostile texts", dump, files, tokenizer, HOSTILE + by_chance(chance, 20_000))
    compare(f"{name}, prose", dump, files, tokenizer, [prose])
    compare(f"{name}, many scripts", dump, files, tokenizer, [many_scripts(chance, 1_000_000)])
    letters = "".join(chance.choice("etaoinshrdlu") for _ in range(1_000_000))
    compare(f"{name}, a megabyte in one word", dump, files, tokenizer, [letters, "a" * 1_000_000, " " * 1_000_000 + "a"])
    check_bytes(dump, files, tokenizer, chance)
    check_speed(name, dump, files, tokenizer, prose)


def find_gpt2():
    folder = os.environ.get("BURTORCH_GPT2")
    for names in (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe")):
        files = [os.path.join(folder, name) for name in names] if folder else []
        if files and all(map(os.path.isfile, files)):
            return files
    return None


def main(arguments):
    dump, prose = arguments[0], pathlib.Path(arguments[1]).read_bytes().decode()
    prose *= -(-1_200_000 // len(prose.encode()))
    chance = random.Random(SEED)
    print(f"seed {SEED}")
    with tempfile.TemporaryDirectory() as folder:
        trained = ByteLevelBPETokenizer(add_prefix_space=False)
        trained.train_from_iterator([prose[:300_000], many_scripts(chance, 300_000), *HOSTILE, *by_chance(chance, 2000)],
                                    vocab_size=4000, min_frequency=2, special_tokens=["<|endoftext|>"], show_progress=False)
        trained.save_model(folder)
        files = [f"{folder}/vocab.json", f"{folder}/merges.txt"]
        compare("trained, code points", dump, files, trained, list(every_code_point()))
        check("trained", dump, files, prose, chance)
    if files := find_gpt2():
        check("GPT-2", dump, files, prose, chance)
    else:
        print("GPT-2's own files are not compared: BURTORCH_GPT2 names no folder with them")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
