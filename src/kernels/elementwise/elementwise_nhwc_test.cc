#include "kernels/elementwise/elementwise_nhwc.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Signs and magnitudes from the smallest normal number to `limit`, `step` bit patterns apart.
std::vector<float> floats(float limit, uint32_t step) {
  std::vector<float> x{0.0f, -0.0f};
  for (uint32_t bits = 0x00800000u; bits <= std::bit_cast<uint32_t>(limit); bits += step) {
    x.push_back(std::bit_cast<float>(bits));
    x.push_back(-x.back());
  }
  return x;
}

std::vector<float> unary(MatrixUnaryOp op, const std::vector<float>& x, float alpha = 0,
                         float beta = 0, float gamma = 1) {
  std::vector<float> y(x.size());
  const int64_t n = static_cast<int64_t>(x.size());
  unary_rows_f32(op, 1, n, x.data(), n, y.data(), n, alpha, beta, gamma);
  return y;
}

std::vector<float> activated(const Activation& activation, const std::vector<float>& x) {
  std::vector<float> y(x.size());
  const int64_t n = static_cast<int64_t>(x.size());
  activation_rows_f32(activation, 1, n, x.data(), n, y.data(), n);
  return y;
}

double exact_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(UnaryRows, ElementaryFunctionsAreAccurate) {
  struct Accuracy {
    MatrixUnaryOp op;
    double (*exact)(double);
    double max_ulps;
    float limit;
  };
  constexpr float kMost = std::numeric_limits<float>::max();
  const Accuracy functions[] = {
      {MatrixUnaryOp::kExp, [](double x) { return std::exp(x); }, 1.0, kMost},
      {MatrixUnaryOp::kExpm1, [](double x) { return std::expm1(x); }, 4.0, kMost},
      {MatrixUnaryOp::kLog, [](double x) { return std::log(x); }, 2.0, kMost},
      {MatrixUnaryOp::kLog1p, [](double x) { return std::log1p(x); }, 3.0, kMost},
      {MatrixUnaryOp::kErf, [](double x) { return std::erf(x); }, 1.2, kMost},
      {MatrixUnaryOp::kReciprocal, [](double x) { return 1 / x; }, 0.5, 1e37f},
      {MatrixUnaryOp::kSqrt, [](double x) { return std::sqrt(x); }, 0.5, kMost},
      {MatrixUnaryOp::kRsqrt, [](double x) { return 1 / std::sqrt(x); }, 1.5, kMost},
      {MatrixUnaryOp::kMish, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }, 5.0,
       kMost}};
  for_each_target([&] {
    for (const Accuracy& function : functions) {
      const std::vector<float> x = floats(function.limit, 4001);
      const std::vector<float> y = unary(function.op, x);
      for (size_t i = 0; i < x.size(); ++i) {
        const double exact = function.exact(x[i]);
        if (function.op == MatrixUnaryOp::kMish && std::fabs(exact) < 1e-30) continue;
        if (kQuotientUlps > 0 && std::isinf(exact)) continue;  // 1 / sqrt(-0) loses its sign
        ASSERT_LE(ulps(y[i], exact), function.max_ulps + kQuotientUlps)
            << "function " << static_cast<int>(function.op) << " of " << x[i] << " is " << y[i];
      }
    }
  });
}

TEST(UnaryRows, SineAndCosine) {
  for_each_target([] {
    std::vector<float> x = floats(1e4f, 5003);
    x.push_back(1e6f);  // one that leaves the vector path
    const std::vector<float> sines = unary(MatrixUnaryOp::kSin, x);
    const std::vector<float> cosines = unary(MatrixUnaryOp::kCos, x);
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_NEAR(sines[i], std::sin(static_cast<double>(x[i])), 2e-7) << x[i];
      ASSERT_NEAR(cosines[i], std::cos(static_cast<double>(x[i])), 2e-7) << x[i];
    }
  });
}

