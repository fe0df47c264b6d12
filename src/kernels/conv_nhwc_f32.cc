#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv_nhwc_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/conv_nhwc.h"
#include "kernels/conv_nhwc_internal.h"
#include "kernels/conv_strip-inl.h"
#include "kernels/gemm_nhwc-inl.h"
#include "kernels/scratch.h"
#include "kernels/winograd_f32.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

TileShape tile_shape() { return {kTileRows, kPanelWidth, kTileLanes}; }

// Runs shorter than this are copied: a segment costs as much as about five steps of k.
constexpr int64_t kShortRun = 32;

// The task's panels times one strip of pixels and the runs [begin, end).
struct StripProduct {
  const ConvTask& task;
  const ConvRuns& runs;
  int64_t begin, end;  // runs
  float* partial;  // [pixels of the task, columns of the task], or null if all runs are done here
  TileSegment* segments;
  float* copies;
  int64_t copy_stride;
  bool copy_all;
};

// One panel times one strip, for an epilogue that does not fit registers.
void multiply_and_finish(const EpilogueF32& epilogue, const float* residual, TileJob job,
                         int64_t rows) {
  if (residual && epilogue.residual_last) {  // which may be the result
    HWY_ALIGN float tile[kTileRows * kPanelWidth];
    float* out = job.c;
    const int64_t out_stride = job.c_stride;
    job.c = tile;
    job.c_stride = kPanelWidth;
    multiply_panel(job, rows);
    activate_rows(epilogue.activation, tile, kPanelWidth, rows, job.columns);
    add_rows(residual, epilogue.residual_stride, tile, kPanelWidth, rows, job.columns);
    for (int64_t r = 0; r < rows; ++r) {
      std::copy_n(tile + r * kPanelWidth, job.columns, out + r * out_stride);
    }
    return;
  }
  multiply_panel(job, rows);
  activate_rows(epilogue.activation, job.c, job.c_stride, rows, job.columns);
}

void multiply_strip(const StripProduct& p, int64_t pixel, int64_t rows) {
  const ConvTask& task = p.task;
  const EpilogueF32& epilogue = *task.epilogue;
  const PixelStrip strip(p.runs, pixel, rows);
  const bool is_first = p.begin == 0, is_last = p.end == p.runs.count;
  const bool in_registers =
      !is_last || (is_clamp(epilogue.activation) && !(epilogue.residual && epilogue.residual_last));
  const Bounds bounds = bounds_of(is_last && in_registers ? epilogue.activation : Activation{});
  const int64_t partial_stride = task.last_column - task.first_column;

  TileJob job{.segments = p.segments,
              .segment_count = strip.segments(task.input, p.begin, p.end, p.copy_all, p.copies,
                                              p.copy_stride, p.segments),
              .partial_stride = partial_stride,
              .residual_stride = epilogue.residual_stride,
              .low = bounds.low,
              .high = bounds.high,
              .c_stride = is_last ? task.output_stride : partial_stride};
  for (int64_t column = task.first_column; column < task.last_column; column += kPanelWidth) {
    const int64_t channel = task.channel + column;
    float* partial = nullptr;
    if (p.partial) {
      partial =
          p.partial + (pixel - task.first_pixel) * partial_stride + column - task.first_column;
    }
    const float* residual = nullptr;
    if (epilogue.residual && is_last) {
      residual = epilogue.residual + pixel * epilogue.residual_stride + channel;
    }
    job.b = task.weight + column * p.runs.depth();
    job.columns = std::min<int64_t>(kPanelWidth, task.last_column - column);
    job.bias = epilogue.bias ? epilogue.bias + channel : nullptr;
    job.partial = is_first ? nullptr : partial;
    job.residual = epilogue.residual_last ? nullptr : residual;
    job.c = is_last ? task.output + pixel * task.output_stride + channel : partial;
    if (in_registers)
      multiply_panel(job, rows);
    else
      multiply_and_finish(epilogue, residual, job, rows);
  }
}

