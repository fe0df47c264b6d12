// The indirection buffer of a quantized convolution, seen as a matrix product: where its rows lie.
// An output pixel reads one run of neighbouring numbers for each tap.
//
// Where the dot product takes bytes and channels fill its depth, a tap is one pixel of the window
// and is read where the input lies. Otherwise the lines of the input that a block of pixels needs
// are copied first, padded and as numbers of the dot product's type; then the pixels of one line
// of the window are neighbours and make one tap together.

#if defined(TORCHLET_KERNELS_CONV_Q8_INDIRECTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLET_KERNELS_CONV_Q8_INDIRECTION_INL_H_
#undef TORCHLET_KERNELS_CONV_Q8_INDIRECTION_INL_H_
#else
#define TORCHLET_KERNELS_CONV_Q8_INDIRECTION_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/conv_nchw/conv2d.h"
#include "kernels/quantized/dot_q8-inl.h"
#include "kernels/simd/scratch.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct ConvTaps {
  ConvTaps(const Conv2dShape& s, int repeats)
      : channels(s.in_channels / s.groups),
        copies(!kDotBytes || channels % kDotDepth != 0),
        joined(copies && s.window.dilation_w == 1),
        columns(joined ? 1 : s.window.kernel_w),
        window(s.window.kernel_h * columns),
        count(window * repeats),
        length(channels * (joined ? s.window.kernel_w : 1)),
        steps((length + kDotDepth - 1) / kDotDepth) {}

  int64_t channels;  // of the input, in one group
  bool copies;
  bool joined;      // a tap is a line of the window
  int64_t columns;  // taps in a line
  int64_t window;   // taps in the window
  int64_t count;    // and as often as the window is repeated
  int64_t length;   // numbers of a tap
  int64_t steps;    // dot products of a tap
};

struct ConvInput {
  const Window2dShape& window;
  const uint8_t* data;  // the first channel of the group
  int64_t stride;       // of pixels
  uint8_t zero_point;
};

// Calls visit(row, line, x, count) for rows [begin, end) of output pixels cut where output lines
// end: `count` pixels from `x` on of output line `line`, counted over pictures.
template <typename Visit>
void for_each_line(const Window2dShape& w, int64_t begin, int64_t end, const Visit& visit) {
  for (int64_t row = begin; row < end;) {
    const int64_t x = row % w.out_w, count = std::min(w.out_w - x, end - row);
    visit(row - begin, row / w.out_w, x, count);
    row += count;
  }
}

// Columns of the output line, of [x, x + count), whose pixel at column `offset` of the window
// exists.
struct ColumnRange {
  ColumnRange(const Window2dShape& w, int64_t x, int64_t count, int64_t offset) {
    const int64_t first = w.pad_w - offset, last = w.in_w - 1 + w.pad_w - offset;
    const int64_t low = first <= 0 ? 0 : (first + w.stride_w - 1) / w.stride_w;
    const int64_t high = last < 0 ? 0 : last / w.stride_w + 1;
    begin = std::clamp(low, x, x + count);
    end = std::clamp(high, begin, x + count);
  }
  int64_t begin, end;
};

inline const uint8_t* input_line(const ConvInput& input, int64_t out_line, int64_t i) {
  const Window2dShape& w = input.window;
  const int64_t y = out_line % w.out_h * w.stride_h - w.pad_h + i * w.dilation_h;
  if (y < 0 || y >= w.in_h) return nullptr;
  return input.data + (out_line / w.out_h * w.in_h + y) * w.in_w * input.stride;
}

// What is behind the last row repeats it.
inline void finish_rows(const ConvTaps& taps, int64_t rows, int64_t row_count,
                        const DotInput** to) {
  for (int64_t tap = 0; tap < taps.count; ++tap, to += row_count) {
    if (tap >= taps.window) std::copy_n(to - taps.window * row_count, rows, to);
    std::fill(to + rows, to + row_count, to[rows - 1]);
  }
}

// The table [taps.count, row_count] of pointers to the input itself, or to `padding`.
inline void point_at_rows(const ConvInput& input, const ConvTaps& taps, int64_t begin, int64_t end,
                          const uint8_t* padding, int64_t row_count, const DotInput** rows) {
  const Window2dShape& w = input.window;
  const auto pointer = [](const uint8_t* p) { return reinterpret_cast<const DotInput*>(p); };
  for_each_line(w, begin, end, [&](int64_t row, int64_t out_line, int64_t x, int64_t count) {
    for (int64_t i = 0; i < w.kernel_h; ++i) {
      const uint8_t* line = input_line(input, out_line, i);
      for (int64_t j = 0; j < w.kernel_w; ++j) {
        const DotInput** to = rows + (i * w.kernel_w + j) * row_count + row;
        if (!line) {
          std::fill_n(to, count, pointer(padding));
          continue;
        }
        const ColumnRange range(w, x, count, j * w.dilation_w);
        std::fill_n(to, range.begin - x, pointer(padding));
        to += range.begin - x;
        const int64_t step = w.stride_w * input.stride;
        const uint8_t* pixel =
            line + (range.begin * w.stride_w - w.pad_w + j * w.dilation_w) * input.stride;
        for (int64_t at = range.begin; at < range.end; ++at, pixel += step) *to++ = pointer(pixel);
        std::fill_n(to, x + count - range.end, pointer(padding));
      }
    }
  });
  finish_rows(taps, end - begin, row_count, rows);
}

