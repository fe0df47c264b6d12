#define HWY_WANT_AVX3_DL  // as conv_nhwc_q8.cc
#include "kernels/quantized/conv_nhwc_q8.h"

#include <gtest/gtest.h>

#include "base/thread_pool.h"
#include "kernels/quantized/layer_q8_test.h"
#include "kernels/simd/isa.h"
#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

void check_layer(const Conv2dShape& s, const LayerQ8& layer, const OutputQ8& result, int64_t gap) {
  with_and_without_amx([&] {
    check_layer_q8(s, layer, result, gap,
                   {conv_nhwc_q8_packed_bytes, conv_nhwc_q8_pack, conv_nhwc_q8});
  });
}

void check(const Conv2dShape& s, uint8_t zero = 113, bool has_weight_zeros = false,
           int64_t gap = 0) {
  const RandomLayerQ8 random(s, has_weight_zeros, zero, 5);
  check_layer(s, random.layer, {121, 0, 255}, gap);
}

TEST(ConvNhwcQ8, EveryTailOfAProduct) {
  for_each_target([] {
    for (int64_t in : {1, 3, 4, 7, 16, 40}) {
      for (int64_t out : {1, 3, 8, 15, 16, 17, 24, 32, 40, 48, 65, 80, 96, 130}) {
        check(make_shape(in, out, 4, 1, 1, 0), 113, false, in % 3);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
    for (int64_t size = 1; size < 13; ++size) check(make_shape(8, 20, size, 1, 1, 0));
  });
}

TEST(ConvNhwcQ8, Windows) {
  for_each_target([] {
    for (int64_t channels : {3, 8, 20}) {
      for (int64_t kernel : {2, 3, 5}) {
        for (int64_t stride : {1, 2, 3}) {
          check(make_shape(channels, 24, 9, kernel, stride, kernel / 2), 200);
          check(make_shape(channels, 33, 11, kernel, stride, 1, 1, 2), 7, false, 5);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
    Conv2dShape batch = make_shape(8, 16, 6, 3, 1, 1);
    batch.batch = 3;
    check(batch);
    check(make_shape(3, 32, 33, 7, 2, 3));
    check(make_shape(64, 64, 14, 3, 1, 1));
    check(make_shape(70, 75, 6, 3, 1, 1));  // panels beyond the first-level cache
  });
}

// Blocks of rows and panels of columns, whole ones and their tails.
TEST(ConvNhwcQ8, ManyRowsAndColumns) {
  for (int64_t in : {64, 24, 70, 192}) {
    for (int64_t out : {16, 24, 33, 48, 100}) check(make_shape(in, out, 16, 1, 1, 0), 3, false, 4);
  }
  check(make_shape(64, 40, 15, 1, 2, 0));
  check(make_shape(16, 64, 23, 3, 1, 1), 5, false, 7);
  check(make_shape(96, 32, 20, 3, 2, 1));
  check(make_shape(128, 24, 10, 3, 1, 2, 2, 2), 255);
  check(make_shape(3, 64, 40, 7, 2, 3));
  check(make_shape(512, 70, 5, 3, 1, 1));
}

// Of tiles of two by two results: images that end within one, on each side of the window, panels
// and vectors of channels that are not full, zero points of weights. Which form it is belongs to
// the instruction set, and to what it costs.
TEST(ConvNhwcQ8, Winograd) {
  bool is_taken = false;
  for_each_target([&] {
    for (const int64_t size : {6, 7, 12}) {
      for (const int64_t pad : {0, 1, 2}) {
        check(make_shape(32, 33, size, 3, 1, pad), 200, size == 7, 3);
        check(make_shape(47, 64, size, 3, 1, pad), 7, pad == 0);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
    Conv2dShape batch = make_shape(64, 40, 9, 3, 1, 1);
    batch.batch = 3;
    check(batch, 255);
    check(make_shape(256, 96, 20, 3, 1, 1), 0, true);  // several blocks of tiles
    check(make_shape(917, 35, 8, 3, 1, 1));            // the most channels
    const RandomLayerQ8 random(batch, false, 3, 9);
    is_taken |= conv_nhwc_q8_form(batch, random.layer) == 2;
    batch.lean = true;
    EXPECT_NE(conv_nhwc_q8_form(batch, random.layer), 2);
    check_layer(batch, random.layer, {30, 30, 200}, 1);
  });
  EXPECT_EQ(is_taken, best_isa() != Isa::kSse4);
}

TEST(ConvNhwcQ8, Groups) {
  for_each_target([] {
    check(make_shape(12, 18, 5, 3, 1, 1, 3), 90, false, 3);
    check(make_shape(10, 20, 5, 3, 2, 1, 5));
    check(make_shape(48, 160, 3, 1, 1, 0, 2));
    check(make_shape(6, 6, 7, 3, 1, 1, 6));
  });
}

TEST(ConvNhwcQ8, ZeroPoints) {
  for_each_target([] {
    for (int zero : {0, 1, 128, 255}) {
      check(make_shape(8, 17, 5, 3, 1, 1), static_cast<uint8_t>(zero));
      check(make_shape(8, 17, 5, 3, 1, 1), static_cast<uint8_t>(zero), true);
      check(make_shape(5, 17, 5, 3, 1, 1), static_cast<uint8_t>(zero), true);
    }
    const Conv2dShape s = make_shape(16, 40, 5, 1, 1, 0);
    const RandomLayerQ8 random(s, false, 3, 9);
    check_layer(s, random.layer, {0, 0, 255}, 0);
    check_layer(s, random.layer, {255, 0, 255}, 0);
    check_layer(s, random.layer, {30, 30, 200}, 0);
  });
}

// The largest weights and inputs, and the largest difference to the zero points; of windows also
// where Winograd's sums are the longest.
TEST(ConvNhwcQ8, ExtremesDoNotSaturate) {
  for (const Conv2dShape& s : {make_shape(256, 20, 2, 1, 1, 0), make_shape(40, 36, 7, 3, 1, 1),
                               make_shape(917, 36, 7, 3, 1, 1)}) {
    for_each_target([&] {
      for (const int weight : {-128, 127}) {
        for (const int zero : {-128, 127}) {
          for (const uint8_t input_zero : {uint8_t{0}, uint8_t{255}}) {
            RandomLayerQ8 random(s, true, input_zero, 4);
            std::ranges::fill(random.weight, static_cast<int8_t>(weight));
            std::ranges::fill(random.zero_points, zero);
            check_layer(s, random.layer, {128}, 0);
          }
        }
      }
    });
  }
}

// A tiny scale: the bias saturates, the sum wraps around, and the product leaves the int32.
TEST(ConvNhwcQ8, BiasSaturates) {
  const Conv2dShape s = make_shape(8, 18, 3, 3, 1, 1);
  for_each_target([&] {
    RandomLayerQ8 random(s, false, 60, 4);
    for (size_t c = 0; c < random.scales.size(); ++c) {
      random.scales[c] = c % 3 == 0 ? 1e-12f : c % 3 == 1 ? 50.0f : 0.001f;
      random.bias[c] = c % 2 == 0 ? 1.0f : -1.0f;
    }
    check_layer(s, random.layer, {10}, 0);
    random.layer.output_scale = 1e-9f;
    check_layer(s, random.layer, {10}, 0);
    random.layer.bias = nullptr;
    check_layer(s, random.layer, {10}, 0);
  });
}

TEST(ConvNhwcQ8, Threads) {
  for (const int threads : {2, 4}) {
    set_num_threads(threads);
    check(make_shape(32, 70, 30, 3, 1, 1));
    check(make_shape(256, 300, 4, 3, 1, 1));
    check(make_shape(64, 70, 40, 3, 1, 1));
    check(make_shape(64, 300, 8, 3, 1, 1));
    check(make_shape(3, 40, 60, 3, 2, 1));
    // Many weights, of which each thread has its own, for several blocks of rows.
    check(make_shape(64, 300, 14, 3, 1, 1));
    check(make_shape(32, 650, 12, 1, 1, 0));
    check(make_shape(64, 520, 11, 3, 1, 1, 2));
    Conv2dShape batch = make_shape(48, 280, 7, 3, 2, 1);
    batch.batch = 9;
    check(batch);
  }
  set_num_threads(0);
}

}  // namespace
}  // namespace torchlet::kernels
