#include "ops/nn/convolution.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/checked.h"
#include "base/counted_vector.h"
#include "base/thread_pool.h"
#include "kernels/conv_nchw/conv2d.h"
#include "kernels/conv_nhwc/conv3d_nhwc.h"
#include "kernels/layout/transpose.h"
#include "kernels/simd/scratch.h"
#include "kernels/spatial/window_size.h"
#include "ops/engines/compute.h"
#include "ops/engines/integer_math.h"
#include "ops/engines/matmul.h"
#include "tensor/meta.h"

namespace torchlet::ops {
namespace {

long long ll(int64_t value) { return value; }

// A window that slides over a volume [depth, height, width]; fewer dimensions have leading ones of
// size 1. For a transposed convolution `in` is the output of the operator and `out` its input.
struct Geometry {
  using Triple = std::array<int64_t, 3>;
  Triple in, out, kernel;
  Triple stride{1, 1, 1}, pad{0, 0, 0}, dilation{1, 1, 1};
  int64_t batch, in_channels, out_channels, groups;  // as the window sees them

  static int64_t volume(const Triple& t) { return t[0] * t[1] * t[2]; }
};

// The places p of [0, count) for which p * step + first lies in [0, size): from and to.
std::pair<int64_t, int64_t> places_inside(int64_t first, int64_t step, int64_t count,
                                          int64_t size) {
  const int64_t from = first >= 0 ? 0 : (-first - 1) / step + 1;
  const int64_t to = first >= size ? 0 : (size - 1 - first) / step + 1;
  return {std::min(from, count), std::min(to, count)};
}

// For positions [begin, end) of the window and every tap of `channels` planes of the volume, calls
// fn(column, row, index, count) for runs of the tap's row that are not in the padding: `count`
// columns (position - begin) from `column` on, the first of which sees element `index` of the
// volume, and each the element stride[2] further on.
template <typename Fn>
void for_each_run(const Geometry& g, int64_t channels, int64_t begin, int64_t end, Fn fn) {
  int64_t row = 0;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t kd = 0; kd < g.kernel[0]; ++kd) {
      for (int64_t kh = 0; kh < g.kernel[1]; ++kh) {
        for (int64_t kw = 0; kw < g.kernel[2]; ++kw, ++row) {
          const int64_t left = kw * g.dilation[2] - g.pad[2];
          const auto inside = places_inside(left, g.stride[2], g.out[2], g.in[2]);
          for (int64_t line = begin / g.out[2]; line * g.out[2] < end; ++line) {
            const int64_t y = line % g.out[1] * g.stride[1] - g.pad[1] + kh * g.dilation[1];
            const int64_t z = line / g.out[1] * g.stride[0] - g.pad[0] + kd * g.dilation[0];
            if (y < 0 || y >= g.in[1] || z < 0 || z >= g.in[0]) continue;
            const int64_t at = line * g.out[2];
            const int64_t from = std::max(inside.first, begin - at);
            const int64_t to = std::min(inside.second, end - at);
            if (from >= to) continue;
            const int64_t start = ((c * g.in[0] + z) * g.in[1] + y) * g.in[2];
            fn(at + from - begin, row, start + from * g.stride[2] + left, to - from);
          }
        }
      }
    }
  }
}

// Positions of the window that are worked on at a time, so that their columns stay in the cache.
int64_t columns_chunk(int64_t rows) { return std::max<int64_t>(1, (1 << 16) / rows); }

// Any type by im2col and a matrix product, group by group.
template <typename T>
void plain_convolution(const Geometry& g, const T* input, const T* weight, const T* bias,
                       T* output) {
  const int64_t group_in = g.in_channels / g.groups, group_out = g.out_channels / g.groups;
  const int64_t rows = group_in * Geometry::volume(g.kernel);
  const int64_t in_volume = Geometry::volume(g.in), out_volume = Geometry::volume(g.out);
  const int64_t chunk = columns_chunk(std::max<int64_t>(rows, 1));
  parallel_for(g.batch * g.groups, 1, [&](int64_t begin, int64_t end) {
    CountedVector<T> columns(static_cast<size_t>(rows * std::min(chunk, out_volume)));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t group = i % g.groups;
      const T* from = input + i * group_in * in_volume;
      T* to = output + i * group_out * out_volume;
      for (int64_t o = 0; bias && o < group_out; ++o) {
        std::fill_n(to + o * out_volume, out_volume, bias[group * group_out + o]);
      }
      for (int64_t at = 0; at < out_volume; at += chunk) {
        const int64_t n = std::min(chunk, out_volume - at);
        std::fill_n(columns.data(), rows * n, T(0));
        for_each_run(g, group_in, at, at + n,
                     [&](int64_t column, int64_t row, int64_t index, int64_t count) {
                       T* const run = columns.data() + row * n + column;
                       if (g.stride[2] == 1) {
                         std::copy_n(from + index, count, run);
                       } else {
                         for (int64_t k = 0; k < count; ++k) run[k] = from[index + k * g.stride[2]];
                       }
                     });
        gemm<T>(group_out, n, rows, {weight + group * group_out * rows, rows, 1},
                {columns.data(), n, 1}, to + at, out_volume, bias != nullptr);
      }
    }
  });
}

