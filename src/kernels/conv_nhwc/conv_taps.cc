#include "kernels/conv_nhwc/conv_taps.h"

#include <algorithm>
#include <type_traits>

#include "base/selection.h"
#include "base/thread_pool.h"
#include "kernels/conv_nhwc/conv_scatter.h"
#include "kernels/conv_nhwc/dwconv_transpose.h"
#include "kernels/gemm/gemm_nhwc.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/split.h"

namespace torchlet::kernels {
namespace {

// A strip of a line costs about as much as so many more pixels. Whole windows cost 7/8 of a tap's
// products in long lines with panels up to this size, and 9/8 with larger ones (conv_deep.h).
constexpr int64_t kStripPixels = 3;
constexpr int64_t kPanelBytes = int64_t{512} << 10;
// The sums of a task, half a megabyte; at least this many columns of them share what is read.
constexpr int64_t kSums = int64_t{1} << 17;
constexpr int64_t kPanelsAtOnce = 4;
constexpr int64_t kSliceChannels = 256;
// Columns of a task, whose weights of a tap and a slice all its lines read.
constexpr int64_t kMostColumns = 256;

struct Range {
  int64_t begin, end;
  int64_t size() const { return std::max<int64_t>(0, end - begin); }
};

Range block_of(int64_t index, int64_t size, int64_t count) {
  return {index * size, std::min(count, (index + 1) * size)};
}

// What a tap connects along one axis: for t in `range`, input t * in_step + in_offset and output
// t * out_step + out_offset.
struct TapAxis {
  Range range;
  int64_t in_step, in_offset, out_step, out_offset;
};

// t such that begin <= t * step + offset < end.
Range steps_inside(int64_t begin, int64_t end, int64_t step, int64_t offset) {
  const int64_t before = std::max<int64_t>(0, begin - offset);
  const int64_t until = std::max<int64_t>(0, end - offset);
  return {ceil_div(before, step), ceil_div(until, step)};
}

Range intersection(const Range& a, const Range& b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

// `shift` is where the tap lies: tap * dilation - padding.
TapAxis tap_axis(const Range& outputs, int64_t in, int64_t stride, int64_t shift, bool transposed) {
  if (transposed) {  // t counts inputs
    return {intersection({0, in}, steps_inside(outputs.begin, outputs.end, stride, shift)), 1, 0,
            stride, shift};
  }
  return {intersection(outputs, steps_inside(0, in, stride, shift)), stride, shift, 1, 0};
}

int64_t taps_inside(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t pad,
                    int64_t dilation) {
  int64_t count = 0;
  for (int64_t i = 0; i < kernel; ++i) {
    count += tap_axis({0, out}, in, stride, i * dilation - pad, false).range.size();
  }
  return count;
}

// A rectangle of the output and some of its columns.
struct Task {
  int64_t group, image;
  Range lines, line, columns;  // line: the pixels of each line
};

template <typename T>
class TapsConvolution {
 public:
  TapsConvolution(const ConvRuns& runs, const T* input, Panels<T> packed,
                  const Epilogue<T>& epilogue, T* output, int64_t output_stride, bool transposed)
      : runs_(runs),
        window_(runs.window),
        tile_(tile_shape<T>()),
        input_(input),
        packed_(packed),
        epilogue_(epilogue),
        output_(output),
        output_stride_(output_stride),
        transposed_(transposed) {}

  void run(const Task& task) const {
    const Scratch<float> sums(task.lines.size() * task.line.size() * task.columns.size());
    for_each_output(task, sums.data(), [](StripJob<T> job) {
      job.is_first = true;
      job.is_last = false;
      multiply_strip(job);
    });
    const int64_t taps = window_.kernel_h * window_.kernel_w;
    for (int64_t channel = 0; channel < runs_.channels; channel += kSliceChannels) {
      for (int64_t i = 0; i < taps; ++i) {
        const int64_t next_row =
            i + 1 < taps ? (i + 1) * runs_.packed_channels + channel : channel + kSliceChannels;
        add_tap(task, sums.data(), i, channel, next_row);
      }
    }
    for_each_output(task, sums.data(), [](const StripJob<T>& job) { multiply_strip(job); });
  }

 private:
  // Calls body with jobs that add nothing, for all pixels of the task.
  template <typename Body>
  void for_each_output(const Task& task, float* sums, const Body& body) const {
    const bool is_tile = epilogue_.residual && epilogue_.residual_last;
    const int64_t strip = is_tile ? tile_.rows : strip_pixels(task.line.size());
    for (int64_t y = task.lines.begin; y < task.lines.end; ++y) {
      for (int64_t x = task.line.begin; x < task.line.end; x += strip) {
        StripJob<T> job = strip_job(task, sums, y, x, std::min(strip, task.line.end - x));
        job.is_last = true;
        body(job);
      }
    }
  }

  // Adds tap `tap` of the channels from `channel` on; row `next_row` of the weights is wanted next.
  void add_tap(const Task& task, float* sums, int64_t tap, int64_t channel,
               int64_t next_row) const {
    const int64_t shift_y = tap / window_.kernel_w * window_.dilation_h - window_.pad_h;
    const int64_t shift_x = tap % window_.kernel_w * window_.dilation_w - window_.pad_w;
    const TapAxis y = tap_axis(task.lines, window_.in_h, window_.stride_h, shift_y, transposed_);
    const TapAxis x = tap_axis(task.line, window_.in_w, window_.stride_w, shift_x, transposed_);
    if (x.range.size() == 0) return;
    const int64_t strip = strip_pixels(x.range.size());
    const int64_t depth = std::min(kSliceChannels, runs_.channels - channel);
    const int64_t row = tap * runs_.packed_channels + channel;
    const int64_t columns = tile_.packed_columns(task.columns.size());
    const Scratch<float> wide(kWidens && packed_.half() ? columns * depth : 0);
    if (kWidens && packed_.half()) widen(task, row, depth, wide.data());
    int64_t strips = 0;
    for (int64_t i = y.range.begin; i < y.range.end; ++i) {
      const int64_t line = task.image * window_.in_h + i * y.in_step + y.in_offset;
      for (int64_t j = x.range.begin; j < x.range.end; j += strip) {
        const int64_t pixel = line * window_.in_w + j * x.in_step + x.in_offset;
        TileSegment<T> segment{
            input_ + pixel * runs_.input_stride + task.group * runs_.channels + channel,
            x.in_step * runs_.input_stride, depth, row};
        StripJob<T> job =
            strip_job(task, sums, i * y.out_step + y.out_offset, j * x.out_step + x.out_offset,
                      std::min(strip, x.range.end - j));
        job.partial_stride *= x.out_step;
        job.segments = &segment;
        job.segment_count = 1;
        // The first strip reads these weights, the next two have time to fetch those.
        if (strips == 1 || strips == 2) {
          job.ahead_row = next_row + (strips - 1) * depth / 2;
          job.ahead_rows = depth / 2;
        }
        ++strips;
        if constexpr (kWidens) {
          if (packed_.half()) {
            job.b = wide.data() - task.columns.begin * depth;
            job.depth = depth;
            job.ahead_rows = 0;
            segment.b_row = 0;
          }
        }
        multiply_strip(job);
      }
    }
  }

  // Rows [row, row + depth) of the task's panels, which all of its strips read, as floats.
  void widen(const Task& task, int64_t row, int64_t depth, float* to) const {
    if constexpr (kWidens) {
      const Panels<T> group = group_panels(task);
      for (int64_t first = task.columns.begin; first < task.columns.end; first += tile_.width) {
        const int64_t width =
            tile_.panel_width(std::min<int64_t>(tile_.width, task.columns.end - first));
        widen_panels(group + (first * runs_.depth() + row * width), depth * width, to);
        to += depth * width;
      }
    }
  }

  Panels<T> group_panels(const Task& task) const {
    return packed_ + task.group * tile_.packed_columns(runs_.columns) * runs_.depth();
  }

  // Some tiles of a line, the last of which share what is left.
  int64_t strip_pixels(int64_t pixels) const {
    return pixels <= 3 * tile_.rows ? pixels : 2 * tile_.rows;
  }

  // Adds nothing to the sums of some pixels of a line.
  StripJob<T> strip_job(const Task& task, float* sums, int64_t y, int64_t x, int64_t pixels) const {
    const int64_t columns = task.columns.size();
    const int64_t index = (y - task.lines.begin) * task.line.size() + x - task.line.begin;
    return {.segments = nullptr,
            .segment_count = 0,
            .b = group_panels(task),
            .depth = runs_.depth(),
            .first_column = task.columns.begin,
            .last_column = task.columns.end,
            .rows = pixels,
            .partial = sums + index * columns,
            .partial_stride = columns,
            .is_first = false,
            .is_last = false,
            .epilogue = &epilogue_,
            .output = output_,
            .output_stride = output_stride_,
            .pixel = (task.image * window_.out_h + y) * window_.out_w + x,
            .channel = task.group * runs_.columns};
  }

  static constexpr bool kWidens = selection::kHasFloat16 && std::is_same_v<T, float>;

  const ConvRuns& runs_;
  const Window2dShape& window_;
  const TileShape tile_;
  const T* input_;
  Panels<T> packed_;
  const Epilogue<T>& epilogue_;
  T* output_;
  int64_t output_stride_;
  bool transposed_;
};

}  // namespace

template <typename T>
bool suits_taps(const ConvRuns& runs) {
  const Window2dShape& w = runs.window;
  const TileShape tile = tile_shape<T>();
  if (runs.pixels() <= tile.rows || runs.channels < 64 || runs.columns < tile.width) return false;
  const int64_t panel_bytes = runs.depth() * tile.width * static_cast<int64_t>(sizeof(T));
  const int64_t inside =
      taps_inside(w.in_h, w.out_h, w.kernel_h, w.stride_h, w.pad_h, w.dilation_h) *
      taps_inside(w.in_w, w.out_w, w.kernel_w, w.stride_w, w.pad_w, w.dilation_w);
  const int64_t all = w.kernel_h * w.kernel_w * w.out_h * w.out_w;
  return 8 * inside * (w.out_w + kStripPixels) <
         (panel_bytes > kPanelBytes ? 9 : 7) * all * w.out_w;
}

namespace {

template <typename T>
void run_taps(const ConvNhwcShape& shape, const ConvRuns& runs, const T* input, Panels<T> packed,
              const Epilogue<T>& epilogue, T* output, int64_t output_stride, bool transposed) {
  const TileShape tile = tile_shape<T>();
  const Window2dShape& w = runs.window;
  const int64_t block_pixels = kSums / (kPanelsAtOnce * tile.width);
  const int64_t line = std::min(w.out_w, block_pixels);
  const int64_t lines = std::clamp<int64_t>(block_pixels / line, 1, w.out_h);
  int64_t columns =
      std::min({runs.columns, kMostColumns, kSums / (line * lines) / tile.width * tile.width});
  if (num_threads() > 1 && lines == w.out_h && line == w.out_w) {
    columns = std::min(columns, ceil_div(runs.columns, 2 * num_threads()));
  }
  columns = ceil_div(columns, tile.width) * tile.width;

  const int64_t line_blocks = ceil_div(w.out_h, lines), parts = ceil_div(w.out_w, line);
  const int64_t column_blocks = ceil_div(runs.columns, columns);
  const TapsConvolution<T> convolution(runs, input, packed, epilogue, output, output_stride,
                                       transposed);
  parallel_for(shape.groups * runs.batch * line_blocks * parts * column_blocks, 1,
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   int64_t rest = i / column_blocks;
                   Task task;
                   task.columns = block_of(i % column_blocks, columns, runs.columns);
                   task.line = block_of(rest % parts, line, w.out_w);
                   rest /= parts;
                   task.lines = block_of(rest % line_blocks, lines, w.out_h);
                   rest /= line_blocks;
                   task.image = rest % runs.batch;
                   task.group = rest / runs.batch;
                   convolution.run(task);
                 }
               });
}

}  // namespace

