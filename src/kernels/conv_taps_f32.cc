#include "kernels/conv_taps_f32.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/gemm_nhwc.h"
#include "kernels/scratch.h"

namespace torchlet::kernels {
namespace {

// A panel of weights from this size on is read tap by tap.
constexpr int64_t kPanelBytes = int64_t{768} << 10;
// The sums of a task, half a megabyte; at least this many columns of them share what is read.
constexpr int64_t kSums = int64_t{1} << 17;
constexpr int64_t kPanelsAtOnce = 4;
constexpr int64_t kSliceChannels = 256;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct Range {
  int64_t begin, end;
  int64_t size() const { return std::max<int64_t>(0, end - begin); }
};

Range block_of(int64_t index, int64_t size, int64_t count) {
  return {index * size, std::min(count, (index + 1) * size)};
}

// Those of the outputs that see the input with a tap: 0 <= output * stride - pad + tap < in.
Range outputs_inside(const Range& outputs, int64_t in, int64_t stride, int64_t pad, int64_t tap) {
  const int64_t before = std::max<int64_t>(0, pad - tap), until = in + pad - tap;
  return {std::max(outputs.begin, ceil_div(before, stride)),
          std::min(outputs.end, until <= 0 ? 0 : ceil_div(until, stride))};
}

int64_t taps_inside(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t pad,
                    int64_t dilation) {
  int64_t count = 0;
  for (int64_t i = 0; i < kernel; ++i) {
    count += outputs_inside({0, out}, in, stride, pad, i * dilation).size();
  }
  return count;
}

// A rectangle of the output and some of its columns.
struct Task {
  int64_t group, image;
  Range lines, line, columns;  // line: the pixels of each line
};

class TapsConvolution {
 public:
  TapsConvolution(const ConvRuns& runs, const float* input, const float* packed,
                  const EpilogueF32& epilogue, float* output, int64_t output_stride)
      : runs_(runs),
        window_(runs.window),
        tile_(tile_shape()),
        input_(input),
        packed_(packed),
        epilogue_(epilogue),
        output_(output),
        output_stride_(output_stride) {}

  void run(const Task& task) const {
    const Scratch<float> sums(task.lines.size() * task.line.size() * task.columns.size());
    const auto for_each_pixel_of = [&](const Range& lines, const Range& line, const auto& body) {
      if (line.size() == 0) return;
      const int64_t strip = ceil_div(line.size(), ceil_div(line.size(), tile_.rows));
      for (int64_t y = lines.begin; y < lines.end; ++y) {
        for (int64_t x = line.begin; x < line.end; x += strip) {
          body(y, x, std::min(strip, line.end - x));
        }
      }
    };
    for_each_pixel_of(task.lines, task.line, [&](int64_t y, int64_t x, int64_t pixels) {
      StripJob job = strip_job(task, sums.data(), y, x, pixels);
      job.is_first = true;
      multiply_strip(job);
    });
    for (int64_t channel = 0; channel < runs_.channels; channel += kSliceChannels) {
      for (int64_t i = 0; i < window_.kernel_h * window_.kernel_w; ++i) {
        const int64_t tap_y = i / window_.kernel_w * window_.dilation_h;
        const int64_t tap_x = i % window_.kernel_w * window_.dilation_w;
        const Range lines =
            outputs_inside(task.lines, window_.in_h, window_.stride_h, window_.pad_h, tap_y);
        const Range line =
            outputs_inside(task.line, window_.in_w, window_.stride_w, window_.pad_w, tap_x);
        for_each_pixel_of(lines, line, [&](int64_t y, int64_t x, int64_t pixels) {
          const int64_t in_y = y * window_.stride_h - window_.pad_h + tap_y;
          const int64_t in_x = x * window_.stride_w - window_.pad_w + tap_x;
          const int64_t pixel = (task.image * window_.in_h + in_y) * window_.in_w + in_x;
          const TileSegment segment{
              input_ + pixel * runs_.input_stride + task.group * runs_.channels + channel,
              window_.stride_w * runs_.input_stride,
              std::min(kSliceChannels, runs_.channels - channel), i * runs_.channels + channel};
          StripJob job = strip_job(task, sums.data(), y, x, pixels);
          job.segments = &segment;
          job.segment_count = 1;
          multiply_strip(job);
        });
      }
    }
    for_each_pixel_of(task.lines, task.line, [&](int64_t y, int64_t x, int64_t pixels) {
      StripJob job = strip_job(task, sums.data(), y, x, pixels);
      job.is_last = true;
      multiply_strip(job);
    });
  }

 private:
  // Adds nothing to the sums of some pixels.
  StripJob strip_job(const Task& task, float* sums, int64_t y, int64_t x, int64_t pixels) const {
    const int64_t columns = task.columns.size();
    const int64_t index = (y - task.lines.begin) * task.line.size() + x - task.line.begin;
    return {.segments = nullptr,
            .segment_count = 0,
            .b = packed_ + task.group * tile_.packed_columns(runs_.columns) * runs_.depth(),
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

  const ConvRuns& runs_;
  const Window2dShape& window_;
  const TileShape tile_;
  const float* input_;
  const float* packed_;
  const EpilogueF32& epilogue_;
  float* output_;
  int64_t output_stride_;
};

}  // namespace

bool suits_taps(const ConvRuns& runs) {
  const Window2dShape& w = runs.window;
  const TileShape tile = tile_shape();
  if (runs.pixels() <= tile.rows || runs.channels < 64 || runs.columns < tile.width) return false;
  if (runs.depth() * tile.width * static_cast<int64_t>(sizeof(float)) > kPanelBytes) return true;
  const int64_t inside =
      taps_inside(w.in_h, w.out_h, w.kernel_h, w.stride_h, w.pad_h, w.dilation_h) *
      taps_inside(w.in_w, w.out_w, w.kernel_w, w.stride_w, w.pad_w, w.dilation_w);
  return 4 * inside < 3 * w.kernel_h * w.kernel_w * w.out_h * w.out_w;
}

void conv_taps_f32(const ConvNhwcShape& shape, const ConvRuns& runs, const float* input,
                   const float* packed, const EpilogueF32& epilogue, float* output,
                   int64_t output_stride) {
  const TileShape tile = tile_shape();
  const Window2dShape& w = runs.window;
  const int64_t block_pixels = kSums / (kPanelsAtOnce * tile.width);
  const int64_t line = std::min(w.out_w, block_pixels);
  const int64_t lines = std::clamp<int64_t>(block_pixels / line, 1, w.out_h);
  int64_t columns = std::min(runs.columns, kSums / (line * lines) / tile.width * tile.width);
  if (num_threads() > 1 && lines == w.out_h && line == w.out_w) {
    columns = std::min(columns, ceil_div(runs.columns, 2 * num_threads()));
  }
  columns = ceil_div(columns, tile.width) * tile.width;

  const int64_t line_blocks = ceil_div(w.out_h, lines), parts = ceil_div(w.out_w, line);
  const int64_t column_blocks = ceil_div(runs.columns, columns);
  const TapsConvolution convolution(runs, input, packed, epilogue, output, output_stride);
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

}  // namespace torchlet::kernels
