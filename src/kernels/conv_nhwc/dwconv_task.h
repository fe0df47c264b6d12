#pragma once

// Inside of the depthwise convolutions: what one thread does at a time.

#include <algorithm>
#include <cstdint>

#include "base/selection.h"
#include "kernels/conv_nhwc/dwconv_nhwc.h"
#include "kernels/conv_nhwc/winograd_f32.h"
#include "kernels/simd/split.h"

namespace torchlet::kernels {

// Weights lie in blocks of so many channels; the last block overlaps the one before it.
template <typename T>
constexpr int64_t kDwConvBlock = static_cast<int64_t>(64 / sizeof(T));
template <typename T>
int64_t dwconv_blocks(int64_t channels) {
  return (channels + kDwConvBlock<T> - 1) / kDwConvBlock<T>;
}
template <typename T>
int64_t dwconv_block_channel(int64_t channels, int64_t block) {
  return std::max<int64_t>(0, std::min(block * kDwConvBlock<T>, channels - kDwConvBlock<T>));
}

// Of such windows there is one set of tiles for all widths.
constexpr bool dwconv_is_wide(int64_t width) { return width == 4 || width >= 6; }

// Columns that are `dilation_w` apart form phases, and each phase is a convolution without
// dilation: pixel x of phase p is pixel x * phases + p of its row, in the input and in the output.
inline int64_t dwconv_phases(const Window2dShape& s) {
  if constexpr (!selection::kHasRareConvolutions) return 1;
  return s.stride_w == 1 && s.pad_w % s.dilation_w == 0 ? s.dilation_w : 1;
}
inline Window2dShape dwconv_phase(const Window2dShape& s, int64_t phase) {
  const int64_t phases = dwconv_phases(s);
  if (phases == 1) return s;
  Window2dShape result = s;
  result.in_w = ceil_div(std::max<int64_t>(0, s.in_w - phase), phases);
  result.out_w = ceil_div(std::max<int64_t>(0, s.out_w - phase), phases);
  result.pad_w = s.pad_w / phases;
  result.dilation_w = 1;
  return result;
}

// Rows [row_begin, row_end) of the output, blocks [block_begin, block_end) of the channels.
// Everything that a channel indexes begins at channel 0; `output` and the residual at row
// row_begin.
template <typename T>
struct DwConvTask {
  const DwConvShape* shape;
  const T* const* input_rows;
  int64_t input_stride;
  const T* weight;
  const Epilogue<T>* epilogue;
  T* output;
  int64_t output_stride;
  int64_t row_begin, row_end;
  int64_t block_begin, block_end;
};

void dwconv_task(const DwConvTask<float>& task);
void dwconv_task(const DwConvTask<Float16>& task);

// Groups of 16 channels, a block each, by Winograd's algorithm. The weights of a block are [points,
// channels of the input, channels of the output], four times as many as those of the filters, so
// that few tiles are not worth reading them.
inline bool dwconv_is_winograd(const DwConvShape& shape) {
  if constexpr (!selection::kHasRareConvolutions || !selection::kHasWinograd) return false;
  const Window2dShape& s = shape.window;
  constexpr int64_t kBlock = kDwConvBlock<float>, kLeastTiles = 9;
  return shape.group == kBlock && s.kernel_h == 3 && s.kernel_w == 3 && s.stride_h == 1 &&
         s.stride_w == 1 && s.dilation_h == 1 && s.dilation_w == 1 &&
         ceil_div(s.out_h, kWinogradGroupTile) * ceil_div(s.out_w, kWinogradGroupTile) >=
             kLeastTiles;
}
void winograd_group_task(const DwConvTask<float>& task);

// Row `strip` of `strips` that the output is cut into begins here; whole tiles for Winograd.
inline int64_t dwconv_strip_row(const DwConvShape& shape, int64_t strip, int64_t strips) {
  const int64_t unit = dwconv_is_winograd(shape) ? kWinogradGroupTile : 1;
  const int64_t row = strip * shape.window.out_h / strips;
  return strip == strips ? row : row / unit * unit;
}

}  // namespace torchlet::kernels
