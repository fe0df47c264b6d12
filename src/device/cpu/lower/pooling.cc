// Pooling and means over the pixels of images.
#include <limits>
#include <optional>

#include "device/cpu/lower/lowering.h"
#include "kernels/spatial/pool2d.h"
#include "kernels/spatial/pool_nhwc.h"
#include "kernels/spatial/window_size.h"
#include "ops/core/common.h"

namespace torchlet::cpu {
namespace {

constexpr const char* kMaxPool[] = {"max_pool_nhwc_f32", "max_pool_nhwc_f16"};
constexpr const char* kAvgPool[] = {"avg_pool_nhwc_f32", "avg_pool_nhwc_f16"};
constexpr const char* kAdaptiveAvgPool[] = {"adaptive_avg_pool_nhwc_f32",
                                            "adaptive_avg_pool_nhwc_f16"};
constexpr const char* kAdaptiveMaxPool[] = {"adaptive_max_pool_nhwc_f32",
                                            "adaptive_max_pool_nhwc_f16"};
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

// The same between contiguous planes, so many of them.
template <typename Run>
class PlanesStep : public Step {
 public:
  PlanesStep(const char* name, TensorId input, TensorId output, int64_t planes, Run run)
      : name_(name),
        input_(reading(Operand::fixed(input))),
        output_(writing(Operand::fixed(output))),
        planes_(planes),
        run_(run) {}
  const char* kernel() const override { return name_; }
  void run(const Memory& m) const override {
    run_(m.data<float>(input_), m.data<float>(output_), planes_);
  }

