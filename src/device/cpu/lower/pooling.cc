// Pooling and means over the pixels of images.
#include "device/cpu/lower/lowering.h"
#include "kernels/spatial/pool_nhwc.h"
#include "kernels/spatial/window_size.h"
#include "ops/core/common.h"

namespace torchlet::cpu {
namespace {

constexpr const char* kMaxPool[] = {"max_pool_nhwc_f32", "max_pool_nhwc_f16"};
constexpr const char* kAvgPool[] = {"avg_pool_nhwc_f32", "avg_pool_nhwc_f16"};
constexpr const char* kAdaptiveAvgPool[] = {"adaptive_avg_pool_nhwc_f32",
                                            "adaptive_avg_pool_nhwc_f16"};
constexpr const char* kGlobalAvgPool[] = {"global_avg_pool_nhwc_f32", "global_avg_pool_nhwc_f16"};

using kernels::PoolShape;
using kernels::Window2dShape;

// A kernel from one image to another, with names[0] in float32 and names[1] in Float16.
template <typename Run>
class ImageStep : public Step {
 public:
  using Names = const char* const[2];
  ImageStep(const Names& names, DType dtype, NhwcImage input, NhwcImage output, Run run)
      : names_(names), dtype_(dtype), input_(reading(input)), output_(writing(output)), run_(run) {}
  const char* kernel() const override { return names_[is_float16(dtype_)]; }
  void run(const Memory& m) const override {
    if (is_float16(dtype_)) {
      run_in<Float16>(m);
    } else {
      run_in<float>(m);
    }
  }

 private:
  template <typename T>
  void run_in(const Memory& m) const {
    run_(m.data<T>(input_), m.stride(input_), m.data<T>(output_), m.stride(output_));
  }

