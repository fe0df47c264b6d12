#include "kernels/conv_nhwc/winograd_f32.h"

#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv_nhwc/winograd_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/conv_nhwc/winograd-inl.h"
#include "kernels/gemm/gemm_nhwc.h"
#include "kernels/simd/activation-inl.h"
#include "kernels/simd/caches.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/split.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));
constexpr int64_t kPanelWidth = 2 * kLanes;  // as in gemm_nhwc_f32.cc

template <int kOut>
void transform_input_tiles_of(const WinogradBlock& block, int64_t begin, int64_t end) {
  constexpr int kIn = kOut + 2;
  const WinogradGrid& grid = *block.grid;
  const Window2dShape& w = grid.window;
  const Scratch<float> zeros(grid.in_channels);
  std::fill_n(zeros.data(), grid.in_channels, 0.0f);
  for (int64_t i = begin; i < end; ++i) {
    const WinogradGrid::Origin origin = block.origin(i, block.first_in);
    const float* pixels[kIn * kIn];
    const bool exists = origin.image >= 0 && origin.image < block.in_planes;
    for (int64_t y = 0; y < kIn; ++y) {
      const int64_t in_y = origin.y - w.pad_h + y * w.dilation_h;
      for (int64_t x = 0; x < kIn; ++x) {
        const int64_t in_x = origin.x - w.pad_w + x * w.dilation_w;
        const bool inside = exists && in_y >= 0 && in_y < w.in_h && in_x >= 0 && in_x < w.in_w;
        const int64_t pixel = (origin.image * w.in_h + in_y) * w.in_w + in_x;
        pixels[y * kIn + x] = inside ? block.input + pixel * block.input_stride : zeros.data();
      }
    }
    float* to = block.points + i * block.row_stride;
    for (int64_t c = 0; c < grid.in_channels; c += kLanes) {
      const int64_t left = grid.in_channels - c;
      const auto column = [&](int x, V* in) HWY_ATTR {
        HWY_UNROLL(6)
        for (int y = 0; y < kIn; ++y) in[y] = load_first(kD, pixels[y * kIn + x] + c, left);
      };
      transform_input<kOut>(column, to + c, block.point_stride);
    }
  }
}

void transform_input_tiles(const WinogradBlock& block, int64_t begin, int64_t end) {
  if (block.grid->tile == 4)
    transform_input_tiles_of<4>(block, begin, end);
  else
    transform_input_tiles_of<2>(block, begin, end);
}

// Stores [m x m, kPanelWidth] results of one tile, of which `columns` from `channel` on exist.
void store_tile(const WinogradBlock& block, const WinogradGrid::Origin& origin, int64_t channel,
                int64_t columns, float* results) {
  const WinogradGrid& grid = *block.grid;
  const Window2dShape& w = grid.window;
  const EpilogueF32& epilogue = *block.epilogue;
  const int64_t m = grid.tile;
  const auto for_each_pixel = [&](const auto& body) HWY_ATTR {
    for (int64_t y = 0; y < m && origin.y + y * w.dilation_h < w.out_h; ++y) {
      const int64_t line = (origin.image * w.out_h + origin.y + y * w.dilation_h) * w.out_w;
      for (int64_t x = 0; x < m && origin.x + x * w.dilation_w < w.out_w; ++x) {
        body(line + origin.x + x * w.dilation_w, results + (y * m + x) * kPanelWidth);
      }
    }
  };
  const bool is_simple = is_clamp(epilogue.activation);
  const bool add_early = epilogue.residual && !epilogue.residual_last;
  const bool add_late = epilogue.residual && epilogue.residual_last;
  if (!is_simple) {
    if (add_early) {
      for_each_pixel([&](int64_t pixel, float* result) HWY_ATTR {
        add_rows(epilogue.residual + pixel * epilogue.residual_stride + channel, 0, result, 0, 1,
                 columns);
      });
    }
    activate_rows(epilogue.activation, results, kPanelWidth, results, kPanelWidth, m * m,
                  kPanelWidth);
  }
  const Bounds bounds = bounds_of(is_simple ? epilogue.activation : Activation{});
  const V low = hn::Set(kD, bounds.low), high = hn::Set(kD, bounds.high);
  for_each_pixel([&](int64_t pixel, const float* result) HWY_ATTR {
    const float* residual = epilogue.residual
                                ? epilogue.residual + pixel * epilogue.residual_stride + channel
                                : nullptr;
    float* out = block.output + pixel * block.output_stride + channel;
    for (int64_t i = 0; i < columns; i += kLanes) {
      V value = hn::LoadU(kD, result + i);
      const int64_t left = columns - i;
      if (is_simple && add_early) value = hn::Add(value, load_first(kD, residual + i, left));
      value = clamp(value, low, high);
      if (add_late) value = hn::Add(value, load_first(kD, residual + i, left));
      store_first(value, kD, out + i, left);
    }
  });
}

