// Resizing images.
#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "device/cpu/lower/lowering.h"
#include "kernels/spatial/resize_nhwc.h"

namespace torchlet::cpu {
namespace {

using kernels::ResizeShape;

// What both kernels need: the taps are computed when the plan is built. Operands of kFixed form
// have their pixels without gaps.
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
                                   stride(m, input_), m.address(output_), stride(m, output_));
    } else {
      kernels::resize_linear_nhwc_f32(shape_, rows.data(), columns.data(), m.data<float>(input_),
                                      stride(m, input_), m.data<float>(output_),
                                      stride(m, output_));
    }
  }

  std::vector<Tap> rows, columns;

 private:
  int64_t stride(const Memory& m, Operand operand) const {
    return operand.form() == Form::kFixed ? shape_.channels : m.stride(operand);
  }

  ResizeShape shape_;
  Operand input_, output_;
};

// Sizes and factors from the arguments: either output_size or scale_factors is given.
struct ResizeArguments {
  IntArray sizes;               // of the result
  std::vector<double> factors;  // of the last dimensions; 0 where only sizes are given
};

// Of the last `dims` dimensions; those of a line are given for the last one.
ResizeArguments resize_arguments(const Call& call, const IntArray& input, size_t dims) {
  ResizeArguments a{input, std::vector<double>(dims)};
  const size_t given = is_of_lines(call) ? 1 : dims, first = dims - given;
  if (!call.is_none("output_size")) {
    const IntArray size = call.known_ints("output_size", given);
    std::copy(size.begin(), size.end(), a.sizes.end() - static_cast<ptrdiff_t>(given));
  }
  const bool has_list = call.has_argument("scale_factors");  // else numbers
  if (has_list && !call.is_none("scale_factors")) {
    const Value& list = call.known("scale_factors");
    if (!list.is_list() || list.to_list().size() != given) decline("scale factors");
    for (size_t d = first; d < dims; ++d) {
      a.factors[d] = list.to_list()[d - first].to_double();
      a.sizes[d + 2] = saturating_int(static_cast<double>(input[d + 2]) * a.factors[d]);
    }
  } else if (!has_list) {
    static constexpr const char* kNames[] = {"scales_d", "scales_h", "scales_w"};
    for (size_t d = first; d < dims; ++d) {
      const char* name = is_of_lines(call) ? "scales" : kNames[3 - dims + d];
      if (!call.is_none(name)) a.factors[d] = call.known_double(name);
    }
  }
  if (std::ranges::any_of(a.sizes, [](int64_t size) { return size < 1; })) {
    decline("an empty result");
  }
  return a;
}

// Is the result the input? Any factor but 1 moves the points that are looked at.
bool changes_nothing(PlanBuilder& plan, const Call& call, TensorId id) {
  const size_t dims = window_dims(call);
  IntArray sizes = plan.info(id).sizes;
  if (is_of_lines(call) && sizes.size() == 3) sizes.insert(sizes.begin() + 2, 1);
  if (sizes.size() != dims + 2) return false;
  const ResizeArguments a = resize_arguments(call, sizes, dims);
  return a.sizes == sizes &&
         std::ranges::all_of(a.factors, [](double factor) { return factor == 0 || factor == 1; });
}

// A volume along its depth, each plane being one pixel of all that it holds; then, as images are,
// in each plane.
template <typename Tap, typename Taps>
void add_resize(PlanBuilder& plan, const Call& call, TensorId id, const Taps& taps) {
  const size_t dims = window_dims(call);
  NhwcImage input =
      is_of_lines(call) ? line_image(plan, id) : plan.as_image(id, static_cast<int64_t>(dims) + 2);
  const DType dtype = plan.info(id).dtype;
  const ResizeArguments a = resize_arguments(call, plan.info(input.id).sizes, dims);
  const auto add = [&](const ResizeShape& s, Operand from, Operand to, double h, double w) {
    auto step = std::make_unique<ResizeStep<Tap>>(s, from, to);
    taps(s.in_h, s.out_h, h, step->rows.data());
    taps(s.in_w, s.out_w, w, step->columns.data());
    plan.add(std::move(step));
  };
  if (dims == 3 && a.sizes[2] != input.d) {
    if (input.stride != input.c) decline("a volume with gaps");
    const int64_t plane = input.c * input.h * input.w;
    const NhwcImage deep = plan.new_image(dtype, {input.n, input.c, a.sizes[2], input.h, input.w});
    add({input.n, plane, input.d, 1, deep.d, 1}, Operand::fixed(input.id), Operand::fixed(deep.id),
        a.factors[0], 0);
    input = deep;
  }
  const NhwcImage output = plan.new_image(dtype, a.sizes);
  add({input.n * input.d, input.c, input.h, input.w, output.h, output.w}, input, output,
      a.factors[dims - 2], a.factors[dims - 1]);
  define_image(plan, call, output.id);
}

void lower_linear(PlanBuilder& plan, const Call& call) {
  const bool align_corners = call.known_bool("align_corners");
  const TensorId id = plan.tensor_of(call, 0, DType::kFloat32);
  if (changes_nothing(plan, call, id)) return plan.define(call, id);
  add_resize<kernels::LinearTap>(
      plan, call, id, [&](int64_t in, int64_t out, double factor, kernels::LinearTap* taps) {
        kernels::linear_taps(in, out, align_corners, factor, taps);
      });
}

void lower_nearest(PlanBuilder& plan, const Call& call) {
  const bool exact = call.kind().name().starts_with("_upsample_nearest_exact");
  const TensorId id = plan.real_tensor(call, 0);
  if (changes_nothing(plan, call, id)) return plan.define(call, id);
  if (!is_of_lines(call) && turns_twice(plan, call, id)) decline("planes");
  add_resize<int64_t>(plan, call, id, [&](int64_t in, int64_t out, double factor, int64_t* taps) {
    kernels::nearest_taps(in, out, exact, factor, taps);
  });
}

}  // namespace

std::span<const Lowering> resize_lowerings() {
  static constexpr Lowering kTable[] = {
      {"aten::upsample_linear1d", lower_linear},
      {"aten::upsample_bilinear2d", lower_linear},
      {"aten::upsample_trilinear3d", lower_linear},
      {"aten::upsample_nearest1d", lower_nearest},
      {"aten::upsample_nearest2d", lower_nearest},
      {"aten::upsample_nearest3d", lower_nearest},
      {"aten::_upsample_nearest_exact1d", lower_nearest},
      {"aten::_upsample_nearest_exact2d", lower_nearest},
      {"aten::_upsample_nearest_exact3d", lower_nearest},
  };
  return present<kTable>();
}

}  // namespace torchlet::cpu
