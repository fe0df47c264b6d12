// The loops of fold_rows(), for float, double and int64, and of fold_runs().

#if defined(TORCHLET_KERNELS_FOLD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLET_KERNELS_FOLD_INL_H_
#undef TORCHLET_KERNELS_FOLD_INL_H_
#else
#define TORCHLET_KERNELS_FOLD_INL_H_
#endif

#include <hwy/highway.h>

#include <limits>
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
HWY_NOINLINE void fold_columns(const FoldRows& m, const T* x, int64_t rows, int64_t c,
                               const T* so_far, T* into) {
  const int64_t cols = m.cols, stride = m.stride;
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

// The matrix at `x`. Four rows at a time, so that what they are folded into is read and written a
// quarter as often.
template <typename T, class Bring, class Combine>
HWY_NOINLINE void fold_with(const FoldRows& m, const T* x, const T* so_far, T* into) {
  const T* const centers = static_cast<const T*>(m.center);
  const Bring bring;
  const Combine combine;
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(T));
  const int64_t cols = m.cols, stride = m.stride;
  for (int64_t left = m.rows; left > 0; left -= 4, x += 4 * stride, so_far = into) {
    int64_t c = 0;
    for (; left >= 4 && c + kLanes <= cols; c += kLanes) {
      const V near = centers ? hn::LoadU(d, centers + c) : hn::Zero(d);
      const auto row = [&](int64_t r)
                           HWY_ATTR { return bring(hn::LoadU(d, x + r * stride + c), near); };
      const V all = combine(combine(row(0), row(1)), combine(row(2), row(3)));
      hn::StoreU(combine(hn::LoadU(d, so_far + c), all), d, into + c);
    }
    fold_columns<T, Bring, Combine>(m, x, left < 4 ? left : 4, c, so_far, into);
  }
}

template <typename T>
using FoldWith = void (*)(const FoldRows&, const T*, const T*, T*);

template <typename T>
HWY_INLINE FoldWith<T> fold_function(Fold fold) {
  switch (fold) {
    case Fold::kSum:
      return fold_with<T, Same, Add>;
    case Fold::kProduct:
      return fold_with<T, Same, Multiply>;
    case Fold::kMax:
      return fold_with<T, Same, Extreme<true>>;
    case Fold::kMin:
      return fold_with<T, Same, Extreme<false>>;
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    switch (fold) {
      case Fold::kSumOfAbs:
        return fold_with<T, Magnitude, Add>;
      case Fold::kSumOfSquares:
        return fold_with<T, Square, Add>;
      case Fold::kSumOfNumbers:
        return fold_with<T, Number, Add>;
      default:
        return fold_with<T, Distance, Add>;
    }
  }
  return nullptr;  // integers have no more
}

template <typename T>
HWY_INLINE void fold_any(Fold fold, const FoldRows& m, void* to) {
  const FoldWith<T> function = fold_function<T>(fold);
  const T* x = static_cast<const T*>(m.x);
  const T* first = static_cast<const T*>(m.first);
  T* into = static_cast<T*>(to);
  for (int64_t i = 0; i < m.matrices; ++i, x += m.matrix_stride, into += m.into_stride) {
    function(m, x, first ? first : into, into);
    if (first) first += m.matrix_stride;
  }
}

