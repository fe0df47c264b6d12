#include "quant/histogram.h"

#include <algorithm>
#include <cmath>

namespace torchlet::quant {
namespace {

constexpr double kUpsampling = 128;

}  // namespace

void Histogram::widen(Range to) {
  const double old_width = bin_width(), old_low = range_.low;
  const double low = std::min(range_.low, to.low);
  double high = std::max(range_.high, to.high);
  if (old_width > 0) {
    const double part = old_width / kUpsampling * kBins;
    high = low + std::ceil((high - low) / part - 1e-6) * part;
  }
  const std::array<double, kBins> old = counts_;
  counts_.fill(0);
  range_ = {static_cast<float>(low), static_cast<float>(high)};
  const double width = bin_width();
  for (size_t i = 0; i < kBins; ++i) {
    if (old[i] == 0) continue;
    const double begin = (old_low + static_cast<double>(i) * old_width - low) / width;
    const double end = begin + old_width / width;
    const auto first = std::min(static_cast<size_t>(begin), kBins - 1);
    const auto last = std::min(static_cast<size_t>(end), kBins - 1);
    if (first == last) {
      counts_[first] += old[i];
      continue;
    }
    // No bin is narrower than an old one, so there are two at most.
    const double below = (static_cast<double>(last) - begin) / (end - begin);
    counts_[first] += old[i] * below;
    counts_[last] += old[i] * (1 - below);
  }
}

void Histogram::add(std::span<const float> values) {
  if (values.empty()) return;
  const auto [low, high] = std::ranges::minmax(values);
  if (empty()) {
    range_ = {low, high};
  } else if (low < range_.low || high > range_.high) {
    widen({low, high});
  }
  const double width = bin_width();
  const double inverse = width > 0 ? 1 / width : 0;
  for (const float value : values) {
    const double at = (static_cast<double>(value) - static_cast<double>(range_.low)) * inverse;
    counts_[std::min(static_cast<size_t>(at), kBins - 1)] += 1;
    if (value == 0) zeros_ += 1;
  }
  total_ += static_cast<double>(values.size());
}

}  // namespace torchlet::quant
