#include <algorithm>
#include <cstring>
#include <utility>

#include "base/selection.h"
#include "base/thread_pool.h"
#include "kernels/layout/transpose.h"

namespace torchlet::kernels {
namespace {

struct Dim {
  int64_t size, from, to;  // strides in elements
};

struct Copy {
  int64_t element_size;
  int count = 0;
  Dim dims[kMaxCopyDims];  // the stride in the result falls
  const char* from;
  char* to;
};

// Leaves out dimensions of size 1, sorts by the place in the result and joins neighbours that are
// one dimension of both.
void normalize(Copy& copy, int count, const Dim* dims) {
  Dim* sorted = copy.dims;
  for (int i = 0; i < count; ++i) {
    if (dims[i].size == 1) continue;
    int place = copy.count++;
    for (; place > 0 && sorted[place - 1].to < dims[i].to; --place) {
      sorted[place] = sorted[place - 1];
    }
    sorted[place] = dims[i];
  }
  int last = 0;
  for (int i = 1; i < copy.count; ++i) {
    const Dim& inner = sorted[i];
    Dim& outer = sorted[last];
    if (outer.from == inner.size * inner.from && outer.to == inner.size * inner.to) {
      outer = {outer.size * inner.size, inner.from, inner.to};
    } else {
      sorted[++last] = inner;
    }
  }
  if (copy.count > 0) copy.count = last + 1;
}

// Runs of a few bytes as one element.
[[maybe_unused]] void widen(Copy& copy) {
  constexpr int64_t kWidest = 8;
  while (copy.count > 0 && copy.element_size < kWidest) {
    Dim& run = copy.dims[copy.count - 1];
    const auto places =
        reinterpret_cast<uintptr_t>(copy.from) | reinterpret_cast<uintptr_t>(copy.to);
    bool is_even = run.from == 1 && run.to == 1 && run.size % 2 == 0 &&
                   run.size * copy.element_size <= kWidest &&
                   places % static_cast<uintptr_t>(2 * copy.element_size) == 0;
    for (int i = 0; i < copy.count - 1; ++i) {
      is_even = is_even && copy.dims[i].from % 2 == 0 && copy.dims[i].to % 2 == 0;
    }
    if (!is_even) return;
    for (int i = 0; i < copy.count - 1; ++i) {
      copy.dims[i].from /= 2;
      copy.dims[i].to /= 2;
    }
    copy.element_size *= 2;
    run.size /= 2;
    if (run.size == 1) --copy.count;
  }
}

// A run the other way round; of whole steps compilers make vectors.
template <typename T>
void copy_backwards(int64_t count, const T* __restrict from, T* __restrict to) {
  constexpr int64_t kStep = 8;
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    for (int64_t k = 0; k < kStep; ++k) to[i + k] = from[-i - k];
  }
  for (; i < count; ++i) to[i] = from[-i];
}

// A run of elements that are `step` apart, four at a time: these need one address.
template <typename T>
void copy_spread(int64_t count, const T* __restrict from, int64_t step, T* __restrict to) {
  int64_t i = 0;
  for (; i + 4 <= count; i += 4, from += 4 * step) {
    const T a = from[0], b = from[step], c = from[2 * step], d = from[3 * step];
    to[i] = a;
    to[i + 1] = b;
    to[i + 2] = c;
    to[i + 3] = d;
  }
  for (; i < count; ++i, from += step) to[i] = *from;
}

// Elements that are worth a loop of their own, and such that runs are not.
constexpr int64_t kLongRun = 16, kShortRun = 8;

template <typename T>
void copy_elements(const Dim& outer, const Dim& inner, const char* from, char* to) {
  const T* source = reinterpret_cast<const T*>(from);
  T* target = reinterpret_cast<T*>(to);
  if (selection::kHasConversions && inner.size < std::min(outer.size, kShortRun)) {
    // The first elements of some runs, whose lines stay in the cache, then the second ones.
    constexpr int64_t kTogether = 256;
    for (int64_t first = 0; first < outer.size; first += kTogether) {
      const int64_t end = std::min(outer.size, first + kTogether);
      for (int64_t j = 0; j < inner.size; ++j) {
        const T* one = source + j * inner.from;
        T* const place = target + j * inner.to;
        for (int64_t i = first; i < end; ++i) place[i * outer.to] = one[i * outer.from];
      }
    }
    return;
  }
  for (int64_t i = 0; i < outer.size; ++i, source += outer.from, target += outer.to) {
    if (selection::kHasConversions && inner.from == -1 && inner.to == 1) {
      copy_backwards(inner.size, source, target);
      continue;
    }
    if (selection::kHasConversions && inner.to == 1 && inner.size >= kLongRun) {
      copy_spread(inner.size, source, inner.from, target);
      continue;
    }
    for (int64_t j = 0; j < inner.size; ++j) target[j * inner.to] = source[j * inner.from];
  }
}

// Of a plane that costs less element by element than vectors of it do.
constexpr int64_t kFewElements = 64;

// The last two dimensions.
void copy_plane(int64_t element_size, const Dim& outer, const Dim& inner, const char* from,
                char* to) {
  if (inner.to == 1 && inner.from == 1) {
    const size_t bytes = static_cast<size_t>(inner.size * element_size);
    for (int64_t i = 0; i < outer.size; ++i) {
      std::memcpy(to + i * outer.to * element_size, from + i * outer.from * element_size, bytes);
    }
  } else if (inner.to == 1 && outer.from == 1 &&
             (!selection::kHasConversions || outer.size * inner.size > kFewElements)) {
    transpose(element_size, inner.size, outer.size, from, inner.from, to, outer.to);
  } else if (element_size == 1) {
    copy_elements<uint8_t>(outer, inner, from, to);
  } else if (element_size == 2) {
    copy_elements<uint16_t>(outer, inner, from, to);
  } else if (element_size == 4) {
    copy_elements<uint32_t>(outer, inner, from, to);
  } else {
    copy_elements<uint64_t>(outer, inner, from, to);
  }
}

// Where plane number `index` begins, of those that the dimensions before the last two count.
std::pair<const char*, char*> place_of(const Copy& copy, int64_t index) {
  int64_t from = 0, to = 0;
  for (int k = copy.count - 3; k >= 0; --k) {
    const Dim& dim = copy.dims[k];
    const int64_t i = index % dim.size;
    index /= dim.size;
    from += i * dim.from;
    to += i * dim.to;
  }
  return {copy.from + from * copy.element_size, copy.to + to * copy.element_size};
}

void copy_planes(const Copy& copy, int64_t begin, int64_t end) {
  const Dim &outer = copy.dims[copy.count - 2], &inner = copy.dims[copy.count - 1];
  for (int64_t index = begin; index < end; ++index) {
    const auto [from, to] = place_of(copy, index);
    copy_plane(copy.element_size, outer, inner, from, to);
  }
}

// The dimension of the most planes, if planes are so small that what each of them costs besides its
// elements counts more; -1 otherwise.
[[maybe_unused]] int worth_a_loop(const Copy& copy) {
  constexpr int64_t kSmallPlane = 16;
  int most = -1;
  if (copy.dims[copy.count - 2].size * copy.dims[copy.count - 1].size > kSmallPlane) return most;
  for (int i = 0; i < copy.count - 2; ++i) {
    if (most < 0 || copy.dims[i].size >= copy.dims[most].size) most = i;
  }
  return most;
}

// The same elements of all small planes together: `along` is the dimension of the planes.
[[maybe_unused]] void copy_small_planes(const Copy& copy, int along) {
  constexpr int64_t kTogether = 256;  // whose lines stay in the cache
  Copy rest = copy;
  const Dim planes = copy.dims[along];
  std::copy(copy.dims + along + 1, copy.dims + copy.count, rest.dims + along);
  --rest.count;
  const Dim outer = rest.dims[rest.count - 2], inner = rest.dims[rest.count - 1];
  int64_t others = 1;
  for (int i = 0; i < rest.count - 2; ++i) others *= rest.dims[i].size;
  const int64_t pieces = (planes.size + kTogether - 1) / kTogether;
  parallel_for(others * pieces, 4, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t first = piece % pieces * kTogether;
      const auto [from, to] = place_of(rest, piece / pieces);
      for (int64_t i = 0; i < outer.size; ++i) {
        const Dim some{std::min(kTogether, planes.size - first), planes.from, planes.to};
        copy_plane(copy.element_size, inner, some,
                   from + (first * planes.from + i * outer.from) * copy.element_size,
                   to + (first * planes.to + i * outer.to) * copy.element_size);
      }
    }
  });
}

}  // namespace

