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

// A row of the output in tiles of pixels: as many of size `first` as it has, and for the rest one
// of size `last`, which may overlap them. Both are indices, or -1 if all tiles are wider than the
// row.
struct DwConvTiles {
  int first = -1, last = -1;
};
// Of `count` sizes those that take the least time.
DwConvTiles dwconv_tiles(const int* sizes, int count, int64_t out_w);

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
  // If not 0, rows of the input are those of the first channel's plane, and a plane has so many
  // elements. Of dwconv_group_task() alone, which copies rows anyway, and of dwconv_pixels_task(),
  // whose output is planes, too: output_stride elements each.
  int64_t input_plane = 0;
};

void dwconv_task(const DwConvTask<float>& task);
void dwconv_task(const DwConvTask<Float16>& task);
// Of float; fewer are convolved pixel by pixel.
int64_t dwconv_least_channels();

// Groups of 16 channels, a block each, by Winograd's algorithm. The weights of a block are [points,
// channels of the input, channels of the output], four times as many as those of the filters, so
// that few tiles are not worth reading them.
inline bool dwconv_is_winograd(const DwConvShape& shape) {
  if constexpr (!selection::kHasRareConvolutions || !selection::kHasWinograd) return false;
  const Window2dShape& s = shape.window;
  constexpr int64_t kBlock = kDwConvBlock<float>, kLeastTiles = 9;
  return shape.group == kBlock && s.kernel_h == 3 && s.kernel_w == 3 && s.stride_h == 1 &&
         s.stride_w == 1 && s.dilation_h == 1 && s.dilation_w == 1 &&
         ceil_div(s.out_h, kWinogradGroupPixels) * ceil_div(s.out_w, kWinogradGroupPixels) >=
             kLeastTiles;
}
void winograd_group_task(const DwConvTask<float>& task);

constexpr int64_t kDwConvLeastColumns = 4;  // of the output, for tiles of groups

// Groups of few channels that a row of three taps takes by the tiles of depthwise convolutions:
// each pixel is looked up for every channel of a group.
inline bool dwconv_is_looked_up(const DwConvShape& shape) {
  if constexpr (!selection::kHasRareConvolutions) return false;
  constexpr int64_t kMostChannels = 11;
  const Window2dShape& s = shape.window;
  if (shape.group == 1 || shape.group > kMostChannels || s.kernel_w != 3 || s.stride_w > 2) {
    return false;
  }
  for (int64_t phase = 0; phase < dwconv_phases(s); ++phase) {
    const Window2dShape w = dwconv_phase(s, phase);
    const bool is_inside = w.pad_w < w.kernel_w && (w.out_w - 1) * w.stride_w - w.pad_w < w.in_w;
    if (w.dilation_w != 1 || w.out_w < kDwConvLeastColumns || !is_inside) return false;
  }
  return true;
}

// All other groups, in vectors of dwconv_group_lanes(): a vector has the channels of some whole
// groups, lane k * together + n channel k of group n, or `vectors` of them have those of one.
// Weights are [units, vectors, kernel_h, planes of `lanes` channels of the group, kernel_w in the
// order of dwconv_tap_order(), channels of the plane, lanes], zero for lanes that no channel has.
inline bool dwconv_is_grouped(const DwConvShape& shape) {
  if constexpr (!selection::kHasRareConvolutions) return false;
  return shape.group > 1 && !dwconv_is_winograd(shape) && !dwconv_is_looked_up(shape);
}
int64_t dwconv_group_lanes();
void dwconv_group_task(const DwConvTask<float>& task);
struct DwConvGroups {
  int64_t together = 1, vectors;
  int64_t channels, units;  // of a unit, and how many there are: the task's blocks
  explicit DwConvGroups(const DwConvShape& shape) {
    const int64_t lanes = dwconv_group_lanes();
    // Of the smallest groups there are no tiles that fill the vectors.
    while (together < lanes / 4 && 2 * together * shape.group <= lanes) together *= 2;
    vectors = ceil_div(shape.group, lanes);
    channels = together * shape.group;
    units = ceil_div(shape.channels, channels);
  }
};

// The same between planes in vectors of pixels, of rows that tiles fill and columns that lie near
// each other.
constexpr int kDwConvTileChannels = 4;
bool dwconv_row_suits_pixels(int64_t out_w);
inline bool dwconv_suits_pixels(const DwConvShape& shape) {
  constexpr int64_t kMostStride = 2;
  return dwconv_is_grouped(shape) && shape.group % kDwConvTileChannels == 0 &&
         shape.window.stride_w <= kMostStride && DwConvGroups(shape).together == 1 &&
         dwconv_row_suits_pixels(shape.window.out_w);
}
void dwconv_pixels_task(const DwConvTask<float>& task);

// Columns of taps, those that read the same phase of the stride after each other.
inline void dwconv_tap_order(const Window2dShape& s, int64_t* order) {
  for (int64_t phase = 0; phase < s.stride_w; ++phase) {
    for (int64_t j = 0; j < s.kernel_w; ++j) {
      if (j * s.dilation_w % s.stride_w == phase) *order++ = j;
    }
  }
}

// Blocks of channels that a task counts, and the channels of one.
struct DwConvBlocks {
  int64_t count, channels;
};
template <typename T>
DwConvBlocks dwconv_blocks_of(const DwConvShape& shape) {
  if (dwconv_is_grouped(shape)) {
    const DwConvGroups groups(shape);
    return {groups.units, groups.channels};
  }
  return {dwconv_blocks<T>(shape.channels), kDwConvBlock<T>};
}

// Row `strip` of `strips` that the output is cut into begins here; whole tiles for Winograd.
inline int64_t dwconv_strip_row(const DwConvShape& shape, int64_t strip, int64_t strips) {
  const int64_t unit = dwconv_is_winograd(shape) ? kWinogradGroupPixels : 1;
  const int64_t row = strip * shape.window.out_h / strips;
  return strip == strips ? row : row / unit * unit;
}

}  // namespace torchlet::kernels