// Any type: the columns are the product, and are added up where the window lies.
template <typename T>
void plain_transposed(const Geometry& g, const T* input, const T* weight, const T* bias,
                      T* output) {
  const int64_t group_in = g.in_channels / g.groups, group_out = g.out_channels / g.groups;
  const int64_t rows = group_in * Geometry::volume(g.kernel);
  const int64_t in_volume = Geometry::volume(g.in), out_volume = Geometry::volume(g.out);
  const int64_t chunk = columns_chunk(std::max<int64_t>(rows, 1));
  parallel_for(g.batch * g.groups, 1, [&](int64_t begin, int64_t end) {
    CountedVector<T> columns(static_cast<size_t>(rows * std::min(chunk, out_volume)));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t group = i % g.groups;
      const T* from = input + i * group_out * out_volume;
      T* to = output + i * group_in * in_volume;
      for (int64_t o = 0; o < group_in; ++o) {
        std::fill_n(to + o * in_volume, in_volume, bias ? bias[group * group_in + o] : T(0));
      }
      for (int64_t at = 0; at < out_volume; at += chunk) {
        const int64_t n = std::min(chunk, out_volume - at);
        gemm<T>(rows, n, group_out, {weight + group * group_out * rows, 1, rows},
                {from + at, out_volume, 1}, columns.data(), n);
        for_each_run(g, group_in, at, at + n,
                     [&](int64_t column, int64_t row, int64_t index, int64_t count) {
                       const T* const run = columns.data() + row * n + column;
                       for (int64_t k = 0; k < count; ++k) {
                         T& sum = to[index + k * g.stride[2]];
                         sum = wrap_add(sum, run[k]);
                       }
                     });
      }
    }
  });
}

kernels::Conv2dShape kernel_shape(const Geometry& g) {
  kernels::Conv2dShape shape;
  shape.batch = g.batch;
  shape.in_channels = g.in_channels;
  shape.out_channels = g.out_channels;
  shape.groups = g.groups;
  shape.window = {.in_h = g.in[1],
                  .in_w = g.in[2],
                  .out_h = g.out[1],
                  .out_w = g.out[2],
                  .kernel_h = g.kernel[1],
                  .kernel_w = g.kernel[2],
                  .stride_h = g.stride[1],
                  .stride_w = g.stride[2],
                  .pad_h = g.pad[1],
                  .pad_w = g.pad[2],
                  .dilation_h = g.dilation[1],
                  .dilation_w = g.dilation[2]};
  return shape;
}

// Whether a matrix of all windows would be large beside the product with it: many taps for few
// channels, or volumes of one. Then the kernels of plans, which make no such matrix, are worth
// packing the weights. Small builds do without.
[[maybe_unused]] bool has_large_windows(const Geometry& g, bool has_depth) {
  constexpr int64_t kManyTaps = 64, kFewChannels = 16;
  const int64_t taps = Geometry::volume(g.kernel);
  return g.groups == 1 && (taps >= kManyTaps || (has_depth && g.in_channels == 1 && taps > 1)) &&
         g.out_channels <= kFewChannels && Geometry::volume(g.out) >= 8 * g.out_channels;
}

// Pictures [N, H, W, C] by the kernel of plans.
[[maybe_unused]] void convolve_inside(const Geometry& g, const float* input, const float* weight,
                                      const float* bias, float* output) {
  const kernels::ConvNhwcShape shape{g.batch, g.in_channels, g.out_channels, 1,
                                     kernel_shape(g).window};
  const kernels::ScratchBytes packed(kernels::conv_nhwc_f32_packed_bytes(shape));
  kernels::conv_nhwc_f32_pack(shape, weight, packed.data());
  kernels::EpilogueF32 epilogue;
  epilogue.bias = bias;
  kernels::conv_nhwc_f32(shape, input, g.in_channels, packed.data(), epilogue, output,
                         g.out_channels);
}