void run_conv_task(const ConvTask& task, const ConvRuns& runs) {
  const int64_t panels_stride = task.last_column - task.first_column;
  const int64_t pixels = task.last_pixel - task.first_pixel;
  const bool split = task.runs_per_block < runs.count;
  const int64_t block_depth = std::min(runs.depth(), task.runs_per_block * runs.longest_run());
  int64_t copy_stride = (block_depth + 15) / 16 * 16 + 16;
  if (copy_stride % 1024 == 0) copy_stride += 16;  // rows 4 KB apart share their cache sets
  const int64_t row_stride = runs.window.stride_w * runs.input_stride;
  const bool collides = row_stride % 1024 == 0 && pixels > 8 && panels_stride > kPanelWidth;
  const bool copy_all = collides || runs.longest_run() < kShortRun;

  const Scratch<float> copies(copy_all || !runs.pointwise ? copy_stride * kTileRows : 0);
  const Scratch<float> partial(split ? pixels * panels_stride : 0);
  const Scratch<TileSegment> segments(task.runs_per_block);
  for (int64_t begin = 0; begin < runs.count; begin += task.runs_per_block) {
    const int64_t end = std::min(runs.count, begin + task.runs_per_block);
    const StripProduct product{.task = task,
                               .runs = runs,
                               .begin = begin,
                               .end = end,
                               .partial = split ? partial.data() : nullptr,
                               .segments = segments.data(),
                               .copies = copies.data(),
                               .copy_stride = copy_stride,
                               .copy_all = copy_all};
    for (int64_t pixel = task.first_pixel; pixel < task.last_pixel; pixel += kTileRows) {
      multiply_strip(product, pixel, std::min<int64_t>(kTileRows, task.last_pixel - pixel));
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(tile_shape);
HWY_EXPORT(run_conv_task);

namespace {

// A block of packed weights stays in the second-level cache while the pixels go by.
constexpr int64_t kWeightBlockBytes = int64_t{768} << 10;
// The sums of a block of k that is not the last.
constexpr int64_t kPartialFloats = int64_t{1} << 16;
// Multiply-adds that are worth waking a thread for, about 10 microseconds.
constexpr int64_t kOpsPerTask = int64_t{1} << 19;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// `count` things in equal blocks of at most `most`, each but the last a multiple of `unit`.
int64_t even_block(int64_t count, int64_t most, int64_t unit) {
  const int64_t blocks = ceil_div(count, std::max<int64_t>(1, most));
  return ceil_div(ceil_div(count, blocks), unit) * unit;
}

// How the product of one group is cut.
struct Cut {
  int64_t columns, column_blocks;
  int64_t pixels, pixel_blocks;
  int64_t runs_per_block;
};

Cut cut_conv(const ConvRuns& runs, int64_t groups, const TileShape& tile) {
  constexpr int64_t kFloat = sizeof(float);
  Cut cut;
  const int64_t pixels = runs.pixels(), columns = runs.columns, depth = runs.depth();
  const int64_t panel_bytes = depth * tile.width * kFloat;
  const bool one_strip = pixels <= tile.rows;
  cut.runs_per_block = runs.count;
  if (panel_bytes > kWeightBlockBytes && !one_strip) {
    const int64_t run_bytes = runs.longest_run() * tile.width * kFloat;
    cut.runs_per_block =
        even_block(runs.count, std::max<int64_t>(1, kWeightBlockBytes / run_bytes), 1);
  }
  const bool split = cut.runs_per_block < runs.count;

  const int64_t block_bytes = std::min(panel_bytes, kWeightBlockBytes);
  const int64_t most_panels =
      std::max<int64_t>(1, kWeightBlockBytes / std::max<int64_t>(1, block_bytes));
  cut.columns = even_block(columns, most_panels * tile.width, tile.width);
  cut.pixels = std::max<int64_t>(1, ceil_div(pixels, tile.rows)) * tile.rows;
  if (split)
    cut.pixels = std::max<int64_t>(tile.rows, kPartialFloats / cut.columns / tile.rows * tile.rows);

  // More tasks than threads, so that a thread that the system interrupts is not waited for.
  const int64_t threads = num_threads();
  if (threads > 1) {
    const int64_t ops = groups * pixels * columns * depth;
    const int64_t tasks = std::clamp<int64_t>(ops / kOpsPerTask, 1, 4 * threads);
    const int64_t per_group = ceil_div(tasks, groups);
    // Weights outweigh pixels where the picture is small: there each thread reads its own.
    const bool by_columns = pixels < 8 * tile.rows;
    if (by_columns) {
      cut.columns =
          std::min(cut.columns, even_block(columns, ceil_div(columns, per_group), tile.width));
    } else {
      const int64_t blocks = ceil_div(per_group, ceil_div(columns, cut.columns));
      cut.pixels = std::min(cut.pixels, even_block(pixels, ceil_div(pixels, blocks), tile.rows));
    }
  }
  cut.column_blocks = ceil_div(columns, cut.columns);
  cut.pixel_blocks = ceil_div(pixels, cut.pixels);
  return cut;
}

// A panel of at most one vector is packed as one.
int64_t packed_columns(int64_t columns, const TileShape& tile) {
  return ceil_div(columns, tile.lanes) * tile.lanes;
}

}  // namespace

size_t conv_nhwc_f32_packed_bytes(const ConvNhwcShape& shape) {
  if (winograd_tile(shape) > 0) return winograd_f32_packed_bytes(shape);
  const ConvRuns runs(shape, shape.in_channels);
  const TileShape tile = HWY_DYNAMIC_DISPATCH(tile_shape)();
  return static_cast<size_t>(shape.groups * packed_columns(runs.columns, tile) * runs.depth()) *
         sizeof(float);
}

void conv_nhwc_f32_pack(const ConvNhwcShape& shape, const float* weight, void* packed) {
  if (winograd_tile(shape) > 0) {
    return winograd_f32_pack(shape, weight, static_cast<float*>(packed));
  }
  const ConvRuns runs(shape, shape.in_channels);
  const TileShape tile = HWY_DYNAMIC_DISPATCH(tile_shape)();
  const int64_t taps = runs.window.kernel_h * runs.window.kernel_w;
  const int64_t depth = runs.depth(), group_columns = packed_columns(runs.columns, tile);
  const int64_t panels = ceil_div(runs.columns, tile.width);
  const int64_t grain = ceil_div(1 << 16, std::max<int64_t>(1, depth * tile.width));
  parallel_for(shape.groups * panels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t group = i / panels, column = i % panels * tile.width;
      const int64_t columns = std::min<int64_t>(tile.width, runs.columns - column);
      const int64_t width = columns <= tile.lanes ? tile.lanes : tile.width;
      const float* from = weight + (group * runs.columns + column) * depth;
      float* to = static_cast<float*>(packed) + (group * group_columns + column) * depth;
      for (int64_t channel = 0; channel < runs.channels; ++channel) {
        for (int64_t tap = 0; tap < taps; ++tap) {
          float* row = to + (tap * runs.channels + channel) * width;
          for (int64_t j = 0; j < columns; ++j) row[j] = from[j * depth + channel * taps + tap];
          std::fill(row + columns, row + width, 0.0f);
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
  const ConvRuns runs(shape, input_stride);
  const TileShape tile = HWY_DYNAMIC_DISPATCH(tile_shape)();
  if (runs.pixels() <= 0 || runs.columns <= 0) return;
  const Cut cut = cut_conv(runs, shape.groups, tile);
  const int64_t per_group = cut.column_blocks * cut.pixel_blocks;
  const int64_t ops = cut.pixels * cut.columns * runs.depth();
  const int64_t grain = std::max<int64_t>(1, kOpsPerTask / std::max<int64_t>(1, ops));
  parallel_for(shape.groups * per_group, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t group = i / per_group;
      const int64_t column = i % per_group / cut.pixel_blocks * cut.columns;
      const int64_t pixel = i % cut.pixel_blocks * cut.pixels;
      const ConvTask task{.input = input + group * runs.channels,
                          .weight = static_cast<const float*>(packed) +
                                    group * packed_columns(runs.columns, tile) * runs.depth(),
                          .epilogue = &epilogue,
                          .output = output,
                          .output_stride = output_stride,
                          .channel = group * runs.columns,
                          .first_column = column,
                          .last_column = std::min(runs.columns, column + cut.columns),
                          .first_pixel = pixel,
                          .last_pixel = std::min(runs.pixels(), pixel + cut.pixels),
                          .runs_per_block = cut.runs_per_block};
      HWY_DYNAMIC_DISPATCH(run_conv_task)(task, runs);
    }
  });
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
