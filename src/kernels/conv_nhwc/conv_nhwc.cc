#include <algorithm>
#include <type_traits>

#include "base/selection.h"
#include "base/thread_pool.h"
#include "kernels/conv_nhwc/conv_deep.h"
#include "kernels/conv_nhwc/conv_few_channels.h"
#include "kernels/conv_nhwc/conv_few_outputs.h"
#include "kernels/conv_nhwc/conv_nhwc.h"
#include "kernels/conv_nhwc/conv_strip.h"
#include "kernels/conv_nhwc/conv_taps.h"
#include "kernels/conv_nhwc/strassen_f32.h"
#include "kernels/conv_nhwc/winograd_f32.h"
#include "kernels/elementwise/elementwise_nhwc.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_nhwc.h"
#include "kernels/layout/transpose.h"
#include "kernels/simd/caches.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/split.h"

namespace torchlet::kernels {
namespace {

// A block of packed weights stays in the second-level cache while the pixels go by.
constexpr int64_t kWeightBlockBytes = int64_t{768} << 10;
// An image so small that it stays in the second-level cache while the panels go by: each is read
// once, and the next one fetched meanwhile. 16 by 16 pixels, as whole tiles.
constexpr int64_t kSmallImagePixels = 266;
constexpr int64_t kSmallImageBytes = int64_t{928} << 10;
// Multiply-adds that are worth waking a thread for, about 10 microseconds.
constexpr int64_t kOpsPerTask = int64_t{1} << 19;
// Of a group, so that products in bfloat16 are faster than in float32.
constexpr int64_t kBFloat16Channels = 16, kBFloat16Columns = 24;

// From one copied row of A to the next.
template <typename T>
int64_t copy_stride(int64_t depth) {
  return odd_lines(depth, 64 / sizeof(T));
}

// Some pixels and some columns of a group, the first column that of a panel.
struct Block {
  int64_t first_column, last_column;
  int64_t first_pixel, last_pixel;
};

// How the product of a group is cut: into units, panels of columns if threads share the columns,
// else tiles of pixels of one range of columns after the other.
struct Cut {
  bool by_columns;
  int64_t columns, pixels;  // what a thread does at once
  int64_t units;
};

template <typename T>
Cut cut_conv(const ConvRuns& runs, const TileShape& tile) {
  constexpr int64_t kSize = sizeof(T);
  Cut cut;
  const int64_t pixels = runs.pixels(), columns = runs.columns, depth = runs.depth();
  const int64_t panel_bytes = depth * tile.width * kSize;
  const int64_t most_panels = cached(kWeightBlockBytes) / std::max<int64_t>(1, panel_bytes);
  cut.columns = even_block(columns, std::max<int64_t>(1, most_panels) * tile.width, tile.width);
  cut.pixels = ceil_div(pixels, tile.rows) * tile.rows;
  // Where the weights do not stay in the cache, parts of the image do.
  const int64_t fit =
      std::min(kSmallImagePixels, cached(kSmallImageBytes) / kSize / copy_stride<T>(depth));
  const int64_t small = fit / tile.rows * tile.rows;
  if (cut.columns < columns && small >= 4 * tile.rows) {
    cut.columns = even_block(columns, columns, tile.width);
    cut.pixels = even_block(pixels, small, tile.rows);
  }
  const bool stays_near = pixels <= kSmallImagePixels &&
                          pixels * copy_stride<T>(depth) * kSize <= cached(kSmallImageBytes);
  cut.by_columns = is_cut_by_columns(pixels) ||
                   (runs.pointwise && stays_near && is_cut_by_weights(pixels, columns));
  cut.units = cut.by_columns ? ceil_div(columns, tile.width)
                             : ceil_div(columns, cut.columns) * ceil_div(pixels, tile.rows);
  return cut;
}

// The block that begins with unit `first`, of at most `*count` units; sets how many it has.
Block block_of_units(const ConvRuns& runs, const TileShape& tile, const Cut& cut, int64_t first,
                     int64_t* count) {
  const int64_t pixels = runs.pixels(), columns = runs.columns;
  if (cut.by_columns) {
    return {first * tile.width, std::min(columns, (first + *count) * tile.width), 0, pixels};
  }
  const int64_t tiles = ceil_div(pixels, tile.rows);
  const int64_t column = first / tiles * cut.columns, first_tile = first % tiles;
  *count = std::min(*count, tiles - first_tile);
  return {column, std::min(columns, column + cut.columns), first_tile * tile.rows,
          std::min(pixels, (first_tile + *count) * tile.rows)};
}

// One group.
template <typename T>
struct Task {
  const T* input;    // the group's first channel
  Panels<T> weight;  // the group's packed weights
  const Epilogue<T>* epilogue;
  T* output;
  int64_t output_stride;
  int64_t channel;  // of the output, the group's first
  bool is_far;
};

// Runs shorter than this are copied: a segment costs as much as a few steps of k.
constexpr int64_t kShortRun = 8;

// Rows of A that are read in place by all panels in turn stay in the first-level cache, with a
// panel.
constexpr int64_t kRowBytes = int64_t{16} << 10;

template <typename T>
StripJob<T> strip_job(const Task<T>& task, const Block& block, const ConvRuns& runs, int64_t pixel,
                      int64_t rows) {
  return {.segments = nullptr,
          .segment_count = 0,
          .b = task.weight,
          .depth = runs.depth(),
          .first_column = block.first_column,
          .last_column = block.last_column,
          .rows = rows,
          .epilogue = task.epilogue,
          .output = task.output,
          .output_stride = task.output_stride,
          .pixel = pixel,
          .channel = task.channel,
          .is_far = task.is_far};
}

// The rows of A that begin at `a`, all pixels of the block.
template <typename T>
void run_rows(const Task<T>& task, const Block& block, const ConvRuns& runs, const TileShape& tile,
              const T* a, int64_t row_stride, int64_t depth, bool is_small) {
  // Pixels without gaps, of some length, are fetched ahead.
  constexpr int64_t kSize = sizeof(T);
  const bool fetch_next = !is_small && row_stride == runs.depth() && row_stride * kSize >= 512;
  int64_t tiles = fetch_next ? 1 : kRowBytes / kSize / runs.depth() / tile.rows;
  if (is_small) tiles = kSmallImagePixels / tile.rows + 1;
  if (task.epilogue->residual_last) tiles = 1;
  const int64_t most_rows = std::max<int64_t>(1, tiles) * tile.rows;
  for (int64_t pixel = block.first_pixel; pixel < block.last_pixel; pixel += most_rows) {
    const int64_t rows = std::min(most_rows, block.last_pixel - pixel);
    const TileSegment<T> segment{a + (pixel - block.first_pixel) * row_stride, row_stride, depth,
                                 0};
    StripJob<T> job = strip_job(task, block, runs, pixel, rows);
    job.segments = &segment;
    job.segment_count = 1;
    if (is_small) {
      job.ahead_row = job.ahead_rows = runs.depth();
    } else if (fetch_next) {
      job.ahead = segment.a + rows * row_stride;
      job.ahead_count = rows * row_stride;
    }
    multiply_strip(job);
  }
}

template <typename T>
void run_block(const Task<T>& task, const Block& block, const ConvRuns& runs,
               const TileShape& tile) {
  constexpr int64_t kSize = sizeof(T);
  const int64_t pixels = block.last_pixel - block.first_pixel;
  const int64_t columns = block.last_column - block.first_column;
  const int64_t stride = copy_stride<T>(runs.depth());
  const bool is_small = pixels > 1 && pixels <= kSmallImagePixels &&
                        pixels * stride * kSize <= cached(kSmallImageBytes);
  // Rows 4 KB apart share their cache sets.
  const bool collides = runs.window.stride_w * runs.input_stride * kSize % 4096 == 0 &&
                        pixels > 8 && columns > tile.width;
  const bool copy_all = collides || (!runs.pointwise && runs.run_length() < kShortRun);
  const bool in_place = runs.pointwise && !copy_all;
  if constexpr (selection::kHasFloat16 && std::is_same_v<T, float>) {
    // Panels that several strips of pixels read are widened once, and stay as near as floats do.
    const bool reads_once = pixels <= tile.rows || (is_small && (in_place || columns > tile.width));
    if (task.weight.half() && !reads_once) {
      const int64_t first = block.first_column * runs.depth();
      const Scratch<float> wide(tile.packed_columns(columns) * runs.depth());
      widen_panels(task.weight + first, tile.packed_columns(columns) * runs.depth(), wide.data());
      Task<T> widened = task;
      widened.weight = wide.data() - first;
      return run_block(widened, block, runs, tile);
    }
  }
  if (in_place) {
    const T* a = task.input + block.first_pixel * runs.input_stride;
    return run_rows(task, block, runs, tile, a, runs.input_stride, runs.channels, is_small);
  }
  if (is_small && columns > tile.width) {
    const Scratch<T> copies(stride * pixels);
    for (int64_t i = 0; i < pixels; i += tile.rows) {
      const PixelStrip strip(runs, block.first_pixel + i, std::min<int64_t>(tile.rows, pixels - i));
      strip.copy(task.input, 0, runs.depth(), copies.data() + i * stride, stride);
    }
    return run_rows<T>(task, block, runs, tile, copies.data(), stride, runs.depth(), true);
  }

  const bool fetch_next = runs.pointwise && runs.input_stride == runs.channels;
  const Scratch<T> copies(stride * tile.rows);
  const Scratch<TileSegment<T>> segments(runs.count);
  for (int64_t pixel = block.first_pixel; pixel < block.last_pixel; pixel += tile.rows) {
    const int64_t rows = std::min<int64_t>(tile.rows, block.last_pixel - pixel);
    const PixelStrip strip(runs, pixel, rows);
    StripJob<T> job = strip_job(task, block, runs, pixel, rows);
    job.segments = segments.data();
    job.segment_count =
        strip.segments(task.input, copy_all, copies.data(), stride, segments.data());
    if (fetch_next) {
      job.ahead = task.input + (pixel + rows) * runs.input_stride;
      job.ahead_count = rows * runs.input_stride;
    }
    multiply_strip(job);
  }
}

// As blocks of the size of the cut.
template <typename T>
void run_blocks(const Task<T>& task, const Block& all, const ConvRuns& runs, const TileShape& tile,
                const Cut& cut) {
  for (int64_t c = all.first_column; c < all.last_column; c += cut.columns) {
    for (int64_t p = all.first_pixel; p < all.last_pixel; p += cut.pixels) {
      run_block(task,
                {c, std::min(all.last_column, c + cut.columns), p,
                 std::min(all.last_pixel, p + cut.pixels)},
                runs, tile);
    }
  }
}

template <typename T>
int64_t packed_size(const ConvNhwcShape& shape) {
  const ConvNhwcShape merged = merge_groups(shape);
  const TileShape tile = tile_shape<T>();
  const ConvRuns runs(merged, shape.in_channels, tile);
  const int64_t columns = tile.packed_columns(runs.columns);
  return merged.groups * columns * runs.depth();
}

// `filters(first, end)` gives weights as FiltersAt does.
template <typename T, typename Filters>
void pack_part(const ConvNhwcShape& shape, const Filters& filters, PackingTarget<T> packed) {
  const ConvNhwcShape merged = merge_groups(shape);
  const TileShape tile = tile_shape<T>();
  const ConvRuns runs(merged, shape.in_channels, tile);
  const int64_t taps = runs.window.kernel_h * runs.window.kernel_w;
  const int64_t group_channels = shape.in_channels / shape.groups;
  const int64_t group_columns = shape.out_channels / shape.groups;
  const int64_t panels = ceil_div(runs.columns, tile.width);
  const int64_t grain = ceil_div(1 << 16, std::max<int64_t>(1, runs.depth() * tile.width));
  const int64_t all = merged.groups * panels, filter = group_channels * taps;
  const auto filters_before = [&](int64_t i) {
    return i / panels * runs.columns + i % panels * tile.width;
  };
  // Of panels [begin, end), their filters from `first_filter` on.
  const auto pack_panels = [&](int64_t begin, int64_t end, const T* weight, int64_t first_filter) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t group = i / panels, first = i % panels * tile.width;
      const int64_t last = std::min(runs.columns, first + tile.width);
      const int64_t width = tile.panel_width(last - first);
      const T* from = weight + (filters_before(i) - first_filter) * filter;  // of column `first`
      const auto fill = [&](T* to) {
        if constexpr (selection::kIsWhole && std::is_same_v<T, float>) {
          // A matrix of rows as wide as a panel.
          if (taps == 1 && merged.groups == shape.groups && last - first == width &&
              runs.depth() == runs.channels) {
            return transpose_f32(width, runs.channels, from, runs.channels, to, width);
          }
        }
        std::fill_n(to, runs.depth() * width, T{});
        for (int64_t channel = 0; channel < runs.channels; ++channel) {
          const int64_t part = channel / group_channels;
          const int64_t begin_column = std::max(first, part * group_columns);
          const int64_t end_column = std::min(last, (part + 1) * group_columns);
          for (int64_t tap = 0; tap < taps; ++tap) {
            const int64_t k = tap * runs.packed_channels + channel;
            for (int64_t j = begin_column; j < end_column; ++j) {
              to[tile.panel_index(k, j - first, width)] =
                  from[(j - first) * filter + channel % group_channels * taps + tap];
            }
          }
        }
      };
      packed.pack((group * tile.packed_columns(runs.columns) + first) * runs.depth(), runs.depth(),
                  width, fill);
    }
  };
  const int64_t at_once = panels_at_once(tile.width * filter, all);
  for (int64_t done = 0; done < all; done += at_once) {
    const int64_t next = std::min(all, done + at_once), first = filters_before(done);
    const T* weight = filters(first, next < all ? filters_before(next) : shape.out_channels);
    parallel_for(next - done, grain, [&](int64_t begin, int64_t end) {
      pack_panels(done + begin, done + end, weight, first);
    });
  }
}