// Whether what becomes channels last is worth packing the weights.
[[maybe_unused]] bool has_many_pixels(const Geometry& g) {
  constexpr int64_t kMany = 1024;
  return g.groups == 1 && g.in_channels > 0 && g.batch * Geometry::volume(g.out) >= kMany;
}

// One volume [D, H, W, C] by the kernel of plans, as a sum over some planes of the window at a
// time: their weights stay in the second-level cache while all of the volume meets them.
[[maybe_unused]] void convolve_volume(const Geometry& g, const float* input, const float* weight,
                                      const float* bias, float* output) {
  constexpr int64_t kWeights = int64_t{1} << 16;
  const int64_t filters = g.out_channels * g.in_channels, taps = g.kernel[1] * g.kernel[2];
  const int64_t most = std::max<int64_t>(1, kWeights / (filters * taps));
  const kernels::Scratch<float> some(filters * std::min(most, g.kernel[0]) * taps);
  kernels::EpilogueF32 epilogue;
  epilogue.bias = bias;
  for (int64_t z = 0; z < g.kernel[0]; z += most) {
    const int64_t planes = std::min(most, g.kernel[0] - z), pad = g.pad[0] - z * g.dilation[0];
    const int64_t first = std::max<int64_t>(-pad, 0);  // of what is seen
    if (first >= g.in[0]) break;
    for (int64_t f = 0; f < filters; ++f) {
      std::copy_n(weight + (f * g.kernel[0] + z) * taps, planes * taps,
                  some.data() + f * planes * taps);
    }
    const auto axis = [&](size_t d) {
      return kernels::WindowAxis{g.in[d],     g.out[d], g.kernel[d],
                                 g.stride[d], g.pad[d], g.dilation[d]};
    };
    const kernels::WindowAxis depth{g.in[0] - first, g.out[0],    planes,
                                    g.stride[0],     pad + first, g.dilation[0]};
    const kernels::Conv3dNhwc conv(
        {1, g.in_channels, g.out_channels, 1, false, depth, axis(1), axis(2)});
    const kernels::ScratchBytes packed(conv.packed_bytes());
    conv.pack(some.data(), static_cast<float*>(packed.data()));
    conv.run(input + first * g.in[1] * g.in[2] * g.in_channels, g.in_channels,
             static_cast<const float*>(packed.data()), epilogue, output, g.out_channels);
    epilogue = {};
    epilogue.residual = output;
    epilogue.residual_stride = g.out_channels;
  }
}

[[maybe_unused]] void large_windows(const Geometry& g, bool has_depth, const float* input,
                                    const float* weight, const float* bias, float* output) {
  const int64_t in_pixels = Geometry::volume(g.in), out_pixels = Geometry::volume(g.out);
  // One channel lies both ways.
  const bool turns_in = g.in_channels != 1, turns_out = g.out_channels != 1;
  const kernels::Scratch<float> in(turns_in ? g.batch * in_pixels * g.in_channels : 0);
  const kernels::Scratch<float> out(turns_out ? g.batch * out_pixels * g.out_channels : 0);
  if (turns_in) {
    kernels::nchw_to_nhwc(sizeof(float), g.batch, g.in_channels, in_pixels, input, in.data(),
                          g.in_channels);
  }
  const float* from = turns_in ? in.data() : input;
  float* to = turns_out ? out.data() : output;
  if (has_depth) {
    for (int64_t i = 0; i < g.batch; ++i) {
      convolve_volume(g, from + i * in_pixels * g.in_channels, weight, bias,
                      to + i * out_pixels * g.out_channels);
    }
  } else {
    convolve_inside(g, from, weight, bias, to);
  }
  if (turns_out) {
    kernels::nhwc_to_nchw(sizeof(float), g.batch, g.out_channels, out_pixels, out.data(),
                          g.out_channels, output);
  }
}

// What asks for transposed convolutions.
constexpr bool kHasTransposed =
    selection::has_any("aten::conv_transpose") || selection::has_any("aten::convolution") ||
    selection::has_any("aten::_convolution") || selection::has_any("quantized::conv_transpose");

