// Pixels around images. Zeros around what a convolution reads are part of it (surround_of).
#include <algorithm>

#include "base/checked.h"
#include "device/cpu/lower/lowering.h"
#include "device/cpu/lower/quantized_matrix.h"
#include "kernels/spatial/pad_nhwc.h"
#include "ops/core/common.h"
#include "ops/engines/quantize.h"

namespace torchlet::cpu {
namespace {

class PadStep : public Step {
 public:
  PadStep(const kernels::PadShape& shape, const Tensor& value, Operand input, Operand output)
      : shape_(shape), value_(value), input_(reading(input)), output_(writing(output)) {}
  const char* kernel() const override { return "pad_nhwc"; }
  void run(const Memory& m) const override {
    kernels::pad_nhwc(static_cast<int64_t>(element_size(value_.dtype())), shape_, value_.raw_data(),
                      m.address(input_), m.stride(input_), m.address(output_), m.stride(output_));
  }

 private:
  kernels::PadShape shape_;
  Tensor value_;
  Operand input_, output_;
};

// One element as the tensor has them.
Tensor element_like(const PlanTensor& like, double value) {
  const Tensor real = ops::full(IntArray{1}, Scalar(value), DType::kFloat32);
  return like.quantizer ? ops::quantize(real, like.dtype, like.quantizer) : real.to(like.dtype);
}

void lower_pad(PlanBuilder& plan, const Call& call) {
  const auto surround = surround_of(call);
  if (!surround) decline("not around the pixels of an image");
  const TensorId id = plan.tensor(call, 0);
  const DType dtype = plan.info(id).dtype;
  if (dtype != DType::kFloat32 && dtype != DType::kFloat16 && dtype != DType::kQUInt8) {
    decline("another dtype");
  }
  if (plan.info(id).dim() != 4 || plan.info(id).numel() == 0) decline("not an image");
  const NhwcImage input = plan.as_image(id);
  const auto [left, right, top, bottom, value] = *surround;
  const NhwcImage output =
      plan.new_image(dtype, input.n, input.c, checked_add(checked_add(input.h, top), bottom),
                     checked_add(checked_add(input.w, left), right), plan.info(id).quantizer);
  const kernels::PadShape shape{input.n, input.c, input.h, input.w, left, right, top, bottom};
  plan.add_step<PadStep>(shape, element_like(plan.info(id), value), input, output);
  plan.define(call, output.id);
}

bool is_constant_pad(const Call& call) {
  if (call.kind().str() == "aten::constant_pad_nd") return true;
  return call.kind().str() == "aten::pad" && call.argument("mode").is_known() &&
         call.known("mode").to_string() == "constant";
}

}  // namespace

std::optional<Surround> surround_of(const Call& call) {
  if (!is_constant_pad(call) || !call.argument("pad").is_known() ||
      !call.argument("value").is_known()) {
    return std::nullopt;
  }
  const IntArray pad = call.known_ints("pad");
  if (pad.size() != 4 || std::ranges::any_of(pad, [](int64_t count) { return count < 0; })) {
    return std::nullopt;
  }
  const double value = call.is_none("value") ? 0 : call.known_double("value");
  return Surround{pad[0], pad[1], pad[2], pad[3], value};
}

Padded without_zeros(PlanBuilder& plan, const Call& call) {
  const CallArgument& argument = call.argument(0);
  const Call* pad = argument.is_tensor() ? plan.producer(argument.id()) : nullptr;
  const auto surround = pad ? surround_of(*pad) : std::nullopt;
  if (!surround || surround->value != 0 || !pad->argument(0).is_tensor() ||
      plan.info(plan.tensor(*pad, 0)).dim() != 4) {
    return {argument, {}};
  }
  return {pad->argument(0), *surround};
}

std::span<const Lowering> padding_lowerings() {
  static constexpr Lowering kTable[] = {
      {"aten::constant_pad_nd", lower_pad},
      {"aten::pad", lower_pad},
  };
  return kTable;
}

}  // namespace torchlet::cpu