template <typename T>
void convolve_part(const ConvNhwcShape& shape, const T* input, int64_t input_stride,
                   Panels<T> packed, const Epilogue<T>& epilogue, T* output,
                   int64_t output_stride) {
  const ConvNhwcShape merged = merge_groups(shape);
  if (has_few_channels(merged)) {
    return conv_few_channels<T>(merged, {.pixels = input, .pixel_stride = input_stride},
                                packed.data(), epilogue, output, output_stride);
  }
  const TileShape tile = tile_shape<T>();
  const ConvRuns runs(merged, input_stride, tile);
  if (runs.pixels() <= 0 || runs.columns <= 0) return;
  if (suits_taps<T>(runs)) {
    return conv_taps(merged, runs, input, packed, epilogue, output, output_stride);
  }
  if (merged.groups == 1 && suits_conv_deep<T>(runs)) {
    return conv_deep(runs, input, packed, epilogue, output, output_stride);
  }
  const Cut cut = cut_conv<T>(runs, tile);
  const int64_t ops = runs.pixels() * runs.columns * runs.depth() / cut.units;
  int64_t grain = std::max<int64_t>(1, kOpsPerTask / std::max<int64_t>(1, ops));
  // All columns of a thread at once share the copies of windows.
  if (cut.by_columns && !runs.pointwise) {
    grain = std::max(grain, ceil_div(merged.groups * cut.units, num_threads()));
  }
  parallel_for(merged.groups * cut.units, grain, [&](int64_t begin, int64_t end) {
    for (int64_t next = begin; next < end;) {
      const int64_t group = next / cut.units, unit = next % cut.units;
      const auto group_weight = packed + group * tile.packed_columns(runs.columns) * runs.depth();
      const Task<T> task{.input = input + group * runs.channels,
                         .weight = group_weight,
                         .epilogue = &epilogue,
                         .output = output,
                         .output_stride = output_stride,
                         .channel = group * runs.columns,
                         .is_far = is_far_image(runs.pixels(), merged.out_channels)};
      int64_t count = std::min(cut.units - unit, end - next);
      run_blocks(task, block_of_units(runs, tile, cut, unit, &count), runs, tile, cut);
      next += count;
    }
  });
}

