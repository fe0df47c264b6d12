"""Values of operators' calls as tests/cases/ops writes them (its README.md)."""

import math

import numpy
import torch

DTYPES = {
    torch.uint8: "u8",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.float16: "f16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.bfloat16: "bf16",
    torch.bool: "b",
    torch.complex32: "c32",
    torch.complex64: "c64",
    torch.complex128: "c128",
    torch.qint8: "qi8",
    torch.quint8: "qu8",
    torch.qint32: "qi32",
}


class Call:
    """An argument that an operator makes: packed weights, sparse tensors."""

    def __init__(self, name, args):
        self.name, self.args = name, args

    def __repr__(self):
        return f"{self.name}{self.args}"



def number(x):
    x = float(x)
    if math.isnan(x):
        return "nan"
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    if x == int(x) and abs(x) < 1e15 and not (x == 0 and math.copysign(1, x) < 0):
        return int(x)
    return x


def shortest(x, dtype):
    """The shortest decimal number that is x in that dtype."""
    if dtype != torch.bfloat16:
        return number(str(x))
    for digits in range(1, 10):
        text = f"{float(x):.{digits}g}"
        if torch.tensor(float(text)).bfloat16().item() == x:
            return number(text)
    return number(x)


def nested(x, of):
    return [nested(item, of) for item in x] if isinstance(x, list) else of(x)


def elements(t):
    t = t.detach()
    dtype = t.dtype
    if dtype.is_complex:
        parts = torch.view_as_real(
            t.resolve_conj().to(torch.complex64) if dtype == torch.complex32 else t.resolve_conj()
        )
        return elements(parts)
    if dtype == torch.bool:
        return t.int().tolist()
    if not dtype.is_floating_point:
        return t.tolist()
    if dtype == torch.bfloat16:
        return nested(t.float().tolist(), lambda x: shortest(x, dtype))
    as_numpy = t.contiguous().resolve_neg().numpy()
    flat = numpy.array([None] * as_numpy.size, dtype=object)
    for i, x in enumerate(as_numpy.reshape(-1)):
        flat[i] = shortest(x, dtype)
    return flat.reshape(as_numpy.shape).tolist()


def write_tensor(t):
    if t.is_nested:
        return {"nested": [write_tensor(part) for part in t.unbind()]}
    if t.layout == torch.sparse_csr:
        coo = t.to_sparse_coo().coalesce()
        return {
            "coo": write_tensor(coo.indices()),
            "values": write_tensor(t.values()),
            "sizes": list(t.shape),
            "coalesced": True,
            "csr": True,
        }
    if t.is_sparse:
        return {
            "coo": write_tensor(t._indices()),
            "values": write_tensor(t._values()),
            "sizes": list(t.shape),
            "coalesced": t.is_coalesced(),
            "csr": False,
        }
    plain = t.int_repr() if t.is_quantized else t
    text = {DTYPES[t.dtype]: elements(plain)}
    if 0 in (t.shape if t.is_complex() else t.shape[:-1]):
        text["sizes"] = list(t.shape)
    if t.is_quantized:
        if t.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
            text.update(scale=t.q_scale(), zero_point=t.q_zero_point())
        else:
            text.update(
                scales=write_tensor(t.q_per_channel_scales()),
                zero_points=write_tensor(t.q_per_channel_zero_points()),
                axis=t.q_per_channel_axis(),
            )
    if t.numel() > 0 and not t.is_contiguous():
        text["strides"] = list(t.stride())
    return text


def write(value):
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": number(value)}
    if isinstance(value, complex):
        return {"complex": [number(value.real), number(value.imag)]}
    if isinstance(value, torch.Tensor):
        return write_tensor(value)
    if isinstance(value, list):
        return [write(item) for item in value] if value else {"list": 0}
    if isinstance(value, tuple):
        return {"tuple": [write(item) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[write(key), write(item)] for key, item in value.items()]}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if isinstance(value, Call):
        return {"op": value.name, "in": [write(arg) for arg in value.args]}
    if isinstance(value, torch.dtype):
        return dtype_number(value)
    if isinstance(value, (torch.ScriptObject, torch._C.ScriptObject)):
        return {"object": type(value).__name__}
    raise TypeError(f"no way to write {type(value)}")


def blank(text):
    """What is not compared shall not change from run to run."""
    if not isinstance(text, dict):
        return 0
    return {key: nested(value, lambda _: 0) if key in DTYPES.values() else value for key, value in text.items()}


def dtype_number(dtype):
    return torch._C._get_operation_overload("prim::dtype", "")[0](torch.empty(0, dtype=dtype))
