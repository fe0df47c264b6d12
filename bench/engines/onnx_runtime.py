"""ONNX Runtime: the exported file, and its own static quantization of it."""

PYTHON = "venv"


def variants(model, precision):
    if precision == "fp32":
        return ["plain"]
    if not model.startswith(("mobilenet", "resnet")):
        return ["dynamic"]
    return ["s8s8", "u8s8", "u8s8 per channel"]


def quantized(folder, model, variant):
    import os

    import numpy
    from onnxruntime import quantization

    source = os.path.join(folder, f"{model}.fp32.onnx")
    target = os.path.join(folder, f"{model}.{variant.replace(' ', '_')}.onnx")
    if os.path.exists(target):
        return target
    if variant == "dynamic":
        quantization.quantize_dynamic(source, target, weight_type=quantization.QuantType.QInt8)
        return target
    pictures = iter(numpy.split(numpy.load(os.path.join(folder, f"{model}.calibration.npy")), 4))

    class Pictures(quantization.CalibrationDataReader):
        def get_next(self):
            picture = next(pictures, None)
            return None if picture is None else {"x": picture}

    prepared = target + ".prepared"
    quantization.quant_pre_process(source, prepared, skip_symbolic_shape=True)
    types = quantization.QuantType
    quantization.quantize_static(
        prepared, target + ".part", Pictures(), quant_format=quantization.QuantFormat.QDQ,
        activation_type=types.QInt8 if variant.startswith("s8") else types.QUInt8, weight_type=types.QInt8,
        per_channel=variant.endswith("per channel"))
    os.remove(prepared)
    os.rename(target + ".part", target)
    return target


def path_of(folder, model, precision, variant):
    import os

    return os.path.join(folder, f"{model}.fp32.onnx") if precision == "fp32" else quantized(folder, model, variant)


def load(folder, model, precision, variant, threads):
    import os

    import numpy
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path_of(folder, model, precision, variant), options, providers=["CPUExecutionProvider"])
    return session, {"x": numpy.load(os.path.join(folder, f"{model}.input.npy"))}


def run(state):
    session, inputs = state
    return session.run(None, inputs)[0]