// The convolution of some groups, and its first channels.
struct Part {
  ConvNhwcShape shape;
  int64_t in = 0, out = 0;
};
struct Parts {
  Part part[2];
  int count = 1;
  const Part* begin() const { return part; }
  const Part* end() const { return part + count; }
};

// merge_groups() joins groups by a divisor of their number. Of a prime number of them, or another
// one that it does not suit, the last few are a part for themselves.
Parts parts_of(const ConvNhwcShape& shape) {
  Parts parts{.part = {{shape}, {shape}}};
  if constexpr (!selection::kHasRareConvolutions) return parts;
  const int64_t merged = ceil_div(shape.groups, ceil_div(shape.groups, most_merged_groups(shape)));
  const int64_t last = shape.groups % merged;
  if (last == 0) return parts;
  auto& [first_part, last_part] = parts.part;
  last_part.shape.groups = last;
  last_part.shape.in_channels = shape.in_channels / shape.groups * last;
  last_part.shape.out_channels = shape.out_channels / shape.groups * last;
  first_part.shape.groups -= last;
  first_part.shape.in_channels = last_part.in = shape.in_channels - last_part.shape.in_channels;
  first_part.shape.out_channels = last_part.out = shape.out_channels - last_part.shape.out_channels;
  parts.count = 2;
  return parts;
}

