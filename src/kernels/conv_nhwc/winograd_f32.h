#pragma once

// Inside of conv_nhwc_f32: convolutions of 3 and 5 taps by Winograd's minimal filtering.
//
// An output is cut into tiles; with a dilation, the pixels of a tile lie that far apart. Each
// tile's inputs are transformed to points, at each point tiles x channels times channels x columns
// is one matrix product, and the products are transformed back.
//
// Of a volume each plane is transformed so, once; the products sum over the taps of the depth.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

#include "kernels/conv_nhwc/conv_nhwc.h"
#include "kernels/gemm/gemm_nhwc.h"

namespace torchlet::kernels {

// Of fewer channels in or out, most of a vector is empty. Of a volume the same transformed plane
// serves several others; groups of fewer have tiles of their own (dwconv_task.h).
constexpr int64_t kWinogradChannels = 16, kWinogradVolumeChannels = 8, kWinogradGroupChannels = 20;

// Along a line: `outputs` of `taps` taps from as many inputs as points, a product at each. With a
// stride of 2 the first and the last of three taps meet even inputs, as two taps of stride 1 do;
// the middle one meets odd inputs, at a point each, the last ones, whose weights are the same.
struct WinogradLine {
  int taps = 1, stride = 1, outputs = 1;

  constexpr int points() const { return (outputs - 1) * stride + taps; }
  constexpr int weights() const { return stride == 1 ? points() : outputs + 2; }  // that differ
  constexpr int weight_of(int point) const { return std::min(point, weights() - 1); }
};
constexpr int kMostWinogradTaps = 5;

struct WinogradTile {
  WinogradLine y, x;

  constexpr int points() const { return y.points() * x.points(); }
  constexpr int weights() const { return y.weights() * x.weights(); }
  constexpr int taps() const { return y.taps * x.taps; }
};

// Those that there are, by their number; 0 is the direct convolution.
inline constexpr WinogradTile kWinogradTiles[] = {
    {},
    {{3, 1, 2}, {3, 1, 2}},
    {{3, 1, 4}, {3, 1, 4}},
    {{3, 2, 2}, {3, 2, 2}},
    {{3, 2, 4}, {3, 2, 4}},
    {{5, 1, 2}, {5, 1, 2}},
    {{}, {3, 1, 4}},
    {{3, 1, 4}, {}},
    {{}, {3, 2, 4}},
};
constexpr int kWinogradGroupTile = 2;  // of groups of few channels (dwconv_task.h)
constexpr int kWinogradGroupPixels = kWinogradTiles[kWinogradGroupTile].x.outputs;

// Whether there are tiles for a window, perhaps not for its stride.
constexpr bool has_winograd_tiles(int64_t kernel_h, int64_t kernel_w) {
  return std::any_of(
      std::begin(kWinogradTiles) + 1, std::end(kWinogradTiles),
      [&](const WinogradTile& tile) { return tile.y.taps == kernel_h && tile.x.taps == kernel_w; });
}

constexpr float kWinogradA = 0.707106781186547524f;  // 1 / sqrt 2
constexpr float kWinogradB = 1.414213562373095049f;  // sqrt 2

// The depth of a volume whose planes are images; as WindowAxis.
struct WinogradDepth {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, pad = 0, dilation = 1;
};

// The number of the tile, or 0 where the direct convolution is faster. Depends on the shape alone.
// Of a volume, shape.batch is the planes of the output.
int winograd_tile(const ConvNhwcShape& shape, const WinogradDepth& depth = {},
                  bool is_direct_bf16 = false);

// With the tile of number `tile` > 0; as the functions of conv_nhwc.h, but with `weights` of
// kFloat16 the packed ones are Float16. Of a volume, shape.batch is 1, and a filter of the weight
// has depth.kernel planes.
size_t winograd_f32_packed_bytes(const ConvNhwcShape& shape, int tile, int64_t depth_kernel = 1);
void winograd_f32_pack(const ConvNhwcShape& shape, int tile, FiltersAt filters, void* packed,
                       int64_t depth_kernel = 1);
void winograd_f32(const ConvNhwcShape& shape, int tile, const float* input, int64_t input_stride,
                  const void* packed, const EpilogueF32& epilogue, float* output,
                  int64_t output_stride, const WinogradDepth& depth = {});

// G of Lavin and Gray: takes a line of weights to those of the points, which are for a point p
// (1, p, p^2, ...) / product of (p - q) over the other points q, for infinity the last weight.
class WinogradWeightLine {
 public:
  static constexpr int64_t kColumns = 32;  // at once: loops over them are loops over vectors
  using Column = double[kColumns];

