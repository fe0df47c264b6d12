// The transforms of Winograd's minimal filtering (Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", 2015), for vectors of channels. F(m, r) computes m outputs of r
// taps from n = m + r - 1 inputs with n products: it interpolates a polynomial at n - 1 points and
// infinity. These are +-1 where two are enough; else +-1/sqrt 2, +-sqrt 2, whose powers stay nearer
// to 1 than those of 1 and 2, which halves the rounding error; and 0 where n is even.

#if defined(TORCHLET_KERNELS_WINOGRAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLET_KERNELS_WINOGRAD_INL_H_
#undef TORCHLET_KERNELS_WINOGRAD_INL_H_
#else
#define TORCHLET_KERNELS_WINOGRAD_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "kernels/conv_nhwc/winograd_f32.h"
#include "kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr D kD;

// body(i) for i < kCount.
template <int kCount, class Body>
HWY_INLINE void unrolled(const Body& body) {
  if constexpr (kCount == 1) {
    body(0);
  } else {
    HWY_UNROLL(9)
    for (int i = 0; i < kCount; ++i) body(i);
  }
}

// With a = 1 / sqrt 2 and b = sqrt 2: a^2 b^2 = 1, a^2 + b^2 = 2.5. The polynomials of four inputs
// for the points a, -a, b, -b: x^3 - b^2 x +- a (x^2 - b^2), and the same with a and b exchanged.
HWY_INLINE void transform_four_inputs(V x0, V x1, V x2, V x3, V* to) {
  const V a = hn::Set(kD, kWinogradA), b = hn::Set(kD, kWinogradB);
  const V a2 = hn::Set(kD, 0.5f), b2 = hn::Set(kD, 2.0f);
  const V odd_a = hn::NegMulAdd(b2, x1, x3), even_a = hn::NegMulAdd(b2, x0, x2);
  const V odd_b = hn::NegMulAdd(a2, x1, x3), even_b = hn::NegMulAdd(a2, x0, x2);
  to[0] = hn::MulAdd(a, even_a, odd_a);
  to[1] = hn::NegMulAdd(a, even_a, odd_a);
  to[2] = hn::MulAdd(b, even_b, odd_b);
  to[3] = hn::NegMulAdd(b, even_b, odd_b);
}
// (x^2 - a^2) (x^2 - b^2)
HWY_INLINE V transform_ends(V x0, V x2, V x4) {
  return hn::NegMulAdd(hn::Set(kD, 2.5f), x2, hn::Add(x0, x4));
}

// to[i] = the input's polynomial for point i.
template <int kTaps, int kStride, int kOut>
HWY_INLINE void transform_input_line(const V* x, V* to) {
  if constexpr (kTaps == 1) {
    std::copy_n(x, kOut, to);
  } else if constexpr (kStride == 2) {
    constexpr int kEven = kOut + 1;
    for (int i = 0; i < kOut; ++i) to[kEven + i] = x[2 * i + 1];
    if constexpr (kOut == 2) {
      to[0] = hn::Add(x[2], x[0]);
      to[1] = hn::Sub(x[2], x[0]);
      to[2] = hn::Sub(x[4], x[0]);
    } else {
      transform_four_inputs(x[0], x[2], x[4], x[6], to);
      to[4] = transform_ends(x[0], x[4], x[8]);
    }
  } else if constexpr (kTaps + kOut == 5) {
    to[0] = hn::Sub(x[2], x[0]);
    to[1] = hn::Add(x[2], x[1]);
    to[2] = hn::Sub(x[2], x[1]);
    to[3] = hn::Sub(x[3], x[1]);
  } else {
    static_assert(kTaps + kOut == 7);
    to[0] = transform_ends(x[0], x[2], x[4]);
    transform_four_inputs(x[1], x[2], x[3], x[4], to + 1);
    to[5] = transform_ends(x[1], x[3], x[5]);
  }
}