int64_t filter_size(const ConvNhwcShape& shape) {
  return shape.in_channels / shape.groups * shape.window.kernel_h * shape.window.kernel_w;
}

template <typename T>
size_t packed_count(const ConvNhwcShape& shape) {
  int64_t size = 0;
  for (const Part& part : parts_of(shape)) size += packed_size<T>(part.shape);
  return static_cast<size_t>(size);
}

template <typename T, typename Filters>
void pack(const ConvNhwcShape& shape, const Filters& filters, PackingTarget<T> packed) {
  for (const Part& part : parts_of(shape)) {
    const auto its_filters = [&](int64_t first, int64_t end) {
      return filters(part.out + first, part.out + end);
    };
    pack_part<T>(part.shape, its_filters, packed);
    packed.move(packed_size<T>(part.shape));
  }
}

template <typename T>
void convolve(const ConvNhwcShape& shape, const T* input, int64_t input_stride, Panels<T> packed,
              const Epilogue<T>& epilogue, T* output, int64_t output_stride) {
  for (const Part& part : parts_of(shape)) {
    Epilogue<T> some = epilogue;
    if (some.bias) some.bias += part.out;
    if (some.residual) some.residual += part.out;
    convolve_part(part.shape, input + part.in, input_stride, packed, some, output + part.out,
                  output_stride);
    packed = packed + packed_size<T>(part.shape);
  }
}

