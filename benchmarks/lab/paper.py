"""The figures of the paper (arXiv 2503.13795), for standing beside ours: what its authors measured, on their machines.

Only ratios within one of its tables mean something here; its BurTorch is the authors' program, not this one.
"""

WINDOWS, LINUX = "Windows 11, one core", "Ubuntu 20.04, one core of a Xeon Gold 6146, 3.2 GHz"

# Seconds for 100,000 gradients of the tiny graph: table, machine, {(system, mode): seconds}. GPU rows are left out.
TINY = {
    "Table 2": (WINDOWS, {
        ("burtorch", "eager"): 0.007, ("tensorflow", "eager"): 55.217, ("tensorflow", "graph"): 14.469,
        ("tflite", "graph"): 0.589, ("autograd", "eager"): 18.956, ("pytorch", "eager"): 10.419,
        ("pytorch", "torchscript"): 9.994, ("libtorch", "eager"): 5.300, ("jax", "eager"): 291.764,
        ("jax", "jit"): 5.580, ("micrograd", "eager"): 1.590}),
    "Table 11": (LINUX, {
        ("burtorch", "eager"): 0.011, ("tensorflow", "eager"): 163.538, ("tensorflow", "graph"): 27.882,
        ("tflite", "graph"): 0.408, ("autograd", "eager"): 29.250, ("pytorch", "eager"): 15.440,
        ("pytorch", "torchscript"): 14.224, ("libtorch", "eager"): 7.611, ("jax", "eager"): 506.464,
        ("jax", "jit"): 11.156, ("micrograd", "eager"): 2.751, ("mlx", "eager"): 3.072}),
}

# Seconds for 20,000 gradients of the small graph.
SMALL = {
    "Table 3": (WINDOWS, {
        ("burtorch", "eager"): 0.0082, ("tensorflow", "eager"): 24.763, ("tensorflow", "graph"): 4.772,
        ("tflite", "graph"): 2.435, ("autograd", "eager"): 12.100, ("pytorch", "eager"): 5.438,
        ("pytorch", "torchscript"): 5.529, ("libtorch", "eager"): 3.203, ("jax", "eager"): 185.862,
        ("jax", "jit"): 1.184, ("micrograd", "eager"): 1.071}),
}

# Milliseconds of one gradient of the character MLP, by hidden units.
HIDDEN = (4, 16, 32, 64, 128, 512, 1024)
MLP = {
    ("Table 5", 1): (WINDOWS, {("pytorch", "paper"): (1.46, 1.52, 1.55, 1.63, 1.79, 3.01, 5.57),
                               ("burtorch", "eager"): (0.032, 0.074, 0.124, 0.221, 0.417, 2.093, 4.550)}),
    ("Table 6", 64): (WINDOWS, {("pytorch", "paper"): (6.17, 6.39, 7.79, 9.43, 13.01, 34.97, 64.61),
                                ("burtorch", "eager"): (0.52, 1.70, 3.25, 6.50, 13.47, 64.17, 145.87)}),
    ("Table 12", 1): (LINUX, {("pytorch", "paper"): (1.54, 1.54, 1.56, 1.67, 1.88, 2.37, 3.23),
                              ("burtorch", "eager"): (0.075, 0.150, 0.242, 0.378, 0.724, 2.382, 6.192)}),
    ("Table 13", 64): (LINUX, {("pytorch", "paper"): (9.98, 9.98, 10.37, 10.25, 22.49, 117.13, 236.10),
                               ("burtorch", "eager"): (0.976, 3.353, 6.566, 10.546, 21.557, 111.846, 240.885)}),
}

# Milliseconds of one gradient of the mini GPT, by batch.
BATCH = (1, 2, 4, 8, 16, 32, 64)
GPT = {
    "Table 7": (WINDOWS, {
        ("burtorch", "eager"): (0.515, 1.027, 2.106, 4.222, 8.358, 16.787, 31.696),
        ("pytorch", "torchscript"): (11.119, 11.177, 11.762, 12.041, 13.451, 16.048, 21.794),
        ("pytorch", "eager"): (11.715, 12.166, 12.424, 13.167, 14.111, 16.661, 22.189)}),
    "Table 14": (LINUX, {
        ("burtorch", "eager"): (0.913, 1.605, 3.222, 6.110, 12.426, 23.792, 58.489),
        ("pytorch", "torchscript"): (13.130, 13.616, 14.074, 14.984, 16.602, 19.769, 26.358),
        ("pytorch", "eager"): (16.144, 16.570, 17.034, 17.842, 19.475, 22.481, 28.372)}),
}

# Seconds for 5,000 times saving and loading 7 numbers, and the bytes of the file.
SAVELOAD = {
    "Table 4": (WINDOWS, {
        ("burtorch", "raw"): (0.75, 0.08, 56), ("tensorflow", "eager"): (1.97, 1.66, 634),
        ("tensorflow", "graph"): (1.20, 0.30, 329), ("pytorch", "bytes"): (1.11, 0.22, 56),
        ("pytorch", "eager"): (2.54, 1.36, 2564), ("pytorch", "torchscript"): (2.52, 1.34, 2564),
        ("libtorch", "eager"): (1.55, 0.95, 3569)}),
}

# Energy of 200,000 gradients of the small graph: seconds of the process, and mWh of the task.
ENERGY = {
    "Table 19": (WINDOWS, {
        ("burtorch", "eager"): (0.089, 0.593), ("tensorflow", "eager"): (239.321, 776.64),
        ("tensorflow", "graph"): (36.693, 149.89), ("tflite", "graph"): (29.736, 188.03),
        ("autograd", "eager"): (381.295, 1413.95), ("pytorch", "eager"): (53.648, 198.78),
        ("pytorch", "torchscript"): (53.870, 221.90), ("libtorch", "eager"): (31.300, 157.93),
        ("jax", "eager"): (1794.833, 7765.16), ("jax", "jit"): (11.805, 35.97), ("micrograd", "eager"): (10.691, 29.307)}),
}
