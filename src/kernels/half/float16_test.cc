// Kernels in Float16 next to those in float32, on numbers for which both are exact or differ by one
// rounding. conv_nhwc/ has the tests of convolutions.
#include "kernels/half/float16_test.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/thread_pool.h"
#include "kernels/conv_nchw/conv_testing.h"
#include "kernels/conv_nhwc/conv_nhwc.h"
#include "kernels/conv_nhwc/dwconv_nhwc.h"
#include "kernels/conv_nhwc/inverted_residual.h"
#include "kernels/elementwise/elementwise_nhwc.h"
#include "kernels/simd/scratch.h"
#include "kernels/spatial/pool_nhwc.h"

namespace torchlet::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kUntouched = -77;

class Float16Kernels : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_float16()) GTEST_SKIP() << "this processor has no float16 arithmetic";
  }
};

// Whole numbers in [-8, 8].
std::vector<float> numbers(int64_t count, int seed) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 7919 + static_cast<size_t>(seed)) % 17) - 8;
  }
  return values;
}

// Rounded to Float16 and back.
std::vector<float> as_float16(const std::vector<float>& values) { return widened(rounded(values)); }

TEST_F(Float16Kernels, ConversionsRoundToNearestEven) {
  const std::vector<float> in = {0,        -0.0f,    1,          1 + 0x1p-11f, 1 + 3 * 0x1p-11f,
                                 65504,    65519,    65520,      -1e9f,        kInf,
                                 0x1p-24f, 0x1p-25f, 0x1.8p-25f, 2049,         -2051};
  const std::vector<float> want = {0,     -0.0f, 1,        1, 1 + 0x1p-9f, 65504, 65504, kInf,
                                   -kInf, kInf,  0x1p-24f, 0, 0x1p-24f,    2048,  -2052};
  EXPECT_EQ(as_float16(in), want);
  EXPECT_TRUE(std::signbit(as_float16(in)[1]));
  EXPECT_TRUE(std::isnan(as_float16({std::nanf("")})[0]));
  // Every number comes back, in pieces of every length.
  std::vector<Float16> all;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    if ((bits & 0x7c00) != 0x7c00) all.push_back({static_cast<uint16_t>(bits)});
  }
  for (size_t begin = 0, count = 1; begin + count <= all.size(); begin += count, ++count) {
    const std::vector<Float16> part(all.begin() + static_cast<ptrdiff_t>(begin),
                                    all.begin() + static_cast<ptrdiff_t>(begin + count));
    const std::vector<Float16> again = rounded(widened(part));
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(again[i].bits, part[i].bits);
  }
}

TEST_F(Float16Kernels, MatricesAreConvertedWithTheirGaps) {
  for (const int64_t columns : {1, 5, 32, 33, 100}) {
    for (const int64_t gap : {0, 3}) {
      const int64_t rows = 7, stride = columns + gap;
      const auto from = numbers(rows * stride, 1);
      std::vector<Float16> halves(from.size());
      to_float16_rows(rows, columns, from.data(), stride, halves.data(), stride);
      std::vector<float> to(from.size(), kUntouched);
      to_float32_rows(rows, columns, halves.data(), stride, to.data(), stride);
      for (size_t i = 0; i < to.size(); ++i) {
        const bool inside = static_cast<int64_t>(i) % stride < columns;
        ASSERT_EQ(to[i], inside ? from[i] : kUntouched);
      }
    }
  }
}

Window2dShape window(int64_t size, int64_t kernel, int64_t stride, int64_t pad,
                     int64_t dilation = 1) {
  return make_window(size, size + 1, kernel, kernel, stride, pad, dilation);
}

void check_depthwise(const DwConvShape& shape, int64_t gap, const Activation& activation,
                     double tolerance = 0) {
  const Window2dShape& s = shape.window;
  SCOPED_TRACE(testing::Message() << shape.channels << " channels " << s.in_h << "x" << s.in_w
                                  << " kernel " << s.kernel_h << " stride " << s.stride_h
                                  << " dilation " << s.dilation_h);
  if (s.out_h == 0 || s.out_w == 0) return;
  const int64_t in_stride = shape.channels + gap, out_stride = shape.channels + 2 * gap;
  const auto input = numbers(shape.batch * s.in_h * s.in_w * in_stride, 1);
  const auto weight = numbers(shape.channels * s.kernel_h * s.kernel_w, 2);
  const auto bias = numbers(shape.channels, 3);
  const auto residual = numbers(shape.batch * s.out_h * s.out_w * out_stride, 4);
  const ScratchBytes packed(dwconv_nhwc_f32_packed_bytes(shape));
  const ScratchBytes packed_f16(dwconv_nhwc_f16_packed_bytes(shape));
  dwconv_nhwc_f32_pack(shape, weight.data(), packed.data());
  dwconv_nhwc_f16_pack(shape, weight.data(), packed_f16.data());
  const auto halves = rounded(input), residual_f16 = rounded(residual);
  for (const bool with_residual : {false, true}) {
    std::vector<float> want(residual.size(), kUntouched);
    std::vector<Float16> got = rounded(want);
    EpilogueF32 epilogue{.bias = bias.data(), .activation = activation};
    EpilogueF16 epilogue_f16{.bias = bias.data(), .activation = activation};
    if (with_residual) {
      epilogue.residual = residual.data();
      epilogue_f16.residual = residual_f16.data();
      epilogue.residual_stride = epilogue_f16.residual_stride = out_stride;
      epilogue.residual_last = epilogue_f16.residual_last = gap == 1;
    }
    dwconv_nhwc_f32(shape, input.data(), in_stride, packed.data(), epilogue, want.data(),
                    out_stride);
    dwconv_nhwc_f16(shape, halves.data(), in_stride, packed_f16.data(), epilogue_f16, got.data(),
                    out_stride);
    const auto values = widened(got);
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_NEAR(values[i], want[i], tolerance * std::fmax(1, std::fabs(want[i]))) << i;
    }
  }
}