// Whether the direct convolution may multiply in bfloat16: pairs of channels, as many as are worth
// rounding the rows for.
bool suits_bfloat16(const ConvNhwcShape& shape) {
  if (!selection::kHasFloat16 || shape.weights != WeightFormat::kBFloat16) return false;
  const ConvNhwcShape merged = merge_groups(shape);
  const int64_t channels = merged.in_channels / merged.groups;
  const int64_t columns = merged.out_channels / merged.groups;
  return parts_of(shape).count == 1 && channels % 2 == 0 && channels >= kBFloat16Channels &&
         columns >= kBFloat16Columns && !has_few_channels(merged) && has_bfloat16();
}

// Of what conv_nhwc_f32_form() says.
bool has_few_outputs(int form) {
  return selection::kHasRareConvolutions && form == kVectorsOfPixels;
}

bool is_strassen(int form) { return selection::kHasWinograd && form == kStrassen; }

// Outputs of which a vector would be empty for the most part, and sums that are worth one each.
constexpr int64_t kFewColumns = 4, kLongSum = 64, kLongSumOfOne = 8;

// Each result is a sum along a pixel and along a filter.
void sum_pixels(const ConvRuns& runs, const float* input, const float* packed,
                const EpilogueF32& epilogue, float* output, int64_t output_stride) {
  const int64_t pixels = runs.pixels(), depth = runs.channels;
  const int64_t width = tile_shape<float>().panel_width(runs.columns);
  const Scratch<float> filters(runs.columns * depth);
  for (int64_t column = 0; column < runs.columns; ++column) {
    for (int64_t k = 0; k < depth; ++k) filters[column * depth + k] = packed[k * width + column];
  }
  const Bounds bounds = bounds_of(epilogue.activation);
  gemm_f32(pixels, runs.columns, depth, {input, runs.input_stride, 1}, {filters.data(), 1, depth},
           output, output_stride,
           {.col_bias = epilogue.bias, .min = bounds.low, .max = bounds.high});
  if (is_clamp(epilogue.activation)) return;
  activation_rows_f32(epilogue.activation, pixels, runs.columns, output, output_stride, output,
                      output_stride);
}

