#include "kernels/linear_deep_f32.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/gemm_nhwc.h"
#include "kernels/scratch.h"
#include "kernels/split.h"

namespace torchlet::kernels {
namespace {

// What is worked on at once, so that rows of A and sums have about 700 KB each.
constexpr int64_t kDepth = 768, kColumns = 768, kRows = 238;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t even_part(int64_t count, int64_t most, int64_t unit) {
  return ceil_div(ceil_div(count, ceil_div(count, most)), unit) * unit;
}

struct Rows {
  const float* data;
  int64_t stride, count;
};

// Columns [first, last) of the product of some rows, all of the depth.
void multiply_columns(const ConvRuns& runs, const Rows& rows, StripJob job, float* copies,
                      float* sums) {
  const int64_t depth = runs.depth(), part = even_part(depth, kDepth, 16);
  const int64_t copy_stride = part + 16;  // no multiple of 4 KB, where rows share their cache sets
  job.partial = sums;
  job.partial_stride = job.last_column - job.first_column;
  for (int64_t k = 0; k < depth; k += part) {
    const int64_t count = std::min(part, depth - k);
    for (int64_t r = 0; r < rows.count; ++r) {
      std::copy_n(rows.data + r * rows.stride + k, count, copies + r * copy_stride);
    }
    TileSegment segment{copies, copy_stride, count, k};
    job.segments = &segment;
    job.segment_count = 1;
    job.is_first = k == 0;
    job.is_last = k + count == depth;
    job.ahead_row = depth + k;
    job.ahead_rows = count;
    job.rows = rows.count;
    if (!job.is_last || !job.epilogue->residual_last) {
      multiply_strip(job);
      continue;
    }
    const int64_t tile = tile_shape().rows;
    for (int64_t r = 0; r < rows.count; r += tile) {
      StripJob some = job;
      segment.a = copies + r * copy_stride;
      some.rows = std::min(tile, rows.count - r);
      some.pixel += r;
      some.partial += r * job.partial_stride;
      multiply_strip(some);
    }
  }
}

}  // namespace

bool suits_linear_deep(const ConvRuns& runs) {
  return runs.pointwise && runs.depth() >= 2 * kDepth && !is_cut_by_columns(runs.pixels()) &&
         runs.pixels() * runs.depth() > kRows * kDepth * 3 / 2;
}

void linear_deep_f32(const ConvRuns& runs, const float* input, const float* packed,
                     const EpilogueF32& epilogue, float* output, int64_t output_stride) {
  const TileShape tile = tile_shape();
  const int64_t pixels = runs.pixels(), block = even_block_rows(pixels, kRows, tile.rows);
  const int64_t columns = even_part(runs.columns, kColumns, tile.width);
  parallel_for(ceil_div(pixels, block), 1, [&](int64_t begin, int64_t end) {
    const Scratch<float> copies(block * (kDepth + 32)), sums(block * columns);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t pixel = i * block;
      const Rows rows{input + pixel * runs.input_stride, runs.input_stride,
                      std::min(block, pixels - pixel)};
      for (int64_t column = 0; column < runs.columns; column += columns) {
        const StripJob job{.segments = nullptr,
                           .segment_count = 0,
                           .b = packed,
                           .depth = runs.depth(),
                           .first_column = column,
                           .last_column = std::min(runs.columns, column + columns),
                           .rows = rows.count,
                           .epilogue = &epilogue,
                           .output = output,
                           .output_stride = output_stride,
                           .pixel = pixel,
                           .channel = 0};
        multiply_columns(runs, rows, job, copies.data(), sums.data());
      }
    }
  });
}

}  // namespace torchlet::kernels
