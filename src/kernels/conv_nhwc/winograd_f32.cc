#include "kernels/conv_nhwc/winograd_f32.h"

#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv_nhwc/winograd_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/thread_pool.h"
#include "kernels/conv_nhwc/conv_few_outputs.h"
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
constexpr int kMostPoints = std::max_element(std::begin(kWinogradTiles), std::end(kWinogradTiles),
                                             [](const WinogradTile& a, const WinogradTile& b) {
                                               return a.points() < b.points();
                                             })
                                ->points();

// function(number) of each tile, by its number; nothing for 0.
template <class Function>
constexpr auto for_each_winograd_tile(const Function& function) {
  return [&]<size_t... kNumbers>(std::index_sequence<kNumbers...>) {
    return std::array{decltype(function(std::integral_constant<int, 1>())){nullptr},
                      function(std::integral_constant<int, kNumbers + 1>())...};
  }
  (std::make_index_sequence<std::size(kWinogradTiles) - 1>());
}

// The vectors of points of one tile, whose inputs are `pixels`.
template <int kTile>
void transform_tile(const float* const* pixels, int64_t channels, float* to, int64_t point_stride) {
  constexpr WinogradLine kY = kWinogradTiles[kTile].y, kX = kWinogradTiles[kTile].x;
  for (int64_t c = 0; c < channels; c += kLanes) {
    const int64_t left = channels - c;
    const auto column = [&](int x, V* in) HWY_ATTR {
      unrolled<kY.points()>(
          [&](int y) HWY_ATTR { in[y] = load_first(kD, pixels[y * kX.points() + x] + c, left); });
    };
    transform_input<kTile>(column, to + c, point_stride);
  }
}

void transform_input_tiles(const WinogradBlock& block, int64_t begin, int64_t end) {
  constexpr auto kTransforms =
      for_each_winograd_tile([](auto number) { return transform_tile<number()>; });
  const WinogradGrid& grid = *block.grid;
  const Window2dShape& w = grid.window;
  const Scratch<float> zeros(grid.in_channels);
  std::fill_n(zeros.data(), grid.in_channels, 0.0f);
  const float* pixels[kMostPoints];
  for (int64_t i = begin; i < end; ++i) {
    const WinogradGrid::Origin origin = block.input_origin(i);
    const bool exists = origin.image >= 0 && origin.image < block.depth->in;
    const float** pixel = pixels;
    for (int64_t y = 0; y < grid.tile.y.points(); ++y) {
      const int64_t in_y = origin.y * w.stride_h - w.pad_h + y * w.dilation_h;
      const bool has_line = exists && in_y >= 0 && in_y < w.in_h;
      const int64_t line = (origin.image * w.in_h + in_y) * w.in_w;
      for (int64_t x = 0; x < grid.tile.x.points(); ++x) {
        const int64_t in_x = origin.x * w.stride_w - w.pad_w + x * w.dilation_w;
        const bool inside = has_line && in_x >= 0 && in_x < w.in_w;
        *pixel++ = inside ? block.input + (line + in_x) * block.input_stride : zeros.data();
      }
    }
    kTransforms[grid.number](pixels, grid.in_channels, block.points + i * block.row_stride,
                             block.point_stride);
  }
}

