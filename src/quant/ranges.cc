#include "quant/ranges.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace torchlet::quant {
namespace {

constexpr auto kBins = static_cast<int64_t>(Histogram::kBins);
constexpr double kSteps = 256;

double cube(double x) { return x * x * x; }

// The expected squared error when 256 steps cover the bins [first, last]. A bin's values are even
// in it; each goes to the centre of its step, those outside to the outermost centres.
double squared_error(const Histogram& histogram, int64_t first, int64_t last) {
  const double width = histogram.bin_width();
  const double step = width * static_cast<double>(last - first + 1) / kSteps;
  if (step == 0) return 0;
  const double inner = 2 * cube(step / 2) / 3;  // over a whole step
  double sum = 0;
  for (int64_t bin = 0; bin < kBins; ++bin) {
    const double count = histogram.counts()[static_cast<size_t>(bin)];
    if (count == 0) continue;
    const double begin = static_cast<double>(bin - first) * width, end = begin + width;
    const double from = std::clamp(std::floor(begin / step), 0.0, kSteps - 1);
    const double to = std::clamp(std::floor(end / step), 0.0, kSteps - 1);
    const double before = begin - (from + 0.5) * step, after = end - (to + 0.5) * step;
    // From the beginning to the end of its step, whole steps, and up to the end.
    const double integral = (cube(step / 2) - cube(before)) / 3 + (to - from - 1) * inner +
                            (cube(after) + cube(step / 2)) / 3;
    sum += count / width * integral;
  }
  return sum;
}

Range range_of_bins(const Histogram& histogram, int64_t first, int64_t last) {
  const double low = histogram.range().low, width = histogram.bin_width();
  return {static_cast<float>(low + width * static_cast<double>(first)),
          static_cast<float>(low + width * static_cast<double>(last + 1))};
}

// Sums over the values below a number, each at the centre of its bin.
class Moments {
 public:
  explicit Moments(const Histogram& histogram)
      : low_(histogram.range().low), width_(histogram.bin_width()) {
    for (size_t k = 0; k < 3; ++k) sums_[k].assign(Histogram::kBins + 1, 0);
    for (size_t bin = 0; bin < Histogram::kBins; ++bin) {
      const double count = histogram.counts()[bin];
      const double centre = low_ + (static_cast<double>(bin) + 0.5) * width_;
      sums_[0][bin + 1] = sums_[0][bin] + count;
      sums_[1][bin + 1] = sums_[1][bin] + count * centre;
      sums_[2][bin + 1] = sums_[2][bin] + count * centre * centre;
    }
  }
  // The squared distances from `end` of what lies below or above it.
  double below(double end) const { return moment(0, bin_of(end), end); }
  double above(double end) const { return moment(bin_of(end), Histogram::kBins, end); }
  double count(double low, double high) const {
    return std::max(0.0, sums_[0][bin_of(high)] - sums_[0][bin_of(low)]);
  }

 private:
  size_t bin_of(double value) const {
    const double at = width_ > 0 ? std::round((value - low_) / width_) : 0;
    return static_cast<size_t>(std::clamp(at, 0.0, static_cast<double>(Histogram::kBins)));
  }
  double moment(size_t from, size_t to, double end) const {
    const auto sum = [&](size_t k) { return sums_[k][to] - sums_[k][from]; };
    return std::max(0.0, sum(2) - 2 * end * sum(1) + end * end * sum(0));
  }

  double low_, width_;
  std::vector<double> sums_[3];
};

// Calls visit(low, high) for narrower and narrower ranges: the ends move on their own.
template <typename Visit>
void for_each_end(Range full, int parts, const Visit& visit) {
  const double low = std::min(full.low, 0.0f), high = std::max(full.high, 0.0f);
  const double n = parts;
  for (int i = parts; i >= (low < 0 ? 1 : parts); --i) {
    for (int j = parts; j >= (high > 0 ? 1 : parts); --j) visit(low * i / n, high * j / n);
  }
}

}  // namespace

Range histogram_range(const Histogram& histogram) {
  constexpr double kQuantile = 1e-5;
  std::vector<double> below(Histogram::kBins);
  double sum = 0;
  for (size_t i = 0; i < below.size(); ++i) below[i] = sum += histogram.counts()[i];
  double alpha = 0, beta = 1, least = std::numeric_limits<double>::infinity();
  int64_t first = 0, last = kBins - 1;
  const auto at = [&](int64_t bin) { return below[static_cast<size_t>(bin)]; };
  while (alpha < beta) {
    const double next_alpha = alpha + kQuantile, next_beta = beta - kQuantile;
    int64_t left = first, right = last;
    while (left < last && at(left) < next_alpha * sum) ++left;
    while (right > first && at(right) > next_beta * sum) --right;
    int64_t next_first = first, next_last = last;
    if (left - first > last - right) {
      next_first = left;
      alpha = next_alpha;
    } else {
      next_last = right;
      beta = next_beta;
    }
    if (next_first == first && next_last == last) continue;
    const double error = squared_error(histogram, next_first, next_last);
    if (error > least) break;
    least = error;
    first = next_first;
    last = next_last;
  }
  return range_of_bins(histogram, first, last);
}

