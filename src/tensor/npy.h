// NumPy's .npy files (numpy/lib/format.py, versions 1.0 to 3.0).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "tensor/tensor_impl.h"

namespace torchlet {

// The array at the start of `bytes`; anything may follow it. Its dtype is the one of the same name
// unless `as` says otherwise, which must have the same element size (bfloat16 is kept as uint16,
// quantized tensors as their integers). Error kFileFormat if it is damaged, too long for `bytes`,
// big-endian or of a dtype that tensors do not have.
Tensor read_npy(std::span<const std::byte> bytes, std::optional<DType> as = std::nullopt);
Tensor load_npy(const std::string& path);

// Appends the tensor as one array in C order.
void append_npy(const Tensor& tensor, std::string& out);

}  // namespace torchlet
