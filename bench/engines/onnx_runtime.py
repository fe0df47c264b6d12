"""ONNX Runtime: the exported file, and its own static quantization of it."""

PYTHON = "venv"


def variants(model, precision):
    if precision == "fp32":
        return ["plain"]
    if not model.startswith(("mobilenet", "resnet")):
        return ["dynamic"]
    return ["s8s8", "u8s8", "u8s8 per channel"]


def quantized(folder, model, variant):
    """The file of a quantized model, made if it is not there; of a batch it is that of one picture with another number in it."""
    import os

    import onnx

    target = os.path.join(folder, f"{model}.{variant.replace(' ', '_')}.onnx")
    single, _, batch = model.partition("@")
    if os.path.exists(target):
        return target
    if batch:
        network = onnx.load(quantized(folder, single, variant))
        del network.graph.value_info[:]
        for value in (*network.graph.input, *network.graph.output):
            value.type.tensor_type.shape.dim[0].dim_value = int(batch)
        onnx.save(network, target)
    else:
        quantize(os.path.join(folder, f"{model}.fp32.onnx"), os.path.join(folder, f"{model}.calibration.npy"), variant, target)
    return target


def quantize(source, calibration, variant, target):
    import os

    import numpy
    from onnxruntime import quantization

    if variant == "dynamic":
        quantization.quantize_dynamic(source, target, weight_type=quantization.QuantType.QInt8)
        return
    pictures = iter(numpy.split(numpy.load(calibration), 4))

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
