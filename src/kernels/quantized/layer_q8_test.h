// For tests: random quantized layers, and their results computed one by one.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/conv_nchw/conv2d.h"
#include "kernels/quantized/layer_q8.h"
#include "kernels/spatial/window_size.h"

namespace torchlet::kernels {

struct RandomLayerQ8 {
  // Scales spread over a range of 1000 and biases of up to twice the sums. The output's scale is
  // such that the results fill the range of a byte, and a little more.
  RandomLayerQ8(const Conv2dShape& s, bool has_zero_points, uint8_t input_zero, unsigned seed)
      : engine(seed) {
    const int64_t terms = s.in_channels / s.groups * s.window.kernel_h * s.window.kernel_w;
    weight.resize(static_cast<size_t>(s.out_channels * terms));
    for (int8_t& w : weight) w = static_cast<int8_t>(engine());
    std::uniform_real_distribution<float> unit(0, 1);
    const float sum = 5000 * std::sqrt(static_cast<float>(terms));
    layer.input_scale = 0.037f;
    layer.output_scale = 0.25f;
    for (int64_t c = 0; c < s.out_channels; ++c) {
      const float multiplier = 128 / sum * std::pow(10.0f, 1.5f * unit(engine) - 0.5f);
      scales.push_back(multiplier * layer.output_scale / layer.input_scale);
      zero_points.push_back(has_zero_points ? static_cast<int8_t>(engine()) : 0);
      bias.push_back(scales.back() * layer.input_scale * sum * 2 * (unit(engine) - 0.5f));
    }
    layer.weight = weight.data();
    layer.weight_scales = scales.data();
    layer.weight_zero_points = has_zero_points ? zero_points.data() : nullptr;
    layer.bias = bias.data();
    layer.input_zero_point = input_zero;
  }
  RandomLayerQ8(const RandomLayerQ8&) = delete;

  std::mt19937 engine;
  std::vector<int8_t> weight;
  std::vector<float> scales, bias;
  std::vector<int32_t> zero_points;
  LayerQ8 layer;
};

inline uint8_t requantized(int64_t sum, float multiplier, const OutputQ8& result) {
  const int32_t wrapped = static_cast<int32_t>(static_cast<uint32_t>(sum));
  const float q = std::nearbyint(static_cast<float>(wrapped) * multiplier) + result.zero_point;
  return static_cast<uint8_t>(
      std::clamp(q, static_cast<float>(result.low), static_cast<float>(result.high)));
}

// The convolution as layer_q8.h defines it; pixels that it does not write are kept.
inline void convolve_naively(const Conv2dShape& s, const LayerQ8& layer, const uint8_t* input,
                             int64_t input_stride, const OutputQ8& result, uint8_t* output,
                             int64_t output_stride) {
  const Window2dShape& w = s.window;
  const int64_t in_channels = s.in_channels / s.groups, out_channels = s.out_channels / s.groups;
  for (int64_t pixel = 0; pixel < s.batch * w.out_h * w.out_w; ++pixel) {
    const int64_t x = pixel % w.out_w, y = pixel / w.out_w % w.out_h, n = pixel / w.out_w / w.out_h;
    for (int64_t o = 0; o < s.out_channels; ++o) {
      const RequantizationQ8 requantization = requantization_q8(layer, o);
      int64_t sum = requantization.bias;
      for (int64_t i = 0; i < w.kernel_h; ++i) {
        for (int64_t j = 0; j < w.kernel_w; ++j) {
          const int64_t in_y = y * w.stride_h - w.pad_h + i * w.dilation_h;
          const int64_t in_x = x * w.stride_w - w.pad_w + j * w.dilation_w;
          if (in_y < 0 || in_y >= w.in_h || in_x < 0 || in_x >= w.in_w) continue;
          const uint8_t* from = input + ((n * w.in_h + in_y) * w.in_w + in_x) * input_stride +
                                o / out_channels * in_channels;
          for (int64_t c = 0; c < in_channels; ++c) {
            const int8_t weight =
                layer.weight[((o * in_channels + c) * w.kernel_h + i) * w.kernel_w + j];
            sum += (from[c] - layer.input_zero_point) * (weight - weight_zero_point(layer, o));
          }
        }
      }
      output[pixel * output_stride + o] = requantized(sum, requantization.multiplier, result);
    }
  }
}

inline Conv2dShape make_shape(int64_t in_channels, int64_t out_channels, int64_t size,
                              int64_t kernel, int64_t stride, int64_t pad, int64_t groups = 1,
                              int64_t dilation = 1) {
  Window2dShape w{size,   size + 2, 0,   0,   kernel,   kernel,
                  stride, stride,   pad, pad, dilation, dilation};
  w.out_h = sliding_output_size(w.in_h, kernel, stride, pad, dilation);
  w.out_w = sliding_output_size(w.in_w, kernel, stride, pad, dilation);
  return {1, in_channels, out_channels, groups, w};
}

struct AlignedBytes {
  explicit AlignedBytes(size_t size) : bytes(size + 64) {}
  void* data() {
    return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(bytes.data()) + 63) / 64 * 64);
  }
  std::vector<char> bytes;
};

// A kernel for layers with weights.
struct KernelQ8 {
  size_t (*packed_bytes)(const Conv2dShape&, const LayerQ8&);
  void (*pack)(const Conv2dShape&, const LayerQ8&, void*);
  void (*run)(const Conv2dShape&, const uint8_t*, int64_t, const void*, const OutputQ8&, uint8_t*,
              int64_t);
};

// Pixels are `gap` bytes further apart than they have channels.
inline void check_layer_q8(const Conv2dShape& s, const LayerQ8& layer, const OutputQ8& result,
                           int64_t gap, const KernelQ8& kernel) {
  const Window2dShape& w = s.window;
  SCOPED_TRACE(testing::Message() << s.in_channels << " -> " << s.out_channels << ", groups "
                                  << s.groups << ", " << w.in_h << " x " << w.in_w << ", kernel "
                                  << w.kernel_h << ", stride " << w.stride_h << ", pad " << w.pad_h
                                  << ", zero point " << int{layer.input_zero_point});
  const int64_t input_stride = s.in_channels + gap, output_stride = s.out_channels + gap;
  // No byte more than there are pixels, so that a sanitizer sees reads beyond.
  std::vector<uint8_t> input(static_cast<size_t>(s.batch * w.in_h * w.in_w * input_stride - gap));
  std::mt19937 engine(3);
  for (uint8_t& x : input) x = static_cast<uint8_t>(engine());
  std::vector<uint8_t> output(static_cast<size_t>(s.batch * w.out_h * w.out_w * output_stride), 9);
  std::vector<uint8_t> expected = output;
  convolve_naively(s, layer, input.data(), input_stride, result, expected.data(), output_stride);
  AlignedBytes packed(kernel.packed_bytes(s, layer));
  kernel.pack(s, layer, packed.data());
  kernel.run(s, input.data(), input_stride, packed.data(), result, output.data(), output_stride);
  ASSERT_EQ(output, expected);
}

}  // namespace torchlet::kernels
