#include "kernels/gemm/vectors.h"

#if defined(__arm__)
#define HWY_COMPILE_ONLY_EMU128  // 32-bit NEON has no vectors of doubles
#endif
#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/vectors.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
HWY_INLINE void add_scaled_t(T factor, const T* x, const T* y, T* sum, int64_t count) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(T));
  const auto f = hn::Set(d, factor);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(hn::MulAdd(f, hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, sum + i);
  }
  const int64_t rest = count - i;
  if (rest == 0) return;
  store_first(hn::MulAdd(f, load_first(d, x + i, rest), load_first(d, y + i, rest)), d, sum + i,
              rest);
}
template <typename T>
HWY_INLINE void subtract_outer_t(const T* factors, int64_t factor_step, const T* x, T* y,
                                 int64_t stride, int64_t rows, int64_t count) {
  for (int64_t r = 0; r < rows; ++r, factors += factor_step, y += stride) {
    add_scaled_t(-*factors, x, y, y, count);
  }
}
void add_scaled_f32(float factor, const float* x, const float* y, float* sum, int64_t count) {
  add_scaled_t(factor, x, y, sum, count);
}
void subtract_outer_f32(const float* factors, int64_t factor_step, const float* x, float* y,
                        int64_t stride, int64_t rows, int64_t count) {
  subtract_outer_t(factors, factor_step, x, y, stride, rows, count);
}
void subtract_outer_f64(const double* factors, int64_t factor_step, const double* x, double* y,
                        int64_t stride, int64_t rows, int64_t count) {
  subtract_outer_t(factors, factor_step, x, y, stride, rows, count);
}

template <typename T>
T dot_t(const T* HWY_RESTRICT x, const T* HWY_RESTRICT y, int64_t count) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(T));
  // Independent of each other, so that additions overlap.
  auto a = hn::Zero(d), b = hn::Zero(d), c = hn::Zero(d), e = hn::Zero(d);
  int64_t i = 0;
  const auto add = [&](auto sum) HWY_ATTR {
    sum = hn::MulAdd(hn::LoadU(d, x + i), hn::LoadU(d, y + i), sum);
    i += kLanes;
    return sum;
  };
  while (i + 4 * kLanes <= count) {
    a = add(a);
    b = add(b);
    c = add(c);
    e = add(e);
  }
  while (i + kLanes <= count) a = add(a);
  if (const int64_t rest = count - i; rest > 0) {
    b = hn::MulAdd(load_first(d, x + i, rest), load_first(d, y + i, rest), b);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
}

template <typename T>
void multiply_both_ways_t(const T* HWY_RESTRICT a, int64_t stride, const T* HWY_RESTRICT factors,
                          const T* HWY_RESTRICT x, T* HWY_RESTRICT y, T* HWY_RESTRICT sums,
                          int64_t count) {
  static_assert(kVectorsAtOnce == 4);
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(T));
  const auto f0 = hn::Set(d, factors[0]), f1 = hn::Set(d, factors[1]);
  const auto f2 = hn::Set(d, factors[2]), f3 = hn::Set(d, factors[3]);
  auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
  int64_t i = 0;
  // load(pointer): the next kLanes values, or what is left of them. Returns what y becomes.
  const auto step = [&](const auto& load) HWY_ATTR {
    const auto v = load(x + i);
    const auto a0 = load(a + i), a1 = load(a + stride + i);
    auto even = hn::MulAdd(f0, a0, load(y + i)), odd = hn::Mul(f1, a1);
    s0 = hn::MulAdd(a0, v, s0);
    s1 = hn::MulAdd(a1, v, s1);
    const auto a2 = load(a + 2 * stride + i), a3 = load(a + 3 * stride + i);
    even = hn::MulAdd(f2, a2, even);
    odd = hn::MulAdd(f3, a3, odd);
    s2 = hn::MulAdd(a2, v, s2);
    s3 = hn::MulAdd(a3, v, s3);
    return hn::Add(even, odd);
  };
  for (; i + kLanes <= count; i += kLanes) {
    // A walk over a matrix comes to the next vectors then.
    for (int64_t k = kVectorsAtOnce; k < 2 * kVectorsAtOnce; ++k) {
      __builtin_prefetch(a + k * stride + i);
    }
    hn::StoreU(step([&](const T* from) HWY_ATTR { return hn::LoadU(d, from); }), d, y + i);
  }
  if (const int64_t rest = count - i; rest > 0) {
    store_first(step([&](const T* from) HWY_ATTR { return load_first(d, from, rest); }), d, y + i,
                rest);
  }
  sums[0] += hn::GetLane(hn::SumOfLanes(d, s0));
  sums[1] += hn::GetLane(hn::SumOfLanes(d, s1));
  sums[2] += hn::GetLane(hn::SumOfLanes(d, s2));
  sums[3] += hn::GetLane(hn::SumOfLanes(d, s3));
}