TEST(UnaryRows, SpecialValues) {
  for_each_target([] {
    using Op = MatrixUnaryOp;
    const auto special = [](Op op) { return unary(op, {-kInf, -1, 0, kInf}); };
    EXPECT_EQ(special(Op::kExp)[0], 0);
    EXPECT_EQ(special(Op::kExp)[3], kInf);
    EXPECT_EQ(special(Op::kExpm1)[0], -1);
    EXPECT_EQ(special(Op::kExpm1)[3], kInf);
    EXPECT_TRUE(std::isnan(special(Op::kLog)[1]));
    EXPECT_EQ(special(Op::kLog)[2], -kInf);
    EXPECT_EQ(special(Op::kLog)[3], kInf);
    EXPECT_EQ(special(Op::kLog1p)[1], -kInf);
    EXPECT_EQ(special(Op::kLog1p)[3], kInf);
    EXPECT_TRUE(std::isnan(special(Op::kSqrt)[1]));
    EXPECT_EQ(special(Op::kRsqrt)[2], kInf);
    EXPECT_EQ(special(Op::kReciprocal)[3], 0);
    EXPECT_TRUE(std::isnan(special(Op::kSin)[3]));
    EXPECT_EQ(special(Op::kSign), (std::vector<float>{-1, -1, 0, 1}));
    EXPECT_EQ(special(Op::kMish)[3], kInf);
    if (!kFlushesDenormals) {
      EXPECT_EQ(unary(Op::kLog, {1e-40f})[0], std::log(1e-40f));
    }
  });
}

// run(rows, columns, x, x_stride, y, y_stride) for rows with gaps and every tail; NaN stays.
template <typename Run>
void expect_rows(const Run& run, double (*function)(double), int64_t which) {
  for (int64_t columns = 1; columns < 40; columns += 3) {
    const int64_t rows = 3, x_stride = columns + 1, y_stride = columns + 2;
    std::vector<float> x(static_cast<size_t>(rows * x_stride));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 43) * 0.37f - 7;
    x[static_cast<size_t>(columns) / 2] = kNaN;
    std::vector<float> y(static_cast<size_t>(rows * y_stride), 777);
    run(rows, columns, x.data(), x_stride, y.data(), y_stride);
    for (int64_t i = 0; i < rows * y_stride; ++i) {
      const int64_t row = i / y_stride, column = i % y_stride;
      const float value = y[static_cast<size_t>(i)];
      if (column >= columns) {
        ASSERT_EQ(value, 777);
        continue;
      }
      const double from = x[static_cast<size_t>(row * x_stride + column)];
      if (std::isnan(from)) {
        ASSERT_TRUE(std::isnan(value)) << which;
        continue;
      }
      const double exact = function(from);
      ASSERT_NEAR(value, exact, 4e-7 * std::fmax(1, std::fabs(exact))) << which << " of " << from;
    }
  }
}