#if HWY_TARGET == HWY_SCALAR
template <class Combine, class D>
HWY_INLINE hn::TFromD<D> fold_lanes(D, hn::Vec<D> v) {
  return hn::GetLane(v);
}
#else
template <class Combine, class D>
HWY_INLINE hn::TFromD<D> fold_lanes(D, hn::Vec<D> v) {
  const Combine combine;
  if constexpr (hn::MaxLanes(D()) * sizeof(hn::TFromD<D>) > 16) {
    const hn::Half<D> half;
    return fold_lanes<Combine>(half, combine(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return hn::GetLane(combine(v, hn::Shuffle01(v)));
  } else {
    v = combine(v, hn::Shuffle1032(v));
    return hn::GetLane(combine(v, hn::Shuffle2301(v)));
  }
}
#endif

// The same for each of some columns, that of lane i being i modulo `columns`.
template <class Combine, class D>
HWY_NOINLINE void fold_lanes_to(D d, hn::Vec<D> v, int64_t columns, hn::TFromD<D>* into) {
  using T = hn::TFromD<D>;
  constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(T));
  HWY_ALIGN T lanes[2 * kLanes] = {};  // zeros from behind reach lanes that nobody reads
  for (int64_t half = kLanes / 2; half >= columns; half /= 2) {
    hn::Store(v, d, lanes);
    v = Combine()(v, hn::LoadU(d, lanes + half));
  }
  hn::Store(v, d, lanes);
  for (int64_t i = 0; i < columns; ++i) into[i] = lanes[i];
}

template <class Bring, class Combine, typename T>
HWY_NOINLINE void fold_runs_with(const FoldRuns<T>& m, T identity, T* into, int64_t into_stride) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(T));
  // Numbers that a row is folded into first, then one half with the other.
  constexpr int64_t kSums = 128 / sizeof(T);
  constexpr int64_t kVectors = kSums / kLanes;
  const Bring bring;
  const Combine combine;
  for (int64_t r = 0; r < m.runs; ++r, into += into_stride) {
    const T* const x = m.x + r * m.stride;
    const V near = m.center ? hn::Set(d, m.center[r * into_stride]) : hn::Zero(d);
    V all[kVectors];
    HWY_UNROLL(8)
    for (int64_t v = 0; v < kVectors; ++v) all[v] = hn::Set(d, identity);
    int64_t i = 0;
    for (; i + kSums <= m.count; i += kSums) {
      HWY_UNROLL(8)
      for (int64_t v = 0; v < kVectors; ++v) {
        all[v] = combine(all[v], bring(hn::LoadU(d, x + i + v * kLanes), near));
      }
    }
    for (int64_t v = 0; i < m.count; ++v, i += kLanes) {
      const int64_t left = m.count - i;
      const V some = combine(all[v], bring(load_first(d, x + i, left), near));
      const auto is_there = hn::FirstN(d, static_cast<size_t>(left < kLanes ? left : kLanes));
      all[v] = hn::IfThenElse(is_there, some, all[v]);
    }
    // Without vectors a lane is a column.
    const int64_t last = kLanes > 1 ? 1 : m.columns;
    HWY_UNROLL(3)
    for (int64_t half = kVectors / 2; half >= last; half /= 2) {
      for (int64_t v = 0; v < half; ++v) all[v] = combine(all[v], all[v + half]);
    }
    if (m.columns == 1) {
      *into = fold_lanes<Combine>(d, all[0]);
    } else if constexpr (kLanes > 1) {
      fold_lanes_to<Combine>(d, all[0], m.columns, into);
    } else {
      for (int64_t c = 0; c < m.columns; ++c) into[c] = hn::GetLane(all[c]);
    }
  }
}

template <typename T>
HWY_INLINE void fold_any_runs(Fold fold, const FoldRuns<T>& m, T* into, int64_t into_stride) {
  using Limits = std::numeric_limits<T>;
  constexpr bool kIsFloat = std::is_floating_point_v<T>;
  switch (fold) {
    case Fold::kSum:
      return fold_runs_with<Same, Add, T>(m, 0, into, into_stride);
    case Fold::kMax:
      return fold_runs_with<Same, Extreme<true>, T>(
          m, kIsFloat ? -Limits::infinity() : Limits::min(), into, into_stride);
    case Fold::kMin:
      return fold_runs_with<Same, Extreme<false>, T>(
          m, kIsFloat ? Limits::infinity() : Limits::max(), into, into_stride);
    default:
      break;
  }
  if constexpr (std::is_same_v<T, float>) {
    switch (fold) {
      case Fold::kProduct:
        return fold_runs_with<Same, Multiply, T>(m, 1, into, into_stride);
      case Fold::kSumOfAbs:
        return fold_runs_with<Magnitude, Add, T>(m, 0, into, into_stride);
      case Fold::kSumOfSquares:
        return fold_runs_with<Square, Add, T>(m, 0, into, into_stride);
      case Fold::kSumOfNumbers:
        return fold_runs_with<Number, Add, T>(m, 0, into, into_stride);
      default:
        return fold_runs_with<Distance, Add, T>(m, 0, into, into_stride);
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#endif  // TORCHLET_KERNELS_FOLD_INL_H_