 private:
  const char* name_;
  Operand input_, output_;
  int64_t planes_;
  Run run_;
};

// Images of so few channels that vectors of them would be empty for the most part, where those of
// pixels are not, and lines, which are planes of one row.
std::optional<TensorId> planes_argument(PlanBuilder& plan, const Call& call, size_t dims) {
  constexpr int64_t kFewChannels = 16;
  const TensorId id = plan.real_tensor(call, 0);
  const PlanTensor& t = plan.info(id);
  if (is_of_lines(call) && t.dim() == 3 && are_planes(plan, id)) {
    return plan.viewed(id, ops::unsqueeze(plan.shape_of(id), 2));
  }
  if (dims != 2 || t.dim() != 4 || t.sizes[1] >= kFewChannels) return std::nullopt;
  // A plane by itself lies as an image, too.
  const bool suits = t.sizes[1] == 1 ? lies_in_planes(plan, id) : are_planes(plan, id);
  return suits ? std::optional(id) : std::nullopt;
}

// Of an operator whose windows have so many dimensions.
NhwcImage image_argument(PlanBuilder& plan, const Call& call, size_t dims) {
  const TensorId id = plan.real_tensor(call, 0);
  if (is_of_lines(call)) return line_image(plan, id);
  return plan.as_image(id, static_cast<int64_t>(dims) + 2);
}

// One number for each dimension; those of a line, behind those of a window of one row.
IntArray window_argument(const Call& call, const char* name, size_t dims, int64_t of_row) {
  if (!is_of_lines(call)) return call.known_ints(name, dims);
  return {of_row, call.known_ints(name, 1)[0]};
}

struct PoolArguments {
  IntArray kernel, stride, padding, dilation;
  bool ceil_mode;
};

// A window that slides along the depth of a volume alone.
PoolShape depth_shape(const NhwcImage& input, const PoolArguments& a) {
  const int64_t plane = input.h * input.w;
  Window2dShape w{input.d, plane,         0, plane, a.kernel[0], 1, a.stride[0], 1, a.padding[0],
                  0,       a.dilation[0], 1};
  w.out_h = kernels::pooled_output_size(w.in_h, w.kernel_h, w.stride_h, w.pad_h, w.dilation_h,
                                        a.ceil_mode);
  if (w.out_h < 1) decline("an empty result");
  return {input.n, input.c, w};
}

// Of planes.
Window2dShape pool_window(int64_t in_h, int64_t in_w, const PoolArguments& a) {
  for (size_t d = 0; d < a.kernel.size(); ++d) {
    if (a.kernel[d] < 1 || a.stride[d] < 1 || a.dilation[d] < 1 || a.padding[d] < 0 ||
        a.padding[d] > a.kernel[d] / 2) {
      decline("an invalid window");
    }
  }
  const auto last = [](const IntArray& sizes, size_t i) { return sizes[sizes.size() - i]; };
  Window2dShape w{in_h,
                  in_w,
                  0,
                  0,
                  last(a.kernel, 2),
                  last(a.kernel, 1),
                  last(a.stride, 2),
                  last(a.stride, 1),
                  last(a.padding, 2),
                  last(a.padding, 1),
                  last(a.dilation, 2),
                  last(a.dilation, 1)};
  w.out_h = kernels::pooled_output_size(w.in_h, w.kernel_h, w.stride_h, w.pad_h, w.dilation_h,
                                        a.ceil_mode);
  w.out_w = kernels::pooled_output_size(w.in_w, w.kernel_w, w.stride_w, w.pad_w, w.dilation_w,
                                        a.ceil_mode);
  if (w.out_h < 1 || w.out_w < 1) decline("an empty result");
  return w;
}
// Of images; of volumes, that of each plane.
PoolShape pool_shape(const NhwcImage& input, const PoolArguments& a) {
  return {input.n * input.d, input.c, pool_window(input.h, input.w, a)};
}

// run(window, x, y, planes) from planes to planes.
template <typename Run>
void add_planes(PlanBuilder& plan, const Call& call, const char* name, TensorId id,
                const PoolArguments& a, const Run& run) {
  IntArray sizes = plan.info(id).sizes;
  const Window2dShape window = pool_window(sizes[2], sizes[3], a);
  sizes[2] = window.out_h;
  sizes[3] = window.out_w;
  const TensorId result = plan.new_contiguous(DType::kFloat32, sizes);
  const auto pool = [=](const float* x, float* y, int64_t planes) { run(window, x, y, planes); };
  plan.add_step<PlanesStep<decltype(pool)>>(name, id, result, sizes[0] * sizes[1], pool);
  define_image(plan, call, result);
}

// Calls add(shape, from, to), which adds a step, with images of all planes or, of a volume, first
// with those and then along the depth: what a window gives is what its parts give together.
template <typename Add>
NhwcImage add_pooling(PlanBuilder& plan, const NhwcImage& input, const PoolArguments& a,
                      const Add& add) {
  const PoolShape shape = pool_shape(input, a);
  const Window2dShape& w = shape.window;
  IntArray sizes = plan.info(input.id).sizes;
  const bool is_volume = sizes.size() == 5;
  const bool is_along_depth =
      is_volume && w.kernel_h * w.kernel_w == 1 && w.stride_h * w.stride_w == 1;
  sizes.end()[-2] = w.out_h;
  sizes.back() = w.out_w;
  const DType dtype = plan.info(input.id).dtype;
  NhwcImage output = input;
  if (!is_along_depth) {
    output = plan.new_image(dtype, sizes);
    add(shape, input, output);
  }
  if (!is_volume) return output;
  const PoolShape along = depth_shape(output, a);
  sizes[2] = along.window.out_h;
  const NhwcImage result = plan.new_image(dtype, sizes);
  add(along, output, result);
  return result;
}

// An empty stride means the size of the window.
IntArray stride_argument(const Call& call, const IntArray& kernel) {
  return call.known_ints("stride").empty() ? kernel
                                           : window_argument(call, "stride", kernel.size(), 1);
}

PoolArguments max_pool_arguments(const Call& call, size_t dims) {
  PoolArguments a;
  a.kernel = window_argument(call, "kernel_size", dims, 1);
  a.stride = stride_argument(call, a.kernel);
  a.padding = window_argument(call, "padding", dims, 0);
  a.dilation = window_argument(call, "dilation", dims, 1);
  a.ceil_mode = call.known_bool("ceil_mode");
  return a;
}

void add_max_pool(PlanBuilder& plan, const PoolShape& shape, const NhwcImage& from,
                  const NhwcImage& to) {
  add_image_step(plan, kMaxPool, from, to,
                 [shape](const auto* x, int64_t x_stride, auto* y, int64_t y_stride) {
                   kernels::max_pool_nhwc(shape, x, x_stride, y, y_stride);
                 });
}

void lower_max_pool(PlanBuilder& plan, const Call& call) {
  const size_t dims = window_dims(call);
  if (const auto id = planes_argument(plan, call, dims)) {
    return add_planes(plan, call, "max_pool2d_f32", *id, max_pool_arguments(call, dims),
                      kernels::max_pool2d_f32);
  }
  const NhwcImage input = image_argument(plan, call, dims);
  const auto add = [&](const PoolShape& shape, const NhwcImage& from, const NhwcImage& to) {
    add_max_pool(plan, shape, from, to);
  };
  define_image(plan, call, add_pooling(plan, input, max_pool_arguments(call, dims), add).id);
}

class PlacesStep : public Step {
 public:
  PlacesStep(const PoolShape& shape, NhwcImage input, NhwcImage output)
      : shape_(shape), input_(reading(input)), output_(writing(output)) {}
  const char* kernel() const override { return "max_pool_places_nhwc_f32"; }
  void run(const Memory& m) const override {
    kernels::max_pool_places_nhwc(shape_, m.data<float>(input_), m.stride(input_),
                                  m.data<int64_t>(output_), m.stride(output_));
  }

