// The loops of fold_rows(), for float, double and int64.

#if defined(TORCHLET_KERNELS_FOLD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLET_KERNELS_FOLD_INL_H_
#undef TORCHLET_KERNELS_FOLD_INL_H_
#else
#define TORCHLET_KERNELS_FOLD_INL_H_
#endif

#include <hwy/highway.h>

#include <type_traits>

#include "kernels/reduce/fold.h"
#include "kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// How a number is brought in, and how what was brought in is combined.
struct Same {
  template <class V>
  HWY_INLINE V operator()(V x, V) const {
    return x;
  }
};
struct Magnitude {
  template <class V>
  HWY_INLINE V operator()(V x, V) const {
    return hn::Abs(x);
  }
};
struct Square {
  template <class V>
  HWY_INLINE V operator()(V x, V) const {
    return hn::Mul(x, x);
  }
};
struct Distance {
  template <class V>
  HWY_INLINE V operator()(V x, V center) const {
    const V distance = hn::Sub(x, center);
    return hn::Mul(distance, distance);
  }
};
struct Add {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Add(a, b);
  }
};
struct Multiply {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Mul(a, b);
  }
};
template <bool kLargest>
struct Extreme {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    if constexpr (std::is_floating_point_v<hn::TFromV<V>>) {
      const V best = kLargest ? max_keeping_nan(a, b) : min_keeping_nan(a, b);
      return hn::IfThenElse(hn::IsNaN(a), a, best);
    } else {
      return kLargest ? hn::Max(a, b) : hn::Min(a, b);
    }
  }
};

// Four rows at a time, so that what they are folded into is read and written a quarter as often.
template <typename T, class Bring, class Combine>
HWY_NOINLINE void fold_with(const FoldRows& m, T* HWY_RESTRICT into) {
  const T* const first = static_cast<const T*>(m.x);
  const T* const centers = static_cast<const T*>(m.center);
  const Bring bring;
  const Combine combine;
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(T));
  const auto center = [&](int64_t c, int64_t count) HWY_ATTR {
    return centers ? load_first(d, centers + c, count) : hn::Zero(d);
  };
  int64_t r = 0;
  for (; r + 4 <= m.rows; r += 4) {
    const T* x[4];
    for (int i = 0; i < 4; ++i) x[i] = first + (r + i) * m.stride;
    int64_t c = 0;
    for (; c + kLanes <= m.cols; c += kLanes) {
      const V near = center(c, kLanes);
      const V a = combine(bring(hn::LoadU(d, x[0] + c), near), bring(hn::LoadU(d, x[1] + c), near));
      const V b = combine(bring(hn::LoadU(d, x[2] + c), near), bring(hn::LoadU(d, x[3] + c), near));
      hn::StoreU(combine(hn::LoadU(d, into + c), combine(a, b)), d, into + c);
    }
    if (c < m.cols) {
      const int64_t rest = m.cols - c;
      const V near = center(c, rest);
      V all = load_first(d, into + c, rest);
      for (const T* row : x) all = combine(all, bring(load_first(d, row + c, rest), near));
      store_first(all, d, into + c, rest);
    }
  }
  const int64_t left = m.rows - r;
  if (left == 0) return;
  const T* const x = first + r * m.stride;
  const auto fold_left = [&](int64_t c, int64_t count) HWY_ATTR {
    const V near = center(c, count);
    V all = load_first(d, into + c, count);
    for (int64_t i = 0; i < left; ++i) {
      all = combine(all, bring(load_first(d, x + i * m.stride + c, count), near));
    }
    store_first(all, d, into + c, count);
  };
  int64_t c = 0;
  for (; c + kLanes <= m.cols; c += kLanes) fold_left(c, kLanes);
  if (c < m.cols) fold_left(c, m.cols - c);
}

template <typename T>
HWY_INLINE void fold_any(Fold fold, const FoldRows& matrix, void* to) {
  T* const into = static_cast<T*>(to);
  switch (fold) {
    case Fold::kSum:
      return fold_with<T, Same, Add>(matrix, into);
    case Fold::kProduct:
      return fold_with<T, Same, Multiply>(matrix, into);
    case Fold::kMax:
      return fold_with<T, Same, Extreme<true>>(matrix, into);
    case Fold::kMin:
      return fold_with<T, Same, Extreme<false>>(matrix, into);
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    switch (fold) {
      case Fold::kSumOfAbs:
        return fold_with<T, Magnitude, Add>(matrix, into);
      case Fold::kSumOfSquares:
        return fold_with<T, Square, Add>(matrix, into);
      default:
        return fold_with<T, Distance, Add>(matrix, into);
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#endif  // TORCHLET_KERNELS_FOLD_INL_H_