template <typename T>
void run_convolution(const Geometry& g, bool transposed, bool has_depth, const T* input,
                     const T* weight, const T* bias, T* output) {
  if (transposed) {
    if constexpr (!kHasTransposed) {
      fail(ErrorCode::kUnsupported,
           "transposed convolutions, and this libtorchlet was built without (TORCHLET_OPERATORS)");
    }
    if constexpr (std::is_same_v<T, float>) {
      if (!has_depth) {
        kernels::Conv2dShape shape = kernel_shape(g);
        std::swap(shape.in_channels, shape.out_channels);
        return kernels::conv_transpose2d_f32(shape, input, weight, bias, output);
      }
    }
    return plain_transposed(g, input, weight, bias, output);
  }
  if constexpr (std::is_same_v<T, float>) {
    if constexpr (selection::kHasRareConvolutions && selection::kHasVolumes) {
      if (has_large_windows(g, has_depth))
        return large_windows(g, has_depth, input, weight, bias, output);
    }
    if (!has_depth) return kernels::conv2d_f32(kernel_shape(g), input, weight, bias, output);
    const kernels::Conv3dShape shape{.planes = kernel_shape(g),
                                     .in_d = g.in[0],
                                     .out_d = g.out[0],
                                     .kernel_d = g.kernel[0],
                                     .stride_d = g.stride[0],
                                     .pad_d = g.pad[0],
                                     .dilation_d = g.dilation[0]};
    return kernels::conv3d_f32(shape, input, weight, bias, output);
  }
  if constexpr (std::is_integral_v<T> && !selection::kHasRareConvolutions) {
    fail(ErrorCode::kUnsupported,
         "convolutions of integers, and this libtorchlet was built without (TORCHLET_FEATURES)");
  }
  plain_convolution(g, input, weight, bias, output);
}

void check_params(const ConvParams& p) {
  TORCHLET_CHECK(p.groups > 0, "non-positive groups is not supported");
  for (size_t d = 0; d < p.stride.size(); ++d) {
    TORCHLET_CHECK(p.padding[d] >= 0, "negative padding is not supported");
    TORCHLET_CHECK(p.stride[d] > 0, "non-positive stride is not supported");
    TORCHLET_CHECK(p.dilation[d] > 0, "dilation should be greater than zero");
    if (!p.transposed) continue;
    TORCHLET_CHECK(p.output_padding[d] >= 0, "negative output_padding is not supported");
    TORCHLET_CHECK(p.output_padding[d] < std::max(p.stride[d], p.dilation[d]),
                   "output padding must be smaller than either stride or dilation, but got "
                   "output_padding %lld, stride %lld, dilation %lld",
                   ll(p.output_padding[d]), ll(p.stride[d]), ll(p.dilation[d]));
  }
}

void check_shapes(const Tensor& input, const Tensor& weight, const Tensor& bias,
                  const ConvParams& p) {
  TORCHLET_CHECK(input.dim() == weight.dim(),
                 "Expected %lld-dimensional input for %lld-dimensional weight %s, but got "
                 "%lld-dimensional input of size %s instead",
                 ll(weight.dim()), ll(weight.dim()), shape_text(weight.sizes()).c_str(),
                 ll(input.dim()), shape_text(input.sizes()).c_str());
  TORCHLET_CHECK(input.dtype() == weight.dtype(),
                 "Input type (%s) and weight type (%s) should be the same",
                 dtype_name(input.dtype()).data(), dtype_name(weight.dtype()).data());
  const int64_t channels = p.transposed ? weight.size(0) : checked_mul(weight.size(1), p.groups);
  TORCHLET_CHECK(weight.size(0) % p.groups == 0,
                 "Given groups=%lld, expected weight to be divisible by %lld at dimension 0, but "
                 "got weight of size %s instead",
                 ll(p.groups), ll(p.groups), shape_text(weight.sizes()).c_str());
  TORCHLET_CHECK(
      input.size(1) == channels,
      "Given groups=%lld, weight of size %s, expected input%s to have %lld channels, but "
      "got %lld channels instead",
      ll(p.groups), shape_text(weight.sizes()).c_str(), shape_text(input.sizes()).c_str(),
      ll(channels), ll(input.size(1)));
  const int64_t outputs = p.transposed ? checked_mul(weight.size(1), p.groups) : weight.size(0);
  TORCHLET_CHECK(!bias.defined() || (bias.dim() == 1 && bias.size(0) == outputs),
                 "Given weight of size %s, expected bias to be 1-dimensional with %lld elements, "
                 "but got bias of size %s instead",
                 shape_text(weight.sizes()).c_str(), ll(outputs), shape_text(bias.sizes()).c_str());
}

