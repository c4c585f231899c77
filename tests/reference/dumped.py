"""What safetensors_dump reads in files, for tests that compare it with Python packages; and damaged files."""
import subprocess


def ours(dump, folder, cases):
    """What we read in files of these bytes: for each {name: (dtype, shape, bytes)}, or the error as text."""
    files = []
    for i, data in enumerate(cases):
        files.append(folder / f"{i}.case")
        files[-1].write_bytes(data)
    answers, tensors = [], {}
    output = subprocess.run([dump, *files], check=True, capture_output=True).stdout
    for line in output.decode("utf-8", "replace").splitlines():
        if line.startswith("error: "):
            answers.append(line)
        elif line == ".":
            answers.append(tensors)
            tensors = {}
        else:
            name, dtype, shape, data = line.split(" ")
            numbers = [int(n) for n in shape.strip("[]").split(",") if n]
            tensors[bytes.fromhex(name[1:]).decode()] = (dtype, numbers, bytes.fromhex(data[1:]))
    assert len(answers) == len(files), (len(answers), len(files))
    return answers


def damaged(file):
    """The file cut at each byte, and with each bit flipped."""
    cases = [file[:n] for n in range(len(file))]
    for bit in range(8 * len(file)):
        changed = bytearray(file)
        changed[bit // 8] ^= 1 << bit % 8
        cases.append(bytes(changed))
    return cases
