// How the values of operands are held while a model runs.
//
//   TENSOR_FLOAT32, _FLOAT16, _INT32, _BOOL8   float32, float16, int32, bool
//   TENSOR_QUANT8_ASYMM                        quint8
//   TENSOR_QUANT8_ASYMM_SIGNED                 quint8: 128 added to the values and to the zero
//   point,
//                                              so that all kernels for quint8 are its kernels
//   TENSOR_QUANT8_SYMM, _SYMM_PER_CHANNEL      qint8
//   TENSOR_QUANT16_SYMM, _ASYMM                int16; int32: the integers as they are, since
//   PyTorch
//                                              has no such quantized types
//   scalars                                    int, float, bool
#pragma once

#include <torchlet/value.h>

#include "neuralnetworks/model/model.h"
#include "tensor/tensor_impl.h"

namespace torchlet::nn {

// The zero point of a quantized tensor as it is held.
int64_t held_zero_point(const Operand& operand);

// The bytes of a value, dense, as it is held; they are copied only if their form differs, and
// otherwise have to stay until the value goes. `dims` are all known. Error kInvalidArgument if the
// number of bytes is not that of the dimensions.
Value hold(const Operand& operand, std::span<const uint32_t> dims, std::span<const std::byte> bytes,
           std::shared_ptr<const void> keep_alive);

// What is held as the bytes of the API: dims and how many bytes it takes, and those bytes.
std::vector<uint32_t> dims_of(const Value& held);
size_t bytes_of(const Operand& operand, const Value& held);
void unhold(const Operand& operand, const Value& held, std::byte* bytes);

}  // namespace torchlet::nn