// to[i] = output i of the line from the products at the points.
template <int kTaps, int kStride, int kOut>
HWY_INLINE void transform_output_line(const V* x, V* to) {
  if constexpr (kTaps == 1) {
    std::copy_n(x, kOut, to);
  } else if constexpr (kTaps == 3 && kOut == 2) {
    // The points 0, 1, -1, infinity; or of two taps 1, -1, infinity.
    const V* ones = kStride == 1 ? x + 1 : x;
    to[0] = hn::Add(ones[0], ones[1]);
    to[1] = hn::Sub(ones[0], ones[1]);
    if constexpr (kStride == 1) {
      to[0] = hn::Add(to[0], x[0]);
      to[1] = hn::Add(to[1], x[3]);
    } else {
      to[0] = hn::Add(to[0], x[3]);
      to[1] = hn::Add(hn::Add(to[1], x[2]), x[4]);
    }
  } else {
    const V a = hn::Set(kD, kWinogradA), b = hn::Set(kD, kWinogradB);
    const V a2 = hn::Set(kD, 0.5f), b2 = hn::Set(kD, 2.0f);
    const V* roots = kStride == 1 ? x + 1 : x;
    const V sum_a = hn::Add(roots[0], roots[1]), sum_b = hn::Add(roots[2], roots[3]);
    const V difference_a = hn::Mul(a, hn::Sub(roots[0], roots[1]));
    const V difference_b = hn::Mul(b, hn::Sub(roots[2], roots[3]));
    // What point 0 adds to the first output; of a stride of 2, what the middle tap adds to all.
    const V* others = kStride == 1 ? x : x + kOut + 1;
    to[0] = hn::Add(hn::Add(others[0], sum_a), sum_b);
    to[1] = hn::Add(difference_a, difference_b);
    if constexpr (kOut == 4) {
      to[2] = hn::MulAdd(a2, sum_a, hn::Mul(b2, sum_b));
      to[3] = hn::MulAdd(a2, difference_a, hn::Mul(b2, difference_b));
    }
    to[kOut - 1] = hn::Add(to[kOut - 1], roots[4]);
    if constexpr (kStride == 2) {
      for (int i = 1; i < kOut; ++i) to[i] = hn::Add(to[i], others[i]);
    }
  }
}

// Unrolled, the vectors between the passes stay in registers in part, where there are some. It pays
// for the tiles that most layers have.
template <int kTile>
constexpr bool kUnrollsLines = kTile == kWinogradGroupTile&& HWY_TARGET != HWY_SSE4;

// body(i) for the lines of a tile.
template <int kCount, bool kUnroll, class Body>
HWY_INLINE void for_each_line(const Body& body) {
  if constexpr (kUnroll) {
    unrolled<kCount>(body);
  } else {
    for (int i = 0; i < kCount; ++i) body(i);
  }
}

// load_column(x, to) sets the inputs of column x of a tile, for a vector of channels. Writes the
// vector for point p to to[p * point_stride].
template <int kTile, class LoadColumn>
HWY_INLINE void transform_input(const LoadColumn& load_column, float* to, int64_t point_stride) {
  constexpr WinogradLine kY = kWinogradTiles[kTile].y, kX = kWinogradTiles[kTile].x;
  V lines[kY.points() * kX.points()];  // transformed along y
  for_each_line<kX.points(), kUnrollsLines<kTile>>([&](int x) HWY_ATTR {
    V in[kY.points()], out[kY.points()];
    load_column(x, in);
    transform_input_line<kY.taps, kY.stride, kY.outputs>(in, out);
    unrolled<kY.points()>([&](int y) HWY_ATTR { lines[y * kX.points() + x] = out[y]; });
  });
  for_each_line<kY.points(), kUnrollsLines<kTile>>([&](int y) HWY_ATTR {
    V out[kX.points()];
    transform_input_line<kX.taps, kX.stride, kX.outputs>(lines + y * kX.points(), out);
    unrolled<kX.points()>(
        [&](int x) HWY_ATTR { hn::StoreU(out[x], kD, to + (y * kX.points() + x) * point_stride); });
  });
}

// products: one vector per point, `stride` apart. Calls store(y, x, sum + bias) for the outputs.
template <int kTile, class Store>
HWY_INLINE void transform_output(const float* products, V bias, int64_t stride,
                                 const Store& store) {
  constexpr WinogradLine kY = kWinogradTiles[kTile].y, kX = kWinogradTiles[kTile].x;
  V lines[kY.outputs * kX.points()];
  for_each_line<kX.points(), kUnrollsLines<kTile>>([&](int x) HWY_ATTR {
    V in[kY.points()], out[kY.outputs];
    unrolled<kY.points()>(
        [&](int y) HWY_ATTR { in[y] = hn::LoadU(kD, products + (y * kX.points() + x) * stride); });
    transform_output_line<kY.taps, kY.stride, kY.outputs>(in, out);
    unrolled<kY.outputs>([&](int y) HWY_ATTR { lines[y * kX.points() + x] = out[y]; });
  });
  for_each_line<kY.outputs, kUnrollsLines<kTile>>([&](int y) HWY_ATTR {
    V out[kX.outputs];
    transform_output_line<kX.taps, kX.stride, kX.outputs>(lines + y * kX.points(), out);
    unrolled<kX.outputs>([&](int x) HWY_ATTR { store(y, x, hn::Add(out[x], bias)); });
  });
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#endif  // TORCHLET_KERNELS_WINOGRAD_INL_H_