// The sizes of the output; fills in the geometry from the operator's view of the shapes.
IntArray plan(const Tensor& input, const Tensor& weight, const ConvParams& p, Geometry* g) {
  const size_t spatial = p.stride.size();
  g->in = g->out = g->kernel = {1, 1, 1};
  g->batch = input.size(0);
  g->groups = p.groups;
  const int64_t outputs = p.transposed ? checked_mul(weight.size(1), p.groups) : weight.size(0);
  g->in_channels = p.transposed ? outputs : input.size(1);
  g->out_channels = p.transposed ? input.size(1) : outputs;
  IntArray shape{input.size(0), outputs};
  for (size_t d = 0; d < spatial; ++d) {
    const size_t at = 3 - spatial + d;
    const int64_t in = input.sizes()[d + 2], kernel = weight.sizes()[d + 2];
    TORCHLET_CHECK(kernel > 0, "the kernel of a convolution cannot be empty, got weight %s",
                   shape_text(weight.sizes()).c_str());
    int64_t size;
    if (p.transposed) {
      size = kernels::transposed_output_size(in, kernel, p.stride[d], p.padding[d], p.dilation[d],
                                             p.output_padding[d]);
      TORCHLET_CHECK(size > 0, "Given input size %s the calculated output size %lld is too small",
                     shape_text(input.sizes()).c_str(), ll(size));
    } else {
      size = kernels::sliding_output_size(in, kernel, p.stride[d], p.padding[d], p.dilation[d]);
      TORCHLET_CHECK(
          size > 0,
          "Calculated padded input size per channel: (%lld). Kernel size: (%lld). Kernel "
          "size can't be greater than actual input size",
          ll(in + 2 * p.padding[d]), ll(kernels::window_reach(kernel, p.dilation[d])));
    }
    shape.push_back(size);
    g->in[at] = p.transposed ? size : in;
    g->out[at] = p.transposed ? in : size;
    g->kernel[at] = kernel;
    g->stride[at] = p.stride[d];
    g->pad[at] = p.padding[d];
    g->dilation[at] = p.dilation[d];
  }
  return shape;
}

// The weight without the taps at the borders of the window that see nothing but padding, where they
// are most of it: a window that is large beside its input.
[[maybe_unused]] Tensor seeing_taps(const Tensor& weight, Geometry& g) {
  const size_t spatial = weight.sizes().size() - 2;
  Geometry some = g;
  Tensor seeing = weight;
  for (size_t d = 3 - spatial; d < 3; ++d) {
    const auto sees = [&](int64_t tap) {
      const auto [from, to] =
          places_inside(tap * g.dilation[d] - g.pad[d], g.stride[d], g.out[d], g.in[d]);
      return from < to;
    };
    int64_t first = 0, last = g.kernel[d] - 1;
    while (first < last && !sees(first)) ++first;
    while (first < last && !sees(last)) --last;
    while (first * g.dilation[d] > g.pad[d]) --first;  // padding may not be negative
    some.kernel[d] = last - first + 1;
    some.pad[d] -= first * g.dilation[d];
    const int64_t dim = static_cast<int64_t>(d + spatial) - 1;
    seeing = narrow(seeing, dim, first, some.kernel[d]);
  }
  if (2 * Geometry::volume(some.kernel) > Geometry::volume(g.kernel)) return weight;
  g = some;
  return seeing;
}