template <typename T>
void conv_taps(const ConvNhwcShape& shape, const ConvRuns& runs, const T* input, Panels<T> packed,
               const Epilogue<T>& epilogue, T* output, int64_t output_stride) {
  run_taps(shape, runs, input, packed, epilogue, output, output_stride, false);
}

template bool suits_taps<float>(const ConvRuns&);
template bool suits_taps<Float16>(const ConvRuns&);
template void conv_taps<float>(const ConvNhwcShape&, const ConvRuns&, const float*, Panels<float>,
                               const EpilogueF32&, float*, int64_t);
template void conv_taps<Float16>(const ConvNhwcShape&, const ConvRuns&, const Float16*,
                                 Panels<Float16>, const EpilogueF16&, Float16*, int64_t);

size_t conv_transpose_nhwc_f32_packed_bytes(const ConvNhwcShape& shape) {
  if (conv_transpose_is_depthwise(shape)) return dwconv_transpose_packed_bytes(shape);
  if (suits_scatter(shape)) return conv_scatter_packed_bytes(shape);
  const TileShape tile = tile_shape<float>();
  const ConvRuns runs(shape, shape.in_channels, tile);
  return static_cast<size_t>(shape.groups * tile.packed_columns(runs.columns) * runs.depth()) *
         sizeof(float);
}

