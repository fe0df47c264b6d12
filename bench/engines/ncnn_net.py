"""ncnn: the traced file as its own converter, pnnx, reads it. Float only: its integers need tools that PyPI does not have.

It knows no batches: one picture follows the other.
"""

PYTHON = "venv"


def variants(model, precision):
    # With bf16 or fp16 storage on, it computes with fewer bits than the others.
    return ["plain", "no winograd"] if precision == "fp32" else []


def converted(folder, model):
    import os
    import shutil
    import subprocess
    import sys
    import tempfile

    import numpy

    model = model.partition("@")[0]
    target = os.path.join(folder, f"{model}.ncnn")
    if os.path.exists(target + ".param"):
        return target
    shape = numpy.load(os.path.join(folder, f"{model}.input.npy")).shape
    with tempfile.TemporaryDirectory() as work:
        shutil.copy(os.path.join(folder, f"{model}.fp32.pt"), os.path.join(work, "model.pt"))
        subprocess.run([os.path.join(os.path.dirname(sys.executable), "pnnx"), "model.pt",
                        f"inputshape=[{','.join(map(str, shape))}]", "fp16=0"],
                       cwd=work, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shutil.move(os.path.join(work, "model.ncnn.bin"), target + ".bin")
        shutil.move(os.path.join(work, "model.ncnn.param"), target + ".param")
    return target


def load(folder, model, precision, variant, threads):
    import os

    import ncnn
    import numpy

    path = converted(folder, model)
    net = ncnn.Net()
    net.opt.num_threads = threads
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    net.opt.use_bf16_storage = False
    net.opt.use_winograd_convolution = variant == "plain"
    if net.load_param(path + ".param") or net.load_model(path + ".bin"):
        raise RuntimeError("ncnn cannot read what pnnx made")
    pictures = numpy.load(os.path.join(folder, f"{model}.input.npy"))
    return net, [ncnn.Mat(picture).clone() for picture in pictures]


def run(state):
    import numpy

    net, pictures = state
    return numpy.stack([answer(net, picture) for picture in pictures])


def answer(net, picture):
    import numpy

    with net.create_extractor() as extractor:
        extractor.input("in0", picture)
        return numpy.array(extractor.extract("out0")[1])
