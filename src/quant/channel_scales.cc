#include "quant/channel_scales.h"

#include <algorithm>
#include <cmath>

namespace torchlet::quant {
namespace {

double square(double x) { return x * x; }

double largest(std::span<const float> numbers) {
  float most = 0;
  for (const float number : numbers) most = std::max(most, std::abs(number));
  return static_cast<double>(most);
}

double power_of(std::span<const float> numbers) {
  double sum = 0;
  for (const float number : numbers) sum += square(static_cast<double>(number));
  return sum;
}

class Channels {
 public:
  Channels(const LayerPair& pair, bool per_channel)
      : pair_(pair),
        per_channel_(per_channel),
        count_(pair.first.outputs),
        features_(pair.second.input_channels() / count_),
        read_(std::max<size_t>(pair.second.inputs / features_, 1)),
        fixed_(count_),
        range1_(count_),
        range2_(count_),
        reach_(count_),
        power1_(count_),
        power2_(count_),
        signal_(count_),
        kernels_(pair.second.outputs * read_) {
    pair.first.for_each_kernel([&](size_t o, size_t i, std::span<const float> kernel) {
      range1_[o] = std::max(range1_[o], largest(kernel));
      power1_[o] += pair.before.input_power[i] * static_cast<double>(kernel.size());
    });
    pair.second.for_each_kernel([&](size_t o, size_t i, std::span<const float> kernel) {
      const size_t c = i / features_;
      double& most = kernels_[o * read_ + c - first_channel(o)];
      most = std::max(most, largest(kernel));
      range2_[c] = std::max(range2_[c], most);
      power2_[c] += pair.importance[o] * power_of(kernel);
    });
    for (size_t i = 0; i < pair.behind.input_power.size(); ++i) {
      signal_[i / features_] +=
          pair.behind.input_power[i] * static_cast<double>(pair.second.kernel);
    }
    for (size_t c = 0; c < count_; ++c) {
      const double low = pair.before.low[c], high = pair.before.high[c];
      reach_[c] = std::max(high, -low);
      constexpr double kNearly = 0.999;
      fixed_[c] = range1_[c] == 0 || range2_[c] == 0 || reach_[c] == 0 ||
                  high >= pair.high * kNearly || low <= pair.low * kNearly;
    }
  }

  std::vector<double> best() const {
    // Less would be within what the estimate does not know.
    constexpr double kGain = 0.95;
    constexpr double kPowers[] = {0, 0.5, 1};
    double least = noise(std::vector<double>(count_, 1)) * kGain;
    std::vector<double> best;
    for (const double of_first : kPowers) {
      for (const double of_second : kPowers) {
        for (const double of_values : kPowers) {
          std::vector<double> scales = candidate(of_first, of_second, of_values);
          const double left = noise(scales);
          if (left >= least) continue;
          least = left;
          best = std::move(scales);
        }
      }
    }
    return best;
  }

 private:
  size_t first_channel(size_t output) const { return pair_.second.first_input(output) / features_; }

  // Powers of two.
  std::vector<double> candidate(double of_first, double of_second, double of_values) const {
    std::vector<double> scales(count_, 1);
    const double reach = *std::ranges::max_element(reach_);
    double most = 0;
    for (size_t c = 0; c < count_; ++c) {
      if (fixed_[c]) continue;
      scales[c] = std::pow(range1_[c], of_first) / std::pow(range2_[c], of_second) *
                  std::pow(reach_[c], of_values);
      most = std::max(most, reach_[c] / scales[c]);
    }
    // The values stay within what they were, and so within the bounds. Other inputs may reach
    // further than those of calibration, so no channel is brought to the very end of the range.
    constexpr double kMargin = 1.2, kMost = 1024;
    for (size_t c = 0; c < count_; ++c) {
      if (fixed_[c]) continue;
      const double least = std::min(reach_[c] * kMargin / reach, 1.0);
      const double wanted = std::clamp(scales[c] * most / reach, least, kMost);
      scales[c] = std::exp2(std::round(std::log2(wanted)));
      if (scales[c] < least) scales[c] *= 2;
    }
    return scales;
  }

  // The power of the error that rounding both weights and the values between them is expected to
  // leave behind the second layer, times 12: each error is even within half a step.
  double noise(const std::vector<double>& scales) const {
    constexpr double kSteps = 255;
    double low = 0, high = 0, range1 = 0;
    for (size_t c = 0; c < count_; ++c) {
      low = std::min(low, pair_.before.low[c] / scales[c]);
      high = std::max(high, pair_.before.high[c] / scales[c]);
      range1 = std::max(range1, range1_[c] / scales[c]);
    }
    double sum = noise_of_second(scales);
    for (size_t c = 0; c < count_; ++c) {
      const double range = per_channel_ ? range1_[c] / scales[c] : range1;
      sum += square(scales[c]) * power2_[c] *
             (square((high - low) / kSteps) + square(weight_step(range)) * power1_[c]);
    }
    return sum;
  }

  double noise_of_second(const std::vector<double>& scales) const {
    double sum = 0, most = 0, all = 0;
    for (size_t o = 0; o < pair_.second.outputs; ++o) {
      double range = 0, signal = 0;
      for (size_t j = 0; j < read_; ++j) {
        const size_t c = first_channel(o) + j;
        range = std::max(range, kernels_[o * read_ + j] * scales[c]);
        signal += signal_[c] / square(scales[c]);
      }
      signal *= pair_.importance[o];
      sum += square(weight_step(range)) * signal;
      most = std::max(most, range);
      all += signal;
    }
    return per_channel_ ? sum : square(weight_step(most)) * all;
  }

  static double weight_step(double range) { return range / 127; }

  const LayerPair& pair_;
  const bool per_channel_;
  const size_t count_, features_, read_;  // features of a channel; channels of a group
  std::vector<bool> fixed_;
  std::vector<double> range1_, range2_, reach_;
  // Of the inputs that one output of the first layer sums; of the weights that read a channel; of a
  // channel's values, as often as an output of the second layer reads them.
  std::vector<double> power1_, power2_, signal_;
  std::vector<double> kernels_;  // [outputs of the second, channels of a group]: largest weights
};

}  // namespace

WeightMatrix::WeightMatrix(WeightedLayer from) : layer(std::move(from)) {
  layer.weight = layer.weight.clone().contiguous();
  if (layer.bias.defined()) layer.bias = layer.bias.clone().contiguous();
  outputs = static_cast<size_t>(layer.weight.size(0));
  inputs = static_cast<size_t>(layer.weight.size(1));
  groups = static_cast<size_t>(layer.groups);
  kernel = static_cast<size_t>(layer.weight.numel()) / (outputs * inputs);
}

std::vector<double> best_scales(const LayerPair& pair, bool per_channel) {
  return Channels(pair, per_channel).best();
}

}  // namespace torchlet::quant
