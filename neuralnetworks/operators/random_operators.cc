// RANDOM_MULTINOMIAL.
#include <algorithm>
#include <cmath>
#include <random>

#include "base/counted_vector.h"
#include "base/limits.h"
#include "neuralnetworks/operators/checks.h"
#include "ops/core/op.h"
#include "ops/engines/compute.h"

namespace torchlet::ops {
namespace {

std::mt19937_64 generator_of(const Tensor& seeds) {
  nn::check_sizes(seeds, {2}, "the seeds");
  const Tensor dense = dense_as<int32_t>(seeds);
  const int32_t* seed = dense.data_ptr<int32_t>();
  std::random_device device;
  if (seed[0] == 0 && seed[1] == 0) return std::mt19937_64(uint64_t{device()} << 32 | device());
  std::seed_seq sequence{seed[0], seed[1]};
  return std::mt19937_64(sequence);
}

// The sums of the probabilities of the classes up to each, times the same number for all. Classes
// whose logarithm is not finite are never drawn.
void cumulate(const float* logarithms, CountedVector<double>& sums) {
  const std::span<const float> all(logarithms, sums.size());
  double most = -INFINITY;
  for (const float x : all) {
    if (std::isfinite(x)) most = std::max<double>(most, x);
  }
  TORCHLET_CHECK(std::isfinite(most), "no class has a probability");
  double total = 0;
  std::ranges::transform(all, sums.begin(), [&](float x) {
    return total += std::isfinite(x) ? std::exp(x - most) : 0;
  });
}

Tensor random_multinomial(const Tensor& logarithms, int64_t samples, const Tensor& seeds) {
  nn::check_sizes(logarithms, {-1, -1}, "the logarithms of probabilities");
  TORCHLET_CHECK(samples >= 0, "%lld samples are to be drawn", static_cast<long long>(samples));
  const int64_t batch = logarithms.size(0), classes = logarithms.size(1);
  const Tensor dense = dense_as<float>(logarithms);
  const Tensor result = empty({{batch, samples}}, DType::kInt32);
  std::mt19937_64 generator = generator_of(seeds);
  std::uniform_real_distribution<double> uniform;
  CountedVector<double> sums(static_cast<size_t>(classes));
  for (int64_t row = 0; row < batch; ++row) {
    cumulate(dense.data_ptr<float>() + row * classes, sums);
    for (int64_t i = 0; i < samples; ++i) {
      if (i % 1024 == 0) poll();
      // The first class that reaches the total ends what can be drawn.
      const double drawn = uniform(generator) * sums.back();
      auto found = std::upper_bound(sums.begin(), sums.end(), drawn);
      if (found == sums.end()) found = std::ranges::lower_bound(sums, sums.back());
      result.data_ptr<int32_t>()[row * samples + i] = static_cast<int32_t>(found - sums.begin());
    }
  }
  return result;
}

}  // namespace

TORCHLET_OP_WITH(nnapi_random_multinomial, varies(),
                 "nnapi::random_multinomial(Tensor logarithms, int samples, Tensor seeds) -> "
                 "Tensor",
                 random_multinomial);

}  // namespace torchlet::ops