void multiply_both_ways_f32(const float* a, int64_t stride, const float* factors, const float* x,
                            float* y, float* sums, int64_t count) {
  multiply_both_ways_t(a, stride, factors, x, y, sums, count);
}
void multiply_both_ways_f64(const double* a, int64_t stride, const double* factors, const double* x,
                            double* y, double* sums, int64_t count) {
  multiply_both_ways_t(a, stride, factors, x, y, sums, count);
}

float dot_f32(const float* x, const float* y, int64_t count) { return dot_t(x, y, count); }
double dot_f64(const double* x, const double* y, int64_t count) { return dot_t(x, y, count); }

void rotate_f64(double c, double s, double* HWY_RESTRICT x, double* HWY_RESTRICT y, int64_t count) {
  const hn::ScalableTag<double> d;
  constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(double));
  const auto cosine = hn::Set(d, c), sine = hn::Set(d, s);
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t n = count - i;
    const auto p = load_first(d, x + i, n), q = load_first(d, y + i, n);
    store_first(hn::MulAdd(cosine, p, hn::Mul(sine, q)), d, x + i, n);
    store_first(hn::NegMulAdd(sine, p, hn::Mul(cosine, q)), d, y + i, n);
  }
}

template <typename T>
void reflect_t(T p, T q, T tau, T* HWY_RESTRICT x, T* HWY_RESTRICT y, T* HWY_RESTRICT z,
               int64_t count) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(T));
  const auto second = hn::Set(d, p), third = hn::Set(d, q), factor = hn::Set(d, tau);
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t n = count - i;
    const auto a = load_first(d, x + i, n), b = load_first(d, y + i, n),
               c = load_first(d, z + i, n);
    const auto sum = hn::Mul(factor, hn::MulAdd(third, c, hn::MulAdd(second, b, a)));
    store_first(hn::Sub(a, sum), d, x + i, n);
    store_first(hn::NegMulAdd(second, sum, b), d, y + i, n);
    store_first(hn::NegMulAdd(third, sum, c), d, z + i, n);
  }
}
void reflect_f32(float p, float q, float tau, float* x, float* y, float* z, int64_t count) {
  reflect_t(p, q, tau, x, y, z, count);
}
void reflect_f64(double p, double q, double tau, double* x, double* y, double* z, int64_t count) {
  reflect_t(p, q, tau, x, y, z, count);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(add_scaled_f32);
HWY_EXPORT(subtract_outer_f32);
HWY_EXPORT(subtract_outer_f64);
HWY_EXPORT(dot_f32);
HWY_EXPORT(dot_f64);
HWY_EXPORT(rotate_f64);
HWY_EXPORT(reflect_f32);
HWY_EXPORT(reflect_f64);
HWY_EXPORT(multiply_both_ways_f32);
HWY_EXPORT(multiply_both_ways_f64);

void add_scaled(float factor, const float* x, const float* y, float* sum, int64_t count) {
  HWY_DYNAMIC_DISPATCH(add_scaled_f32)(factor, x, y, sum, count);
}
void add_scaled(double factor, const double* x, double* y, int64_t count) {
  const double negative = -factor;
  subtract_outer(&negative, 0, x, y, 0, 1, count);
}
void subtract_outer(const float* factors, int64_t factor_step, const float* x, float* y,
                    int64_t stride, int64_t rows, int64_t count) {
  HWY_DYNAMIC_DISPATCH(subtract_outer_f32)(factors, factor_step, x, y, stride, rows, count);
}
void subtract_outer(const double* factors, int64_t factor_step, const double* x, double* y,
                    int64_t stride, int64_t rows, int64_t count) {
  HWY_DYNAMIC_DISPATCH(subtract_outer_f64)(factors, factor_step, x, y, stride, rows, count);
}
float dot(const float* x, const float* y, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(dot_f32)(x, y, count);
}
double dot(const double* x, const double* y, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(dot_f64)(x, y, count);
}
void rotate(double c, double s, double* x, double* y, int64_t count) {
  HWY_DYNAMIC_DISPATCH(rotate_f64)(c, s, x, y, count);
}
void reflect(float p, float q, float tau, float* x, float* y, float* z, int64_t count) {
  HWY_DYNAMIC_DISPATCH(reflect_f32)(p, q, tau, x, y, z, count);
}
void reflect(double p, double q, double tau, double* x, double* y, double* z, int64_t count) {
  HWY_DYNAMIC_DISPATCH(reflect_f64)(p, q, tau, x, y, z, count);
}
void multiply_both_ways(const float* a, int64_t stride, const float* factors, const float* x,
                        float* y, float* sums, int64_t count) {
  HWY_DYNAMIC_DISPATCH(multiply_both_ways_f32)(a, stride, factors, x, y, sums, count);
}
void multiply_both_ways(const double* a, int64_t stride, const double* factors, const double* x,
                        double* y, double* sums, int64_t count) {
  HWY_DYNAMIC_DISPATCH(multiply_both_ways_f64)(a, stride, factors, x, y, sums, count);
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