// PyTorch gives channels_last if the input or the weight is.
MemoryFormat output_format(const Tensor& input, const Tensor& weight) {
  const MemoryFormat format = input.suggest_memory_format();
  return format == MemoryFormat::kContiguous ? weight.suggest_memory_format() : format;
}

}  // namespace

Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, ConvParams p) {
  TORCHLET_CHECK(weight.dim() >= 3 && weight.dim() <= 5,
                 "convolution: expected a weight of 3 to 5 dimensions, got %s",
                 weight.describe().c_str());
  const size_t spatial = static_cast<size_t>(weight.dim()) - 2;
  p.stride = expand_param(p.stride, spatial, "stride");
  p.padding = expand_param(p.padding, spatial, "padding");
  p.dilation = expand_param(p.dilation, spatial, "dilation");
  if (p.transposed) p.output_padding = expand_param(p.output_padding, spatial, "output_padding");
  check_params(p);
  check_shapes(input, weight, bias, p);
  Geometry g;
  const IntArray shape = plan(input, weight, p, &g);
  return compute_as<kMapAll>(input.dtype(), "convolution", [&](auto zero) {
    using T = decltype(zero);
    const MemoryFormat format = output_format(input, weight);
    const bool is_inside = selection::kHasRareConvolutions && selection::kHasVolumes &&
                           input.dtype() == DType::kFloat32 && !p.transposed &&
                           format == MemoryFormat::kChannelsLast && has_many_pixels(g);
    const Tensor out =
        is_inside ? empty(shape, DTypeOf<T>::value, format) : empty(shape, DTypeOf<T>::value);
    if (out.numel() > 0) {
      TORCHLET_CHECK(
          input.numel() > 0 || input.size(1) == 0,
          "Only zero batch or zero channel inputs are supported, but got input shape: %s",
          shape_text(input.sizes()).c_str());
    }
    if (out.numel() > 0 && !is_meta(out)) {
      Tensor seeing;
      const Tensor* taps = &weight;
      if constexpr (selection::kHasRareConvolutions) {
        if (!p.transposed && weight.numel() > 0) {
          seeing = seeing_taps(weight, g);
          taps = &seeing;
        }
      }
      const Tensor w = dense_as<T>(*taps), b = bias.defined() ? dense_as<T>(bias) : Tensor();
      if constexpr (std::is_same_v<T, float> && selection::kHasRareConvolutions &&
                    selection::kHasVolumes) {
        if (is_inside) {
          const Tensor x = input.contiguous(format);
          convolve_inside(g, const_data<T>(x), const_data<T>(w), const_data<T>(b),
                          out.data_ptr<T>());
          return out;
        }
      }
      const Tensor x = dense_as<T>(input);
      run_convolution(g, p.transposed, spatial == 3, const_data<T>(x), const_data<T>(w),
                      const_data<T>(b), out.data_ptr<T>());
    }
    return out.to(input.dtype()).contiguous(format);
  });
}

Tensor convolution_nd(int64_t spatial, const Tensor& input, const Tensor& weight,
                      const Tensor& bias, ConvParams params) {
  TORCHLET_CHECK(
      input.dim() == spatial + 1 || input.dim() == spatial + 2,
      "Expected %lldD (unbatched) or %lldD (batched) input to conv%s%lldd, but got input "
      "of size: %s",
      ll(spatial + 1), ll(spatial + 2), params.transposed ? "_transpose" : "", ll(spatial),
      shape_text(input.sizes()).c_str());
  if (input.dim() == spatial + 2) return convolution(input, weight, bias, std::move(params));
  return squeeze(convolution(unsqueeze(input, 0), weight, bias, std::move(params)), 0);
}

Tensor convolution_mode(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        IntSpan stride, const std::string& padding, IntSpan dilation,
                        int64_t groups) {
  ConvParams params;
  params.stride = stride;
  params.dilation = dilation;
  params.groups = groups;
  params.padding = {0};
  TORCHLET_CHECK(weight.dim() >= 3 && input.dim() == weight.dim(),
                 "convolution: expected input and weight of the same 3 to 5 dimensions, got %s and "
                 "%s",
                 input.describe().c_str(), weight.describe().c_str());
  if (padding == "valid") return convolution(input, weight, bias, std::move(params));
  TORCHLET_CHECK(padding == "same", "Invalid padding string: '%s'", padding.c_str());

  const size_t spatial = static_cast<size_t>(weight.dim()) - 2;
  for (int64_t step : stride) {
    TORCHLET_CHECK(step == 1, "padding='same' is not supported for strided convolutions");
  }
  const IntArray factor = expand_param(dilation, spatial, "dilation");
  // An odd total is padded by one more at the end: zeros are appended to the input, as the kernels
  // pad both sides alike.
  IntArray sizes(input.sizes());
  params.padding.clear();
  for (size_t d = 0; d < spatial; ++d) {
    const int64_t total = checked_mul(factor[d], weight.sizes()[d + 2] - 1);
    params.padding.push_back(total / 2);
    sizes[d + 2] = checked_add(sizes[d + 2], total % 2);
  }
  if (std::ranges::equal(sizes, input.sizes())) {
    return convolution(input, weight, bias, std::move(params));
  }
  const Tensor padded = zeros(sizes, input.dtype());
  make_view(padded, input.sizes(), padded.strides(), 0).copy_(input);
  return convolution(padded, weight, bias, std::move(params));
}

}  // namespace torchlet::ops