template <int kOut>
void transform_output_tiles(const WinogradBlock& block, int64_t channel, int64_t columns,
                            const float* products) {
  constexpr int kPoints = (kOut + 2) * (kOut + 2);
  HWY_ALIGN float results[kOut * kOut * kPanelWidth];
  for (int64_t i = 0; i < block.tiles; ++i) {
    const float* from = products + i * kPoints * kPanelWidth;
    for (int64_t c = 0; c < columns; c += kLanes) {
      const float* bias = block.epilogue->bias;
      const V b = bias ? load_first(kD, bias + channel + c, columns - c) : hn::Zero(kD);
      const auto store = [&](int y, int x, V value) HWY_ATTR {
        hn::StoreU(value, kD, results + (y * kOut + x) * kPanelWidth + c);
      };
      transform_output<kOut>(from + c, b, kPanelWidth, store);
    }
    store_tile(block, block.origin(i, block.first_out), channel, columns, results);
  }
}

// Panels [begin, end): the products at all points, then the results.
void multiply_winograd_panels(const WinogradBlock& block, int64_t begin, int64_t end) {
  const WinogradGrid& grid = *block.grid;
  const int64_t points = grid.points(), channels = grid.in_channels;
  const int64_t depth = block.depth_taps * channels;
  const int64_t panel_size = block.tiles * points * kPanelWidth;
  const Scratch<TileSegment<float>> segments(block.depth_taps);
  const Scratch<float> products((end - begin) * panel_size);
  const Bounds unbounded = bounds_of({});
  const auto columns_of = [&](int64_t panel) {
    return std::min<int64_t>(kPanelWidth, grid.out_channels - panel * kPanelWidth);
  };
  for (int64_t p = 0; p < points; ++p) {
    for (int64_t tap = 0; tap < block.depth_taps; ++tap) {
      const int64_t row = tap * block.tap_planes * block.plane_tiles;
      segments[tap] = {block.points + p * block.point_stride + row * block.row_stride,
                       block.row_stride, channels, tap * channels};
    }
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t width = columns_of(panel) <= kLanes ? kLanes : kPanelWidth;
      const int64_t panel_stride = points * depth * kPanelWidth;
      const int64_t to_next_point = depth * width - (end - 1 - begin) * panel_stride;
      const Panels<float> b = block.weight + panel * panel_stride + p * width * depth;
      multiply_panel({.segments = segments.data(),
                      .segment_count = block.depth_taps,
                      .b = b,
                      .columns = width,
                      .low = unbounded.low,
                      .high = unbounded.high,
                      .c = products.data() + (panel - begin) * panel_size + p * kPanelWidth,
                      .c_stride = points * kPanelWidth,
                      .ahead = (b + (panel + 1 < end ? panel_stride : to_next_point)).fetched(),
                      .ahead_count = b.fetched_count(width * depth)},
                     block.tiles);
    }
  }
  for (int64_t panel = begin; panel < end; ++panel) {
    const float* from = products.data() + (panel - begin) * panel_size;
    if (grid.tile == 4) {
      transform_output_tiles<4>(block, panel * kPanelWidth, columns_of(panel), from);
    } else {
      transform_output_tiles<2>(block, panel * kPanelWidth, columns_of(panel), from);
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(transform_input_tiles);
HWY_EXPORT(multiply_winograd_panels);

namespace {

// The transformed tiles of a block stay in the second-level cache, if the weights leave them there.
// If not, larger blocks read the weights less often, and several panels at once the tiles.
constexpr int64_t kBlockBytes = int64_t{768} << 10;
constexpr int64_t kLargeBlockBytes = int64_t{2560} << 10;
constexpr int64_t kProductBytes = int64_t{1} << 20;

// G takes a line of 3 weights to the points: row p is (1, p, p^2) / product of (p - q) over the
// other points q, the last row infinity.
constexpr double kRootHalf = 0.70710678118654752440;
constexpr double kG2[][3] = {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}};
constexpr double kG4[][3] = {{1, 0, 0},
                             {-2. / 3, -2. / 3 * kRootHalf, -1. / 3},
                             {-2. / 3, 2. / 3 * kRootHalf, -1. / 3},
                             {1. / 6, 1. / 3 * kRootHalf, 1. / 3},
                             {1. / 6, -1. / 3 * kRootHalf, 1. / 3},
                             {0, 0, 1}};

}  // namespace

void winograd_f32_transform_weights(int64_t tile, const float* weight, int64_t weight_stride,
                                    int64_t count, float* to, int64_t stride) {
  constexpr int64_t kColumns = 32;  // at once, so that all loops over j are loops over vectors
  const auto* G = tile == 4 ? kG4 : kG2;
  double w[9][kColumns] = {};
  for (int64_t j = 0; j < count; ++j) {
    for (int64_t i = 0; i < 9; ++i) w[i][j] = static_cast<double>(weight[j * weight_stride + i]);
  }
  for (int64_t y = 0; y < tile + 2; ++y) {
    double line[3][kColumns];
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t j = 0; j < kColumns; ++j) {
        line[i][j] = G[y][0] * w[i][j] + G[y][1] * w[3 + i][j] + G[y][2] * w[6 + i][j];
      }
    }
    for (int64_t x = 0; x < tile + 2; ++x, to += stride) {
      const double* g = G[x];
      float out[kColumns];
      for (int64_t j = 0; j < kColumns; ++j) {
        out[j] = static_cast<float>(g[0] * line[0][j] + g[1] * line[1][j] + g[2] * line[2][j]);
      }
      std::copy_n(out, count, to);
    }
  }
}

