#include "image/taps.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace torchlet::image {
namespace {

using kernels::Window;

constexpr int kFractionBits = 22;

// Keys' cubic convolution.
double cubic(double x, double a) {
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

// PIL's filters (src/libImaging/Resample.c).
double filter(Interpolation interpolation, double x) {
  if (interpolation == Interpolation::kBicubic) return cubic(x, -0.5);
  return std::max(0.0, 1 - std::abs(x));
}

template <typename Weight>
Taps<Weight> identity(int64_t begin, int64_t end, Weight one) {
  Taps<Weight> taps;
  taps.is_identity = true;
  for (int64_t i = begin; i < end; ++i) {
    taps.windows.push_back({i, 1, i - begin});
    taps.weights.push_back(one);
  }
  return taps;
}

// As ImagingScaleAffine() finds them: by steps that add up.
Taps<int32_t> nearest_by_steps(int64_t in, int64_t out, int64_t begin, int64_t end) {
  Taps<int32_t> taps;
  const double step = static_cast<double>(in) / static_cast<double>(out);
  double at = step * 0.5;
  for (int64_t i = 0; i < end; ++i, at += step) {
    if (i < begin) continue;
    taps.windows.push_back({std::min(static_cast<int64_t>(at), in - 1), 1, i - begin});
    taps.weights.push_back(1 << kFractionBits);
  }
  return taps;
}

// Adds the neighbours at `first`, first + 1, ... with their weights to a window; those outside
// stand for the pixel at the border.
void add_clamped(Taps<float>& taps, int64_t in, int64_t first,
                 std::initializer_list<float> weights) {
  const auto inside = [&](int64_t i) { return std::clamp<int64_t>(i, 0, in - 1); };
  const int64_t from = inside(first);
  const int64_t to = inside(first + static_cast<int64_t>(weights.size()) - 1);
  const size_t base = taps.weights.size();
  taps.windows.push_back({from, to - from + 1, static_cast<int64_t>(base)});
  taps.weights.resize(base + static_cast<size_t>(to - from + 1));
  for (const float weight : weights) {
    taps.weights[base + static_cast<size_t>(inside(first++) - from)] += weight;
  }
}

}  // namespace

Taps<int32_t> antialiased_taps(int64_t in, int64_t out, int64_t begin, int64_t end,
                               Interpolation interpolation) {
  if (in == out) return identity<int32_t>(begin, end, 1 << kFractionBits);
  if (interpolation == Interpolation::kNearest) return nearest_by_steps(in, out, begin, end);
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  const double stretch = std::max(scale, 1.0);
  const double support = stretch * (interpolation == Interpolation::kBicubic ? 2 : 1);
  Taps<int32_t> taps;
  std::vector<double> weights;
  for (int64_t i = begin; i < end; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const auto first = std::max<int64_t>(0, static_cast<int64_t>(center - support + 0.5));
    const auto last = std::min<int64_t>(in, static_cast<int64_t>(center + support + 0.5));
    weights.clear();
    double sum = 0;
    for (int64_t x = first; x < last; ++x) {
      const double distance = (static_cast<double>(x) - center + 0.5) * (1 / stretch);
      weights.push_back(filter(interpolation, distance));
      sum += weights.back();
    }
    taps.windows.push_back({first, last - first, static_cast<int64_t>(taps.weights.size())});
    for (const double weight : weights) {
      const double fixed = (sum != 0 ? weight / sum : weight) * (1 << kFractionBits);
      taps.weights.push_back(static_cast<int32_t>(fixed + (weight < 0 ? -0.5 : 0.5)));
    }
  }
  return taps;
}

// UpSampleKernel.cpp (area_pixel_compute_source_index): the scale is rounded to float32, positions
// are not.
Taps<float> plain_taps(int64_t in, int64_t out, int64_t begin, int64_t end,
                       Interpolation interpolation) {
  if (in == out) return identity<float>(begin, end, 1);
  const float scale = static_cast<float>(in) / static_cast<float>(out);
  Taps<float> taps;
  for (int64_t i = begin; i < end; ++i) {
    if (interpolation == Interpolation::kNearest) {
      add_clamped(taps, in, static_cast<int64_t>(static_cast<float>(i) * scale), {1.0f});
      continue;
    }
    double at = static_cast<double>(scale) * (static_cast<double>(i) + 0.5) - 0.5;
    if (interpolation == Interpolation::kBilinear) at = std::max(at, 0.0);
    const double floor = std::floor(at);
    const auto first = static_cast<int64_t>(floor);
    const auto t = static_cast<float>(at - floor);
    if (interpolation == Interpolation::kBilinear) {
      add_clamped(taps, in, first, {1 - t, t});
    } else {
      const auto weight = [&](double distance) {
        return static_cast<float>(cubic(distance, -0.75));
      };
      const double x = t;
      add_clamped(taps, in, first - 1, {weight(x + 1), weight(x), weight(1 - x), weight(2 - x)});
    }
  }
  return taps;
}

template <typename Weight>
void reverse(Taps<Weight>& taps, int64_t in) {
  std::ranges::reverse(taps.windows);
  for (Window& window : taps.windows) {
    window.first = in - window.first - window.count;
    const auto begin = taps.weights.begin() + window.weights;
    std::reverse(begin, begin + window.count);
  }
}

template void reverse(Taps<int32_t>&, int64_t);
template void reverse(Taps<float>&, int64_t);

}  // namespace torchlet::image
