"""PyTorch: the TorchScript file as it is, frozen, and through its optimizers."""

PYTHON = "torch"


def variants(model, precision):
    if precision == "int8":
        return ["qnnpack", "onednn", "qnnpack frozen", "onednn frozen"]
    return ["traced", "frozen", "onednn", "mobile", "channels_last"]


def load(folder, model, precision, variant, threads):
    import os

    import numpy
    import torch
    from torch.utils.mobile_optimizer import optimize_for_mobile

    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    if precision == "int8":
        torch.backends.quantized.engine = variant.split()[0]
    module = torch.jit.load(os.path.join(folder, f"{model}.{precision}.pt")).eval()
    x = torch.from_numpy(numpy.load(os.path.join(folder, f"{model}.input.npy")))
    if variant == "channels_last":
        module, x = module.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    if variant == "mobile":
        module = optimize_for_mobile(module)
    elif variant == "onednn" and precision != "int8":
        module = torch.jit.optimize_for_inference(torch.jit.freeze(module))
    elif variant.endswith("frozen") or variant == "channels_last":
        module = torch.jit.freeze(module)
    for _ in range(3):  # the profiling executor rewrites the graph in its first runs
        module(x)
    return module, x


def run(state):
    module, x = state
    output = module(x)
    return output.numpy() if hasattr(output, "numpy") else output
