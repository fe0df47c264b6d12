#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/conv_few_channels_f32.h"
#include "kernels/conv_nhwc.h"
#include "kernels/conv_strip.h"
#include "kernels/conv_taps_f32.h"
#include "kernels/gemm_nhwc.h"
#include "kernels/linear_deep_f32.h"
#include "kernels/scratch.h"
#include "kernels/split.h"
#include "kernels/winograd_f32.h"

namespace torchlet::kernels {
namespace {

// A block of packed weights stays in the second-level cache while the pixels go by.
constexpr int64_t kWeightBlockBytes = int64_t{768} << 10;
// An image so small that it stays in the second-level cache while the panels go by: each is read
// once, and the next one fetched meanwhile.
constexpr int64_t kSmallImagePixels = 256;
constexpr int64_t kSmallImageFloats = int64_t{232} << 10;
// Multiply-adds that are worth waking a thread for, about 10 microseconds.
constexpr int64_t kOpsPerTask = int64_t{1} << 19;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// `count` things in equal blocks of at most `most`, each but the last a multiple of `unit`.
int64_t even_block(int64_t count, int64_t most, int64_t unit) {
  const int64_t blocks = ceil_div(count, std::max<int64_t>(1, most));
  return ceil_div(ceil_div(count, blocks), unit) * unit;
}

// From one copied row of A to the next: no multiple of 4 KB, where rows share their cache sets.
int64_t copy_stride(int64_t depth) { return (depth / 16 | 1) * 16 + 16; }

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

Cut cut_conv(const ConvRuns& runs, const TileShape& tile) {
  constexpr int64_t kFloat = sizeof(float);
  Cut cut;
  const int64_t pixels = runs.pixels(), columns = runs.columns, depth = runs.depth();
  const int64_t panel_bytes = depth * tile.width * kFloat;
  const int64_t most_panels = kWeightBlockBytes / std::max<int64_t>(1, panel_bytes);
  cut.columns = even_block(columns, std::max<int64_t>(1, most_panels) * tile.width, tile.width);
  cut.pixels = ceil_div(pixels, tile.rows) * tile.rows;
  // Copies of windows are worth keeping until all panels have seen them.
  const int64_t small = kSmallImageFloats / copy_stride(depth) / tile.rows * tile.rows;
  if (!runs.pointwise && cut.columns < columns && small >= 4 * tile.rows) {
    cut.columns = even_block(columns, columns, tile.width);
    cut.pixels = even_block(pixels, std::min(small, kSmallImagePixels), tile.rows);
  }
  cut.by_columns = is_cut_by_columns(pixels);
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
struct Task {
  const float* input;   // the group's first channel
  const float* weight;  // the group's packed weights
  const EpilogueF32* epilogue;
  float* output;
  int64_t output_stride;
  int64_t channel;  // of the output, the group's first
};

// Runs shorter than this are copied: a segment costs as much as a few steps of k.
constexpr int64_t kShortRun = 8;

// Rows of A that are read in place by all panels in turn stay in the first-level cache, with a
// panel.
constexpr int64_t kRowFloats = int64_t{4} << 10;

StripJob strip_job(const Task& task, const Block& block, const ConvRuns& runs, int64_t pixel,
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
          .channel = task.channel};
}

// The rows of A that begin at `a`, all pixels of the block.
void run_rows(const Task& task, const Block& block, const ConvRuns& runs, const TileShape& tile,
              const float* a, int64_t row_stride, bool is_small) {
  // Pixels without gaps, of some length, are fetched ahead.
  const bool fetch_next = !is_small && row_stride == runs.depth() && row_stride >= 128;
  int64_t tiles = fetch_next ? 1 : kRowFloats / runs.depth() / tile.rows;
  if (is_small) tiles = kSmallImagePixels / tile.rows + 1;
  if (task.epilogue->residual_last) tiles = 1;
  const int64_t most_rows = std::max<int64_t>(1, tiles) * tile.rows;
  for (int64_t pixel = block.first_pixel; pixel < block.last_pixel; pixel += most_rows) {
    const int64_t rows = std::min(most_rows, block.last_pixel - pixel);
    const TileSegment segment{a + (pixel - block.first_pixel) * row_stride, row_stride,
                              runs.depth(), 0};
    StripJob job = strip_job(task, block, runs, pixel, rows);
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

void run_block(const Task& task, const Block& block, const ConvRuns& runs, const TileShape& tile) {
  const int64_t pixels = block.last_pixel - block.first_pixel;
  const int64_t columns = block.last_column - block.first_column;
  const int64_t stride = copy_stride(runs.depth());
  const bool is_small =
      pixels > 1 && pixels <= kSmallImagePixels && pixels * stride <= kSmallImageFloats;
  // Rows 4 KB apart share their cache sets.
  const bool collides =
      runs.window.stride_w * runs.input_stride % 1024 == 0 && pixels > 8 && columns > tile.width;
  const bool copy_all = collides || runs.run_length() < kShortRun;
  if (runs.pointwise && !copy_all) {
    const float* a = task.input + block.first_pixel * runs.input_stride;
    return run_rows(task, block, runs, tile, a, runs.input_stride, is_small);
  }
  if (is_small && columns > tile.width) {
    const Scratch<float> copies(stride * pixels);
    for (int64_t i = 0; i < pixels; i += tile.rows) {
      const PixelStrip strip(runs, block.first_pixel + i, std::min<int64_t>(tile.rows, pixels - i));
      strip.copy(task.input, copies.data() + i * stride, stride);
    }
    return run_rows(task, block, runs, tile, copies.data(), stride, true);
  }

  const bool fetch_next = runs.pointwise && runs.input_stride == runs.channels;
  const Scratch<float> copies(stride * tile.rows);
  const Scratch<TileSegment> segments(runs.count);
  for (int64_t pixel = block.first_pixel; pixel < block.last_pixel; pixel += tile.rows) {
    const int64_t rows = std::min<int64_t>(tile.rows, block.last_pixel - pixel);
    const PixelStrip strip(runs, pixel, rows);
    StripJob job = strip_job(task, block, runs, pixel, rows);
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
void run_blocks(const Task& task, const Block& all, const ConvRuns& runs, const TileShape& tile,
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

// Groups with few output channels leave most of a vector empty. Several of them together fill it:
// one group whose weights between different ones of them are zero.
ConvNhwcShape merge_groups(const ConvNhwcShape& shape) {
  constexpr int64_t kColumns = 16;
  const int64_t columns = shape.out_channels / shape.groups;
  int64_t merged = std::min(shape.groups, kColumns / std::max<int64_t>(1, columns));
  while (merged > 1 && shape.groups % merged != 0) --merged;
  ConvNhwcShape result = shape;
  if (merged > 1) result.groups /= merged;
  return result;
}

}  // namespace

size_t conv_nhwc_f32_packed_bytes(const ConvNhwcShape& shape) {
  if (winograd_tile(shape) > 0) return winograd_f32_packed_bytes(shape);
  const ConvNhwcShape merged = merge_groups(shape);
  const ConvRuns runs(merged, shape.in_channels);
  const int64_t columns = tile_shape().packed_columns(runs.columns);
  return static_cast<size_t>(merged.groups * columns * runs.depth()) * sizeof(float);
}

void conv_nhwc_f32_pack(const ConvNhwcShape& shape, const float* weight, void* packed) {
  if (winograd_tile(shape) > 0) {
    return winograd_f32_pack(shape, weight, static_cast<float*>(packed));
  }
  const ConvNhwcShape merged = merge_groups(shape);
  const ConvRuns runs(merged, shape.in_channels);
  const TileShape tile = tile_shape();
  const int64_t taps = runs.window.kernel_h * runs.window.kernel_w;
  const int64_t group_channels = shape.in_channels / shape.groups;
  const int64_t group_columns = shape.out_channels / shape.groups;
  const int64_t panels = ceil_div(runs.columns, tile.width);
  const int64_t grain = ceil_div(1 << 16, std::max<int64_t>(1, runs.depth() * tile.width));
  parallel_for(merged.groups * panels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t group = i / panels, first = i % panels * tile.width;
      const int64_t last = std::min(runs.columns, first + tile.width);
      const int64_t width = tile.panel_width(last - first);
      const float* from = weight + group * runs.columns * group_channels * taps;
      float* to = static_cast<float*>(packed) +
                  (group * tile.packed_columns(runs.columns) + first) * runs.depth();
      std::fill_n(to, runs.depth() * width, 0.0f);
      for (int64_t channel = 0; channel < runs.channels; ++channel) {
        const int64_t part = channel / group_channels;
        const int64_t begin_column = std::max(first, part * group_columns);
        const int64_t end_column = std::min(last, (part + 1) * group_columns);
        for (int64_t tap = 0; tap < taps; ++tap) {
          float* row = to + (tap * runs.channels + channel) * width;
          for (int64_t j = begin_column; j < end_column; ++j) {
            row[j - first] = from[(j * group_channels + channel % group_channels) * taps + tap];
          }
        }
      }
    }
  });
}

void conv_nhwc_f32(const ConvNhwcShape& shape, const float* input, int64_t input_stride,
                   const void* packed, const EpilogueF32& epilogue, float* output,
                   int64_t output_stride) {
  if (winograd_tile(shape) > 0) {
    return winograd_f32(shape, input, input_stride, static_cast<const float*>(packed), epilogue,
                        output, output_stride);
  }
  const ConvNhwcShape merged = merge_groups(shape);
  if (has_few_channels(merged)) {
    return conv_few_channels_f32(merged, {input, input_stride}, static_cast<const float*>(packed),
                                 epilogue, output, output_stride);
  }
  const ConvRuns runs(merged, input_stride);
  const TileShape tile = tile_shape();
  if (runs.pixels() <= 0 || runs.columns <= 0) return;
  if (suits_taps(runs)) {
    return conv_taps_f32(merged, runs, input, static_cast<const float*>(packed), epilogue, output,
                         output_stride);
  }
  if (merged.groups == 1 && suits_linear_deep(runs)) {
    return linear_deep_f32(runs, input, static_cast<const float*>(packed), epilogue, output,
                           output_stride);
  }
  const Cut cut = cut_conv(runs, tile);
  const int64_t ops = runs.pixels() * runs.columns * runs.depth() / cut.units;
  const int64_t grain = std::max<int64_t>(1, kOpsPerTask / std::max<int64_t>(1, ops));
  parallel_for(merged.groups * cut.units, grain, [&](int64_t begin, int64_t end) {
    for (int64_t next = begin; next < end;) {
      const int64_t group = next / cut.units, unit = next % cut.units;
      const float* group_weight = static_cast<const float*>(packed) +
                                  group * tile.packed_columns(runs.columns) * runs.depth();
      const Task task{.input = input + group * runs.channels,
                      .weight = group_weight,
                      .epilogue = &epilogue,
                      .output = output,
                      .output_stride = output_stride,
                      .channel = group * runs.columns};
      int64_t count = std::min(cut.units - unit, end - next);
      run_blocks(task, block_of_units(runs, tile, cut, unit, &count), runs, tile, cut);
      next += count;
    }
  });
}

bool conv_nhwc_f32_reads_nchw(const ConvNhwcShape& shape) {
  return has_few_channels(merge_groups(shape));
}

void conv_nhwc_f32_from_nchw(const ConvNhwcShape& shape, const float* input, const void* packed,
                             const EpilogueF32& epilogue, float* output, int64_t output_stride) {
  conv_few_channels_f32(merge_groups(shape), {.data = input, .pixel_stride = 0, .is_planes = true},
                        static_cast<const float*>(packed), epilogue, output, output_stride);
}

}  // namespace torchlet::kernels
