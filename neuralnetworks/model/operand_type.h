// What the API allows an operand to be, and the arithmetic of dimensions.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "neuralnetworks/model/model.h"

namespace torchlet::nn {

// Far beyond what any operation takes: a count that was never set is not followed into memory.
constexpr uint32_t kMaxRank = 64;

// A copy of `type`. Error kInvalidArgument, saying why, if there is no such operand: an unknown
// code, dimensions of a scalar, a scale or zero point out of range, more than 2^32 - 1 bytes.
Operand make_operand(const ANeuralNetworksOperandType& type);

// Bytes of a dense value, at most 2^32 - 1; nothing if the rank or a size is not known. Error
// kInvalidArgument if there are more.
std::optional<size_t> value_size(int32_t type, std::span<const uint32_t> dims);

// What is known if both are: of rank 0 is of any rank, and of size 0 of any size. Nothing if they
// contradict each other.
std::optional<std::vector<uint32_t>> combine_dims(std::span<const uint32_t> a,
                                                  std::span<const uint32_t> b);

// Whether values of both mean the same: type and quantization.
bool is_same_type(const Operand& a, const Operand& b);

// "[1, 224, 0]", for messages.
std::string dims_text(std::span<const uint32_t> dims);

}  // namespace torchlet::nn
