#include "quant/observer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "quant/qparams.h"

namespace torchlet::quant {
namespace {

using Function = std::function<double(double)>;

Tensor series(int64_t count, double step, const Function& f) {
  const Tensor tensor = empty(std::array<int64_t, 1>{count}, DType::kFloat32);
  for (int64_t i = 0; i < count; ++i) {
    tensor.data_ptr<float>()[i] = static_cast<float>(f(static_cast<double>(i) * step));
  }
  return tensor;
}

Observer observing(const std::vector<Tensor>& tensors) {
  Observer observer;
  for (const Tensor& tensor : tensors) observer.add(tensor);
  return observer;
}

Observer ripple() {
  return observing({series(1000, 0.37, [](double t) { return 0.9 * std::pow(std::sin(t), 3); })});
}
Observer positive() {
  return observing(
      {series(1000, 0.37, [](double t) { return 0.9 * std::pow(std::fabs(std::sin(t)), 5); })});
}
Observer growing() {
  return observing({series(1000, 0.37, [](double t) { return 0.3 * std::pow(std::sin(t), 3); }),
                    series(1000, 0.21, [](double t) { return 0.9 * std::pow(std::cos(t), 5); })});
}
// A hundred and one values of 0.1 at most, and one of 0.95.
Observer outlier() {
  return observing(
      {series(4001, 0.37, [](double t) { return t > 0.37 * 3999.5 ? 0.95 : 0.1 * std::sin(t); })});
}

// What PyTorch 1.13's observers of the same values give.
void expect_pytorch(const Observer& observer, RangeMethod method, double scale, int64_t zero_point,
                    bool reduced = false) {
  const QParams params = affine_qparams(observer.choose(method), reduced);
  EXPECT_NEAR(params.scale, scale, scale * 1e-6);
  EXPECT_EQ(params.zero_point, zero_point);
}

TEST(Observer, MinMaxIsPyTorchs) {
  expect_pytorch(ripple(), RangeMethod::kMinMax, 0.007058797404170036, 128);
  expect_pytorch(positive(), RangeMethod::kMinMax, 0.003529411507770419, 0);
  expect_pytorch(growing(), RangeMethod::kMinMax, 0.0070588234812021255, 127);
  expect_pytorch(outlier(), RangeMethod::kMinMax, 0.004117646720260382, 24);
}

TEST(Observer, ReducedRangeIsPyTorchs) {
  expect_pytorch(ripple(), RangeMethod::kMinMax, 0.014173176139593124, 64, true);
  expect_pytorch(positive(), RangeMethod::kMinMax, 0.007086613681167364, 0, true);
  expect_pytorch(outlier(), RangeMethod::kMinMax, 0.008267716504633427, 12, true);
}

TEST(Observer, MovingAverageIsPyTorchs) {
  expect_pytorch(growing(), RangeMethod::kMovingAverage, 0.002399991499260068, 128);
  expect_pytorch(outlier(), RangeMethod::kMovingAverage, 0.004117646720260382, 24);
}

TEST(Observer, HistogramIsPyTorchs) {
  expect_pytorch(ripple(), RangeMethod::kHistogram, 0.007045011036098003, 128);
  expect_pytorch(positive(), RangeMethod::kHistogram, 0.003527688095346093, 0);
  // A second tensor with another range; 1.13 counts in ranges that are cut to whole numbers.
  const Tensor narrow = series(1001, 0.37, [](double t) { return std::pow(std::sin(t), 3); });
  const Tensor wide = series(1001, 0.21, [](double t) { return 4 * std::pow(std::cos(t), 5); });
  for (const auto& [tensor, end] : {std::pair(narrow, 1.0f), std::pair(wide, 4.0f)}) {
    tensor.data_ptr<float>()[0] = -end;
    tensor.data_ptr<float>()[1] = end;
  }
  expect_pytorch(observing({narrow, wide}), RangeMethod::kHistogram, 0.031265318393707275, 128);
  expect_pytorch(outlier(), RangeMethod::kHistogram, 0.004115635994821787, 24);
}

// Of 100,000 values up to 1 and one of 20.
Observer with_rare_value() {
  Observer observer = observing({series(100000, 0.37, [](double t) { return std::sin(t); })});
  observer.add(series(1, 1, [](double) { return 20.0; }));
  return observer;
}

TEST(Observer, RareValuesAreLeftOut) {
  const Observer observer = with_rare_value();
  EXPECT_FLOAT_EQ(observer.choose(RangeMethod::kMinMax).high, 20);
  EXPECT_NEAR(observer.choose(RangeMethod::kPercentile).high, 1, 0.05);
  const Range l2 = observer.choose(RangeMethod::kL2);
  EXPECT_LT(l2.high, 19);
  EXPECT_GT(l2.high, 5);  // losing it all would cost more than finer steps give
}

// The third power of sums of uniform numbers has long tails.
TEST(Observer, EntropyLeavesTailsOut) {
  uint64_t state = 1;
  const Observer observer = observing({series(100000, 1, [&](double) {
    double sum = 0;
    for (int i = 0; i < 12; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      sum += static_cast<double>(state >> 11) * 0x1p-53 - 0.5;
    }
    return sum * sum * sum;
  })});
  const Range full = observer.choose(RangeMethod::kMinMax);
  const Range range = observer.choose(RangeMethod::kEntropy);
  EXPECT_LT(range.high, full.high * 0.8f);
  EXPECT_GT(range.low, full.low * 0.8f);
  EXPECT_GT(range.high, 1);
}

// The squared error of all values in the range's steps.
double true_error(Range range, const Tensor& values) {
  const QParams params = affine_qparams(range, false);
  double sum = 0;
  for (int64_t i = 0; i < values.numel(); ++i) {
    const auto v = static_cast<double>(values.data_ptr<float>()[i]);
    const double q = std::clamp(
        std::nearbyint(v / params.scale) + static_cast<double>(params.zero_point), 0.0, 255.0);
    const double error = (q - static_cast<double>(params.zero_point)) * params.scale - v;
    sum += error * error;
  }
  return sum;
}

TEST(Observer, L2IsNoWorseThanTheFullRange) {
  // Half of the values are zero, as behind a ReLU; a few are large.
  const Tensor values = series(20000, 0.37, [](double t) {
    return std::max(0.0, std::pow(std::sin(t), 9) * 3 + std::sin(t * 7) * 0.2);
  });
  const Observer observer = observing({values});
  const double full = true_error(observer.choose(RangeMethod::kMinMax), values);
  EXPECT_LE(true_error(observer.choose(RangeMethod::kL2), values), full * 1.02);
}

TEST(Observer, NothingOrInfinityIsTold) {
  EXPECT_FALSE(Observer().seen());
  Observer observer;
  observer.add(series(3, 1, [](double) { return std::numeric_limits<double>::infinity(); }));
  EXPECT_FALSE(observer.finite());
}

TEST(Observer, OneValueHasARange) {
  const Observer observer = observing({series(5, 1, [](double) { return 2.0; })});
  for (const RangeMethod method :
       {RangeMethod::kMinMax, RangeMethod::kMovingAverage, RangeMethod::kHistogram,
        RangeMethod::kL2, RangeMethod::kPercentile, RangeMethod::kEntropy}) {
    const QParams params = affine_qparams(observer.choose(method), false);
    EXPECT_NEAR(params.scale * 255, 2, 1e-6) << static_cast<int>(method);
    EXPECT_EQ(params.zero_point, 0);
  }
}

TEST(QParams, ZeroIsExactAndScalesArePositive) {
  EXPECT_EQ(affine_qparams({1, 3}, false), (QParams{static_cast<double>(3.0f / 255), 0}));
  EXPECT_EQ(affine_qparams({-3, -1}, false).zero_point, 255);
  EXPECT_GT(affine_qparams({0, 0}, false).scale, 0);
}

TEST(QParams, SymmetricScaleIsPyTorchs) {
  EXPECT_FLOAT_EQ(static_cast<float>(symmetric_scale(2)), 2.0f / 127.5f);
}

TEST(Histogram, SpreadsOldCountsOverAWiderRange) {
  Histogram histogram;
  histogram.add(std::vector<float>{0, 0.25f, 0.5f, 1});
  histogram.add(std::vector<float>{-1, 2});
  EXPECT_EQ(histogram.total(), 6);
  EXPECT_EQ(histogram.zeros(), 1);
  double sum = 0;
  for (const double count : histogram.counts()) sum += count;
  EXPECT_NEAR(sum, 6, 1e-9);
  EXPECT_FLOAT_EQ(histogram.range().low, -1);
  EXPECT_GE(histogram.range().high, 2);
  EXPECT_LT(histogram.range().high, 2.01f);
}

}  // namespace
}  // namespace torchlet::quant
