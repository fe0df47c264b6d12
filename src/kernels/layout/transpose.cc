#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/layout/transpose.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>

#include "base/selection.h"
#include "base/thread_pool.h"
#include "kernels/layout/transpose.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// What is left at borders.
template <typename T>
HWY_NOINLINE void transpose_scalar(int64_t rows, int64_t cols, const T* from, int64_t from_stride,
                                   T* to, int64_t to_stride) {
  if (rows == 0) return;
  for (int64_t j = 0; j < cols; ++j) {
    for (int64_t i = 0; i < rows; ++i) to[j * to_stride + i] = from[i * from_stride + j];
  }
}

// A vector of the 16-byte pieces at `from`, from + stride, ...
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_blocks(D d, const T* from, int64_t stride) {
  if constexpr (hn::MaxLanes(d) * sizeof(T) == 16) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    constexpr int64_t kBlocks = hn::MaxLanes(d) * sizeof(T) / 16;
    return hn::Combine(d, load_blocks(half, from + kBlocks / 2 * stride, stride),
                       load_blocks(half, from, stride));
  }
}

// The first bytes of a vector, as many as kCount elements have.
template <int kCount, class D, typename T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_start(D d, const T* from) {
  using Piece = hwy::UnsignedFromSize<kCount * sizeof(T)>;
  const hn::Repartition<Piece, D> pieces;
  Piece piece;
  hwy::CopyBytes<sizeof(piece)>(from, &piece);
  return hn::BitCast(d, hn::Set(pieces, piece));
}

// The transpose of Lanes(d) rows of kCols columns, at most n = 16 / sizeof(T): log2 n rounds that
// interleave rows i and i + n / 2 of each n x n block, whose upper half has nothing as long as the
// columns do not fill a row.
template <int kCols, class D, typename T = hn::TFromD<D>>
HWY_INLINE void transpose_block(D d, const T* from, int64_t from_stride, T* to, int64_t to_stride) {
  constexpr int kSize = 16 / sizeof(T);
  hn::Vec<D> rows[kSize], mixed[kSize];
  HWY_UNROLL(16)
  for (int i = 0; i < kSize; ++i) {
    if constexpr (kCols == kSize) {
      rows[i] = load_blocks(d, from + i * from_stride, kSize * from_stride);
    } else {
      rows[i] = load_start<kCols>(d, from + i * from_stride);
    }
  }
  int count = kSize;
  HWY_UNROLL(4)
  for (int round = 1; round < kSize; round *= 2) {
    const int half = count / 2;
    if (round * kCols < kSize) {
      HWY_UNROLL(8)
      for (int i = 0; i < half; ++i) rows[i] = hn::InterleaveLower(d, rows[i], rows[i + half]);
      count = half;
      continue;
    }
    HWY_UNROLL(8)
    for (int i = 0; i < half; ++i) {
      mixed[2 * i] = hn::InterleaveLower(d, rows[i], rows[i + half]);
      mixed[2 * i + 1] = hn::InterleaveUpper(d, rows[i], rows[i + half]);
    }
    HWY_UNROLL(16)
    for (int i = 0; i < count; ++i) rows[i] = mixed[i];
  }
  HWY_UNROLL(16)
  for (int i = 0; i < kCols; ++i) hn::StoreU(rows[i], d, to + i * to_stride);
}

// Two or three planes to pixels of as many channels and back.
template <int kPlanes, typename T>
void interleave(int64_t pixels, const T* from, int64_t from_stride, T* to) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(T));
  int64_t i = 0;
  for (; i + kLanes <= pixels; i += kLanes) {
    const auto a = hn::LoadU(d, from + i), b = hn::LoadU(d, from + from_stride + i);
    if constexpr (kPlanes == 2) {
      hn::StoreInterleaved2(a, b, d, to + 2 * i);
    } else {
      hn::StoreInterleaved3(a, b, hn::LoadU(d, from + 2 * from_stride + i), d, to + 3 * i);
    }
  }
  transpose_scalar(kPlanes, pixels - i, from + i, from_stride, to + kPlanes * i, kPlanes);
}
template <int kPlanes, typename T>
void deinterleave(int64_t pixels, const T* from, T* to, int64_t to_stride) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(T));
  int64_t i = 0;
  for (; i + kLanes <= pixels; i += kLanes) {
    hn::Vec<decltype(d)> planes[3];
    if constexpr (kPlanes == 2) {
      hn::LoadInterleaved2(d, from + 2 * i, planes[0], planes[1]);
    } else {
      hn::LoadInterleaved3(d, from + 3 * i, planes[0], planes[1], planes[2]);
    }
    for (int p = 0; p < kPlanes; ++p) hn::StoreU(planes[p], d, to + p * to_stride + i);
  }
  transpose_scalar(pixels - i, kPlanes, from + kPlanes * i, kPlanes, to + i, to_stride);
}

