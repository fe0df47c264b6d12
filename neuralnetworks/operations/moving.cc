#include "neuralnetworks/operations/moving.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "neuralnetworks/translate/representation.h"

namespace torchlet::nn {

void require_rank(const Call& call, std::string_view name, size_t least, size_t most) {
  const size_t rank = call.operand(name).dims.size();
  if (rank == 0 || (rank >= least && rank <= most)) return;
  fail(ErrorCode::kInvalidArgument, "the argument '%s' has %zu dimensions, and may have %zu to %zu",
       std::string(name).c_str(), rank, least, most);
}

void require_same_quantization(const Call& call, const Operand& operand, size_t i) {
  const Operand& output = call.output(i);
  if (!is_quantized(operand.type) ||
      (operand.scale == output.scale && operand.zero_point == output.zero_point)) {
    return;
  }
  fail(ErrorCode::kInvalidArgument,
       "an input of scale %g and zero point %d has an output of scale %g and zero point %d, and "
       "both have to be the same",
       static_cast<double>(operand.scale), operand.zero_point, static_cast<double>(output.scale),
       output.zero_point);
}

void give_moved(Emitter& emit, const Call& call, std::string_view name, SsaValue* held, size_t i) {
  require_same_quantization(call, call.operand(name), i);
  emit.give(call, held, i);
}

SsaValue* plain(Emitter& emit, SsaValue* held, const Operand& operand) {
  return is_quantized(operand.type) ? emit.call("nnapi::integers", {held}) : held;
}

SsaValue* held(Emitter& emit, SsaValue* plain, const Operand& operand) {
  if (!is_quantized(operand.type)) return plain;
  return emit.call("nnapi::of_integers", {plain, double{operand.scale}, held_zero_point(operand)});
}

SsaValue* list(Emitter& emit, const Call& call, std::string_view name) {
  return emit.call("nnapi::list", {emit.value(call, name)});
}

std::optional<IntArray> known_list(const Call& call, std::string_view name) {
  return call.operand(name).dims.size() == 1 ? known_numbers(call, name) : std::nullopt;
}

std::optional<IntArray> known_numbers(const Call& call, std::string_view name) {
  const Operand& operand = call.operand(name);
  if (operand.lifetime != Lifetime::kConstant) return std::nullopt;
  IntArray numbers;
  for (size_t at = 0; at + sizeof(int32_t) <= operand.value.size(); at += sizeof(int32_t)) {
    int32_t number = 0;
    std::memcpy(&number, operand.value.data() + at, sizeof(number));
    numbers.push_back(number);
  }
  return numbers;
}

std::optional<IntArray> known_sizes(const Operand& operand) {
  if (operand.dims.empty() || std::ranges::find(operand.dims, 0u) != operand.dims.end()) {
    return std::nullopt;
  }
  return IntArray(operand.dims.begin(), operand.dims.end());
}

int64_t nchw_axis(int64_t nhwc_axis) {
  static constexpr int64_t kAxes[] = {0, 2, 3, 1};
  TORCHLET_CHECK(nhwc_axis >= 0 && nhwc_axis < 4, "an image has no dimension %lld",
                 static_cast<long long>(nhwc_axis));
  return kAxes[nhwc_axis];
}

}  // namespace torchlet::nn
