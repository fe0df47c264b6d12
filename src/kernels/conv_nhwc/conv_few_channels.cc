#include "kernels/conv_nhwc/conv_few_channels.h"

#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv_nhwc/conv_few_channels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// to[i * channels + c] = planes[c * plane_stride + i], i < count.
void interleave_planes_here(const float* planes, int64_t plane_stride, int64_t channels,
                            int64_t count, float* to) {
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

#include "base/selection.h"
#include "base/thread_pool.h"
#include "kernels/conv_nhwc/conv_runs.h"
#include "kernels/gemm/gemm_nhwc.h"
#include "kernels/simd/scratch.h"

namespace torchlet::kernels {

HWY_EXPORT(interleave_planes_here);

namespace {

// Of a group; of one of several whose windows share all their pixels; and as planes.
constexpr int64_t kMostChannels = 8, kMostSharedChannels = 16, kMostPlanes = 4;
// The copied lines, half of the first-level cache.
constexpr int64_t kCopyBytes = int64_t{24} << 10;
// Multiply-adds that are worth waking a thread for, about 10 microseconds.
constexpr int64_t kOpsPerTask = int64_t{1} << 19;

void interleave_planes(const float* planes, int64_t plane_stride, int64_t channels, int64_t count,
                       float* to, int64_t) {
  HWY_DYNAMIC_DISPATCH(interleave_planes_here)(planes, plane_stride, channels, count, to);
}

// The lines of a group's channels of the image that some lines of the output look at, with pixels
// of as many channels as are packed together.
template <typename T>
class LineCopies {
 public:
  LineCopies(const ConvRuns& runs, const ConvNhwcShape& shape, const FewChannelsInput<T>& input)
      : window_(runs.window),
        input_(input),
        all_channels_(shape.in_channels),
        channels_(selection::kHasRareConvolutions ? all_channels_ / shape.groups : all_channels_),
        to_channels_(runs.channels) {
    pixels_ =
        (window_.out_w - 1) * window_.stride_w + (window_.kernel_w - 1) * window_.dilation_w + 1;
    line_size_ = pixels_ * to_channels_;
  }

  int64_t lines_for(int64_t out_lines) const {
    return (out_lines - 1) * window_.stride_h + (window_.kernel_h - 1) * window_.dilation_h + 1;
  }
  int64_t line_size() const { return line_size_; }

  // Copies what output lines [y, y + out_lines) of an image need, of the group that begins with
  // `channel`.
  void copy(int64_t image, int64_t channel, int64_t y, int64_t out_lines, T* to) const {
    const int64_t first = y * window_.stride_h - window_.pad_h;
    for (int64_t i = 0; i < lines_for(out_lines); ++i, to += line_size_) {
      if (first + i < 0 || first + i >= window_.in_h) {
        std::fill_n(to, line_size_, T{});
      } else {
        copy_line(image, channel, first + i, to);
      }
    }
  }

 private:
  void copy_line(int64_t image, int64_t channel, int64_t y, T* to) const {
    const int64_t left = std::min(window_.pad_w, pixels_);
    const int64_t count = std::clamp<int64_t>(pixels_ - left, 0, window_.in_w);
    std::fill_n(to, left * to_channels_, T{});
    T* inside = to + left * to_channels_;
    if (input_.planes) {
      const int64_t plane = window_.in_h * window_.in_w;
      const float* from =
          input_.planes + (image * all_channels_ + channel) * plane + y * window_.in_w;
      interleave_planes(from, plane, channels_, count, inside, to_channels_);
    } else {
      const T* from =
          input_.pixels + (image * window_.in_h + y) * window_.in_w * input_.pixel_stride + channel;
      if (input_.pixel_stride == channels_ && to_channels_ == channels_) {
        std::copy_n(from, count * channels_, inside);
      } else {
        T* pixel = inside;
        for (int64_t x = 0; x < count; ++x, from += input_.pixel_stride, pixel += to_channels_) {
          for (int64_t c = 0; c < to_channels_; ++c) pixel[c] = c < channels_ ? from[c] : T{};
        }
      }
    }
    std::fill(inside + count * to_channels_, to + line_size_, T{});
  }

  const Window2dShape& window_;
  const FewChannelsInput<T>& input_;
  int64_t all_channels_, channels_, to_channels_;
  int64_t pixels_, line_size_;
};

}  // namespace

bool has_few_channels(const ConvNhwcShape& shape) {
  const Window2dShape& w = shape.window;
  if (!selection::kHasRareConvolutions && shape.groups > 1) return false;
  const bool shares = shape.groups > 1 && w.stride_w == 1;
  const int64_t most = shares ? kMostSharedChannels : kMostChannels;
  return shape.in_channels <= most * shape.groups && w.kernel_h * w.kernel_w > 1;
}

bool may_read_planes(const ConvNhwcShape& shape) {
  return has_few_channels(shape) && shape.in_channels <= kMostPlanes * shape.groups;
}

template <typename T>
void conv_few_channels(const ConvNhwcShape& shape, const FewChannelsInput<T>& input,
                       const T* packed, const Epilogue<T>& epilogue, T* output,
                       int64_t output_stride) {
  const TileShape tile = tile_shape<T>();
  const int64_t groups = selection::kHasRareConvolutions ? shape.groups : 1;
  const int64_t group_channels = shape.in_channels / groups;
  ConvNhwcShape filled = shape;
  filled.in_channels = tile.packed_depth(group_channels);
  filled.out_channels /= groups;
  filled.groups = 1;
  const ConvRuns runs(filled, filled.in_channels, tile);
  const Window2dShape& w = runs.window;
  if (runs.pixels() <= 0) return;
  const LineCopies<T> copies(runs, shape, input);
  constexpr int64_t kSize = sizeof(T);
  int64_t block_lines = 1;
  while (block_lines < w.out_h &&
         copies.lines_for(block_lines + 1) * copies.line_size() * kSize <= kCopyBytes) {
    ++block_lines;
  }
  const int64_t row_stride = w.stride_w * runs.channels;
  const bool is_far = is_far_image(runs.pixels(), shape.out_channels);
  const int64_t most_rows = epilogue.residual_last ? tile.rows : w.out_w;
  const int64_t blocks = (w.out_h + block_lines - 1) / block_lines;
  const int64_t packed_group = tile.packed_columns(runs.columns) * runs.depth();
  const int64_t ops = block_lines * w.out_w * runs.columns * runs.depth();
  const int64_t grain = std::max<int64_t>(1, kOpsPerTask / std::max<int64_t>(1, ops));
  parallel_for(runs.batch * blocks * groups, grain, [&](int64_t begin, int64_t end) {
    const Scratch<T> lines(copies.lines_for(block_lines) * copies.line_size());
    const Scratch<TileSegment<T>> segments(runs.count);
    const Scratch<int64_t> offsets(runs.count);
    for (int64_t r = 0; r < runs.count; ++r) {
      const ConvRun run = runs.run(r);
      offsets[r] = run.y * copies.line_size() + run.x * runs.channels;
    }
    for (int64_t i = begin; i < end; ++i) {
      const int64_t group = i % groups, block = i / groups;
      const int64_t image = block / blocks, first = block % blocks * block_lines;
      const int64_t count = std::min(block_lines, w.out_h - first);
      copies.copy(image, group * group_channels, first, count, lines.data());
      for (int64_t y = 0; y < count; ++y) {
        for (int64_t x = 0; x < w.out_w; x += most_rows) {
          const T* a = lines.data() + y * w.stride_h * copies.line_size() + x * row_stride;
          for (int64_t r = 0; r < runs.count; ++r) {
            segments[r] = {a + offsets[r], row_stride, runs.run_length(), r * runs.run_length()};
          }
          multiply_strip(StripJob<T>{.segments = segments.data(),
                                     .segment_count = runs.count,
                                     .b = packed + group * packed_group,
                                     .depth = runs.depth(),
                                     .first_column = 0,
                                     .last_column = runs.columns,
                                     .rows = std::min(most_rows, w.out_w - x),
                                     .epilogue = &epilogue,
                                     .output = output,
                                     .output_stride = output_stride,
                                     .pixel = (image * w.out_h + first + y) * w.out_w + x,
                                     .channel = group * runs.columns,
                                     .is_far = is_far});
        }
      }
    }
  });
}

template void conv_few_channels<float>(const ConvNhwcShape&, const FewChannelsInput<float>&,
                                       const float*, const EpilogueF32&, float*, int64_t);
template void conv_few_channels<Float16>(const ConvNhwcShape&, const FewChannelsInput<Float16>&,
                                         const Float16*, const EpilogueF16&, Float16*, int64_t);

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
