#define HWY_WANT_AVX3_DL  // as dwconv_nhwc_q8.cc
#include "kernels/quantized/dwconv_nhwc_q8.h"

#include <gtest/gtest.h>

#include "base/thread_pool.h"
#include "kernels/quantized/layer_q8_test.h"
#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

void check_layer(const Conv2dShape& s, const LayerQ8& layer, const OutputQ8& result, int64_t gap) {
  check_layer_q8(s, layer, result, gap,
                 {dwconv_nhwc_q8_packed_bytes, dwconv_nhwc_q8_pack, dwconv_nhwc_q8});
}

Conv2dShape depthwise(int64_t channels, int64_t size, int64_t kernel, int64_t stride, int64_t pad,
                      int64_t dilation = 1) {
  return make_shape(channels, channels, size, kernel, stride, pad, channels, dilation);
}

void check(const Conv2dShape& s, uint8_t zero = 113, bool has_weight_zeros = false,
           int64_t gap = 0) {
  const RandomLayerQ8 random(s, has_weight_zeros, zero, 5);
  check_layer(s, random.layer, {121, 0, 255}, gap);
}

TEST(DwconvNhwcQ8, Channels) {
  for_each_target([] {
    for (int64_t channels : {1, 3, 8, 15, 16, 17, 24, 32, 40, 48, 65, 96, 130}) {
      check(depthwise(channels, 5, 3, 1, 1), 113, false, channels % 3);
      check(depthwise(channels, 6, 3, 2, 1), 7);
      check(depthwise(channels, 7, 5, 1, 2), 200, false, 5);
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

TEST(DwconvNhwcQ8, Windows) {
  for_each_target([] {
    for (int64_t kernel : {1, 2, 3, 4, 5, 7, 9}) {
      for (int64_t stride : {1, 2, 3}) {
        for (int64_t size : {9, 10, 13}) {
          check(depthwise(20, size, kernel, stride, kernel / 2), 200);
          check(depthwise(20, size, kernel, stride, 0), 1);
          if (testing::Test::HasFatalFailure()) return;
        }
        check(depthwise(18, 19, kernel, stride, 2, 2));
      }
    }
    check(depthwise(4, 1, 3, 1, 1));
    check(depthwise(4, 2, 5, 2, 2));
    check(depthwise(4, 2, 3, 1, 3));     // windows that lie in the padding alone
    check(depthwise(66, 200, 3, 2, 1));  // several strips
    Conv2dShape batch = depthwise(8, 6, 3, 1, 1);
    batch.batch = 3;
    check(batch);
  });
}

TEST(DwconvNhwcQ8, ZeroPoints) {
  for_each_target([] {
    for (int zero : {0, 1, 128, 255}) {
      check(depthwise(17, 5, 3, 1, 1), static_cast<uint8_t>(zero));
      check(depthwise(17, 5, 3, 1, 1), static_cast<uint8_t>(zero), true);
      check(depthwise(17, 5, 5, 2, 2), static_cast<uint8_t>(zero), true);
      check(depthwise(17, 5, 1, 1, 0), static_cast<uint8_t>(zero), true);
    }
    const Conv2dShape s = depthwise(40, 5, 3, 1, 1);
    const RandomLayerQ8 random(s, false, 3, 9);
    check_layer(s, random.layer, {0, 0, 255}, 0);
    check_layer(s, random.layer, {255, 0, 255}, 0);
    check_layer(s, random.layer, {30, 30, 200}, 0);
  });
}

TEST(DwconvNhwcQ8, ExtremesDoNotSaturate) {
  const Conv2dShape s = depthwise(20, 4, 3, 1, 1);
  for_each_target([&] {
    for (const int weight : {-128, 127}) {
      for (const int zero : {-128, 0, 127}) {
        for (const uint8_t input_zero : {uint8_t{0}, uint8_t{255}}) {
          RandomLayerQ8 random(s, true, input_zero, 4);
          std::ranges::fill(random.weight, static_cast<int8_t>(weight));
          std::ranges::fill(random.zero_points, zero);
          check_layer(s, random.layer, {128}, 0);
        }
      }
    }
    RandomLayerQ8 random(s, false, 60, 4);
    std::ranges::fill(random.scales, 1e-12f);
    check_layer(s, random.layer, {10}, 0);
    random.layer.output_scale = 1e-20f;
    check_layer(s, random.layer, {10}, 0);
  });
}

TEST(DwconvNhwcQ8, Threads) {
  set_num_threads(4);
  check(depthwise(100, 60, 3, 1, 1));
  set_num_threads(0);
}

}  // namespace
}  // namespace torchlet::kernels