  explicit WinogradWeightLine(const WinogradLine& line);
  int taps() const { return line_.taps; }
  const double* row(int point) const { return rows_[point]; }  // of G

 private:
  void set(std::span<const double> points, int step);

  WinogradLine line_;
  double rows_[kMostWinogradTaps + 1][kMostWinogradTaps] = {};
};

class WinogradWeights {
 public:
  explicit WinogradWeights(const WinogradTile& tile) : tile_(tile), y_(tile.y), x_(tile.x) {}
  // to[p * stride + j] = G w G^T at the weights p of the tile, of the filter w = weight + j *
  // weight_stride, j < count, which is at most WinogradWeightLine::kColumns.
  void transform(const float* weight, int64_t weight_stride, int64_t count, float* to,
                 int64_t stride) const;

  const WinogradTile& tile() const { return tile_; }
  const WinogradWeightLine& y() const { return y_; }
  const WinogradWeightLine& x() const { return x_; }

 private:
  WinogradTile tile_;
  WinogradWeightLine y_, x_;
};

// Where the tiles lie.
struct WinogradGrid {
  Window2dShape window;
  int64_t batch, in_channels, out_channels;
  int number;  // of the tile
  WinogradTile tile;
  int64_t rows, lines;  // tiles across and down one phase; a dilation d has d * d phases
  int64_t count;        // of tiles

  WinogradGrid(const ConvNhwcShape& shape, int tile_number)
      : window(shape.window),
        batch(shape.batch),
        in_channels(shape.in_channels),
        out_channels(shape.out_channels),
        number(tile_number),
        tile(kWinogradTiles[tile_number]) {
    const auto tiles = [](int64_t size, int64_t dilation, int64_t outputs) {
      return ((size + dilation - 1) / dilation + outputs - 1) / outputs;
    };
    rows = tiles(window.out_w, window.dilation_w, tile.x.outputs);
    lines = tiles(window.out_h, window.dilation_h, tile.y.outputs);
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
            line * tile.y.outputs * window.dilation_h + phase_y,
            column * tile.x.outputs * window.dilation_w + phase_x};
  }
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
  int64_t first_tile, tiles;    // tiles: of all planes of the output
  int64_t plane_tiles;          // of each plane
  int64_t first_in, first_out;  // planes
  const WinogradDepth* depth;   // whose `in` is all planes that exist
  // [points, planes of the input, plane_tiles, in_channels]; of planes in steps of the stride,
  // those of one step follow each other, phase_planes of them, as the planes of the output do.
  float* points;
  int64_t phase_planes;
  int64_t row_stride, point_stride;

  WinogradGrid::Origin output_origin(int64_t i) const {
    WinogradGrid::Origin origin = grid->origin(first_tile + i % plane_tiles);
    origin.image += first_out + i / plane_tiles;
    return origin;
  }
  WinogradGrid::Origin input_origin(int64_t i) const {
    WinogradGrid::Origin origin = grid->origin(first_tile + i % plane_tiles);
    const int64_t plane = i / plane_tiles;
    origin.image +=
        first_in +
        (depth->stride == 1 ? plane : plane % phase_planes * depth->stride + plane / phase_planes);
    return origin;
  }
  // The first plane of points under a tap.
  int64_t tap_plane(int64_t tap) const {
    const int64_t plane = tap * depth->dilation;
    return plane % depth->stride * phase_planes + plane / depth->stride;
  }
};

}  // namespace torchlet::kernels
