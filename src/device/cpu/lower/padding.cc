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

using kernels::PadMode;

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
  if (!like.quantizer) return ops::full(IntArray{1}, Scalar(value), like.dtype);
  const Tensor real = ops::full(IntArray{1}, Scalar(value), DType::kFloat32);
  return ops::quantize(real, like.dtype, like.quantizer);
}

bool is_constant_pad(const Call& call) {
  if (call.kind().str() == "aten::constant_pad_nd") return true;
  return call.kind().str() == "aten::pad" && call.argument("mode").is_known() &&
         call.known("mode").to_string() == "constant";
}

bool has_kernel(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kQUInt8;
}

// Around the pixels of an image, or of a line, which is an image of height 1.
void lower_image(PlanBuilder& plan, const Call& call, const Surround& around, PadMode mode) {
  TensorId id = plan.tensor(call, 0);
  const PlanTensor& info = plan.info(id);
  if (!has_kernel(info.dtype)) decline("another dtype");
  const bool is_line = info.dim() == 3;
  if (is_line) id = plan.viewed(id, ops::unsqueeze(plan.shape_of(id), 2));
  if (mode != PadMode::kConstant && turns_twice(plan, call, id)) decline("planes");
  const NhwcImage input = plan.as_image(id);
  const auto [left, right, top, bottom, value] = around;
  const auto has = [mode](int64_t size, int64_t before, int64_t after) {
    const int64_t most = std::max(before, after);
    return mode == PadMode::kReflect ? most < size : mode != PadMode::kCircular || most <= size;
  };
  if (!has(input.w, left, right) || !has(input.h, top, bottom)) decline("more than the image has");
  const NhwcImage output = plan.new_image(
      plan.info(id).dtype, input.n, input.c, checked_add(checked_add(input.h, top), bottom),
      checked_add(checked_add(input.w, left), right), plan.info(id).quantizer);
  const kernels::PadShape shape{input.n, input.c, input.h, input.w, left, right, top, bottom, mode};
  plan.add_step<PadStep>(shape, element_like(plan.info(id), value), input, output);
  plan.define(call, is_line ? plan.viewed(output.id, ops::squeeze(plan.shape_of(output.id), 2))
                            : output.id);
}

// A value around any dimensions, by copies into the parts of the result; or less than there was.
void lower_by_parts(PlanBuilder& plan, const Call& call, const IntArray& pad) {
  const TensorId id = plan.tensor(call, 0);
  Tensor from = plan.shape_of(id);
  IntArray sizes = plan.info(id).sizes;
  if (pad.size() % 2 != 0 || pad.size() / 2 > sizes.size()) decline("other dimensions");
  const auto dim_of = [&](size_t i) { return static_cast<int64_t>(sizes.size() - 1 - i / 2); };
  for (size_t i = 0; i < pad.size(); i += 2) {
    const int64_t dim = dim_of(i), less = std::min<int64_t>(0, pad[i]);
    int64_t& size = sizes[static_cast<size_t>(dim)];
    const int64_t left = checked_add(size, checked_add(less, std::min<int64_t>(0, pad[i + 1])));
    size = checked_add(size, checked_add(pad[i], pad[i + 1]));
    if (left <= 0 || size <= 0) decline("an empty result");
    from = ops::narrow(from, dim, -less, left);
  }
  const PlanTensor like = plan.info(id);
  const TensorId output = sizes.size() == 4
                              ? plan.new_image(like.dtype, sizes, like.quantizer).id
                              : plan.new_contiguous(like.dtype, sizes, like.quantizer);
  const double value = call.is_none("value") ? 0 : call.known_double("value");
  const TensorId element = plan.constant(element_like(like, value));
  Tensor place = plan.shape_of(output);
  const auto fill = [&](int64_t dim, int64_t first, int64_t count) {
    const Tensor part = ops::narrow(place, dim, first, count);
    plan.copy(plan.viewed(element, ops::expand(plan.shape_of(element), part.sizes())),
              plan.viewed(output, part));
  };
  for (size_t i = 0; i < pad.size(); i += 2) {
    const int64_t dim = dim_of(i), end = place.size(dim);
    const int64_t before = std::max<int64_t>(0, pad[i]), after = std::max<int64_t>(0, pad[i + 1]);
    if (before > 0) fill(dim, 0, before);
    if (after > 0) fill(dim, end - after, after);
    place = ops::narrow(place, dim, before, end - before - after);
  }
  plan.copy(plan.viewed(id, from), plan.viewed(output, place));
  plan.define(call, output);
}