TEST_F(Float16Kernels, DepthwiseConvolutions) {
  const Activation clamp{ActivationKind::kClamp, -30, 40};
  for (const int64_t channels : {1, 3, 15, 16, 17, 31, 32, 33, 40, 72, 96, 200}) {
    for (const int64_t size : {1, 4, 7, 14}) {
      for (const int64_t stride : {1, 2}) {
        check_depthwise({2, channels, window(size, 3, stride, 1)}, channels % 3, clamp);
        check_depthwise({1, channels, window(size, 5, stride, 2)}, channels % 2, clamp);
      }
    }
    check_depthwise({1, channels, window(9, 3, 1, 4, 4)}, 1, clamp);
    check_depthwise({1, channels, window(12, 4, 3, 1)}, 0, clamp);
    check_depthwise({1, channels, window(9, 7, 1, 3)}, 2, clamp);
    check_depthwise({1, channels, window(9, 3, 1, 1)}, 1, {ActivationKind::kHardswish}, 0x1p-9);
    check_depthwise({1, channels, window(9, 3, 1, 1)}, 1, {ActivationKind::kSilu}, 0x1p-9);
  }
}

TEST_F(Float16Kernels, InvertedResidualsAreTheirThreeConvolutions) {
  for (const int64_t stride : {1, 2}) {
    const InvertedResidualShape shape{2, 16, 96, 24, window(33, 3, stride, 1)};
    const Window2dShape& s = shape.window;
    const int64_t in_pixels = 2 * s.in_h * s.in_w, out_pixels = 2 * s.out_h * s.out_w;
    const auto pointwise = [](int64_t in, int64_t out, int64_t pixels) {
      return ConvNhwcShape{1, in, out, 1, {1, pixels, 1, pixels, 1, 1}};
    };
    const auto expand = pointwise(16, 96, in_pixels), project = pointwise(96, 24, out_pixels);
    const DwConvShape depthwise{2, 96, s};
    const ScratchBytes expand_weight(conv_nhwc_f16_packed_bytes(expand));
    const ScratchBytes depthwise_weight(dwconv_nhwc_f16_packed_bytes(depthwise));
    const ScratchBytes project_weight(conv_nhwc_f16_packed_bytes(project));
    conv_nhwc_f16_pack(expand, numbers(16 * 96, 1).data(), expand_weight.data());
    dwconv_nhwc_f16_pack(depthwise, numbers(96 * 9, 2).data(), depthwise_weight.data());
    conv_nhwc_f16_pack(project, numbers(96 * 24, 3).data(), project_weight.data());
    const auto bias = numbers(96, 4);
    const Activation relu6{ActivationKind::kClamp, 0, 6};
    const InvertedResidual<Float16> layers{
        .expand = expand_weight.data(),
        .expand_epilogue = {.bias = bias.data(), .activation = relu6},
        .depthwise = depthwise_weight.data(),
        .depthwise_epilogue = {.bias = bias.data(), .activation = relu6},
        .project = project_weight.data(),
        .project_epilogue = {.bias = bias.data(), .activation = {}}};
    const auto input = rounded(numbers(in_pixels * 16, 5));
    std::vector<Float16> wide(static_cast<size_t>(in_pixels * 96)),
        narrow(static_cast<size_t>(out_pixels * 96)), want(static_cast<size_t>(out_pixels * 24)),
        got = want;
    conv_nhwc_f16(expand, input.data(), 16, layers.expand, layers.expand_epilogue, wide.data(), 96);
    dwconv_nhwc_f16(depthwise, wide.data(), 96, layers.depthwise, layers.depthwise_epilogue,
                    narrow.data(), 96);
    conv_nhwc_f16(project, narrow.data(), 96, layers.project, layers.project_epilogue, want.data(),
                  24);
    inverted_residual(shape, input.data(), 16, layers, got.data(), 24);
    EXPECT_EQ(widened(got), widened(want));
  }
}

