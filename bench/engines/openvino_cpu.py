"""OpenVINO on the processor: the exported file, and ONNX Runtime's quantizations of it."""

from onnx_runtime import path_of, variants  # noqa: F401

PYTHON = "venv"


def load(folder, model, precision, variant, threads):
    import os

    import numpy
    import openvino
    from openvino import properties

    core = openvino.Core()
    network = core.read_model(path_of(folder, model, precision, variant))
    x = numpy.load(os.path.join(folder, f"{model}.input.npy"))
    network.reshape(x.shape)
    compiled = core.compile_model(network, "CPU", {
        properties.hint.performance_mode: properties.hint.PerformanceMode.LATENCY,
        properties.hint.inference_precision: openvino.Type.f32,  # it would take bfloat16 where there is AMX
        properties.inference_num_threads: threads,
    })
    return compiled.create_infer_request(), [x]


def run(state):
    request, inputs = state
    return request.infer(inputs, share_inputs=True, share_outputs=True)[0]