HWY_INLINE void copy_numbers(const uint8_t* HWY_RESTRICT from, int64_t count,
                             DotInput* HWY_RESTRICT to) {
  if constexpr (kDotBytes) {
    std::memcpy(to, from, static_cast<size_t>(count));
  } else {
    const hn::ScalableTag<int16_t> d;
    const hn::Rebind<uint8_t, decltype(d)> d8;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
      hn::StoreU(hn::PromoteTo(d, hn::LoadU(d8, from + i)), d, reinterpret_cast<int16_t*>(to) + i);
    }
    for (; i < count; ++i) to[i] = from[i];
  }
}

// Numbers that copy_lines writes at most for `rows` output pixels.
inline int64_t copied_numbers(const Window2dShape& w, const ConvTaps& taps, int64_t rows) {
  const int64_t lines = std::min(rows, (rows - 1) / w.out_w + 2);
  const int64_t columns = rows * w.stride_w + lines * (w.kernel_w - 1) * w.dilation_w;
  return columns * taps.channels * w.kernel_h + kDotDepth;
}

// Copies what rows [begin, end) read, and makes the table [taps.count, row_count] of pointers.
inline void copy_lines(const ConvInput& input, const ConvTaps& taps, int64_t begin, int64_t end,
                       int64_t row_count, DotInput* copy, const DotInput** rows) {
  const Window2dShape& w = input.window;
  const int64_t channels = taps.channels;
  // A window of one column leaves out the pixels between.
  const int64_t step = w.kernel_w == 1 ? w.stride_w : 1;
  const int64_t row_step = w.stride_w / step * channels;
  const bool contiguous = step == 1 && input.stride == channels;
  for_each_line(w, begin, end, [&](int64_t row, int64_t out_line, int64_t x, int64_t count) {
    const int64_t columns =
        w.kernel_w == 1 ? count : (count - 1) * w.stride_w + (w.kernel_w - 1) * w.dilation_w + 1;
    const int64_t first = x * w.stride_w - w.pad_w;
    // Of the columns first + c * step, those that exist.
    const int64_t from = std::clamp<int64_t>((-first + step - 1) / step, 0, columns);
    const int64_t past = first >= w.in_w ? 0 : (w.in_w - 1 - first) / step + 1;
    const int64_t to = std::clamp<int64_t>(past, from, columns);
    for (int64_t i = 0; i < w.kernel_h; ++i) {
      const uint8_t* line = input_line(input, out_line, i);
      const int64_t left = line ? from : columns, inside = line ? to - from : 0;
      const DotInput zero = input.zero_point;
      std::fill_n(copy, left * channels, zero);
      const uint8_t* pixel = line + (first + from * step) * input.stride;
      if (contiguous) {
        if (inside > 0) copy_numbers(pixel, inside * channels, copy + left * channels);
      } else {
        for (int64_t c = 0; c < inside; ++c) {
          copy_numbers(pixel + c * step * input.stride, channels, copy + (left + c) * channels);
        }
      }
      std::fill_n(copy + (left + inside) * channels, (columns - left - inside) * channels, zero);
      for (int64_t j = 0; j < taps.columns; ++j) {
        const DotInput** pointers = rows + (i * taps.columns + j) * row_count + row;
        const DotInput* at = copy + j * w.dilation_w * channels;
        for (int64_t r = 0; r < count; ++r, at += row_step) *pointers++ = at;
      }
      copy += columns * channels;
    }
  });
  std::fill_n(copy, kDotDepth, DotInput{0});  // the last run may be read to the end of a step
  finish_rows(taps, end - begin, row_count, rows);
}

// The table of pointers for up to `most_rows` rows, and what it points at.
class RowTable {
 public:
  RowTable(const Conv2dShape& s, const ConvTaps& taps, uint8_t zero_point, int64_t most_rows)
      : window_(s.window),
        taps_(taps),
        zero_point_(zero_point),
        row_count_(most_rows),
        rows_(taps.count * most_rows),
        copy_(taps.copies ? copied_numbers(s.window, taps, most_rows) : 0),
        padding_(taps.channels) {
    std::memset(padding_.data(), zero_point, static_cast<size_t>(taps.channels));
  }

  // `input` is the first channel of the group.
  void load(const uint8_t* input, int64_t stride, int64_t first_row, int64_t rows) {
    const ConvInput from{window_, input, stride, zero_point_};
    if (taps_.copies) {
      copy_lines(from, taps_, first_row, first_row + rows, row_count_, copy_.data(), rows_.data());
    } else {
      point_at_rows(from, taps_, first_row, first_row + rows, padding_.data(), row_count_,
                    rows_.data());
    }
  }

  const DotInput* const* rows() const { return rows_.data(); }  // [taps.count, most_rows]

 private:
  const Window2dShape& window_;
  const ConvTaps& taps_;
  const uint8_t zero_point_;
  const int64_t row_count_;
  const Scratch<const DotInput*> rows_;
  const Scratch<DotInput> copy_;
  const Scratch<uint8_t> padding_;
};

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#endif  // TORCHLET_KERNELS_CONV_Q8_INDIRECTION_INL_H_