 private:
  PoolShape shape_;
  Operand input_, output_;
};

// The values by one step, where they were by another.
void lower_max_pool_with_indices(PlanBuilder& plan, const Call& call) {
  const NhwcImage input = plan.as_image(plan.in_float32(plan.real_tensor(call, 0)));
  const PoolShape shape = pool_shape(input, max_pool_arguments(call, 2));
  if (input.h * input.w > std::numeric_limits<int32_t>::max()) decline("a large image");
  const IntArray sizes{input.n, input.c, shape.window.out_h, shape.window.out_w};
  const NhwcImage values = plan.new_image(DType::kFloat32, sizes);
  add_max_pool(plan, shape, input, values);
  const NhwcImage places = plan.new_image(DType::kInt64, sizes);
  plan.add_step<PlacesStep>(shape, input, places);
  plan.define(call.outputs[0], values.id);
  plan.define(call.outputs[1], places.id);
}

class UnpoolStep : public Step {
 public:
  UnpoolStep(const kernels::UnpoolShape& shape, NhwcImage input, NhwcImage places, NhwcImage output)
      : shape_(shape), input_(reading(input)), places_(reading(places)), output_(writing(output)) {}
  const char* kernel() const override { return "max_unpool_nhwc_f32"; }
  void run(const Memory& m) const override {
    const int64_t* invalid = kernels::max_unpool_nhwc(
        shape_, m.data<float>(input_), m.stride(input_), m.data<int64_t>(places_),
        m.stride(places_), m.data<float>(output_), m.stride(output_));
    TORCHLET_CHECK(!invalid, "Found an invalid max index: %lld (output volumes are of size %lld)",
                   static_cast<long long>(*invalid), static_cast<long long>(shape_.out_pixels));
  }