TEST(UnaryRows, EveryOpOnEveryTail) {
  using Op = MatrixUnaryOp;
  struct Case {
    Op op;
    float alpha, beta, gamma;
    double (*exact)(double);
  };
  const Case cases[] = {
      {Op::kAbs, 0, 0, 1, [](double x) { return std::fabs(x); }},
      {Op::kNeg, 0, 0, 1, [](double x) { return -x; }},
      {Op::kSquare, 0, 0, 1, [](double x) { return x * x; }},
      {Op::kCube, 0, 0, 1, [](double x) { return x * x * x; }},
      {Op::kExp, 0, 0, 1, [](double x) { return std::exp(x); }},
      {Op::kSin, 0, 0, 1, [](double x) { return std::sin(x); }},
      {Op::kFloor, 0, 0, 1, [](double x) { return std::floor(x); }},
      {Op::kCeil, 0, 0, 1, [](double x) { return std::ceil(x); }},
      {Op::kTrunc, 0, 0, 1, [](double x) { return std::trunc(x); }},
      {Op::kRound, 0, 0, 1, [](double x) { return std::nearbyint(x); }},
      {Op::kSign, 0, 0, 1, [](double x) { return double(x > 0) - double(x < 0); }},
      {Op::kElu, 1.5f, 0.5f, 2, [](double x) { return 2 * (x > 0 ? x : 1.5 * std::expm1(x / 2)); }},
      {Op::kSoftplus, 2, 3, 1,
       [](double x) { return 2 * x > 3 ? x : std::log1p(std::exp(2 * x)) / 2; }},
      {Op::kMish, 0, 0, 1, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
      {Op::kSoftsign, 0, 0, 1, [](double x) { return x / (1 + std::fabs(x)); }},
      {Op::kThreshold, 1, -5, 1, [](double x) { return x > 1 ? x : -5; }},
      {Op::kHardshrink, 2, 0, 1, [](double x) { return std::fabs(x) > 2 ? x : 0; }},
      {Op::kSoftshrink, 2, 0, 1,
       [](double x) { return std::fabs(x) > 2 ? x - std::copysign(2, x) : 0; }}};
  for_each_target([&] {
    for (const Case& c : cases) {
      const auto run = [&](int64_t rows, int64_t columns, const float* x, int64_t x_stride,
                           float* y, int64_t y_stride) {
        unary_rows_f32(c.op, rows, columns, x, x_stride, y, y_stride, c.alpha, c.beta, c.gamma);
      };
      expect_rows(run, c.exact, static_cast<int64_t>(c.op));
    }
  });
}

TEST(AffineRows, OnEveryTail) {
  for_each_target([] {
    const auto run = [](int64_t rows, int64_t columns, const float* x, int64_t x_stride, float* y,
                        int64_t y_stride) {
      affine_rows_f32(rows, columns, x, x_stride, 3, 2, y, y_stride);
    };
    expect_rows(
        run, [](double x) { return 3 * x + 2; }, 0);
  });
}

TEST(ActivationRows, ErrorsAreSmall) {
  struct Case {
    Activation activation;
    double (*exact)(double);
    double max_ulps;
    double ulps_of_x = 0;  // more for each unit that x is below 0, where the result goes with e^x
  };
  const Case cases[] = {
      {{ActivationKind::kHardsigmoid},
       [](double x) { return std::fmin(6, std::fmax(0, x + 3)) / 6; },
       3},
      {{ActivationKind::kHardswish},
       [](double x) { return x * std::fmin(6, std::fmax(0, x + 3)) / 6; },
       3},
      {{ActivationKind::kSigmoid}, exact_sigmoid, 3, 1.25},
      {{ActivationKind::kSilu}, [](double x) { return x * exact_sigmoid(x); }, 4, 1.25},
      {{ActivationKind::kTanh}, [](double x) { return std::tanh(x); }, 2}};
  for_each_target([&] {
    for (const Case& c : cases) {
      const std::vector<float> x = floats(80, 4001);
      const std::vector<float> y = activated(c.activation, x);
      for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_LE(ulps(y[i], c.exact(x[i])),
                  c.max_ulps + c.ulps_of_x * std::fmax(0, -x[i]) + kQuotientUlps)
            << static_cast<int>(c.activation.kind) << " of " << x[i] << " is " << y[i];
      }
    }
  });
}

TEST(ActivationRows, EveryKindOnEveryTail) {
  struct Case {
    Activation activation;
    double (*exact)(double);
  };
  const Case cases[] = {
      {{ActivationKind::kNone}, [](double x) { return x; }},
      {{ActivationKind::kClamp, 0, 6}, [](double x) { return std::fmin(6, std::fmax(0, x)); }},
      {{ActivationKind::kLeakyRelu, 0.1f}, [](double x) { return x > 0 ? x : x * 0.1f; }},
      {{ActivationKind::kHardswish},
       [](double x) { return x * std::fmin(6, std::fmax(0, x + 3)) / 6; }},
      {{ActivationKind::kHardsigmoid},
       [](double x) { return std::fmin(6, std::fmax(0, x + 3)) / 6; }},
      {{ActivationKind::kSigmoid}, exact_sigmoid},
      {{ActivationKind::kSilu}, [](double x) { return x * exact_sigmoid(x); }},
      {{ActivationKind::kTanh}, [](double x) { return std::tanh(x); }},
      {{ActivationKind::kGelu}, [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2))); }},
      {{ActivationKind::kGeluTanh}, [](double x) {
         return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
       }}};
  for_each_target([&] {
    for (const Case& c : cases) {
      for (int64_t columns = 1; columns < 40; ++columns) {
        const int64_t rows = 3, stride = columns + 1;
        std::vector<float> x(static_cast<size_t>(rows * stride));
        for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 43) * 0.37f - 7;
        x[static_cast<size_t>(columns) / 2] = kNaN;
        std::vector<float> y = x;
        activation_rows_f32(c.activation, rows, columns, y.data(), stride, y.data(), stride);
        for (size_t i = 0; i < x.size(); ++i) {
          if (static_cast<int64_t>(i) % stride == columns) {
            ASSERT_EQ(y[i], x[i]);
          } else if (std::isnan(x[i])) {
            ASSERT_TRUE(std::isnan(y[i])) << static_cast<int>(c.activation.kind);
          } else {
            const double exact = c.exact(x[i]);
            ASSERT_NEAR(y[i], exact, 8e-7 * std::fmax(1, std::fabs(exact)))
                << static_cast<int>(c.activation.kind) << " of " << x[i];
          }
        }
      }
    }
  });
}

