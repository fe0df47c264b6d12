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
struct Number {
  template <class V>
  HWY_INLINE V operator()(V x, V) const {
    return hn::IfThenZeroElse(hn::IsNaN(x), x);
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

// Columns from `c` on, of any number of rows.
template <typename T, class Bring, class Combine>
HWY_NOINLINE void fold_columns(const FoldRows& m, int64_t c, const T* so_far, T* into) {
  const T* const x = static_cast<const T*>(m.x);
  const int64_t rows = m.rows, cols = m.cols, stride = m.stride;
  const T* const centers = static_cast<const T*>(m.center);
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(T));
  for (; c < cols; c += kLanes) {
    const int64_t count = cols - c;
    const V near = centers ? load_first(d, centers + c, count) : hn::Zero(d);
    V all = load_first(d, so_far + c, count);
    for (int64_t r = 0; r < rows; ++r) {
      all = Combine()(all, Bring()(load_first(d, x + r * stride + c, count), near));
    }
    store_first(all, d, into + c, count);
  }
}

// Four rows at a time, so that what they are folded into is read and written a quarter as often.
template <typename T, class Bring, class Combine>
HWY_NOINLINE void fold_with(FoldRows m, T* into) {
  const T* const centers = static_cast<const T*>(m.center);
  const T* so_far = m.first ? static_cast<const T*>(m.first) : into;
  const Bring bring;
  const Combine combine;
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(T));
  const int64_t rows = m.rows, cols = m.cols, stride = m.stride;
  for (int64_t left = rows; left > 0; left -= m.rows) {
    m.rows = left < 4 ? left : 4;
    const bool full = m.rows == 4;
    const T* const x = static_cast<const T*>(m.x);
    int64_t c = 0;
    for (; full && c + kLanes <= cols; c += kLanes) {
      const V near = centers ? hn::LoadU(d, centers + c) : hn::Zero(d);
      const auto row = [&](int64_t r)
                           HWY_ATTR { return bring(hn::LoadU(d, x + r * stride + c), near); };
      const V all = combine(combine(row(0), row(1)), combine(row(2), row(3)));
      hn::StoreU(combine(hn::LoadU(d, so_far + c), all), d, into + c);
    }
    fold_columns<T, Bring, Combine>(m, c, so_far, into);
    m.x = x + m.rows * stride;
    so_far = into;
  }
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
      case Fold::kSumOfNumbers:
        return fold_with<T, Number, Add>(matrix, into);
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
