#include "kernels/conv_nhwc/conv_deep.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/conv_nhwc/conv_strip.h"
#include "kernels/gemm/gemm_nhwc.h"
#include "kernels/simd/caches.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/split.h"

namespace torchlet::kernels {
namespace {

// What is worked on at once, so that rows of A and sums have about 700 KB each.
constexpr int64_t kDepth = 768, kColumns = 768, kRows = 238;
// A tile's rows and a panel of fewer channels stay in the first-level cache well enough. Windows
// are copied, which pays from panels of half a megabyte on, and not for a few pixels.
constexpr int64_t kLeastChannels = 1000;
constexpr int64_t kLeastPanelBytes = int64_t{512} << 10;
constexpr int64_t kLeastPixels = 12;

// Some pixels of the output, whose windows are the rows of A.
template <typename T>
struct Rows {
  const T* input;
  int64_t pixel, count;
};

// Elements [k, k + count) of the rows: where they are, or in `copies`, since windows have no such
// place, and rows a multiple of 4 KB apart share their cache sets.
template <typename T>
TileSegment<T> part_of_rows(const ConvRuns& runs, const Rows<T>& rows, int64_t k, int64_t count,
                            T* copies, int64_t copy_stride) {
  if (runs.pointwise && runs.input_stride * static_cast<int64_t>(sizeof(T)) % 4096 != 0) {
    return {rows.input + rows.pixel * runs.input_stride + k, runs.input_stride, count, k};
  }
  const int64_t tile = tile_shape<T>().rows;
  for (int64_t r = 0; r < rows.count; r += tile) {
    const PixelStrip strip(runs, rows.pixel + r, std::min(tile, rows.count - r));
    strip.copy(rows.input, k, k + count, copies + r * copy_stride, copy_stride);
  }
  return {copies, copy_stride, count, k};
}

// Columns [first, last) of the product of some rows, all of the depth.
template <typename T>
void multiply_columns(const ConvRuns& runs, const Rows<T>& rows, StripJob<T> job, T* copies,
                      float* sums) {
  const int64_t depth = runs.pointwise ? runs.channels : runs.depth();
  const int64_t part = even_block(depth, kDepth, 16);
  job.partial = sums;
  job.partial_stride = job.last_column - job.first_column;
  for (int64_t k = 0; k < depth; k += part) {
    const int64_t count = std::min(part, depth - k);
    TileSegment<T> segment = part_of_rows(runs, rows, k, count, copies, part + 16);
    const TileSegment<T> all = segment;
    job.segments = &segment;
    job.segment_count = 1;
    job.is_first = k == 0;
    job.is_last = k + count == depth;
    job.ahead_row = runs.depth() + k;
    job.ahead_rows = count;
    job.rows = rows.count;
    if (!job.is_last || !job.epilogue->residual_last) {
      multiply_strip(job);
      continue;
    }
    const int64_t tile = tile_shape<T>().rows;
    for (int64_t r = 0; r < rows.count; r += tile) {
      StripJob<T> some = job;
      segment.a = all.a + r * all.a_row_stride;
      some.rows = std::min(tile, rows.count - r);
      some.pixel += r;
      some.partial += r * job.partial_stride;
      multiply_strip(some);
    }
  }
}

}  // namespace

template <typename T>
bool suits_conv_deep(const ConvRuns& runs) {
  if (runs.pointwise) return runs.depth() >= kLeastChannels && !is_cut_by_columns(runs.pixels());
  const TileShape tile = tile_shape<T>();
  const int64_t panel_bytes = runs.depth() * tile.width * static_cast<int64_t>(sizeof(T));
  return panel_bytes > kLeastPanelBytes && runs.pixels() >= kLeastPixels &&
         runs.columns >= tile.width;
}

template <typename T>
void conv_deep(const ConvRuns& runs, const T* input, Panels<T> packed, const Epilogue<T>& epilogue,
               T* output, int64_t output_stride) {
  const TileShape tile = tile_shape<T>();
  const int64_t pixels = runs.pixels(), most = cached(kRows);
  const bool by_columns = is_cut_by_weights(pixels, runs.columns);
  const int64_t block =
      by_columns ? even_block(pixels, most, tile.rows) : even_block_rows(pixels, most, tile.rows);
  const int64_t of_thread = by_columns ? ceil_div(runs.columns, num_threads()) : runs.columns;
  const int64_t columns = even_block(of_thread, kColumns, tile.width);
  const int64_t column_blocks = ceil_div(runs.columns, columns);
  // Tasks share rows or columns, the first of the two numbers.
  const int64_t row_blocks = ceil_div(pixels, block);
  const int64_t inner = by_columns ? row_blocks : column_blocks;
  parallel_for(row_blocks * column_blocks, inner, [&](int64_t begin, int64_t end) {
    const Scratch<T> copies(block * (kDepth + 32));
    const Scratch<float> sums(block * columns);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t pixel = (by_columns ? i % inner : i / inner) * block;
      const int64_t column = (by_columns ? i / inner : i % inner) * columns;
      const Rows<T> rows{input, pixel, std::min(block, pixels - pixel)};
      const StripJob<T> job{.segments = nullptr,
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
  });
}

template bool suits_conv_deep<float>(const ConvRuns&);
template bool suits_conv_deep<Float16>(const ConvRuns&);
template void conv_deep<float>(const ConvRuns&, const float*, Panels<float>, const EpilogueF32&,
                               float*, int64_t);
template void conv_deep<Float16>(const ConvRuns&, const Float16*, Panels<Float16>,
                                 const EpilogueF16&, Float16*, int64_t);

}  // namespace torchlet::kernels