ConvNhwcShape one_group(const ConvNhwcShape& shape) {
  ConvNhwcShape one = shape;
  one.in_channels /= shape.groups;
  one.out_channels /= shape.groups;
  one.groups = 1;
  return one;
}

// Winograd's algorithm takes each group by itself, in the precision that the layer has.
ConvNhwcShape winograd_group(const ConvNhwcShape& shape) {
  ConvNhwcShape one = one_group(shape);
  one.weights = conv_nhwc_f32_weights(shape);
  return one;
}

size_t winograd_packed_bytes(const ConvNhwcShape& shape, int tile) {
  return static_cast<size_t>(shape.groups) * winograd_f32_packed_bytes(winograd_group(shape), tile);
}

void winograd_pack(const ConvNhwcShape& shape, int tile, FiltersAt filters, void* packed) {
  const ConvNhwcShape one = winograd_group(shape);
  auto* to = static_cast<std::byte*>(packed);
  for (int64_t i = 0; i < shape.groups; ++i) {
    const auto its_filters = [&](int64_t first, int64_t end) {
      return filters(i * one.out_channels + first, i * one.out_channels + end);
    };
    winograd_f32_pack(one, tile, its_filters, to);
    to += winograd_f32_packed_bytes(one, tile);
  }
}

void winograd(const ConvNhwcShape& shape, int tile, const float* input, int64_t input_stride,
              const void* packed, const EpilogueF32& epilogue, float* output,
              int64_t output_stride) {
  const ConvNhwcShape one = winograd_group(shape);
  const size_t bytes = winograd_f32_packed_bytes(one, tile);
  parallel_for(shape.groups, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t channel = i * one.out_channels;
      EpilogueF32 some = epilogue;
      if (some.bias) some.bias += channel;
      if (some.residual) some.residual += channel;
      winograd_f32(one, tile, input + i * one.in_channels, input_stride,
                   static_cast<const std::byte*>(packed) + static_cast<size_t>(i) * bytes, some,
                   output + channel, output_stride);
    }
  });
}

}  // namespace

