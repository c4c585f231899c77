"""TensorFlow Lite on one thread: a TensorFlow graph that holds value and gradient, converted and interpreted with new inputs.

fp32, because its arithmetic kernels have no fp64.
"""
import functools
import os

import peer

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # read at import
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
np, tf = peer.needs("numpy", "tensorflow")


small = functools.partial(peer.small, relu=lambda x: tf.maximum(x, 0.0))  # relu's gradient is no op of TensorFlow Lite


def converted(function):
    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)] * 2)
    def gradient(a, b):
        with tf.GradientTape() as tape:
            tape.watch((a, b))
            root = function(a, b)
        return tf.stack([root, *tape.gradient(root, (a, b))])
    return tf.lite.TFLiteConverter.from_concrete_functions([gradient.get_concrete_function()], gradient).convert()


def graph(function):
    def build(job):
        a, b, last = job.number("a"), job.number("b"), {}
        interpreter = tf.lite.Interpreter(model_content=converted(function), num_threads=1)
        interpreter.allocate_tensors()
        inputs = [detail["index"] for detail in sorted(interpreter.get_input_details(), key=lambda detail: detail["name"])]
        output = interpreter.get_output_details()[0]["index"]

        def step(_):
            interpreter.set_tensor(inputs[0], np.float32(a))
            interpreter.set_tensor(inputs[1], np.float32(b))
            interpreter.invoke()
            last["result"] = interpreter.get_tensor(output)

        return step, lambda: (last["result"][0], last["result"][1:])
    return "fp32", build


peer.main(tf.__version__, {"tiny": {"graph": graph(peer.tiny)}, "small": {"graph": graph(small)}})
