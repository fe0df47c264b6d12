#include "quant/observer.h"

#include <algorithm>
#include <cmath>

#include "quant/ranges.h"

namespace torchlet::quant {
namespace {

constexpr float kAveraging = 0.01f;  // MovingAverageMinMaxObserver's averaging_constant

}  // namespace

void Observer::add(const Tensor& tensor) {
  const Tensor dense = tensor.contiguous();
  const std::span<const float> values(dense.data_ptr<float>(), static_cast<size_t>(dense.numel()));
  if (values.empty()) return;
  if (!std::ranges::all_of(values, [](float v) { return std::isfinite(v); })) {
    finite_ = false;
    return;
  }
  const auto [low, high] = std::ranges::minmax(values);
  if (!seen_) {
    range_ = moving_average_ = {low, high};
  } else {
    range_ = {std::min(range_.low, low), std::max(range_.high, high)};
    moving_average_.low += kAveraging * (low - moving_average_.low);
    moving_average_.high += kAveraging * (high - moving_average_.high);
  }
  seen_ = true;
  histogram_.add(values);
}

Range Observer::choose(RangeMethod method) const {
  switch (method) {
    case RangeMethod::kMinMax:
      return range_;
    case RangeMethod::kMovingAverage:
      return moving_average_;
    case RangeMethod::kHistogram:
      return histogram_range(histogram_);
    case RangeMethod::kL2:
      return least_squares_range(histogram_, range_);
    case RangeMethod::kPercentile:
      return percentile_range(histogram_);
    case RangeMethod::kEntropy:
      return entropy_range(histogram_, range_);
  }
  return range_;
}

}  // namespace torchlet::quant
