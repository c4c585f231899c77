#!/usr/bin/env python3
"""Our event files, read here by hand and by the tensorboard package of this machine.

By hand with Python alone: records, both checksums and every value bit for bit. The package reads the same values with the
loader and the accumulators that TensorBoard itself uses, forgets the steps that a resumed run tells again, and reads files
that were cut anywhere.

usage: tensorboard_live.py DUMP    DUMP is the program of tensorboard_dump.cpp
Exit code: 0 all right, 1 a difference, 77 all right by hand, but tensorboard cannot be imported.
"""
import math
import pathlib
import struct
import subprocess
import sys
import tempfile

RESUMED_AT = 251  # as in tensorboard_dump.cpp


def crc32c(data):
    remainder = 0xFFFFFFFF
    for byte in data:
        remainder ^= byte
        for _ in range(8):
            remainder = (remainder >> 1) ^ (0x82F63B78 if remainder & 1 else 0)
    return remainder ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    """The messages of a whole file."""
    while data:
        length, check = struct.unpack_from("<QI", data)
        message = data[12:12 + length]
        (tail,) = struct.unpack_from("<I", data, 12 + length)
        assert check == masked(data[:8]) and tail == masked(message), "a checksum is wrong"
        yield message
        data = data[16 + length:]


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """{field: whole number, or bytes} of a message."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        if key % 8 == 0:
            value, at = varint(data, at)
        else:
            size, at = {1: (8, at), 5: (4, at)}.get(key % 8) or varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, "a field ends after its message"
        assert key // 8 not in found, "a field is there twice"
        found[key // 8] = value
    return found


def read_by_hand(path):
    """[(tag, step, bits)] of a file, and its first step."""
    version, start, *rest = (fields(message) for message in records(path.read_bytes()))
    assert version[3] == b"brain.Event:2" and start[7] == b"\x08\x01", (version, start)
    values = []
    for event in rest:
        value = fields(fields(event[5])[1])
        values.append((value[1].decode(), event[2], struct.unpack("<I", value[2])[0]))
    return values, start[2]


def bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def number(its_bits):
    return struct.unpack("<f", struct.pack("<I", its_bits))[0]


def expect(claim, found, wanted):
    # NaN has many forms, and Python does not keep them apart.
    plain = lambda rows: ["nan" if math.isnan(number(row[-1])) else row[-1] for row in rows]
    if [row[:-1] for row in found] != [row[:-1] for row in wanted] or plain(found) != plain(wanted):
        wrong = next((pair for pair in zip(found, wanted) if pair[0] != pair[1]), "another count")
        sys.exit(f"{claim}: {len(found)} values, expected {len(wanted)}; first difference: {wrong}")


def check_package(folder, files, wanted):
    from tensorboard.backend.event_processing import event_accumulator, event_file_loader, plugin_event_accumulator
    from tensorboard.util import tensor_util

    for path, rows in zip(files, wanted):
        found = [(value.tag, event.step, bits(tensor_util.make_ndarray(value.tensor).item()))
                 for event in event_file_loader.EventFileLoader(str(path)).Load() for value in event.summary.value]
        expect(f"the package's loader of {path.name}", found, rows)

    kept = [row for row in wanted[0] if row[1] < RESUMED_AT] + wanted[1]
    for accumulator in (event_accumulator, plugin_event_accumulator):
        everything = dict.fromkeys(accumulator.DEFAULT_SIZE_GUIDANCE, 0)
        run = accumulator.EventAccumulator(str(folder), size_guidance=everything)
        run.Reload()
        for tag in sorted({row[0] for row in kept}):
            if accumulator is event_accumulator:
                found = [(tag, e.step, bits(e.value)) for e in run.Scalars(tag)]
            else:
                found = [(tag, e.step, bits(tensor_util.make_ndarray(e.tensor_proto).item())) for e in run.Tensors(tag)]
            expect(f"{accumulator.__name__} of {tag!r}", found, [row for row in kept if row[0] == tag])
    return check_cuts(files[1], event_file_loader)


def check_cuts(path, event_file_loader):
    """A file that ends anywhere is read up to its last whole record."""
    data, cuts = path.read_bytes(), 0
    sizes = [16 + len(message) for message in records(data)]
    with tempfile.TemporaryDirectory() as name:
        cut = pathlib.Path(name, path.name)
        for size in range(1, sum(sizes[:6])):
            cut.write_bytes(data[:size])
            whole = sum(sum(sizes[:i + 1]) <= size for i in range(6))
            found = len(list(event_file_loader.EventFileLoader(str(cut)).Load()))
            if found != whole:
                sys.exit(f"cut after {size} bytes: the package reads {found} records, expected {whole}")
            cuts += 1
    return cuts


def main():
    dump = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        printed = subprocess.run([dump, folder], check=True, capture_output=True, text=True).stdout
        wanted = [[], []]
        for line in printed.splitlines():
            file, tag, step, value = line.split(" ")
            text = bytes.fromhex(tag[1:]).decode("utf-8", "replace")
            wanted[int(file)].append((text, int(step), int(value, 16)))
        files = sorted(folder.iterdir())
        assert len(files) == 2 and len(wanted[0]) > 900 and len(wanted[1]) > 450, (files, wanted)
        for i, path in enumerate(files):
            if read_by_hand(path) != (wanted[i], RESUMED_AT if i == 1 else 0):
                sys.exit(f"{path.name} read by hand is not what was written")
        count = sum(map(len, wanted))
        try:
            import tensorboard
        except ImportError as reason:
            print(f"{count} values read by hand; skipped: {sys.executable} cannot import tensorboard ({reason}); "
                  "BURTORCH_PYTHON names another one")
            return 77
        cuts = check_package(folder, files, wanted)
        print(f"{count} values read by hand and by tensorboard {tensorboard.__version__}, and {cuts} cut files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