void copy_strided(int64_t element_size, int dims, const int64_t* sizes, const void* from,
                  const int64_t* from_strides, void* to, const int64_t* to_strides) {
  constexpr int64_t kBytesPerTask = int64_t{1} << 17;
  Dim all[kMaxCopyDims];
  for (int i = 0; i < dims; ++i) {
    if (sizes[i] == 0) return;
    all[i] = {sizes[i], from_strides[i], to_strides[i]};
  }
  Copy copy{element_size, 0, {}, static_cast<const char*>(from), static_cast<char*>(to)};
  normalize(copy, dims, all);
  if constexpr (selection::kHasConversions) {
    widen(copy);
    element_size = copy.element_size;
  }
  // A plane that can be transposed in tiles comes last; it is otherwise that of the longest runs.
  int with_unit = copy.count - 1;
  for (int i = 0; i < copy.count; ++i) {
    if (copy.dims[i].from == 1) with_unit = i;
  }
  if (with_unit < copy.count - 2) {
    std::rotate(copy.dims + with_unit, copy.dims + with_unit + 1, copy.dims + copy.count - 1);
  }
  while (copy.count < 2) {
    for (int i = copy.count; i > 0; --i) copy.dims[i] = copy.dims[i - 1];
    copy.dims[0] = {1, 0, 0};
    ++copy.count;
  }
  if (copy.count == 2 && copy.dims[1].from == 1 && copy.dims[1].to == 1) {
    // Runs are all there is: threads share them.
    Dim& outer = copy.dims[0];
    Dim& inner = copy.dims[1];
    const bool by_rows = outer.size > 1;
    const Dim cut = by_rows ? outer : inner;
    const int64_t step_bytes = element_size * (by_rows ? inner.size : 1);
    const int64_t grain = std::max<int64_t>(1, kBytesPerTask / step_bytes);
    return parallel_for(cut.size, grain, [&](int64_t begin, int64_t end) {
      const Dim part{end - begin, cut.from, cut.to};
      copy_plane(element_size, by_rows ? part : outer, by_rows ? inner : part,
                 copy.from + begin * cut.from * element_size,
                 copy.to + begin * cut.to * element_size);
    });
  }
  int64_t planes = 1;
  for (int i = 0; i < copy.count - 2; ++i) planes *= copy.dims[i].size;
  if constexpr (selection::kHasConversions) {
    constexpr int64_t kMany = 32;
    const int along = worth_a_loop(copy);
    if (along >= 0 && copy.dims[along].size >= kMany) return copy_small_planes(copy, along);
  }
  const int64_t plane_bytes =
      element_size * copy.dims[copy.count - 2].size * copy.dims[copy.count - 1].size;
  const int64_t grain = std::max<int64_t>(1, kBytesPerTask / std::max<int64_t>(1, plane_bytes));
  parallel_for(planes, grain, [&](int64_t begin, int64_t end) { copy_planes(copy, begin, end); });
}

}  // namespace torchlet::kernels