int conv_nhwc_f32_form(const ConvNhwcShape& shape) {
  const ConvNhwcShape one = one_group(shape);
  const bool is_wide =
      shape.groups == 1 || std::min(one.in_channels, one.out_channels) >= kWinogradGroupChannels;
  if (selection::kHasWinograd && is_wide) {
    const int tile = winograd_tile(one, {}, suits_bfloat16(shape));
    if (tile > 0) return tile;
    if (suits_strassen(shape)) return kStrassen;
  }
  if constexpr (!selection::kHasRareConvolutions) return 0;
  return suits_few_outputs(flat_volume(shape)) ? kVectorsOfPixels : 0;
}
WeightFormat conv_nhwc_f32_weights(const ConvNhwcShape& shape) {
  if (!selection::kHasFloat16 || shape.weights == WeightFormat::kFloat32) {
    return WeightFormat::kFloat32;
  }
  // Fewer take little memory, and are widened anew for each strip of a fused block.
  constexpr int64_t kLeastWeights = int64_t{1} << 14;
  const int64_t taps = shape.window.kernel_h * shape.window.kernel_w;
  const int form = conv_nhwc_f32_form(shape);
  const bool may_round =
      shape.weights == WeightFormat::kBFloat16
          ? form == 0 && suits_bfloat16(shape)
          : shape.in_channels / shape.groups * shape.out_channels * taps >= kLeastWeights &&
                !has_few_channels(merge_groups(shape)) && !has_few_outputs(form) &&
                has_half_panels();
  return may_round ? shape.weights : WeightFormat::kFloat32;
}
bool conv_nhwc_f32_sums_pixels(const ConvNhwcShape& shape) {
  if (!selection::kHasConversions || shape.groups > 1 || shape.out_channels > kFewColumns) {
    return false;
  }
  const ConvRuns runs(shape, shape.in_channels, tile_shape<float>());
  return runs.pointwise && runs.pixels() > 1 &&
         runs.channels >= (runs.columns == 1 ? kLongSumOfOne : kLongSum) &&
         conv_nhwc_f32_weights(shape) == WeightFormat::kFloat32;
}
size_t conv_nhwc_f32_packed_bytes(const ConvNhwcShape& shape) {
  const int form = conv_nhwc_f32_form(shape);
  if (has_few_outputs(form)) return few_outputs_packed_bytes(flat_volume(shape));
  if (is_strassen(form)) return strassen_f32_packed_bytes(shape);
  if (form != 0) return winograd_packed_bytes(shape, form);
  const bool is_rounded = conv_nhwc_f32_weights(shape) != WeightFormat::kFloat32;
  return packed_count<float>(shape) * (is_rounded ? sizeof(Float16) : sizeof(float));
}
size_t conv_nhwc_f16_packed_bytes(const ConvNhwcShape& shape) {
  return packed_count<Float16>(shape) * sizeof(Float16);
}

void conv_nhwc_f32_pack(const ConvNhwcShape& shape, FiltersAt filters, void* packed) {
  const int form = conv_nhwc_f32_form(shape);
  auto* const to = static_cast<float*>(packed);
  if (has_few_outputs(form)) {
    return few_outputs_pack(flat_volume(shape), filters(0, shape.out_channels), to);
  }
  if (is_strassen(form)) return strassen_f32_pack(shape, filters(0, shape.out_channels), to);
  if (form != 0) return winograd_pack(shape, form, filters, packed);
  pack(shape, filters, PackingTarget<float>(packed, conv_nhwc_f32_weights(shape)));
}
void conv_nhwc_f32_pack(const ConvNhwcShape& shape, const float* weight, void* packed) {
  const int64_t filter = filter_size(shape);
  const auto filters = [&](int64_t first, int64_t) { return weight + first * filter; };
  conv_nhwc_f32_pack(shape, filters, packed);
}
void conv_nhwc_f16_pack(const ConvNhwcShape& shape, const float* weight, void* packed) {
  const int64_t filter = filter_size(shape), count = shape.out_channels * filter;
  const Scratch<Float16> rounded(count);
  to_float16(weight, rounded.data(), count);
  const auto filters = [&](int64_t first, int64_t) { return rounded.data() + first * filter; };
  pack(shape, filters, PackingTarget<Float16>(packed));
}