// Stores [outputs, kPanelWidth] results of one tile, of which `columns` from `channel` on exist.
void store_tile(const WinogradBlock& block, const WinogradGrid::Origin& origin, int64_t channel,
                int64_t columns, float* results) {
  const WinogradGrid& grid = *block.grid;
  const Window2dShape& w = grid.window;
  const EpilogueF32& epilogue = *block.epilogue;
  const int64_t height = grid.tile.y.outputs, width = grid.tile.x.outputs;
  const auto for_each_pixel = [&](const auto& body) HWY_ATTR {
    for (int64_t y = 0; y < height && origin.y + y * w.dilation_h < w.out_h; ++y) {
      const int64_t line = (origin.image * w.out_h + origin.y + y * w.dilation_h) * w.out_w;
      for (int64_t x = 0; x < width && origin.x + x * w.dilation_w < w.out_w; ++x) {
        body(line + origin.x + x * w.dilation_w, results + (y * width + x) * kPanelWidth);
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
    activate_rows(epilogue.activation, results, kPanelWidth, results, kPanelWidth, height * width,
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

template <int kTile>
void transform_output_tiles(const WinogradBlock& block, int64_t channel, int64_t columns,
                            const float* products) {
  constexpr WinogradTile kShape = kWinogradTiles[kTile];
  HWY_ALIGN float results[kShape.y.outputs * kShape.x.outputs * kPanelWidth];
  for (int64_t i = 0; i < block.tiles; ++i) {
    const float* from = products + i * kShape.points() * kPanelWidth;
    for (int64_t c = 0; c < columns; c += kLanes) {
      const float* bias = block.epilogue->bias;
      const V b = bias ? load_first(kD, bias + channel + c, columns - c) : hn::Zero(kD);
      const auto store = [&](int y, int x, V value) HWY_ATTR {
        hn::StoreU(value, kD, results + (y * kShape.x.outputs + x) * kPanelWidth + c);
      };
      transform_output<kTile>(from + c, b, kPanelWidth, store);
    }
    store_tile(block, block.output_origin(i), channel, columns, results);
  }
}

// Panels [begin, end): the products at all points, then the results.
void multiply_winograd_panels(const WinogradBlock& block, int64_t begin, int64_t end) {
  constexpr auto kTransforms =
      for_each_winograd_tile([](auto number) { return transform_output_tiles<number()>; });
  const WinogradGrid& grid = *block.grid;
  const int points = grid.tile.points();
  const int64_t channels = grid.in_channels;
  const int64_t taps = block.depth->kernel, depth = taps * channels;
  const int64_t panel_size = block.tiles * points * kPanelWidth;
  const int64_t panel_stride = grid.tile.weights() * depth * kPanelWidth;
  const Scratch<TileSegment<float>> segments(taps);
  const Scratch<float> products((end - begin) * panel_size);
  const Bounds unbounded = bounds_of({});
  const auto columns_of = [&](int64_t panel) {
    return std::min<int64_t>(kPanelWidth, grid.out_channels - panel * kPanelWidth);
  };
  const auto width_of = [&](int64_t panel) {
    return columns_of(panel) <= kLanes ? kLanes : kPanelWidth;
  };
  const auto weights_of = [&](int64_t panel, int weight) {
    return block.weight + panel * panel_stride + weight * width_of(panel) * depth;
  };
  for (int64_t tap = 0; tap < taps; ++tap) {
    const int64_t row = block.tap_plane(tap) * block.plane_tiles;
    segments[tap] = {block.points + row * block.row_stride, block.row_stride, channels,
                     tap * channels};
  }
  const auto multiply_at = [&](int point, int weight) {
    for (int64_t panel = begin; panel < end; ++panel) {
      const Panels<float> b = weights_of(panel, weight);
      const Panels<float> next = panel + 1 < end                    ? weights_of(panel + 1, weight)
                                 : weight + 1 < grid.tile.weights() ? weights_of(begin, weight + 1)
                                                                    : weights_of(end, 0);
      multiply_panel({.segments = segments.data(),
                      .segment_count = taps,
                      .b = b,
                      .columns = width_of(panel),
                      .low = unbounded.low,
                      .high = unbounded.high,
                      .c = products.data() + (panel - begin) * panel_size + point * kPanelWidth,
                      .c_stride = points * kPanelWidth,
                      .ahead = next.fetched(),
                      .ahead_count = b.fetched_count(width_of(panel) * depth)},
                     block.tiles);
    }
    for (int64_t tap = 0; tap < taps; ++tap) segments[tap].a += block.point_stride;
  };
  const WinogradLine &line_y = grid.tile.y, &line_x = grid.tile.x;
  for (int y = 0, point = 0; y < line_y.points(); ++y) {
    const int first = line_y.weight_of(y) * line_x.weights();
    for (int x = 0; x < line_x.points(); ++x, ++point) {
      multiply_at(point, first + line_x.weight_of(x));
    }
  }
  for (int64_t panel = begin; panel < end; ++panel) {
    kTransforms[grid.number](block, panel * kPanelWidth, columns_of(panel),
                             products.data() + (panel - begin) * panel_size);
  }
}

using Column = WinogradWeightLine::Column;
constexpr int64_t kColumns = WinogradWeightLine::kColumns;

// to = a x + b y + c z, which no compiler makes vectors of if they may be one array.
void add_three(double a, const double* HWY_RESTRICT x, double b, const double* HWY_RESTRICT y,
               double c, const double* HWY_RESTRICT z, double* HWY_RESTRICT to) {
  for (int64_t j = 0; j < kColumns; ++j) to[j] = a * x[j] + b * y[j] + c * z[j];
}

// result = row `point` of G times the taps, `step` apart, of all columns.
void multiply_taps(const WinogradWeightLine& line, int point, const Column* taps, int step,
                   Column& result) {
  const double* row = line.row(point);
  if (line.taps() == 1) {
    std::copy_n(taps[0], kColumns, result);
  } else if (line.taps() == 3) {
    add_three(row[0], taps[0], row[1], taps[step], row[2], taps[2 * step], result);
  } else {
    Column first;
    add_three(row[0], taps[0], row[1], taps[step], row[2], taps[2 * step], first);
    add_three(1, first, row[3], taps[3 * step], row[4], taps[4 * step], result);
  }
}

void transform_weights(const WinogradWeights& weights, const float* weight, int64_t weight_stride,
                       int64_t count, float* to, int64_t stride) {
  const WinogradTile& tile = weights.tile();
  Column w[kMostWinogradTaps * kMostWinogradTaps];
  for (int64_t j = 0; j < kColumns; ++j) {
    const float* filter = weight + std::min(j, count - 1) * weight_stride;
    for (int i = 0; i < tile.taps(); ++i) w[i][j] = static_cast<double>(filter[i]);
  }
  for (int y = 0; y < tile.y.weights(); ++y) {
    Column line[kMostWinogradTaps];
    for (int i = 0; i < tile.x.taps; ++i) {
      multiply_taps(weights.y(), y, w + i, tile.x.taps, line[i]);
    }
    for (int x = 0; x < tile.x.weights(); ++x, to += stride) {
      Column sums;
      multiply_taps(weights.x(), x, line, 1, sums);
      float out[kColumns];
      for (int64_t j = 0; j < kColumns; ++j) out[j] = static_cast<float>(sums[j]);
      std::copy_n(out, count, to);
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
HWY_EXPORT(transform_weights);

namespace {

// The transformed tiles of a block stay in the second-level cache, if the weights leave them there.
// If not, larger blocks read the weights less often, and several panels at once the tiles.
constexpr int64_t kBlockBytes = int64_t{256} << 10;
constexpr int64_t kLargeBlockBytes = int64_t{2560} << 10;
constexpr int64_t kProductBytes = int64_t{1} << 20;

}  // namespace

WinogradWeightLine::WinogradWeightLine(const WinogradLine& line) : line_(line) {
  static constexpr double kA = 0.70710678118654752440, kB = 1.41421356237309504880;
  static constexpr double kTwo[] = {1, -1}, kFour[] = {kA, -kA, kB, -kB};
  static constexpr double kThree[] = {0, 1, -1}, kFive[] = {0, kA, -kA, kB, -kB};
  if (line.taps == 1) {
    rows_[0][0] = 1;
  } else if (line.stride == 1) {
    set(line.points() == 4 ? std::span<const double>(kThree) : kFive, 1);
  } else {
    set(line.outputs == 2 ? std::span<const double>(kTwo) : kFour, 2);
    rows_[line.weights() - 1][1] = 1;
  }
}

// For every `step`-th tap.
void WinogradWeightLine::set(std::span<const double> points, int step) {
  for (size_t i = 0; i < points.size(); ++i) {
    double scale = 1;
    for (size_t j = 0; j < points.size(); ++j) {
      if (j != i) scale /= points[i] - points[j];
    }
    for (int k = 0; k < line_.taps; k += step, scale *= points[i]) rows_[i][k] = scale;
  }
  rows_[points.size()][line_.taps - 1] = 1;
}

void WinogradWeights::transform(const float* weight, int64_t weight_stride, int64_t count,
                                float* to, int64_t stride) const {
  HWY_DYNAMIC_DISPATCH(transform_weights)(*this, weight, weight_stride, count, to, stride);
}

namespace {

bool takes(const WinogradLine& line, int64_t kernel, int64_t stride, int64_t dilation) {
  const bool fits = line.stride == stride && (stride == 1 || dilation == 1);
  return line.taps == kernel && (kernel == 1 || fits);
}

double taps_inside(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t pad,
                   int64_t dilation) {
  int64_t count = 0;
  for (int64_t tap = 0; tap < kernel; ++tap) {
    const int64_t shift = tap * dilation - pad;  // 0 <= o * stride + shift < in
    const int64_t first = ceil_div(std::max<int64_t>(0, -shift), stride);
    const int64_t end = ceil_div(std::max<int64_t>(0, in - shift), stride);
    count += std::max<int64_t>(0, std::min(out, end) - first);
  }
  return static_cast<double>(count);
}

// Cycles per input and output channel and tap of the depth: two vectors of multiply-adds a cycle,
// 0.85 of that in practice, and the weights, which come from beyond the second-level cache at 8
// bytes per cycle. Taps on the padding cost the direct convolution nothing.
constexpr double kMultiplyAdds = 2 * 0.85, kWeightCycles = 0.5;

// How much longer it takes since not all lanes of the last vector of channels exist.
double empty_lanes(int64_t channels, int64_t lanes) {
  return static_cast<double>(ceil_div(channels, lanes) * lanes) / static_cast<double>(channels);
}

double direct_cycles(const ConvNhwcShape& s, const WinogradDepth& depth, int64_t lanes,
                     bool is_bfloat16) {
  const Window2dShape& w = s.window;
  const double empty = suits_few_outputs(flat_volume(s)) ? 1.0 : empty_lanes(s.out_channels, lanes);
  // Of a volume, each line is a product of its own, and as long as one of eight pixels.
  const double short_line = depth.kernel > 1 && w.out_w < 8 ? 8 / static_cast<double>(w.out_w) : 1;
  const double products =
      short_line * empty *
      taps_inside(w.in_h, w.out_h, w.kernel_h, w.stride_h, w.pad_h, w.dilation_h) *
      taps_inside(w.in_w, w.out_w, w.kernel_w, w.stride_w, w.pad_w, w.dilation_w) *
      taps_inside(depth.in, depth.out, depth.kernel, depth.stride, depth.pad, depth.dilation) /
      static_cast<double>(depth.out * depth.kernel) * static_cast<double>(s.batch) /
      (kMultiplyAdds * static_cast<double>(lanes));
  const double float32 = products + kWeightCycles * static_cast<double>(w.kernel_h * w.kernel_w);
  return selection::kHasFloat16 && is_bfloat16 ? float32 / 2 : float32;
}

// Winograd's products fetch most of the weights meanwhile. To transform a vector of a point takes
// 6.5 cycles, and to find and store a tile as much as four of them (measured on a Zen 5).
double winograd_cycles(const ConvNhwcShape& s, int tile, const WinogradDepth& depth,
                       int64_t lanes) {
  const WinogradGrid grid(s, tile);
  const auto tiles = static_cast<double>(std::max<int64_t>(grid.count, 8));
  const auto vector = static_cast<double>(lanes);
  const double empty_in = empty_lanes(s.in_channels, lanes);
  const double empty_out = empty_lanes(s.out_channels, lanes);
  const double products = empty_out * tiles * grid.tile.points() / (kMultiplyAdds * vector);
  const double weights = kWeightCycles * grid.tile.weights();
  // Planes of the input for each of the output.
  const int64_t reach = (depth.kernel - 1) * depth.dilation;
  const double planes = static_cast<double>((depth.out - 1) * depth.stride + reach + 1) /
                        static_cast<double>(depth.out);
  const double transforms = 6.5 * tiles * (grid.tile.points() + 4) /
                            (vector * static_cast<double>(depth.kernel)) *
                            (empty_in * planes / static_cast<double>(s.in_channels) +
                             empty_out / static_cast<double>(s.out_channels));
  return std::max(products, weights) + std::min(products, weights) / 8 + transforms;
}

}  // namespace

int winograd_tile(const ConvNhwcShape& s, const WinogradDepth& depth, bool is_direct_bf16) {
  const Window2dShape& w = s.window;
  const int64_t least = depth.kernel > 1 ? kWinogradVolumeChannels : kWinogradChannels;
  if (!s.winograd || s.groups != 1 || !has_winograd_tiles(w.kernel_h, w.kernel_w) ||
      std::min(s.in_channels, s.out_channels) < least) {
    return 0;
  }
  // Which tiles, and which save enough memory, is as with vectors of 16 floats: with narrower ones
  // the weights of large tiles cost more than this tells.
  constexpr int64_t kWidest = 16;
  constexpr double kWorth = 0.95;
  const double direct = direct_cycles(s, depth, kWidest, is_direct_bf16);
  int best = 0;
  double cycles = 0;
  for (int i = 1; i < std::ssize(kWinogradTiles); ++i) {
    const WinogradTile& tile = kWinogradTiles[i];
    if (!takes(tile.y, w.kernel_h, w.stride_h, w.dilation_h) ||
        !takes(tile.x, w.kernel_w, w.stride_w, w.dilation_w)) {
      continue;
    }
    const double cycles_of_tile = winograd_cycles(s, i, depth, kWidest);
    // Lean: what is saved per byte that its weights take more than the direct ones.
    constexpr double kLeastCycles = 1;
    const double saved = direct - cycles_of_tile;
    if (s.lean && saved < kLeastCycles * sizeof(float) * (tile.weights() - tile.taps())) continue;
    if (best > 0 && cycles_of_tile > cycles) continue;
    best = i;
    cycles = cycles_of_tile;
  }
  if (best == 0 || s.lean) return best;
  const int64_t lanes = tile_shape<float>().lanes;
  const double allowed = kWorth * direct_cycles(s, depth, lanes, is_direct_bf16);
  return winograd_cycles(s, best, depth, lanes) > allowed ? 0 : best;
}

size_t winograd_f32_packed_bytes(const ConvNhwcShape& shape, int number, int64_t depth_kernel) {
  return static_cast<size_t>(kWinogradTiles[number].weights() * depth_kernel * shape.in_channels *
                             tile_shape<float>().packed_columns(shape.out_channels)) *
         (shape.weights == WeightFormat::kFloat32 ? sizeof(float) : sizeof(Float16));
}

// [panel, weights, depth_kernel, in_channels, columns of the panel]
void winograd_f32_pack(const ConvNhwcShape& shape, int number, FiltersAt filters, void* packed,
                       int64_t depth_kernel) {
  const PackingTarget<float> target(packed, shape.weights);
  const TileShape tile = tile_shape<float>();
  const WinogradTile& winograd = kWinogradTiles[number];
  const WinogradWeights weights(winograd);
  const int64_t points = winograd.weights(), taps = winograd.taps();
  const int64_t channels = shape.in_channels, depth = depth_kernel * channels;
  const auto pack_panel = [&](int64_t column, const float* weight) {
    const int64_t columns = std::min<int64_t>(tile.width, shape.out_channels - column);
    const int64_t width = tile.panel_width(columns);
    target.pack(column * points * depth, points * depth, width, [&](float* to) {
      if (columns < width) std::fill_n(to, points * depth * width, 0.0f);
      for (int64_t i = 0; i < depth; ++i) {  // [channels, depth_kernel]
        const int64_t row = i % depth_kernel * channels + i / depth_kernel;
        weights.transform(weight + i * taps, depth * taps, columns, to + row * width,
                          depth * width);
      }
    });
  };
  const int64_t panels = ceil_div(shape.out_channels, tile.width);
  const int64_t at_once = panels_at_once(tile.width * depth * taps, panels);
  for (int64_t done = 0; done < panels; done += at_once) {
    const int64_t first = done * tile.width, next = std::min(panels, done + at_once);
    const float* weight = filters(first, std::min(shape.out_channels, next * tile.width));
    parallel_for(next - done, 1, [&](int64_t begin, int64_t end) {
      for (int64_t panel = begin; panel < end; ++panel) {
        pack_panel(first + panel * tile.width, weight + panel * tile.width * depth * taps);
      }
    });
  }
}

void winograd_f32(const ConvNhwcShape& shape, int number, const float* input, int64_t input_stride,
                  const void* packed, const EpilogueF32& epilogue, float* output,
                  int64_t output_stride, const WinogradDepth& depth) {
  const TileShape tile = tile_shape<float>();
  const WinogradGrid grid(shape, number);
  const int64_t all_points = grid.tile.points();
  WinogradDepth all_planes = depth;
  all_planes.in *= shape.batch;
  // One vector more than the channels, so that no power of two lies between rows.
  const int64_t row_stride = tile.packed_columns(shape.in_channels) + tile.lanes;
  const int64_t float_bytes = sizeof(float), panels = ceil_div(shape.out_channels, tile.width);
  const int64_t tile_bytes = all_points * row_stride * float_bytes;
  const int64_t weight_bytes =
      grid.tile.weights() * row_stride * float_bytes * depth.kernel * panels * tile.width;
  const int64_t block_bytes =
      cached(weight_bytes <= 4 * cached(kBlockBytes) ? kBlockBytes : kLargeBlockBytes);
  // All planes of a few tiles, since blocks of planes share the planes between them.
  const int64_t reach = (depth.kernel - 1) * depth.dilation;
  const auto phase_planes_of = [&](int64_t planes) {
    return ceil_div((planes - 1) * depth.stride + reach + 1, depth.stride);
  };
  const auto planes_under = [&](int64_t planes) { return phase_planes_of(planes) * depth.stride; };
  const int64_t most_rows = std::max<int64_t>(tile.rows, block_bytes / tile_bytes);
  const int64_t planes =
      even_block(depth.out, std::max((most_rows - reach - 1) / depth.stride + 1, 2 * reach + 1), 1);
  const int64_t unit = planes == 1 ? tile.rows : 1;
  int64_t blocks = ceil_div(grid.count, std::max<int64_t>(1, most_rows / planes_under(planes)));
  if (blocks > 1) blocks = ceil_div(blocks, num_threads()) * num_threads();
  const int64_t plane_tiles =
      std::min(grid.count, ceil_div(ceil_div(grid.count, blocks), unit) * unit);
  const int64_t tile_blocks = ceil_div(grid.count, plane_tiles);
  const int64_t block_tiles = plane_tiles * planes, block_rows = plane_tiles * planes_under(planes);
  const int64_t product_bytes = block_tiles * all_points * tile.width * float_bytes;
  const int64_t group = block_rows * tile_bytes <= cached(kBlockBytes) * 3 / 2
                            ? 1
                            : std::clamp<int64_t>(cached(kProductBytes) / product_bytes, 1, panels);

  // Several blocks are shared between the threads; the tiles and panels of a single one are.
  parallel_for(tile_blocks * ceil_div(depth.out, planes), 1, [&](int64_t begin, int64_t end) {
    int64_t point_stride = block_rows * row_stride;
    if (point_stride / tile.lanes % 2 == 0) point_stride += tile.lanes;
    const Scratch<float> points(all_points * point_stride);
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
                                .first_in = first_out * depth.stride - depth.pad,
                                .first_out = first_out,
                                .depth = &all_planes,
                                .points = points.data(),
                                .phase_planes = phase_planes_of(out_planes),
                                .row_stride = row_stride,
                                .point_stride = point_stride};
      parallel_for(tiles * planes_under(out_planes), 1, [&](int64_t first, int64_t last) {
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
