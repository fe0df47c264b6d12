#pragma once

// Inside of conv_nhwc_f32: 3 x 3 convolutions of stride 1 by Winograd's minimal filtering.
//
// An output is cut into tiles of m x m pixels; with a dilation, the pixels of a tile lie that far
// apart. Each tile's inputs are transformed to (m + 2)^2 points, at each point tiles x channels
// times channels x columns is one matrix product, and the products are transformed back.
//
// Of a volume each plane is transformed so, once; the products sum over the taps of the depth.

#include <cstddef>
#include <cstdint>

#include "kernels/conv_nhwc/conv_nhwc.h"
#include "kernels/gemm/gemm_nhwc.h"

namespace torchlet::kernels {

// Of fewer channels in or out, the direct convolution is faster. Groups of few leave parts of its
// vectors empty; of a volume the same transformed plane serves several others.
constexpr int64_t kWinogradChannels = 32, kWinogradGroupChannels = 20, kWinogradVolumeChannels = 8;

constexpr int64_t kWinogradGroupTile = 4;  // m of groups of fewer (dwconv_task.h)

constexpr float kWinogradA = 0.707106781186547524f;  // 1 / sqrt 2
constexpr float kWinogradB = 1.414213562373095049f;  // sqrt 2

// m, the pixels of a tile's side: 4 or 2, or 0 where the direct convolution is faster. Depends on
// the shape alone.
int winograd_tile(const ConvNhwcShape& shape, int64_t least_channels = kWinogradChannels,
                  bool is_direct_bf16 = false);

// The depth of a volume whose planes are images; as WindowAxis, with stride 1.
struct WinogradDepth {
  int64_t in = 1, out = 1, kernel = 1, pad = 0, dilation = 1;
};

// With tiles of m = `tile` > 0; as the functions of conv_nhwc.h, but with `weights` of kFloat16 the
// packed ones are Float16. Of a volume, shape.batch is 1, and a filter of the weight is
// [depth.kernel, 3, 3].
size_t winograd_f32_packed_bytes(const ConvNhwcShape& shape, int tile, int64_t depth_kernel = 1);
void winograd_f32_pack(const ConvNhwcShape& shape, int tile, const float* weight, void* packed,
                       int64_t depth_kernel = 1);
void winograd_f32(const ConvNhwcShape& shape, int tile, const float* input, int64_t input_stride,
                  const void* packed, const EpilogueF32& epilogue, float* output,
                  int64_t output_stride, const WinogradDepth& depth = {});

// to[p * stride + j] = G w G^T at point p of the weights w = weight + j * weight_stride, j < count,
// which is at most 32.
void winograd_f32_transform_weights(int64_t tile, const float* weight, int64_t weight_stride,
                                    int64_t count, float* to, int64_t stride);

// Where the tiles lie.
struct WinogradGrid {
  Window2dShape window;
  int64_t batch, in_channels, out_channels;
  int64_t tile;         // m
  int64_t rows, lines;  // tiles across and down one phase; a dilation d has d * d phases
  int64_t count;        // of tiles

  explicit WinogradGrid(const ConvNhwcShape& shape, int64_t m)
      : window(shape.window),
        batch(shape.batch),
        in_channels(shape.in_channels),
        out_channels(shape.out_channels),
        tile(m) {
    const auto tiles = [m](int64_t size, int64_t dilation) {
      return ((size + dilation - 1) / dilation + m - 1) / m;
    };
    rows = tiles(window.out_w, window.dilation_w);
    lines = tiles(window.out_h, window.dilation_h);
    count = batch * rows * lines * window.dilation_h * window.dilation_w;
  }

  // The first output pixel of a tile.
  struct Origin {
    int64_t image, y, x;
  };
  Origin origin(int64_t i) const {
    const int64_t column = i % rows, line = i / rows % lines;
    const int64_t phase = i / (rows * lines);
    const int64_t phase_x = phase % window.dilation_w;
    const int64_t phase_y = phase / window.dilation_w % window.dilation_h;
    return {phase / (window.dilation_w * window.dilation_h),
            line * tile * window.dilation_h + phase_y, column * tile * window.dilation_w + phase_x};
  }

  int64_t points() const { return (tile + 2) * (tile + 2); }
};

// Some tiles that follow each other, at once; of a volume, those tiles of some planes.
struct WinogradBlock {
  const WinogradGrid* grid;
  const float* input;
  int64_t input_stride;
  Panels<float> weight;
  const EpilogueF32* epilogue;
  float* output;
  int64_t output_stride;
  int64_t first_tile, tiles;       // tiles: of all planes of the output
  int64_t plane_tiles;             // of each plane
  int64_t first_in, first_out;     // planes
  int64_t in_planes;               // those that exist
  int64_t depth_taps, tap_planes;  // of the depth, and planes from one to the next
  float* points;                   // [points, planes of the input, plane_tiles, in_channels]
  int64_t row_stride, point_stride;

  WinogradGrid::Origin origin(int64_t i, int64_t first_plane) const {
    WinogradGrid::Origin origin = grid->origin(first_tile + i % plane_tiles);
    origin.image += first_plane + i / plane_tiles;
    return origin;
  }
};

}  // namespace torchlet::kernels