Range least_squares_range(const Histogram& histogram, Range full) {
  if (!(histogram.bin_width() > 0)) return full;
  const Moments moments(histogram);
  double least = std::numeric_limits<double>::infinity();
  Range best = full;
  for_each_end(full, 128, [&](double low, double high) {
    const double step = (high - low) / (kSteps - 1);
    const double rounded = std::max(0.0, moments.count(low, high) - histogram.zeros());
    const double error = moments.below(low) + moments.above(high) + rounded * step * step / 12;
    if (error < least) {
      least = error;
      best = {static_cast<float>(low), static_cast<float>(high)};
    }
  });
  return best;
}

Range percentile_range(const Histogram& histogram) {
  constexpr double kOutside = 1e-5;
  const double outside = histogram.total() * kOutside;
  const auto& counts = histogram.counts();
  int64_t first = 0, last = kBins - 1;
  for (double sum = counts[0]; sum <= outside && first < last;) {
    sum += counts[static_cast<size_t>(++first)];
  }
  for (double sum = counts[Histogram::kBins - 1]; sum <= outside && last > first;) {
    sum += counts[static_cast<size_t>(--last)];
  }
  return range_of_bins(histogram, first, last);
}

namespace {

using Counts = std::array<double, Histogram::kBins>;

// The divergence of what the bins [first, last] hold, the rest at their ends, from what 256 equal
// groups of them tell.
double divergence(const Counts& counts, double total, int64_t first, int64_t last) {
  const auto bins = static_cast<size_t>(last - first + 1);
  std::vector<double> p(counts.begin() + first, counts.begin() + last + 1);
  std::vector<double> q(bins, 0);
  const std::vector<double> inside = p;
  for (int64_t bin = 0; bin < first; ++bin) p.front() += counts[static_cast<size_t>(bin)];
  for (int64_t bin = last + 1; bin < kBins; ++bin) p.back() += counts[static_cast<size_t>(bin)];
  const auto groups = static_cast<size_t>(kSteps);
  double q_total = 0;
  for (size_t group = 0; group < groups; ++group) {
    const size_t begin = group * bins / groups, end = (group + 1) * bins / groups;
    double sum = 0, occupied = 0;
    for (size_t i = begin; i < end; ++i) {
      sum += inside[i];
      occupied += p[i] > 0;
    }
    for (size_t i = begin; i < end; ++i) {
      if (p[i] > 0) q[i] = sum / occupied;
    }
    q_total += sum;
  }
  if (q_total == 0) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (size_t i = 0; i < bins; ++i) {
    if (p[i] == 0) continue;
    const double a = p[i] / total;
    const double b = std::max(q[i] / q_total, 1e-12);
    sum += a * std::log(a / b);
  }
  return sum;
}

}  // namespace

Range entropy_range(const Histogram& histogram, Range full) {
  const double width = histogram.bin_width();
  if (!(width > 0)) return full;
  const double origin = histogram.range().low;
  const auto bin_of = [&](double value) {
    const auto bin = static_cast<int64_t>(std::floor((value - origin) / width));
    return std::clamp<int64_t>(bin, 0, kBins - 1);
  };
  const double low = std::min(full.low, 0.0f), high = std::max(full.high, 0.0f);
  // Zeros have a step of their own in any range.
  Counts counts = histogram.counts();
  counts[static_cast<size_t>(bin_of(0))] -= histogram.zeros();
  const double total = histogram.total() - histogram.zeros();
  if (total <= 0) return full;
  constexpr int kParts = 128;
  double least = std::numeric_limits<double>::infinity();
  Range best = full;
  for (int i = kParts; i >= kParts / 8; --i) {
    const double part = static_cast<double>(i) / kParts;
    const int64_t first = bin_of(low * part), last = bin_of(high * part);
    if (last - first + 1 < static_cast<int64_t>(kSteps)) break;
    const double distance = divergence(counts, total, first, last);
    if (distance < least) {
      least = distance;
      best = {static_cast<float>(low * part), static_cast<float>(high * part)};
    }
  }
  return best;
}

}  // namespace torchlet::quant