// Of the last one or two dimensions of images, or the last one of lines.
std::optional<Surround> around_pixels(const IntArray& pad, size_t dim, double value) {
  const bool fits = pad.size() == 2 ? dim == 3 || dim == 4 : pad.size() == 4 && dim == 4;
  if (!fits || std::ranges::any_of(pad, [](int64_t count) { return count < 0; })) {
    return std::nullopt;
  }
  return Surround{pad[0], pad[1], pad.size() == 4 ? pad[2] : 0, pad.size() == 4 ? pad[3] : 0,
                  value};
}

// Programs pad what they are not sure of, mostly by nothing.
bool is_nothing(const IntArray& pad) {
  return std::ranges::all_of(pad, [](int64_t count) { return count == 0; });
}

template <PadMode kMode>
void lower_border(PlanBuilder& plan, const Call& call) {
  const TensorId id = plan.tensor(call, 0);
  if (plan.info(id).numel() == 0) decline("an empty tensor");
  const IntArray pad = call.known_ints(1);
  if (is_nothing(pad)) return plan.define(call, id);
  const auto around = around_pixels(pad, static_cast<size_t>(plan.info(id).dim()), 0);
  if (!around) decline("not around the pixels of an image");
  lower_image(plan, call, *around, kMode);
}

void lower_constant(PlanBuilder& plan, const Call& call) {
  const TensorId id = plan.tensor(call, 0);
  if (plan.info(id).numel() == 0) decline("an empty tensor");
  const IntArray pad = call.known_ints("pad");
  if (is_nothing(pad)) return plan.define(call, id);
  const auto around = surround_of(call, static_cast<size_t>(plan.info(id).dim()));
  if (around && has_kernel(plan.info(id).dtype)) {
    return lower_image(plan, call, *around, PadMode::kConstant);
  }
  lower_by_parts(plan, call, pad);
}

void lower_pad(PlanBuilder& plan, const Call& call) {
  const std::string mode = call.known("mode").to_string();
  if (mode == "reflect") return lower_border<PadMode::kReflect>(plan, call);
  if (mode == "replicate") return lower_border<PadMode::kReplicate>(plan, call);
  if (mode == "circular") return lower_border<PadMode::kCircular>(plan, call);
  lower_constant(plan, call);
}

}  // namespace

std::optional<Surround> surround_of(const Call& call, size_t dim) {
  if (!is_constant_pad(call) || !call.argument("pad").is_known() ||
      !call.argument("value").is_known()) {
    return std::nullopt;
  }
  const double value = call.is_none("value") ? 0 : call.known_double("value");
  return around_pixels(call.known_ints("pad"), dim, value);
}

Padded without_zeros(PlanBuilder& plan, const Call& call) {
  const CallArgument& argument = call.argument(0);
  const Call* pad = argument.is_tensor() ? plan.producer(argument.id()) : nullptr;
  if (!pad || !is_constant_pad(*pad) || !pad->argument(0).is_tensor()) return {argument, {}};
  const auto dim = static_cast<size_t>(plan.info(plan.tensor(*pad, 0)).dim());
  const auto surround = surround_of(*pad, dim);
  if (!surround || surround->value != 0) return {argument, {}};
  return {pad->argument(0), *surround};
}

std::span<const Lowering> padding_lowerings() {
  static constexpr Lowering kTable[] = {
      {"aten::constant_pad_nd", lower_constant},
      {"aten::pad", lower_pad},
      {"aten::reflection_pad1d", lower_border<PadMode::kReflect>},
      {"aten::reflection_pad2d", lower_border<PadMode::kReflect>},
      {"aten::replication_pad1d", lower_border<PadMode::kReplicate>},
      {"aten::replication_pad2d", lower_border<PadMode::kReplicate>},
  };
  return present<kTable>();
}

}  // namespace torchlet::cpu
