"""TensorFlow on one thread of the CPU.

eager is a GradientTape op by op, graph the same in a tf.function, xla that function with jit_compile=True. The last two call
concrete functions: looking these up by the arguments costs as much again when the graph is small.
"""
import functools
import math
import os

import peer

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # read at import
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
tf, = peer.needs("tensorflow")

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)


def eager(function, *_):
    return function


def graph(function, *arguments):
    return tf.function(function).get_concrete_function(*arguments)


def xla(function, *arguments):
    return tf.function(function, jit_compile=True).get_concrete_function(*arguments)


# tiny, small -----------------------------------------------------------------------------------------------------------------

small = functools.partial(peer.small, relu=tf.nn.relu)


def scalars(function, wrap):
    """New leaves in each step; eager builds the graph anew too."""
    def build(job):
        a, b, last = job.number("a"), job.number("b"), {}

        def leaves():
            return tf.constant(a, tf.float64), tf.constant(b, tf.float64)

        def gradient(*inputs):
            with tf.GradientTape() as tape:
                tape.watch(inputs)
                root = function(*inputs)
            return root, tape.gradient(root, inputs)
        run = wrap(gradient, *leaves())

        def step(_):
            root, slopes = run(*leaves())
            last["result"] = root.numpy(), [slope.numpy() for slope in slopes]

        return step, lambda: last["result"]
    return "fp64", build


# saveload -------------------------------------------------------------------------------------------------------------------

def activations(job):
    return list(peer.small_nodes(*(tf.constant(job.number(name), tf.float64) for name in "ab"), tf.nn.relu))


def save(path, nodes):
    tf.io.write_file(path, tf.io.serialize_tensor(tf.stack(nodes)))


def load(path):
    return tf.io.parse_tensor(tf.io.read_file(path), tf.float64)


@tf.function
def save_graph(path, nodes):
    save(path, nodes)


@tf.function
def load_graph(path):
    return load(path)


# gpt, mlp -------------------------------------------------------------------------------------------------------------------

def linear(x, weight):
    return tf.matmul(x, weight, transpose_b=True)


def cross_entropy(logits, targets):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits))


def layer_norm(x, gain, bias):
    centred = x - tf.reduce_mean(x, -1, keepdims=True)
    return centred * tf.math.rsqrt(tf.reduce_mean(centred**2, -1, keepdims=True) + 1e-5) * gain + bias


def gpt(job):
    batch, context, width, heads = (job.size(name) for name in ("batch", "context", "width", "heads"))
    later = tf.constant([[0.0 if j <= i else -math.inf for j in range(context)] for i in range(context)])

    def attention(x, qkv):
        parts = tf.reshape(linear(x, qkv), (batch, context, 3, heads, width // heads))
        q, k, v = tf.unstack(tf.transpose(parts, (2, 0, 3, 1, 4)))
        shares = tf.nn.softmax(linear(q, k) * (width // heads)**-0.5 + later)
        return tf.reshape(tf.transpose(shares @ v, (0, 2, 1, 3)), (batch, context, width))

    def loss(weights, tokens, targets):
        wte, wpe, *blocks, head, bias = weights
        x = tf.gather(wte, tokens) + wpe
        for at in range(0, len(blocks), 11):
            gain1, bias1, qkv, proj, proj_bias, gain2, bias2, fc1, fc1_bias, fc2, fc2_bias = blocks[at:at + 11]
            x = x + linear(attention(layer_norm(x, gain1, bias1), qkv), proj) + proj_bias
            x = x + linear(tf.nn.relu(linear(layer_norm(x, gain2, bias2), fc1) + fc1_bias), fc2) + fc2_bias
        return cross_entropy(linear(x, head) + bias, targets)
    return loss


def mlp(_):
    def loss(weights, tokens, targets):
        embedding, hidden, hidden_bias, output, output_bias = weights
        x = tf.reshape(tf.gather(embedding, tokens), (-1, 16 * 64))
        return cross_entropy(linear(tf.tanh(linear(x, hidden) + hidden_bias), output) + output_bias, targets[:, 0])
    return loss


def network(model, wrap):
    def build(job):
        loss = model(job)
        weights = [tf.Variable(part) for part in job.weights()]
        batches = [tuple(map(tf.constant, pair)) for pair in job.batches()]

        def gradient(tokens, targets):
            with tf.GradientTape() as tape:
                root = loss(weights, tokens, targets)
            return root, [tf.convert_to_tensor(part) for part in tape.gradient(root, weights)]  # gather's is sparse
        run, last = wrap(gradient, *batches[0]), {}

        def step(i):
            last["root"], last["slopes"] = run(*batches[i])
            last["root"].numpy()

        return step, lambda: (last["root"], tf.concat([tf.reshape(part, [-1]) for part in last["slopes"]], 0))
    return "fp32", build


ways = {"eager": eager, "graph": graph, "xla": xla}
peer.main(tf.__version__, {
    "tiny": {name: scalars(peer.tiny, wrap) for name, wrap in ways.items()},
    "small": {name: scalars(small, wrap) for name, wrap in ways.items()},
    "saveload": {"eager": peer.files(activations, save, load),
                 "graph": peer.files(activations, save_graph, load_graph)},
    "gpt": {name: network(gpt, wrap) for name, wrap in ways.items()},
    "mlp": {name: network(mlp, wrap) for name, wrap in ways.items()},
})