int winograd_tile(const ConvNhwcShape& s, int64_t least_channels, bool is_direct_bf16) {
  const Window2dShape& w = s.window;
  if (!s.winograd || s.groups != 1 || w.kernel_h != 3 || w.kernel_w != 3 || w.stride_h != 1 ||
      w.stride_w != 1 || std::min(s.in_channels, s.out_channels) < least_channels) {
    return 0;
  }
  // Cycles per input and output channel: two vectors of multiply-adds a cycle, 0.85 of that for the
  // direct convolution, and the weights, which come from beyond the second-level cache at 8 bytes
  // per cycle. Winograd's products fetch most of them meanwhile. Taps on the padding cost the
  // direct convolution nothing.
  const auto winograd_cycles = [](const WinogradGrid& grid, double rate) {
    const auto points = static_cast<double>(grid.points());
    const double products = static_cast<double>(std::max<int64_t>(grid.count, 8)) * points / rate;
    const double weights = points / 2;
    return std::max(products, weights) + std::min(products, weights) / 8;
  };
  const auto taps_inside = [](int64_t in, int64_t out, int64_t pad, int64_t dilation) {
    int64_t count = 0;
    for (int64_t tap = 0; tap < 3; ++tap) {
      const int64_t shift = tap * dilation - pad;  // outputs [-shift, in - shift) have the tap
      count += std::max<int64_t>(0, std::min(out, in - shift) - std::max<int64_t>(0, -shift));
    }
    return static_cast<double>(count);
  };
  const auto direct_cycles = [&](double rate) {
    const double float32 = taps_inside(w.in_h, w.out_h, w.pad_h, w.dilation_h) *
                               taps_inside(w.in_w, w.out_w, w.pad_w, w.dilation_w) *
                               static_cast<double>(s.batch) / (rate * 0.85) +
                           9.0 / 2;
    return selection::kHasFloat16 && is_direct_bf16 ? float32 / 2 : float32;
  };
  // Which tiles, and which save enough memory, is as with vectors of 16 floats: with narrower ones
  // the weights of large tiles cost more than this tells.
  constexpr double kWidest = 32;
  const double direct = direct_cycles(kWidest);
  const double four = winograd_cycles(WinogradGrid(s, 4), kWidest),
               two = winograd_cycles(WinogradGrid(s, 2), kWidest);
  if (s.lean) {
    // Per byte that its weights take more than the direct ones.
    constexpr double kLeastCycles = 1;
    const auto is_worth = [&](double cycles, int tile) {
      return direct - cycles >= kLeastCycles * sizeof(float) * (WinogradGrid(s, tile).points() - 9);
    };
    return is_worth(four, 4) ? 4 : is_worth(two, 2) ? 2 : 0;
  }
  const int m = four <= two ? 4 : 2;
  const auto rate = static_cast<double>(2 * tile_shape<float>().lanes);
  return winograd_cycles(WinogradGrid(s, m), rate) > direct_cycles(rate) ? 0 : m;
}

size_t winograd_f32_packed_bytes(const ConvNhwcShape& shape, int m, int64_t depth_kernel) {
  return static_cast<size_t>((m + 2) * (m + 2) * depth_kernel * shape.in_channels *
                             tile_shape<float>().packed_columns(shape.out_channels)) *
         (shape.weights == WeightFormat::kFloat32 ? sizeof(float) : sizeof(Float16));
}