TEST_F(Float16Kernels, Pooling) {
  for (const int64_t channels : {1, 3, 16, 31, 32, 33, 64, 100, 130}) {
    SCOPED_TRACE(channels);
    const PoolShape shape{2, channels, window(9, 3, 2, 1)};
    const Window2dShape& s = shape.window;
    const int64_t stride = channels + channels % 3;
    auto input = numbers(2 * s.in_h * s.in_w * stride, 1);
    input[0] = std::nanf("");
    const auto halves = rounded(input);
    std::vector<float> want(static_cast<size_t>(2 * s.out_h * s.out_w * stride), kUntouched);
    std::vector<Float16> got = rounded(want);
    // One rounding of the same sums in float32.
    const auto check = [&](const char* what, float tolerance) {
      const auto values = widened(got);
      for (size_t i = 0; i < want.size(); ++i) {
        if (std::isnan(want[i])) {
          ASSERT_TRUE(std::isnan(values[i])) << what << i;
        } else {
          ASSERT_NEAR(values[i], want[i], tolerance) << what << i;
        }
      }
    };
    max_pool_nhwc(shape, input.data(), stride, want.data(), stride);
    max_pool_nhwc(shape, halves.data(), stride, got.data(), stride);
    check("max", 0);
    avg_pool_nhwc(shape, true, 0, input.data(), stride, want.data(), stride);
    avg_pool_nhwc(shape, true, 0, halves.data(), stride, got.data(), stride);
    check("mean", 0x1p-9f);
    const AdaptivePoolShape adaptive{2, channels, s.in_h, s.in_w, 3, 2};
    adaptive_avg_pool_nhwc(adaptive, input.data(), stride, want.data(), stride);
    adaptive_avg_pool_nhwc(adaptive, halves.data(), stride, got.data(), stride);
    check("adaptive", 0x1p-9f);
    global_avg_pool_nhwc(2, s.in_h * s.in_w, channels, input.data(), stride, want.data(), stride);
    global_avg_pool_nhwc(2, s.in_h * s.in_w, channels, halves.data(), stride, got.data(), stride);
    check("all pixels", 0x1p-9f);
  }
}

// One rounding of what the same function gives in float32.
TEST_F(Float16Kernels, ElementwiseFunctions) {
  for (const int64_t columns : {1, 17, 96, 2048, 3000}) {
    for (const int64_t gap : {0, 5}) {
      for (const int threads : {1, 2}) {
        SCOPED_TRACE(testing::Message() << columns << " columns, gap " << gap);
        set_num_threads(threads);
        const int64_t rows = 6, stride = columns + gap;
        const auto a = numbers(rows * stride, 1), b = numbers(rows * stride, 2);
        const auto a_f16 = rounded(a), b_f16 = rounded(b);
        std::vector<float> want(a.size(), kUntouched);
        std::vector<Float16> got = rounded(want);
        for (const Spread spread : {Spread::kNone, Spread::kColumns, Spread::kRows, Spread::kScalar,
                                    Spread::kBatchColumns}) {
          const Activation activation{ActivationKind::kClamp, -20, 30};
          binary_rows_f32(MatrixBinaryOp::kMul, rows, columns, a.data(), stride,
                          {b.data(), spread, stride, 2}, activation, want.data(), stride);
          binary_rows_f16(MatrixBinaryOp::kMul, rows, columns, a_f16.data(), stride,
                          {b_f16.data(), spread, stride, 2}, activation, got.data(), stride);
          EXPECT_EQ(widened(got), want) << static_cast<int>(spread);
        }
        unary_rows_f32(MatrixUnaryOp::kExp, rows, columns, a.data(), stride, want.data(), stride);
        unary_rows_f16(MatrixUnaryOp::kExp, rows, columns, a_f16.data(), stride, got.data(),
                       stride);
        EXPECT_EQ(widened(got), as_float16(want));
        activation_rows_f32({ActivationKind::kSigmoid}, rows, columns, a.data(), stride,
                            want.data(), stride);
        activation_rows_f16({ActivationKind::kSigmoid}, rows, columns, a_f16.data(), stride,
                            got.data(), stride);
        EXPECT_EQ(widened(got), as_float16(want));
        scale_shift_rows_f32(rows, columns, a.data(), stride, b.data(), a.data(), {}, want.data(),
                             stride);
        scale_shift_rows_f16(rows, columns, a_f16.data(), stride, b.data(), a.data(), {},
                             got.data(), stride);
        EXPECT_EQ(widened(got), as_float16(want));
      }
    }
  }
  set_num_threads(1);
}

}  // namespace
}  // namespace torchlet::kernels