void conv_transpose_nhwc_f32_pack(const ConvNhwcShape& shape, const float* weight, void* packed) {
  if (conv_transpose_is_depthwise(shape)) return dwconv_transpose_pack(shape, weight, packed);
  if (suits_scatter(shape)) return conv_scatter_pack(shape, weight, packed);
  const TileShape tile = tile_shape<float>();
  const ConvRuns runs(shape, shape.in_channels, tile);
  const int64_t taps = runs.window.kernel_h * runs.window.kernel_w;
  const int64_t panels = ceil_div(runs.columns, tile.width);
  parallel_for(shape.groups * panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t group = i / panels, first = i % panels * tile.width;
      const int64_t columns = std::min<int64_t>(tile.width, runs.columns - first);
      const int64_t width = tile.panel_width(columns);
      const float* from = weight + (group * runs.channels * runs.columns + first) * taps;
      float* to = static_cast<float*>(packed) +
                  (group * tile.packed_columns(runs.columns) + first) * runs.depth();
      for (int64_t channel = 0; channel < runs.channels; ++channel) {
        for (int64_t tap = 0; tap < taps; ++tap) {
          float* row = to + (tap * runs.channels + channel) * width;
          for (int64_t j = 0; j < columns; ++j) {
            row[j] = from[(channel * runs.columns + j) * taps + tap];
          }
          std::fill(row + columns, row + width, 0.0f);
        }
      }
    }
  });
}

void conv_transpose_nhwc_f32(const ConvNhwcShape& shape, const float* input, int64_t input_stride,
                             const void* packed, const EpilogueF32& epilogue, float* output,
                             int64_t output_stride) {
  const ConvRuns runs(shape, input_stride, tile_shape<float>());
  if (runs.pixels() <= 0 || runs.columns <= 0) return;
  if (conv_transpose_is_depthwise(shape)) {
    return dwconv_transpose(shape, input, input_stride, packed, epilogue, output, output_stride);
  }
  if (suits_scatter(shape)) {
    return conv_scatter(shape, input, input_stride, packed, epilogue, output, output_stride);
  }
  run_taps(shape, runs, input, Panels<float>(static_cast<const float*>(packed)), epilogue, output,
           output_stride, true);
}

}  // namespace torchlet::kernels