// [panel, point, depth_kernel, in_channels, columns of the panel]
void winograd_f32_pack(const ConvNhwcShape& shape, int m, const float* weight, void* packed,
                       int64_t depth_kernel) {
  const PackingTarget<float> target(packed, shape.weights);
  const TileShape tile = tile_shape<float>();
  const int64_t points = (m + 2) * (m + 2), channels = shape.in_channels;
  const int64_t depth = depth_kernel * channels;
  parallel_for(ceil_div(shape.out_channels, tile.width), 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t column = panel * tile.width;
      const int64_t columns = std::min<int64_t>(tile.width, shape.out_channels - column);
      const int64_t width = tile.panel_width(columns);
      target.pack(column * points * depth, points * depth, width, [&](float* to) {
        std::fill_n(to, points * depth * width, 0.0f);
        for (int64_t i = 0; i < depth; ++i) {  // [channels, depth_kernel]
          const int64_t row = i % depth_kernel * channels + i / depth_kernel;
          winograd_f32_transform_weights(m, weight + (column * depth + i) * 9, depth * 9, columns,
                                         to + row * width, depth * width);
        }
      });
    }
  });
}

void winograd_f32(const ConvNhwcShape& shape, int m, const float* input, int64_t input_stride,
                  const void* packed, const EpilogueF32& epilogue, float* output,
                  int64_t output_stride, const WinogradDepth& depth) {
  const TileShape tile = tile_shape<float>();
  const WinogradGrid grid(shape, m);
  // One vector more than the channels, so that no power of two lies between rows.
  const int64_t row_stride = tile.packed_columns(shape.in_channels) + tile.lanes;
  const int64_t float_bytes = sizeof(float), panels = ceil_div(shape.out_channels, tile.width);
  const int64_t tile_bytes = grid.points() * row_stride * float_bytes;
  const int64_t weight_bytes = tile_bytes * depth.kernel * panels * tile.width;
  const int64_t block_bytes =
      cached(weight_bytes <= 4 * cached(kBlockBytes) ? kBlockBytes : kLargeBlockBytes);
  // All planes of a few tiles, since blocks of planes share the planes between them.
  const int64_t reach = (depth.kernel - 1) * depth.dilation;
  const int64_t most_rows = std::max<int64_t>(tile.rows, block_bytes / tile_bytes);
  const int64_t planes = even_block(depth.out, std::max(most_rows - reach, 2 * reach + 1), 1);
  const int64_t unit = planes == 1 ? tile.rows : 1;
  int64_t blocks = ceil_div(grid.count, std::max<int64_t>(1, most_rows / (planes + reach)));
  if (blocks > 1) blocks = ceil_div(blocks, num_threads()) * num_threads();
  const int64_t plane_tiles =
      std::min(grid.count, ceil_div(ceil_div(grid.count, blocks), unit) * unit);
  const int64_t tile_blocks = ceil_div(grid.count, plane_tiles);
  const int64_t block_tiles = plane_tiles * planes, block_rows = plane_tiles * (planes + reach);
  const int64_t product_bytes = block_tiles * grid.points() * tile.width * float_bytes;
  const int64_t group = block_rows * tile_bytes <= cached(kBlockBytes) * 3 / 2
                            ? 1
                            : std::clamp<int64_t>(cached(kProductBytes) / product_bytes, 1, panels);

  // Several blocks are shared between the threads; the tiles and panels of a single one are.
  parallel_for(tile_blocks * ceil_div(depth.out, planes), 1, [&](int64_t begin, int64_t end) {
    int64_t point_stride = block_rows * row_stride;
    if (point_stride / tile.lanes % 2 == 0) point_stride += tile.lanes;
    const Scratch<float> points(grid.points() * point_stride);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first_tile = i % tile_blocks * plane_tiles;
      const int64_t tiles = std::min(plane_tiles, grid.count - first_tile);
      const int64_t first_out = i / tile_blocks * planes;
      const int64_t out_planes = std::min(planes, depth.out - first_out);
      const WinogradBlock block{.grid = &grid,
                                .input = input,
                                .input_stride = input_stride,
                                .weight = Panels<float>::of(packed, shape.weights),
                                .epilogue = &epilogue,
                                .output = output,
                                .output_stride = output_stride,
                                .first_tile = first_tile,
                                .tiles = tiles * out_planes,
                                .plane_tiles = tiles,
                                .first_in = first_out - depth.pad,
                                .first_out = first_out,
                                .in_planes = depth.in * shape.batch,
                                .depth_taps = depth.kernel,
                                .tap_planes = depth.dilation,
                                .points = points.data(),
                                .row_stride = row_stride,
                                .point_stride = point_stride};
      parallel_for(tiles * (out_planes + reach), 1, [&](int64_t first, int64_t last) {
        HWY_DYNAMIC_DISPATCH(transform_input_tiles)(block, first, last);
      });
      parallel_for(panels, 1, [&](int64_t first, int64_t last) {
        for (; first < last; first += group) {
          HWY_DYNAMIC_DISPATCH(multiply_winograd_panels)
          (block, first, std::min(last, first + group));
        }
      });
    }
  });
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
