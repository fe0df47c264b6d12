"""What is to be known of PyTorch's answers that scripts/make_op_cases.py writes down. aten:: is left out."""

# The elements of the results are not compared: memory that is not initialised.
ANY = {
    "empty",
    "empty_like",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
    "_empty_affine_quantized",
    "_empty_per_channel_affine_quantized",
    "resize_",
    "resize_as_",
    "_resize_output_",
    "_efficientzerotensor",
    # Drawn by another method than PyTorch's.
    "_sample_dirichlet",
    "_standard_gamma",
    "binomial",
    "poisson",
    "rrelu",
    "rrelu_with_noise",
}
# Signs and phases of vectors are free.
MAGNITUDE = {"linalg_svd", "_linalg_svd", "svd", "linalg_eigh", "_linalg_eigh", "symeig", "linalg_eig"}
# Results lie in memory otherwise than PyTorch's: LAPACK's columns, nonzero()'s transposed list, NHWC of quantized layers.
OWN_LAYOUT = {
    "_linalg_det",
    "_linalg_slogdet",
    "inverse",
    "linalg_inv",
    "linalg_inv_ex",
    "linalg_lstsq",
    "_linalg_solve_ex",
    "_lu_with_info",
    "cholesky_inverse",
    "cholesky_solve",
    "geqrf",
    "linalg_cholesky_ex",
    "linalg_cholesky",
    "cholesky",
    "linalg_householder_product",
    "orgqr",
    "ormqr",
    "linalg_ldl_factor",
    "linalg_ldl_factor_ex",
    "linalg_lu_factor",
    "linalg_lu_factor_ex",
    "linalg_qr",
    "linalg_solve",
    "linalg_solve_ex",
    "linalg_solve_triangular",
    "qr",
    "triangular_solve",
    "linalg_tensorinv",
    "linalg_tensorsolve",
    "_linalg_eigh",
    "_linalg_svd",
    "linalg_eig",
    "linalg_eigh",
    "linalg_svd",
    "svd",
    "symeig",
    "linalg_ldl_solve",
    "linalg_lu",
    "lu_unpack",
    "linalg_lu_solve",
    "lu_solve",
    "argwhere",
    "nonzero",
    "unique_consecutive",
    "unique_dim",
    "unique_dim_consecutive",
    "nonzero_numpy",
    "where",
    "linalg_diagonal",
    "quantized_batch_norm",
    "quantized::batch_norm",
    "quantized::batch_norm_relu",
    *(f"quantized::batch_norm{n}d{relu}" for n in (2, 3) for relu in ("", "_relu")),
    "quantized::conv_unpack",
    "quantized::conv2d_unpack",
    "quantized::conv_transpose2d_unpack",
    *(
        f"{spaces}quantized::conv{kind}{n}d{form}"
        for spaces in ("", "_")
        for kind in ("", "_transpose")
        for n in (1, 2, 3)
        for form in ("", "_relu", "_dynamic")
    ),
}
# Not asked about infinity and NaN, which spread over the result in ways that libraries choose.
FINITE = "fft|linalg|svd|inverse|matrix|lu_|_lu|solve|cholesky|det|var|std|norm|cov|corr|eig|pinv|lstsq|dot|mm|gradient|trapz|trapezoid|dist|hist|nms"
# The answer depends on how the arguments lie in memory.
FIXED = {
    "storage_offset",
    "is_non_overlapping_and_dense",
    "_has_same_storage_numel",
    "view",
    "_unsafe_view",
    "data",
    "select",
    "unfold",
}
# Answers of ours that differ from PyTorch's: "name.overload text in the line" -> why.
KNOWN = {
    r"(acosh|asinh|atan|cos|cosh|degrees|erf|erfc|exp|expm1|gamma|lgamma|log|log10|log1p|radians|sin|sinh|sqrt|tan|tanh)\.Scalar ": "PyTorch rounds the result of the overload for Scalars to float32",
    "pow.int_to_int ": "PyTorch gives a float where its schema says int",
    "is_grad_enabled ": "nothing here computes gradients",
    "is_strides_like_format ": "PyTorch says no for the contiguous format",
    'fake_quantize_per_tensor_affine(_cachemask)? "f64"': "PyTorch computes in float32",
    r"quantized::conv\w+_dynamic ": "QNNPACK rounds the result to the scale of the input, which saturates; ours is not rounded",
    "(_linalg_det|_linalg_slogdet|_linalg_solve_ex) ": "the LU factors may be those of the transpose",
    "_add_relu.Tensor inf": "PyTorch clamps infinity to the largest float",
    "quantized::add_scalar_relu.Tensor ": "PyTorch forgets the ReLU of this overload",
    r"((gru|lstm|rnn_tanh)\S*|ldexp.Tensor|affine_grid_generator|poisson_nll_loss|soft_margin_loss|adaptive_avg_pool2d) c64": "not made for complex numbers",
    "(dot|vdot|cov|corrcoef) c64": "PyTorch's answer is wrong: BLAS returns complex numbers by another convention",
    r'(log_softmax.int|median|nanmedian) "i64":\[(\]|\[\],\[\])': "PyTorch answers for empty tensors of any dtype",
    r"cumulative_trapezoid.x \[\[\]\]": "PyTorch keeps the other dimensions of an empty result",
    "trapezoid.dx u8": "PyTorch adds bytes in int64",
    '_unique2 "b"': "PyTorch numbers booleans unasked",
    "quantized::embedding(_bag)?_4bit ": "no tensors of four bits are made here outside of packed weights",
    "trapz.x c64": "PyTorch counts a negative dimension of x from the end of y",
}
# Operators that cannot have a case: name -> why.
QNNPACK = "PyTorch cannot answer: its QNNPACK has no such layer of 3 dimensions"
NO_CASE = {
    "aten::device.with_index": "PyTorch 1.13 does not have it; later versions do",
    "prim::TimePoint": "the answer is the time",
    "aten::__getitem__.Dict_Tensor": "tensors as keys are told apart by identity",
    "aten::pop.Dict_Tensor": "tensors as keys are told apart by identity",
    "aten::Delete.Dict_Tensor": "tensors as keys are told apart by identity",
    "aten::_resize_output_": "PyTorch has none for the CPU",
    "aten::cuda": "PyTorch needs a GPU",
    "aten::pin_memory": "PyTorch needs a GPU",
    "aten::dequantize.any": "PyTorch takes another overload first",
    "aten::eq.enum": "needs a program that defines the class",
    "aten::ne.enum": "needs a program that defines the class",
    "prim::ModuleContainerIndex.list": "takes a container of modules, which a program makes",
    "prim::ModuleContainerIndex.dict": "takes a container of modules, which a program makes",
    "quantized::embedding_bag_unpack": "PyTorch gives scales in memory that it has freed",
    "aten::wait": "a Future comes from fork() in a program",
    "aten::warn": "PyTorch's interpreter has it as an instruction",
    **{
        f"quantized::{name}": "PyTorch cannot answer: QNNPACK has no float16"
        for name in (
            "linear_prepack_fp16",
            "linear_dynamic_fp16",
            "linear_relu_dynamic_fp16",
            "linear_unpack_fp16",
            "make_quantized_cell_params_fp16",
        )
    },
    "_quantized::conv3d": QNNPACK,
    "_quantized::conv3d_relu": QNNPACK,
    "quantized::conv3d_unpack": QNNPACK,
    "quantized::conv_transpose3d": QNNPACK,
    "quantized::conv_transpose3d_dynamic": QNNPACK,
    "quantized::conv_transpose3d_unpack": QNNPACK,
}


def any_of(names, name):
    short = name.removeprefix("aten::")
    return short in names or short.split(".")[0] in names