TEST(ActivationRows, InfinitiesEndWhereTheyShould) {
  for_each_target([] {
    const auto ends = [](ActivationKind kind) { return activated({kind}, {-kInf, kInf}); };
    EXPECT_NEAR(ends(ActivationKind::kSigmoid)[0], 0, 2e-38);
    EXPECT_EQ(ends(ActivationKind::kSigmoid)[1], 1);
    EXPECT_EQ(ends(ActivationKind::kTanh), (std::vector<float>{-1, 1}));
    EXPECT_EQ(ends(ActivationKind::kGelu)[1], kInf);
    EXPECT_EQ(ends(ActivationKind::kSilu)[1], kInf);
  });
}

float exact_binary(MatrixBinaryOp op, float a, float b) {
  switch (op) {
    case MatrixBinaryOp::kAdd:
      return a + b;
    case MatrixBinaryOp::kSub:
      return a - b;
    case MatrixBinaryOp::kRsub:
      return b - a;
    case MatrixBinaryOp::kMul:
      return a * b;
    case MatrixBinaryOp::kDiv:
      return a / b;
    case MatrixBinaryOp::kRdiv:
      return b / a;
    case MatrixBinaryOp::kMax:
      return a > b ? a : b;
    case MatrixBinaryOp::kPrelu:
      return a > 0 ? a : a * b;
    default:
      return a < b ? a : b;
  }
}

TEST(BinaryRows, EveryOpSpreadAndTail) {
  using Op = MatrixBinaryOp;
  const Activation activations[] = {
      {}, {ActivationKind::kClamp, -2, 3}, {ActivationKind::kLeakyRelu, 0.5f}};
  for_each_target([&] {
    for (const Op op : {Op::kAdd, Op::kSub, Op::kRsub, Op::kMul, Op::kDiv, Op::kRdiv, Op::kMax,
                        Op::kMin, Op::kPrelu}) {
      for (const Spread spread : {Spread::kNone, Spread::kColumns, Spread::kRows, Spread::kScalar,
                                  Spread::kBatchColumns}) {
        for (int64_t columns : {1, 3, 15, 16, 17, 40}) {
          // Many rows without gaps are taken for longer ones.
          for (const auto& [rows, gap] : {std::pair<int64_t, int64_t>(6, 0), {6, 3}, {180, 0}}) {
            const Activation& activation = activations[static_cast<size_t>(columns % 3)];
            const int64_t per_batch = 3, stride = columns + gap;
            const int64_t b_stride = spread == Spread::kRows ? 2 : stride;
            std::vector<float> a(static_cast<size_t>(rows * stride)), b(2 * a.size() + 12);
            for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 2.5f;
            for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5) - 1.5f;
            std::vector<float> y(a.size(), 777);
            binary_rows_f32(op, rows, columns, a.data(), stride,
                            {b.data(), spread, b_stride, per_batch}, activation, y.data(), stride);
            for (int64_t row = 0; row < rows; ++row) {
              for (int64_t c = 0; c < stride; ++c) {
                const size_t at = static_cast<size_t>(row * stride + c);
                if (c >= columns) {
                  ASSERT_EQ(y[at], 777);
                  continue;
                }
                int64_t place = 0;
                if (spread == Spread::kNone) place = row * b_stride + c;
                if (spread == Spread::kColumns) place = c;
                if (spread == Spread::kRows) place = row * b_stride;
                if (spread == Spread::kBatchColumns) place = row / per_batch * b_stride + c;
                float expected = exact_binary(op, a[at], b[static_cast<size_t>(place)]);
                if (activation.kind == ActivationKind::kClamp) {
                  expected = std::fmin(3, std::fmax(-2, expected));
                } else if (activation.kind == ActivationKind::kLeakyRelu && expected < 0) {
                  expected *= 0.5f;
                }
                const bool is_quotient = op == Op::kDiv || op == Op::kRdiv;
                ASSERT_LE(ulps(y[at], expected), is_quotient ? kQuotientUlps : 0)
                    << static_cast<int>(op) << static_cast<int>(spread);
              }
            }
          }
        }
      }
    }
  });
}