 private:
  kernels::UnpoolShape shape_;
  Operand input_, places_, output_;
};

void lower_max_unpool(PlanBuilder& plan, const Call& call) {
  const NhwcImage input = plan.as_image(plan.in_float32(plan.real_tensor(call, 0)));
  const NhwcImage places = plan.as_image(plan.tensor_of(call, "indices", DType::kInt64));
  const IntArray size = call.known_ints("output_size");
  if (size.size() != 2 || size[0] < 1 || size[1] < 1) decline("an unusual size");
  if (plan.info(input.id).sizes != plan.info(places.id).sizes) decline("unlike indices");
  const NhwcImage output = plan.new_image(DType::kFloat32, {{input.n, input.c, size[0], size[1]}});
  plan.add_step<UnpoolStep>(
      kernels::UnpoolShape{input.n, input.c, input.h * input.w, size[0] * size[1]}, input, places,
      output);
  plan.define(call, output.id);
}

// Over the pixels of [n, c, ...], all of them kept as 1.
TensorId add_global_mean(PlanBuilder& plan, TensorId id) {
  const int64_t dims = plan.info(id).dim();
  if (are_planes(plan, id)) {
    IntArray pixels;
    for (int64_t d = 2; d < dims; ++d) pixels.push_back(d);
    return add_mean(plan, id, pixels, true);
  }
  const NhwcImage input = plan.as_image(id, dims);
  IntArray sizes(static_cast<size_t>(dims), 1);
  sizes[0] = input.n;
  sizes[1] = input.c;
  const NhwcImage output = plan.new_image(plan.info(input.id).dtype, sizes);
  const int64_t n = input.n, pixels = input.d * input.h * input.w, c = input.c;
  add_image_step(plan, kGlobalAvgPool, input, output,
                 [=](const auto* x, int64_t x_stride, auto* y, int64_t y_stride) {
                   kernels::global_avg_pool_nhwc(n, pixels, c, x, x_stride, y, y_stride);
                 });
  return output.id;
}

void define_global_mean(PlanBuilder& plan, const Call& call, TensorId id) {
  if (is_of_lines(call) && !are_planes(plan, id)) {
    return define_image(plan, call, add_global_mean(plan, line_image(plan, id).id));
  }
  plan.define(call, add_global_mean(plan, id));
}

// Whether there is one window, of the whole of each channel. That of a line has one row.
bool is_global(const Call& call, const PlanTensor& t, const PoolArguments& a) {
  const size_t dims = a.kernel.size(), first = is_of_lines(call) ? 1 : 0;
  if (t.sizes.size() + first != dims + 2 || t.numel() == 0) return false;
  for (size_t d = 0; d < dims; ++d) {
    const int64_t size = d < first ? 1 : t.sizes[2 + d - first];
    if (a.kernel[d] != size || a.stride[d] < 1 || a.padding[d] != 0) return false;
  }
  return true;
}

void lower_avg_pool(PlanBuilder& plan, const Call& call) {
  const size_t dims = window_dims(call);
  PoolArguments a;
  a.kernel = window_argument(call, "kernel_size", dims, 1);
  a.stride = stride_argument(call, a.kernel);
  a.padding = window_argument(call, "padding", dims, 0);
  a.dilation = IntArray(dims, 1);
  a.ceil_mode = call.known_bool("ceil_mode");
  const bool include_pad = call.known_bool("count_include_pad");
  const bool divides = call.has_argument("divisor_override") && !call.is_none("divisor_override");
  const int64_t divisor = divides ? call.known_int("divisor_override") : 0;
  if (divides && (divisor == 0 || dims == 3)) decline("a divisor that is given");
  if (const TensorId id = plan.real_tensor(call, 0);
      !divides && is_global(call, plan.info(id), a)) {
    return define_global_mean(plan, call, id);
  }
  if (const auto id = planes_argument(plan, call, dims)) {
    return add_planes(plan, call, "avg_pool2d_f32", *id, a,
                      [=](const Window2dShape& window, const float* x, float* y, int64_t planes) {
                        kernels::avg_pool2d_f32(window, include_pad, divisor, x, y, planes);
                      });
  }
  const NhwcImage input = image_argument(plan, call, dims);
  constexpr int64_t kFewChannels = 4;
  const bool is_thin = selection::kHasVolumes && dims == 3 && input.c < kFewChannels;
  if (is_thin) decline("vectors of few channels");
  const auto add = [&](const PoolShape& shape, const NhwcImage& from, const NhwcImage& to) {
    add_image_step(plan, kAvgPool, from, to,
                   [=](const auto* x, int64_t x_stride, auto* y, int64_t y_stride) {
                     kernels::avg_pool_nhwc(shape, include_pad, divisor, x, x_stride, y, y_stride);
                   });
  };
  define_image(plan, call, add_pooling(plan, input, a, add).id);
}

void lower_adaptive_avg_pool(PlanBuilder& plan, const Call& call) {
  const size_t dims = window_dims(call);
  const IntArray size = window_argument(call, "output_size", dims, 1);
  if (std::ranges::any_of(size, [](int64_t s) { return s < 1; })) decline("an empty result");
  const TensorId id = plan.real_tensor(call, 0);
  const int64_t rank = is_of_lines(call) ? 3 : static_cast<int64_t>(dims) + 2;
  if (std::ranges::all_of(size, [](int64_t s) { return s == 1; }) && plan.info(id).dim() == rank) {
    return define_global_mean(plan, call, id);
  }
  const NhwcImage input = image_argument(plan, call, dims);
  if (dims == 3) decline("several means of a volume");
  const kernels::AdaptivePoolShape shape{input.n, input.c, input.h, input.w, size[0], size[1]};
  const NhwcImage output =
      plan.new_image(plan.info(input.id).dtype, input.n, input.c, size[0], size[1]);
  add_image_step(plan, kAdaptiveAvgPool, input, output,
                 [=](const auto* x, int64_t x_stride, auto* y, int64_t y_stride) {
                   kernels::adaptive_avg_pool_nhwc(shape, x, x_stride, y, y_stride);
                 });
  define_image(plan, call, output.id);
}

// Where the maxima were is left to the reference.
void lower_adaptive_max_pool(PlanBuilder& plan, const Call& call) {
  if (!plan.users(call.outputs[1].id()).empty()) decline("the places of maxima");
  const IntArray size = call.known_ints("output_size", 2);
  if (std::ranges::any_of(size, [](int64_t s) { return s < 1; })) decline("an empty result");
  constexpr int64_t kFewChannels = 4;
  const NhwcImage input = plan.as_image(plan.real_tensor(call, 0));
  if (input.c < kFewChannels) decline("vectors of few channels");
  const kernels::AdaptivePoolShape shape{input.n, input.c, input.h, input.w, size[0], size[1]};
  const NhwcImage output =
      plan.new_image(plan.info(input.id).dtype, input.n, input.c, size[0], size[1]);
  add_image_step(plan, kAdaptiveMaxPool, input, output,
                 [=](const auto* x, int64_t x_stride, auto* y, int64_t y_stride) {
                   kernels::adaptive_max_pool_nhwc(shape, x, x_stride, y, y_stride);
                 });
  plan.define(call.outputs[0], output.id);
}

// The mean over the pixels of an image, or of a volume that lies like one, is a pooling.
void lower_mean(PlanBuilder& plan, const Call& call) {
  if (!call.has_argument("dim") || call.is_none("dim")) decline("a full mean");
  if (!call.is_none("dtype")) decline("another dtype");
  const TensorId id = plan.real_tensor(call, 0);
  const IntArray given = call.known_ints("dim");
  const int64_t rank = plan.info(id).dim();
  const bool is_volume = selection::kHasVolumes && rank == 5 && plan.image_at_hand(id);
  const IntArray pixels = is_volume ? IntArray{2, 3, 4} : IntArray{2, 3};
  if ((rank != 4 && !is_volume) || !(ops::normalize_dims(given, rank) == pixels)) {
    return plan.define(call,
                       add_mean(plan, plan.in_float32(id), given, call.known_bool("keepdim")));
  }
  const TensorId mean = add_global_mean(plan, id);
  if (call.known_bool("keepdim")) return plan.define(call, mean);
  const IntArray sizes = plan.info(mean).sizes;
  plan.define(call, plan.reshaped(mean, IntArray{sizes[0], sizes[1]}));
}

}  // namespace

PoolShape max_pool_shape(const Call& call, const NhwcImage& input) {
  return pool_shape(input, max_pool_arguments(call, 2));
}

std::span<const Lowering> pooling_lowerings() {
  static constexpr Lowering kTable[] = {
      {"aten::max_pool1d", lower_max_pool},
      {"aten::max_pool2d", lower_max_pool},
      {"aten::max_pool3d", lower_max_pool},
      {"aten::max_pool2d_with_indices", lower_max_pool_with_indices},
      {"aten::max_unpool2d", lower_max_unpool},
      {"aten::avg_pool1d", lower_avg_pool},
      {"aten::avg_pool2d", lower_avg_pool},
      {"aten::avg_pool3d", lower_avg_pool},
      {"aten::adaptive_avg_pool1d", lower_adaptive_avg_pool},
      {"aten::adaptive_avg_pool2d", lower_adaptive_avg_pool},
      {"aten::_adaptive_avg_pool2d", lower_adaptive_avg_pool},
      {"aten::adaptive_avg_pool3d", lower_adaptive_avg_pool},
      {"aten::_adaptive_avg_pool3d", lower_adaptive_avg_pool},
      {"aten::adaptive_max_pool2d", lower_adaptive_max_pool},
      {"aten::mean", lower_mean},
  };
  return present<kTable>();
}

}  // namespace torchlet::cpu
