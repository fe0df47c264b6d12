// The transforms of Winograd's minimal filtering for 3 x 3 windows (Lavin and Gray, "Fast
// Algorithms for Convolutional Neural Networks", 2015), for vectors of channels. F(m, 3) computes m
// outputs of a line from n = m + 2 inputs with n products: it interpolates a polynomial at n - 1
// points and infinity. The points of F(4, 3) are 0, +-1/sqrt 2, +-sqrt 2: their powers stay nearer
// to 1 than those of 1 and 2, which halves the rounding error.

#if defined(TORCHLET_KERNELS_WINOGRAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLET_KERNELS_WINOGRAD_INL_H_
#undef TORCHLET_KERNELS_WINOGRAD_INL_H_
#else
#define TORCHLET_KERNELS_WINOGRAD_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/conv_nhwc/winograd_f32.h"
#include "kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr D kD;

// to[i] = the input's polynomial for point i, i < m + 2.
template <int kOut>
HWY_INLINE void transform_input_line(const V* x, V* to) {
  if constexpr (kOut == 2) {
    to[0] = hn::Sub(x[0], x[2]);
    to[1] = hn::Add(x[1], x[2]);
    to[2] = hn::Sub(x[2], x[1]);
    to[3] = hn::Sub(x[1], x[3]);
  } else {
    // With a = 1 / sqrt 2 and b = sqrt 2: a^2 b^2 = 1, a^2 + b^2 = 2.5.
    const V a = hn::Set(kD, kWinogradA), b = hn::Set(kD, kWinogradB);
    const V a2 = hn::Set(kD, 0.5f), b2 = hn::Set(kD, 2.0f), sum2 = hn::Set(kD, 2.5f);
    to[0] = hn::NegMulAdd(sum2, x[2], hn::Add(x[0], x[4]));
    to[5] = hn::NegMulAdd(sum2, x[3], hn::Add(x[1], x[5]));
    // x^4 - b^2 x^2 +- a (x^3 - b^2 x), and the same with a and b exchanged.
    const V even_a = hn::NegMulAdd(b2, x[2], x[4]), odd_a = hn::NegMulAdd(b2, x[1], x[3]);
    const V even_b = hn::NegMulAdd(a2, x[2], x[4]), odd_b = hn::NegMulAdd(a2, x[1], x[3]);
    to[1] = hn::MulAdd(a, odd_a, even_a);
    to[2] = hn::NegMulAdd(a, odd_a, even_a);
    to[3] = hn::MulAdd(b, odd_b, even_b);
    to[4] = hn::NegMulAdd(b, odd_b, even_b);
  }
}

// to[i] = output i of the line from the products at the points.
template <int kOut>
HWY_INLINE void transform_output_line(const V* x, V* to) {
  if constexpr (kOut == 2) {
    to[0] = hn::Add(hn::Add(x[0], x[1]), x[2]);
    to[1] = hn::Sub(hn::Sub(x[1], x[2]), x[3]);
  } else {
    const V a = hn::Set(kD, kWinogradA), b = hn::Set(kD, kWinogradB);
    const V a2 = hn::Set(kD, 0.5f), b2 = hn::Set(kD, 2.0f);
    const V sum_a = hn::Add(x[1], x[2]), difference_a = hn::Mul(a, hn::Sub(x[1], x[2]));
    const V sum_b = hn::Add(x[3], x[4]), difference_b = hn::Mul(b, hn::Sub(x[3], x[4]));
    to[0] = hn::Add(hn::Add(x[0], sum_a), sum_b);
    to[1] = hn::Add(difference_a, difference_b);
    to[2] = hn::MulAdd(a2, sum_a, hn::Mul(b2, sum_b));
    to[3] = hn::MulAdd(a2, difference_a, hn::MulAdd(b2, difference_b, x[5]));
  }
}

// load_column(x, to) sets the m + 2 inputs of column x of a tile, for a vector of channels. Writes
// the vector for point p to to[p * point_stride].
template <int kOut, class LoadColumn>
HWY_INLINE void transform_input(const LoadColumn& load_column, float* to, int64_t point_stride) {
  constexpr int kIn = kOut + 2;
  V lines[kIn * kIn];  // transformed along y
  HWY_UNROLL(6)
  for (int x = 0; x < kIn; ++x) {
    V in[kIn], out[kIn];
    load_column(x, in);
    transform_input_line<kOut>(in, out);
    HWY_UNROLL(6)
    for (int y = 0; y < kIn; ++y) lines[y * kIn + x] = out[y];
  }
  HWY_UNROLL(6)
  for (int y = 0; y < kIn; ++y) {
    V out[kIn];
    transform_input_line<kOut>(lines + y * kIn, out);
    HWY_UNROLL(6)
    for (int x = 0; x < kIn; ++x) hn::StoreU(out[x], kD, to + (y * kIn + x) * point_stride);
  }
}

// products: one vector per point, `stride` apart. Calls store(y, x, sum + bias) for the m x m
// outputs.
template <int kOut, class Store>
HWY_INLINE void transform_output(const float* products, V bias, int64_t stride,
                                 const Store& store) {
  constexpr int kIn = kOut + 2;
  V lines[kOut * kIn];
  HWY_UNROLL(6)
  for (int x = 0; x < kIn; ++x) {
    V in[kIn], out[kOut];
    HWY_UNROLL(6)
    for (int y = 0; y < kIn; ++y) in[y] = hn::LoadU(kD, products + (y * kIn + x) * stride);
    transform_output_line<kOut>(in, out);
    HWY_UNROLL(4)
    for (int y = 0; y < kOut; ++y) lines[y * kIn + x] = out[y];
  }
  HWY_UNROLL(4)
  for (int y = 0; y < kOut; ++y) {
    V out[kOut];
    transform_output_line<kOut>(lines + y * kIn, out);
    HWY_UNROLL(4)
    for (int x = 0; x < kOut; ++x) store(y, x, hn::Add(out[x], bias));
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#endif  // TORCHLET_KERNELS_WINOGRAD_INL_H_
