// What operations that move elements, and do not compute with them, share.
#pragma once

#include <optional>
#include <vector>

#include "neuralnetworks/translate/emitter.h"
#include "ops/core/common.h"

namespace torchlet::nn {

// Error kInvalidArgument if the named operand is known to have fewer or more dimensions.
void require_rank(const Call& call, std::string_view name, size_t least, size_t most);

// Elements that are moved keep what they stand for: Error kInvalidArgument unless the operand has
// the scale and zero point of output i, or is not quantized.
void require_same_quantization(const Call& call, const Operand& operand, size_t i = 0);

// Gives `held`, elements of the named operand.
void give_moved(Emitter& emit, const Call& call, std::string_view name, SsaValue* held,
                size_t i = 0);

// A quantized tensor as its integers, which is a view, others as they are: for operators that do
// not know quantized ones. And back.
SsaValue* plain(Emitter& emit, SsaValue* held, const Operand& operand);
inline SsaValue* plain(Emitter& emit, const Call& call, std::string_view name) {
  return plain(emit, emit.value(call, name), call.operand(name));
}
SsaValue* held(Emitter& emit, SsaValue* plain, const Operand& operand);
inline void give_plain(Emitter& emit, const Call& call, std::string_view name, SsaValue* moved,
                       size_t i = 0) {
  give_moved(emit, call, name, held(emit, moved, call.operand(name)), i);
}

// The numbers of a vector of TENSOR_INT32, an int[].
SsaValue* list(Emitter& emit, const Call& call, std::string_view name);
// What is known while the model is translated: those numbers, all numbers of a TENSOR_INT32
// whatever its sizes, and the sizes of a tensor.
std::optional<IntArray> known_list(const Call& call, std::string_view name);
std::optional<IntArray> known_numbers(const Call& call, std::string_view name);
std::optional<IntArray> known_sizes(const Operand& operand);

// A dimension of NHWC as one of NCHW.
int64_t nchw_axis(int64_t nhwc_axis);

}  // namespace torchlet::nn
