#if defined(__arm__)
#define HWY_COMPILE_ONLY_EMU128  // 32-bit NEON has no vectors of doubles
#endif
#define TORCHLET_NO_AVX3  // turning the matrices takes longer
#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemm_tiny.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/gemm/gemm_tiny.h"
#include "kernels/layout/transpose.h"
#include "kernels/simd/scratch.h"

#ifndef TORCHLET_KERNELS_GEMM_TINY_ONCE_
#define TORCHLET_KERNELS_GEMM_TINY_ONCE_
namespace torchlet::kernels {
constexpr int64_t kTinyAtOnce = 64;  // matrices, whose elements stay in the first-level cache
}  // namespace torchlet::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Element e of matrix s is [e * kTinyAtOnce + s]; strides are those of elements.
template <typename T>
HWY_INLINE void multiply_turned(const TinyProducts& p, ConstMatrix<T> a, ConstMatrix<T> b,
                                T* HWY_RESTRICT c) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(T));
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j, c += kTinyAtOnce) {
      for (int64_t s = 0; s < kTinyAtOnce; s += 2 * kLanes) {
        const T* HWY_RESTRICT x = a.data + i * a.row_stride * kTinyAtOnce + s;
        const T* HWY_RESTRICT y = b.data + j * b.col_stride * kTinyAtOnce + s;
        auto sum0 = hn::Mul(hn::LoadU(d, x), hn::LoadU(d, y));
        auto sum1 = hn::Mul(hn::LoadU(d, x + kLanes), hn::LoadU(d, y + kLanes));
        for (int64_t l = 1; l < p.k; ++l) {
          x += a.col_stride * kTinyAtOnce;
          y += b.row_stride * kTinyAtOnce;
          sum0 = hn::MulAdd(hn::LoadU(d, x), hn::LoadU(d, y), sum0);
          sum1 = hn::MulAdd(hn::LoadU(d, x + kLanes), hn::LoadU(d, y + kLanes), sum1);
        }
        hn::StoreU(sum0, d, c + s);
        hn::StoreU(sum1, d, c + s + kLanes);
      }
    }
  }
}

void multiply_turned_f32(const TinyProducts& p, ConstMatrix<float> a, ConstMatrix<float> b,
                         float* c) {
  multiply_turned(p, a, b, c);
}
void multiply_turned_f64(const TinyProducts& p, ConstMatrix<double> a, ConstMatrix<double> b,
                         double* c) {
  multiply_turned(p, a, b, c);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {
namespace {

HWY_EXPORT(multiply_turned_f32);
HWY_EXPORT(multiply_turned_f64);

template <typename T, typename Multiply>
void run(const TinyProducts& p, ConstMatrix<T> a, ConstMatrix<T> b, T* c,
         const Multiply& multiply) {
  const int64_t of_a = p.m * p.k, of_b = p.k * p.n, of_c = p.m * p.n;
  constexpr int64_t kWidth = sizeof(T);
  parallel_for(p.count, 8 * kTinyAtOnce, [&](int64_t begin, int64_t end) {
    const Scratch<T> scratch((of_a + of_b + of_c) * kTinyAtOnce);
    T *const x = scratch.data(), *const y = x + of_a * kTinyAtOnce;
    T* const z = y + of_b * kTinyAtOnce;
    // Lanes that no matrix has are multiplied as well.
    if (end - begin < kTinyAtOnce) std::fill_n(x, (of_a + of_b) * kTinyAtOnce, T(0));
    for (int64_t i = begin; i < end; i += kTinyAtOnce) {
      const int64_t some = std::min(kTinyAtOnce, end - i);
      transpose(kWidth, some, of_a, a.data + i * of_a, of_a, x, kTinyAtOnce);
      transpose(kWidth, some, of_b, b.data + i * of_b, of_b, y, kTinyAtOnce);
      multiply(p, ConstMatrix<T>{x, a.row_stride, a.col_stride},
               ConstMatrix<T>{y, b.row_stride, b.col_stride}, z);
      transpose(kWidth, of_c, some, z, kTinyAtOnce, c + i * of_c, of_c);
    }
  });
}

}  // namespace

bool suits_tiny(const TinyProducts& p) {
  constexpr int64_t kMany = 32, kFew = 64;
  return p.count >= kMany && p.m > 0 && p.n > 0 && p.k > 0 && p.m <= kFew && p.n <= kFew &&
         p.k <= kFew && p.m * p.n * p.k <= kFew;
}

void gemm_tiny(const TinyProducts& p, ConstMatrix<float> a, ConstMatrix<float> b, float* c) {
  run(p, a, b, c, [](auto... arguments) {
    HWY_DYNAMIC_DISPATCH(multiply_turned_f32)(arguments...);
  });
}
void gemm_tiny(const TinyProducts& p, ConstMatrix<double> a, ConstMatrix<double> b, double* c) {
  run(p, a, b, c, [](auto... arguments) {
    HWY_DYNAMIC_DISPATCH(multiply_turned_f64)(arguments...);
  });
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
