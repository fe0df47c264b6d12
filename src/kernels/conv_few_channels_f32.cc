#include "kernels/conv_few_channels_f32.h"

#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv_few_channels_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// to[i * channels + c] = planes[c * plane_stride + i], i < count.
void interleave_planes(const float* planes, int64_t plane_stride, int64_t channels, int64_t count,
                       float* to) {
  int64_t i = 0;
  if (channels == 3) {
    const hn::ScalableTag<float> d;
    constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));
    for (; i + kLanes <= count; i += kLanes) {
      hn::StoreInterleaved3(hn::LoadU(d, planes + i), hn::LoadU(d, planes + plane_stride + i),
                            hn::LoadU(d, planes + 2 * plane_stride + i), d, to + i * 3);
    }
  }
  for (; i < count; ++i) {
    for (int64_t c = 0; c < channels; ++c) to[i * channels + c] = planes[c * plane_stride + i];
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/conv_runs.h"
#include "kernels/gemm_nhwc.h"
#include "kernels/scratch.h"

namespace torchlet::kernels {

HWY_EXPORT(interleave_planes);

namespace {

constexpr int64_t kMostChannels = 4;
// The copied lines, half of the first-level cache.
constexpr int64_t kCopyFloats = int64_t{6} << 10;
// Multiply-adds that are worth waking a thread for, about 10 microseconds.
constexpr int64_t kOpsPerTask = int64_t{1} << 19;

// The lines of the image that some lines of the output look at.
class LineCopies {
 public:
  LineCopies(const ConvRuns& runs, const FewChannelsInput& input)
      : runs_(runs), window_(runs.window), input_(input) {
    pixels_ =
        (window_.out_w - 1) * window_.stride_w + (window_.kernel_w - 1) * window_.dilation_w + 1;
    line_size_ = pixels_ * runs.channels;
  }

  int64_t lines_for(int64_t out_lines) const {
    return (out_lines - 1) * window_.stride_h + (window_.kernel_h - 1) * window_.dilation_h + 1;
  }
  int64_t line_size() const { return line_size_; }

  // Copies what output lines [y, y + out_lines) of an image need.
  void copy(int64_t image, int64_t y, int64_t out_lines, float* to) const {
    const int64_t first = y * window_.stride_h - window_.pad_h;
    for (int64_t i = 0; i < lines_for(out_lines); ++i, to += line_size_) {
      if (first + i < 0 || first + i >= window_.in_h) {
        std::fill_n(to, line_size_, 0.0f);
      } else {
        copy_line(image, first + i, to);
      }
    }
  }

 private:
  void copy_line(int64_t image, int64_t y, float* to) const {
    const int64_t channels = runs_.channels;
    const int64_t left = std::min(window_.pad_w, pixels_);
    const int64_t count = std::clamp<int64_t>(pixels_ - left, 0, window_.in_w);
    std::fill_n(to, left * channels, 0.0f);
    float* inside = to + left * channels;
    if (input_.is_planes) {
      const int64_t plane = window_.in_h * window_.in_w;
      const float* from = input_.data + image * channels * plane + y * window_.in_w;
      HWY_DYNAMIC_DISPATCH(interleave_planes)(from, plane, channels, count, inside);
    } else {
      const float* from =
          input_.data + (image * window_.in_h + y) * window_.in_w * input_.pixel_stride;
      if (input_.pixel_stride == channels) {
        std::copy_n(from, count * channels, inside);
      } else {
        for (int64_t x = 0; x < count; ++x) {
          std::copy_n(from + x * input_.pixel_stride, channels, inside + x * channels);
        }
      }
    }
    std::fill(inside + count * channels, to + line_size_, 0.0f);
  }

  const ConvRuns& runs_;
  const Window2dShape& window_;
  const FewChannelsInput& input_;
  int64_t pixels_, line_size_;
};

}  // namespace

bool has_few_channels(const ConvNhwcShape& shape) {
  const Window2dShape& w = shape.window;
  return shape.groups == 1 && shape.in_channels <= kMostChannels && w.kernel_h * w.kernel_w > 1;
}

void conv_few_channels_f32(const ConvNhwcShape& shape, const FewChannelsInput& input,
                           const float* packed, const EpilogueF32& epilogue, float* output,
                           int64_t output_stride) {
  const ConvRuns runs(shape, shape.in_channels);
  const Window2dShape& w = runs.window;
  if (runs.pixels() <= 0) return;
  const TileShape tile = tile_shape();
  const LineCopies copies(runs, input);
  int64_t block_lines = 1;
  while (block_lines < w.out_h &&
         copies.lines_for(block_lines + 1) * copies.line_size() <= kCopyFloats) {
    ++block_lines;
  }
  const int64_t row_stride = w.stride_w * runs.channels;
  const int64_t most_rows = epilogue.residual_last ? tile.rows : w.out_w;
  const int64_t blocks = (w.out_h + block_lines - 1) / block_lines;
  const int64_t ops = block_lines * w.out_w * runs.columns * runs.depth();
  const int64_t grain = std::max<int64_t>(1, kOpsPerTask / std::max<int64_t>(1, ops));
  parallel_for(runs.batch * blocks, grain, [&](int64_t begin, int64_t end) {
    const Scratch<float> lines(copies.lines_for(block_lines) * copies.line_size());
    const Scratch<TileSegment> segments(runs.count);
    const Scratch<int64_t> offsets(runs.count);
    for (int64_t r = 0; r < runs.count; ++r) {
      const ConvRun run = runs.run(r);
      offsets[r] = run.y * copies.line_size() + run.x * runs.channels;
    }
    for (int64_t block = begin; block < end; ++block) {
      const int64_t image = block / blocks, first = block % blocks * block_lines;
      const int64_t count = std::min(block_lines, w.out_h - first);
      copies.copy(image, first, count, lines.data());
      for (int64_t y = 0; y < count; ++y) {
        for (int64_t x = 0; x < w.out_w; x += most_rows) {
          const float* a = lines.data() + y * w.stride_h * copies.line_size() + x * row_stride;
          for (int64_t r = 0; r < runs.count; ++r) {
            segments[r] = {a + offsets[r], row_stride, runs.run_length(), r * runs.run_length()};
          }
          multiply_strip({.segments = segments.data(),
                          .segment_count = runs.count,
                          .b = packed,
                          .depth = runs.depth(),
                          .first_column = 0,
                          .last_column = runs.columns,
                          .rows = std::min(most_rows, w.out_w - x),
                          .epilogue = &epilogue,
                          .output = output,
                          .output_stride = output_stride,
                          .pixel = (image * w.out_h + first + y) * w.out_w + x,
                          .channel = 0});
        }
      }
    }
  });
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
