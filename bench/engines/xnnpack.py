"""XNNPACK, as LiteRT (TensorFlow Lite) runs it: the model converted by make_tflite.py."""

PYTHON = "venv"


def variants(model, precision):
    return ["nhwc"]


def converted(folder, model, precision):
    import os
    import subprocess
    import sys

    if precision == "int8":  # nothing in it is made for a number of pictures
        model = model.partition("@")[0]
    target = os.path.join(folder, f"{model}.{precision}.tflite")
    if not os.path.exists(target):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "make_tflite.py")
        made = subprocess.run([sys.executable, script, folder, model, precision, target], capture_output=True, text=True)
        if made.returncode:
            raise RuntimeError("LiteRT cannot convert it: " + (made.stderr.strip().splitlines() or ["no message"])[-1])
    return target


def load(folder, model, precision, variant, threads):
    import os

    import numpy
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(converted(folder, model, precision), num_threads=threads)  # XNNPACK takes what it can
    x = numpy.load(os.path.join(folder, f"{model}.input.npy"))
    if x.ndim == 4:
        x = numpy.ascontiguousarray(x.transpose(0, 2, 3, 1))
    entry, result = (details[0]["index"] for details in (interpreter.get_input_details(), interpreter.get_output_details()))
    interpreter.resize_tensor_input(entry, x.shape)
    interpreter.allocate_tensors()
    return interpreter, entry, x, result


def run(state):
    interpreter, entry, x, result = state
    interpreter.set_tensor(entry, x)
    interpreter.invoke()
    return interpreter.get_tensor(result)
