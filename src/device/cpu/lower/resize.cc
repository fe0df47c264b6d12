// Resizing images.
#include <vector>

#include "base/checked.h"
#include "device/cpu/lower/lowering.h"
#include "kernels/spatial/resize_nhwc.h"

namespace torchlet::cpu {
namespace {

using kernels::ResizeShape;

// What both kernels need: the taps are computed when the plan is built.
template <typename Tap>
class ResizeStep : public Step {
 public:
  ResizeStep(const ResizeShape& shape, Operand input, Operand output)
      : rows(static_cast<size_t>(shape.out_h)),
        columns(static_cast<size_t>(shape.out_w)),
        shape_(shape),
        input_(reading(input)),
        output_(writing(output)) {}
  const char* kernel() const override {
    return std::is_same_v<Tap, int64_t> ? "resize_nearest_nhwc" : "resize_linear_nhwc_f32";
  }
  void run(const Memory& m) const override {
    if constexpr (std::is_same_v<Tap, int64_t>) {
      const auto element = static_cast<int64_t>(element_size(m.tensor(input_).dtype));
      kernels::resize_nearest_nhwc(element, shape_, rows.data(), columns.data(), m.address(input_),
                                   m.stride(input_), m.address(output_), m.stride(output_));
    } else {
      kernels::resize_linear_nhwc_f32(shape_, rows.data(), columns.data(), m.data<float>(input_),
                                      m.stride(input_), m.data<float>(output_), m.stride(output_));
    }
  }

  std::vector<Tap> rows, columns;

 private:
  ResizeShape shape_;
  Operand input_, output_;
};

// Sizes and factors from the arguments: either output_size or scale_factors is given.
struct ResizeArguments {
  ResizeShape shape;
  double factor_h = 0, factor_w = 0;
};

ResizeArguments resize_arguments(const Call& call, const NhwcImage& input) {
  ResizeArguments a;
  a.shape = {input.n, input.c, input.h, input.w, 0, 0};
  if (!call.is_none("output_size")) {
    const IntArray size = call.known_ints("output_size", 2);
    a.shape.out_h = size[0];
    a.shape.out_w = size[1];
  }
  const bool has_list = call.has_argument("scale_factors");  // else two numbers
  if (has_list && !call.is_none("scale_factors")) {
    const Value& list = call.known("scale_factors");
    if (!list.is_list() || list.to_list().size() != 2) decline("scale factors");
    a.factor_h = list.to_list()[0].to_double();
    a.factor_w = list.to_list()[1].to_double();
    a.shape.out_h = saturating_int(static_cast<double>(input.h) * a.factor_h);
    a.shape.out_w = saturating_int(static_cast<double>(input.w) * a.factor_w);
  } else if (!has_list) {
    if (!call.is_none("scales_h")) a.factor_h = call.known_double("scales_h");
    if (!call.is_none("scales_w")) a.factor_w = call.known_double("scales_w");
  }
  if (a.shape.out_h < 1 || a.shape.out_w < 1) decline("an empty result");
  return a;
}

template <typename Tap, typename Taps>
void add_resize(PlanBuilder& plan, const Call& call, const NhwcImage& input,
                const ResizeArguments& a, const Taps& taps) {
  const ResizeShape& s = a.shape;
  const NhwcImage output =
      plan.new_image(plan.info(input.id).dtype, s.batch, s.channels, s.out_h, s.out_w);
  auto step = std::make_unique<ResizeStep<Tap>>(s, input, output);
  taps(s.in_h, s.out_h, a.factor_h, step->rows.data());
  taps(s.in_w, s.out_w, a.factor_w, step->columns.data());
  plan.add(std::move(step));
  plan.define(call, output.id);
}

void lower_bilinear(PlanBuilder& plan, const Call& call) {
  const NhwcImage input = plan.as_image(plan.tensor_of(call, 0, DType::kFloat32));
  const bool align_corners = call.known_bool("align_corners");
  add_resize<kernels::LinearTap>(
      plan, call, input, resize_arguments(call, input),
      [&](int64_t in, int64_t out, double factor, kernels::LinearTap* taps) {
        kernels::linear_taps(in, out, align_corners, factor, taps);
      });
}

void lower_nearest(PlanBuilder& plan, const Call& call) {
  const NhwcImage input = plan.as_image(plan.real_tensor(call, 0));
  const bool exact = call.kind().name() == "_upsample_nearest_exact2d";
  add_resize<int64_t>(plan, call, input, resize_arguments(call, input),
                      [&](int64_t in, int64_t out, double factor, int64_t* taps) {
                        kernels::nearest_taps(in, out, exact, factor, taps);
                      });
}

}  // namespace

std::span<const Lowering> resize_lowerings() {
  static constexpr Lowering kTable[] = {
      {"aten::upsample_bilinear2d", lower_bilinear},
      {"aten::upsample_nearest2d", lower_nearest},
      {"aten::_upsample_nearest_exact2d", lower_nearest},
  };
  return kTable;
}

}  // namespace torchlet::cpu