template <typename T>
void transpose_matrix(int64_t rows, int64_t cols, const T* from, int64_t from_stride, T* to,
                      int64_t to_stride) {
  if constexpr (sizeof(T) == 1 || sizeof(T) == 4) {
    if (rows == 3 && to_stride == 3) return interleave<3>(cols, from, from_stride, to);
    if (cols == 3 && from_stride == 3) return deinterleave<3>(rows, from, to, to_stride);
  }
  if constexpr (sizeof(T) == 4) {
    if (rows == 2 && to_stride == 2) return interleave<2>(cols, from, from_stride, to);
    if (cols == 2 && from_stride == 2) return deinterleave<2>(rows, from, to, to_stride);
  }
  // Wide blocks write whole cache lines, or half of them. Bytes have enough of them with 128 bits.
  constexpr int64_t kSize = 16 / sizeof(T), kLine = 64 / sizeof(T);
  const hn::FixedTag<T, kSize> narrow;
  constexpr int64_t kWide = sizeof(T) == 8 && selection::kHasConversions ? 4
                            : sizeof(T) == 4                             ? kLine
                                                                         : kSize;
  const hn::CappedTag<T, kWide> wide;
  constexpr int64_t lanes = static_cast<int64_t>(hn::MaxLanes(wide));
  // The rows of a block keep their lines in the first-level cache until all of a line is used. All
  // of it is used at once, since rows far apart may share a place there.
  constexpr int64_t kBlockRows = 128;
  const int64_t whole_cols = cols / kSize * kSize;
  for (int64_t top = 0; top < rows; top += kBlockRows) {
    const int64_t block = std::min(kBlockRows, rows - top);
    const int64_t whole_rows = block / kSize * kSize;
    const T* in = from + top * from_stride;
    T* out = to + top;
    for (int64_t left = 0; left < whole_cols; left += kLine) {
      const int64_t right = std::min(left + kLine, whole_cols);
      int64_t i = 0;
      for (; i + kWide <= whole_rows; i += kWide) {
        if constexpr (sizeof(T) > 1 && selection::kHasConversions) {
          // What is written next is there by then.
          for (int64_t j = left; j < right && i % kLine == 0; ++j) {
            __builtin_prefetch(out + j * to_stride + i + kLine, 1);
          }
        }
        for (int64_t j = left; j < right; j += kSize) {
          HWY_UNROLL(4)
          for (int64_t k = i; k < i + kWide; k += lanes) {
            transpose_block<kSize>(wide, in + k * from_stride + j, from_stride,
                                   out + j * to_stride + k, to_stride);
          }
        }
      }
      for (; i < whole_rows; i += kSize) {
        for (int64_t j = left; j < right; j += kSize) {
          transpose_block<kSize>(narrow, in + i * from_stride + j, from_stride,
                                 out + j * to_stride + i, to_stride);
        }
      }
    }
    int64_t left = whole_cols;
    if constexpr (sizeof(T) <= 2 && selection::kHasConversions) {
      const auto some_columns = [&](auto some) HWY_ATTR {
        for (; left + some <= cols; left += some) {
          for (int64_t i = 0; i < whole_rows; i += kSize) {
            transpose_block<some>(narrow, in + i * from_stride + left, from_stride,
                                  out + left * to_stride + i, to_stride);
          }
          transpose_scalar(block - whole_rows, int64_t{some}, in + whole_rows * from_stride + left,
                           from_stride, out + left * to_stride + whole_rows, to_stride);
        }
      };
      if constexpr (kSize > 8) some_columns(std::integral_constant<int, kSize / 2>());
      some_columns(std::integral_constant<int, 4>());
    }
    transpose_scalar(block, cols - left, in + left, from_stride, out + left * to_stride, to_stride);
    transpose_scalar(block - whole_rows, whole_cols, in + whole_rows * from_stride, from_stride,
                     out + whole_rows, to_stride);
  }
}

void transpose_elements(int64_t element_size, int64_t rows, int64_t cols, const void* from,
                        int64_t from_stride, void* to, int64_t to_stride) {
  const auto run = [&](auto zero) HWY_ATTR {
    using T = decltype(zero);
    transpose_matrix(rows, cols, static_cast<const T*>(from), from_stride, static_cast<T*>(to),
                     to_stride);
  };
  switch (element_size) {
    case 1:
      return run(uint8_t{});
    case 2:
      return run(uint16_t{});
    case 4:
      return run(uint32_t{});
    default:
      return run(uint64_t{});
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(transpose_elements);

void transpose(int64_t element_size, int64_t rows, int64_t cols, const void* from,
               int64_t from_stride, void* to, int64_t to_stride) {
  constexpr int64_t kBytesPerTask = int64_t{1} << 17;
  const bool by_rows = rows >= cols;
  const int64_t row_bytes = element_size * std::max<int64_t>(1, by_rows ? cols : rows);
  const int64_t grain = kBytesPerTask / row_bytes / 64 * 64 + 64;
  const char* source = static_cast<const char*>(from);
  char* target = static_cast<char*>(to);
  parallel_for(by_rows ? rows : cols, grain, [&](int64_t begin, int64_t end) {
    const int64_t from_step = by_rows ? from_stride : 1, to_step = by_rows ? 1 : to_stride;
    HWY_DYNAMIC_DISPATCH(transpose_elements)
    (element_size, by_rows ? end - begin : rows, by_rows ? cols : end - begin,
     source + begin * from_step * element_size, from_stride,
     target + begin * to_step * element_size, to_stride);
  });
}

void transpose_f32(int64_t rows, int64_t cols, const float* from, int64_t from_stride, float* to,
                   int64_t to_stride) {
  transpose(sizeof(float), rows, cols, from, from_stride, to, to_stride);
}

void nchw_to_nhwc(int64_t element_size, int64_t batch, int64_t channels, int64_t pixels,
                  const void* from, void* to, int64_t to_stride) {
  const char* source = static_cast<const char*>(from);
  char* target = static_cast<char*>(to);
  for (int64_t n = 0; n < batch; ++n) {
    transpose(element_size, channels, pixels, source + n * channels * pixels * element_size, pixels,
              target + n * pixels * to_stride * element_size, to_stride);
  }
}

void nhwc_to_nchw(int64_t element_size, int64_t batch, int64_t channels, int64_t pixels,
                  const void* from, int64_t from_stride, void* to) {
  const char* source = static_cast<const char*>(from);
  char* target = static_cast<char*>(to);
  for (int64_t n = 0; n < batch; ++n) {
    transpose(element_size, pixels, channels, source + n * pixels * from_stride * element_size,
              from_stride, target + n * channels * pixels * element_size, pixels);
  }
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
