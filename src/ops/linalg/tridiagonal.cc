#include "ops/linalg/tridiagonal.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/limits.h"

namespace torchlet::ops::linalg {
namespace {

constexpr double kEpsilon = 2.2e-16, kTiny = 1e-100;
constexpr int kMaxSteps = 60;  // for each value, of which two are usual

}  // namespace

// Implicit QR steps without square roots (Pal, Walker and Kahan; Parlett, The Symmetric Eigenvalue
// Problem, 8.15) on the squares of what is beside the diagonal.
Reals tridiagonal_values(Reals d, Reals e) {
  double size = 0;
  for (const double x : d) size = std::max(size, std::abs(x));
  for (const double x : e) size = std::max(size, std::abs(x));
  if (size == 0) return d;
  for (double& x : d) x /= size;
  for (double& x : e) x = (x / size) * (x / size);
  int steps = 0;
  for (size_t high = d.empty() ? 0 : d.size() - 1; high > 0;) {
    size_t low = high;
    while (low > 0 && e[low - 1] > kEpsilon * kEpsilon) --low;
    if (low == high) {
      --high;
      steps = 0;
      continue;
    }
    poll();
    TORCHLET_CHECK(++steps < kMaxSteps, "linalg.eigh: the iteration did not converge");
    const double half = (d[high - 1] - d[high]) / 2, last = e[high - 1];
    const double root = std::sqrt(half * half + last);
    const double shift = d[high] - last / (half + (half < 0 ? -root : root));
    double c = 1, s = 0, gamma = d[low] - shift, p = gamma * gamma;
    for (size_t i = low; i < high; ++i) {
      const double square = e[i], r = p + square, before = gamma, last_c = c;
      if (i > low) e[i - 1] = s * r;
      c = p / r;
      s = square / r;
      gamma = c * (d[i + 1] - shift) - s * before;
      d[i] = before + (d[i + 1] - gamma);
      p = p > kTiny ? gamma * gamma * (r / p) : last_c * square;  // no division waits for c
    }
    e[high - 1] = s * p;
    d[high] = shift + gamma;
  }
  for (double& x : d) x *= size;
  return d;
}

}  // namespace torchlet::ops::linalg