  const Names& names_;
  DType dtype_;
  Operand input_, output_;
  Run run_;
};

template <typename Run>
void add_image_step(PlanBuilder& plan, const char* const (&names)[2], NhwcImage input,
                    NhwcImage output, Run run) {
  const DType dtype = plan.info(input.id).dtype;
  plan.add_step<ImageStep<Run>>(names, dtype, input, output, run);
}

NhwcImage image_argument(PlanBuilder& plan, const Call& call) {
  return plan.as_image(plan.real_tensor(call, 0));
}

struct PoolArguments {
  IntArray kernel, stride, padding, dilation;
  bool ceil_mode;
};

PoolShape pool_shape(const NhwcImage& input, const PoolArguments& a) {
  for (size_t d = 0; d < 2; ++d) {
    if (a.kernel[d] < 1 || a.stride[d] < 1 || a.dilation[d] < 1 || a.padding[d] < 0 ||
        a.padding[d] > a.kernel[d] / 2) {
      decline("an invalid window");
    }
  }
  Window2dShape w{input.h,
                  input.w,
                  0,
                  0,
                  a.kernel[0],
                  a.kernel[1],
                  a.stride[0],
                  a.stride[1],
                  a.padding[0],
                  a.padding[1],
                  a.dilation[0],
                  a.dilation[1]};
  w.out_h = kernels::pooled_output_size(w.in_h, w.kernel_h, w.stride_h, w.pad_h, w.dilation_h,
                                        a.ceil_mode);
  w.out_w = kernels::pooled_output_size(w.in_w, w.kernel_w, w.stride_w, w.pad_w, w.dilation_w,
                                        a.ceil_mode);
  if (w.out_h < 1 || w.out_w < 1) decline("an empty result");
  return {input.n, input.c, w};
}

NhwcImage new_pooled(PlanBuilder& plan, const NhwcImage& input, const PoolShape& shape) {
  return plan.new_image(plan.info(input.id).dtype, shape.batch, shape.channels, shape.window.out_h,
                        shape.window.out_w);
}

// An empty stride means the size of the window.
IntArray stride_argument(const Call& call, const IntArray& kernel) {
  return call.known_ints("stride").empty() ? kernel : call.known_ints("stride", 2);
}

void lower_max_pool(PlanBuilder& plan, const Call& call) {
  const NhwcImage input = image_argument(plan, call);
  const PoolShape shape = max_pool_shape(call, input);
  const NhwcImage output = new_pooled(plan, input, shape);
  add_image_step(plan, kMaxPool, input, output,
                 [shape](const auto* x, int64_t x_stride, auto* y, int64_t y_stride) {
                   kernels::max_pool_nhwc(shape, x, x_stride, y, y_stride);
                 });
  plan.define(call, output.id);
}

void lower_avg_pool(PlanBuilder& plan, const Call& call) {
  const NhwcImage input = image_argument(plan, call);
  PoolArguments a;
  a.kernel = call.known_ints("kernel_size", 2);
  a.stride = stride_argument(call, a.kernel);
  a.padding = call.known_ints("padding", 2);
  a.dilation = {1, 1};
  a.ceil_mode = call.known_bool("ceil_mode");
  const bool include_pad = call.known_bool("count_include_pad");
  const bool divides = !call.is_none("divisor_override");
  const int64_t divisor = divides ? call.known_int("divisor_override") : 0;
  if (divides && divisor == 0) decline("a divisor of zero");
  const PoolShape shape = pool_shape(input, a);
  const NhwcImage output = new_pooled(plan, input, shape);
  add_image_step(plan, kAvgPool, input, output,
                 [=](const auto* x, int64_t x_stride, auto* y, int64_t y_stride) {
                   kernels::avg_pool_nhwc(shape, include_pad, divisor, x, x_stride, y, y_stride);
                 });
  plan.define(call, output.id);
}

NhwcImage add_global_mean(PlanBuilder& plan, const NhwcImage& input) {
  const NhwcImage output = plan.new_image(plan.info(input.id).dtype, input.n, input.c, 1, 1);
  const int64_t n = input.n, pixels = input.h * input.w, c = input.c;
  add_image_step(plan, kGlobalAvgPool, input, output,
                 [=](const auto* x, int64_t x_stride, auto* y, int64_t y_stride) {
                   kernels::global_avg_pool_nhwc(n, pixels, c, x, x_stride, y, y_stride);
                 });
  return output;
}

void lower_adaptive_avg_pool(PlanBuilder& plan, const Call& call) {
  const NhwcImage input = image_argument(plan, call);
  const IntArray size = call.known_ints("output_size", 2);
  if (size[0] < 1 || size[1] < 1) decline("an empty result");
  if (size[0] == 1 && size[1] == 1) return plan.define(call, add_global_mean(plan, input).id);
  const kernels::AdaptivePoolShape shape{input.n, input.c, input.h, input.w, size[0], size[1]};
  const NhwcImage output =
      plan.new_image(plan.info(input.id).dtype, input.n, input.c, size[0], size[1]);
  add_image_step(plan, kAdaptiveAvgPool, input, output,
                 [=](const auto* x, int64_t x_stride, auto* y, int64_t y_stride) {
                   kernels::adaptive_avg_pool_nhwc(shape, x, x_stride, y, y_stride);
                 });
  plan.define(call, output.id);
}

// mean(x, [2, 3]) of an image is a pooling.
void lower_mean(PlanBuilder& plan, const Call& call) {
  if (!call.has_argument("dim") || call.is_none("dim")) decline("a full mean");
  if (!call.is_none("dtype")) decline("another dtype");
  const TensorId id = plan.real_tensor(call, 0);
  const IntArray given = call.known_ints("dim");
  if (plan.info(id).dim() != 4 || !(ops::normalize_dims(given, 4) == IntArray{2, 3})) {
    return plan.define(call, add_fold(plan, kernels::Fold::kSum, FoldEnd::kMean,
                                      plan.in_float32(id), given, call.known_bool("keepdim")));
  }
  const NhwcImage output = add_global_mean(plan, image_argument(plan, call));
  if (call.known_bool("keepdim")) return plan.define(call, output.id);
  plan.define(call, plan.reshaped(output.id, IntArray{output.n, output.c}));
}

}  // namespace

PoolShape max_pool_shape(const Call& call, const NhwcImage& input) {
  PoolArguments a;
  a.kernel = call.known_ints("kernel_size", 2);
  a.stride = stride_argument(call, a.kernel);
  a.padding = call.known_ints("padding", 2);
  a.dilation = call.known_ints("dilation", 2);
  a.ceil_mode = call.known_bool("ceil_mode");
  return pool_shape(input, a);
}

std::span<const Lowering> pooling_lowerings() {
  static constexpr Lowering kTable[] = {
      {"aten::max_pool2d", lower_max_pool},
      {"aten::avg_pool2d", lower_avg_pool},
      {"aten::adaptive_avg_pool2d", lower_adaptive_avg_pool},
      {"aten::_adaptive_avg_pool2d", lower_adaptive_avg_pool},
      {"aten::mean", lower_mean},
  };
  return kTable;
}

}  // namespace torchlet::cpu