void conv_nhwc_f32(const ConvNhwcShape& shape, const float* input, int64_t input_stride,
                   const void* packed, const EpilogueF32& epilogue, float* output,
                   int64_t output_stride) {
  const int form = conv_nhwc_f32_form(shape);
  if (has_few_outputs(form)) {
    return conv_few_outputs(flat_volume(shape), input, input_stride,
                            static_cast<const float*>(packed), epilogue, output, output_stride);
  }
  if (is_strassen(form)) {
    return strassen_f32(shape, input, input_stride, static_cast<const float*>(packed), epilogue,
                        output, output_stride);
  }
  if (form != 0) {
    return winograd(shape, form, input, input_stride, packed, epilogue, output, output_stride);
  }
  if (!epilogue.residual && conv_nhwc_f32_sums_pixels(shape)) {
    return sum_pixels({shape, input_stride, tile_shape<float>()}, input,
                      static_cast<const float*>(packed), epilogue, output, output_stride);
  }
  convolve(shape, input, input_stride, Panels<float>::of(packed, conv_nhwc_f32_weights(shape)),
           epilogue, output, output_stride);
}
bool conv_nhwc_f32_may_scale(const ConvNhwcShape& shape) {
  return shape.groups == 1 && shape.window.kernel_h * shape.window.kernel_w == 1 &&
         conv_nhwc_f32_form(shape) == 0 && conv_nhwc_f32_weights(shape) == WeightFormat::kFloat32;
}
void conv_nhwc_f32_scale(const ConvNhwcShape& shape, const void* packed, const float* scale,
                         void* scaled) {
  const TileShape tile = tile_shape<float>();
  const int64_t depth = shape.in_channels;
  for (int64_t column = 0; column < shape.out_channels; column += tile.width) {
    const int64_t width = tile.panel_width(shape.out_channels - column);
    binary_rows_f32(
        MatrixBinaryOp::kMul, depth, width, static_cast<const float*>(packed) + column * depth,
        width, {scale, Spread::kRows, 1}, {}, static_cast<float*>(scaled) + column * depth, width);
  }
}
void conv_nhwc_f16(const ConvNhwcShape& shape, const Float16* input, int64_t input_stride,
                   const void* packed, const EpilogueF16& epilogue, Float16* output,
                   int64_t output_stride) {
  convolve(shape, input, input_stride, Panels<Float16>(static_cast<const Float16*>(packed)),
           epilogue, output, output_stride);
}

bool conv_nhwc_reads_nchw(const ConvNhwcShape& shape) {
  return conv_nhwc_f32_form(shape) == 0 && parts_of(shape).count == 1 &&
         may_read_planes(merge_groups(shape));
}

void conv_nhwc_f32_from_nchw(const ConvNhwcShape& shape, const float* input, const void* packed,
                             const EpilogueF32& epilogue, float* output, int64_t output_stride) {
  conv_few_channels<float>(merge_groups(shape), {.planes = input},
                           static_cast<const float*>(packed), epilogue, output, output_stride);
}
void conv_nhwc_f16_from_nchw(const ConvNhwcShape& shape, const float* input, const void* packed,
                             const EpilogueF16& epilogue, Float16* output, int64_t output_stride) {
  conv_few_channels<Float16>(merge_groups(shape), {.planes = input},
                             static_cast<const Float16*>(packed), epilogue, output, output_stride);
}

}  // namespace torchlet::kernels