TEST(BinaryRows, NaNGoesThrough) {
  for_each_target([] {
    const float a[] = {kNaN, 1, 2}, b[] = {1, kNaN, 3};
    for (const MatrixBinaryOp op :
         {MatrixBinaryOp::kAdd, MatrixBinaryOp::kMax, MatrixBinaryOp::kMin}) {
      float y[3];
      binary_rows_f32(op, 1, 3, a, 3, {b, Spread::kNone, 3}, {ActivationKind::kClamp, 0, 6}, y, 3);
      EXPECT_TRUE(std::isnan(y[0]));
      EXPECT_TRUE(std::isnan(y[1]));
      EXPECT_FALSE(std::isnan(y[2]));
    }
  });
}

// Short planes, several at a time, and long ones, on one thread and on two; in place.
TEST(ScaleShiftPlanes, OfAnyLength) {
  for_each_target([] {
    for (const int threads : {1, 2}) {
      set_num_threads(threads);
      for (const int64_t pixels : {1, 7, 50, 1024, 1025, 5000}) {
        const int64_t batch = 3, channels = 37;
        std::vector<float> scale, shift, y, want;
        for (int64_t c = 0; c < channels; ++c) {
          scale.push_back(static_cast<float>(c % 5) - 2);
          shift.push_back(static_cast<float>(c % 7) / 4);
        }
        for (int64_t i = 0; i < batch * channels * pixels; ++i) {
          const auto c = static_cast<size_t>(i / pixels % channels);
          y.push_back(static_cast<float>(i % 23) / 8 - 1);
          want.push_back(std::fmax(0.0f, y.back() * scale[c] + shift[c]));
        }
        scale_shift_planes_f32(batch, channels, pixels, y.data(), scale.data(), shift.data(),
                               {ActivationKind::kClamp, 0, kInf}, y.data());
        ASSERT_EQ(y, want) << pixels;
      }
    }
    set_num_threads(1);
  });
}

TEST(ScaleShiftRows, EveryTail) {
  for_each_target([] {
    for (const auto& [columns, rows, gap] : {std::array<int64_t, 3>{1, 5, 2},
                                             {3, 5, 2},
                                             {16, 5, 2},
                                             {17, 5, 2},
                                             {40, 5, 2},
                                             {3, 400, 0},
                                             {10, 230, 0},
                                             {40, 30, 0}}) {
      const int64_t stride = columns + gap;
      std::vector<float> x(static_cast<size_t>(rows * stride)), scale, shift;
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 11) - 5;
      for (int64_t c = 0; c < columns; ++c) {
        scale.push_back(static_cast<float>(c % 5) - 2);
        shift.push_back(static_cast<float>(c % 3));
      }
      std::vector<float> y = x;
      scale_shift_rows_f32(rows, columns, y.data(), stride, scale.data(), shift.data(),
                           {ActivationKind::kClamp, 0, 6}, y.data(), stride);
      for (size_t i = 0; i < x.size(); ++i) {
        const size_t c = i % static_cast<size_t>(stride);
        const float expected =
            c < scale.size() ? std::fmin(6.0f, std::fmax(0.0f, x[i] * scale[c] + shift[c])) : x[i];
        ASSERT_EQ(y[i], expected);
      }
    }
  });
}

}  // namespace
}  // namespace torchlet::kernels
