// How often which numbers occur, in bins of equal width over a range that grows with the data.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "quant/qparams.h"

namespace torchlet::quant {

class Histogram {
 public:
  static constexpr size_t kBins = 2048;

  // Finite numbers. When they reach beyond the range so far, what was counted is spread over the
  // bins of the wider range as if it were even within each old bin; the new range is the least that
  // holds both and whose bins are a multiple of 1/128 of the old ones, as PyTorch's
  // HistogramObserver chooses it.
  void add(std::span<const float> values);

  bool empty() const { return total_ == 0; }
  Range range() const { return range_; }
  double bin_width() const {
    return (static_cast<double>(range_.high) - static_cast<double>(range_.low)) / kBins;
  }
  const std::array<double, kBins>& counts() const { return counts_; }
  double total() const { return total_; }
  // Of the total, those that are exactly zero.
  double zeros() const { return zeros_; }

 private:
  void widen(Range to);

  Range range_;
  std::array<double, kBins> counts_{};
  double total_ = 0, zeros_ = 0;
};

}  // namespace torchlet::quant
