#include "kernels/conv_nhwc/dwconv_nhwc.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "base/selection.h"
#include "base/thread_pool.h"
#include "kernels/conv_nhwc/dwconv_plane_by_plane.h"
#include "kernels/conv_nhwc/dwconv_task.h"
#include "kernels/simd/caches.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/split.h"

namespace torchlet::kernels {
namespace {

// Blocks of channels that are convolved over a strip of rows before the next ones: the input rows
// that neighbouring output rows share then stay in the first-level cache. Pictures that do not fit
// the second-level cache are read in their own order instead, as the processor's prefetcher likes.
template <typename T>
int64_t blocks_at_once(const DwConvShape& shape) {
  constexpr int64_t kNear = int64_t{32} << 10, kFar = int64_t{1} << 20;
  constexpr int64_t kBlockBytes = kDwConvBlock<T> * static_cast<int64_t>(sizeof(T));
  const Window2dShape& s = shape.window;
  const int64_t blocks = dwconv_blocks<T>(shape.channels);
  if (s.in_h * s.in_w * blocks * kBlockBytes > cached(kFar)) return blocks;
  const int64_t pixels = s.in_w * (s.kernel_h + s.stride_h) + s.out_w;
  return std::max<int64_t>(1, kNear / (pixels * kBlockBytes));
}

template <typename T>
void convolve_blocks(DwConvTask<T> task) {
  if constexpr (std::is_same_v<T, float>) {
    if (dwconv_is_winograd(*task.shape)) return winograd_group_task(task);
    if (dwconv_is_grouped(*task.shape)) return dwconv_group_task(task);
  }
  const int64_t step = blocks_at_once<T>(*task.shape), end = task.block_end;
  // The last block overlaps the one before it, so a function after the sum has to see both at once.
  for (; task.block_begin < end; task.block_begin = task.block_end) {
    task.block_end = end - task.block_begin <= step + 1 ? end : task.block_begin + step;
    dwconv_task(task);
  }
}

template <typename T>
size_t packed_bytes(const DwConvShape& shape) {
  const int64_t taps = shape.window.kernel_h * shape.window.kernel_w * shape.group;
  return static_cast<size_t>(dwconv_blocks<T>(shape.channels) * taps * kDwConvBlock<T>) * sizeof(T);
}

template <typename T>
void pack(const DwConvShape& shape, const T* weight, T* to) {
  const int64_t height = shape.window.kernel_h, width = shape.window.kernel_w, group = shape.group;
  for (int64_t block = 0; block < dwconv_blocks<T>(shape.channels); ++block) {
    const int64_t channel = dwconv_block_channel<T>(shape.channels, block);
    // Rows of taps, of one channel of the group after the other.
    for (int64_t row = 0; row < height * group; ++row) {
      const T* from = weight + (row % group * height + row / group) * width;
      for (int64_t tap = 0; tap < width; ++tap) {
        for (int64_t i = 0; i < kDwConvBlock<T>; ++i) {
          const int64_t c = channel + i;
          *to++ = c < shape.channels ? from[c * group * height * width + tap] : T{};
        }
      }
    }
  }
}

size_t grouped_bytes(const DwConvShape& shape) {
  const DwConvGroups groups(shape);
  const int64_t taps = shape.window.kernel_h * shape.window.kernel_w * shape.group;
  const int64_t size = groups.units * groups.vectors * taps * dwconv_group_lanes();
  return static_cast<size_t>(size) * sizeof(float);
}

void pack_grouped(const DwConvShape& shape, const float* weight, float* to) {
  const DwConvGroups groups(shape);
  const int64_t height = shape.window.kernel_h, width = shape.window.kernel_w, group = shape.group;
  const int64_t lanes = dwconv_group_lanes();
  const Scratch<int64_t> order(width);
  dwconv_tap_order(shape.window, order.data());
  const auto pack_lanes = [&](int64_t unit, int64_t vector, int64_t k, int64_t tap) {
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const int64_t within = vector * lanes + lane / groups.together;
      const int64_t channel = unit * groups.channels + lane % groups.together * group + within;
      const bool exists = within < group && channel < shape.channels;
      *to++ = exists ? weight[(channel * group + k) * height * width + tap] : 0.0f;
    }
  };
  for (int64_t vector = 0; vector < groups.units * groups.vectors; ++vector) {
    for (int64_t i = 0; i < height; ++i) {
      for (int64_t plane = 0; plane < group; plane += lanes) {
        for (int64_t j = 0; j < width; ++j) {
          for (int64_t k = plane; k < std::min(group, plane + lanes); ++k) {
            pack_lanes(vector / groups.vectors, vector % groups.vectors, k, i * width + order[j]);
          }
        }
      }
    }
  }
}

constexpr int64_t kWinogradPoints = kWinogradTiles[kWinogradGroupTile].weights();

void pack_winograd(const DwConvShape& shape, const float* weight, float* packed) {
  constexpr int64_t kBlock = kDwConvBlock<float>;
  const WinogradWeights weights(kWinogradTiles[kWinogradGroupTile]);
  for (int64_t c = 0; c < shape.channels; c += kBlock) {
    for (int64_t k = 0; k < kBlock; ++k) {
      weights.transform(weight + (c * kBlock + k) * 9, kBlock * 9, kBlock,
                        packed + (c * kWinogradPoints + k) * kBlock, kBlock * kBlock);
    }
  }
}

template <typename T>
void convolve(const DwConvShape& shape, const T* input, int64_t input_stride, const void* packed,
              const Epilogue<T>& epilogue, T* output, int64_t output_stride) {
  const Window2dShape& s = shape.window;
  const int64_t all_rows = shape.batch * s.in_h;
  const Scratch<const T*> rows(all_rows);
  for (int64_t y = 0; y < all_rows; ++y) rows[y] = input + y * s.in_w * input_stride;

  const auto run = [&](int64_t picture, int64_t row_begin, int64_t row_end, int64_t block_begin,
                       int64_t block_end) {
    const int64_t pixel = (picture * s.out_h + row_begin) * s.out_w;
    Epilogue<T> local = epilogue;
    if (local.residual) local.residual += pixel * local.residual_stride;
    convolve_blocks<T>({&shape, rows.data() + picture * s.in_h, input_stride,
                        static_cast<const T*>(packed), &local, output + pixel * output_stride,
                        output_stride, row_begin, row_end, block_begin, block_end});
  };
  const int64_t blocks = dwconv_blocks_of<T>(shape).count;
  constexpr int64_t kOpsPerTask = int64_t{1} << 16;
  const int64_t row_ops =
      std::max<int64_t>(1, s.out_w * s.kernel_h * s.kernel_w * shape.channels * shape.group);
  if (is_cut_by_columns(s.in_h * s.in_w)) {
    // If the last block overlaps the one before it, they stay together.
    const bool overlaps = !dwconv_is_grouped(shape) && shape.channels % kDwConvBlock<T> != 0;
    const int64_t units = overlaps ? std::max<int64_t>(1, blocks - 1) : blocks;
    const int64_t ops = row_ops * s.out_h * shape.batch;
    const int64_t grain = even_grain(units, 1, ops, kOpsPerTask);
    return parallel_for(units, grain, [&](int64_t begin, int64_t end) {
      for (int64_t picture = 0; picture < shape.batch; ++picture) {
        run(picture, 0, s.out_h, begin, end == units ? blocks : end);
      }
    });
  }

  // A strip of output rows whose input fits the second-level cache is a task.
  constexpr int64_t kStripBytes = int64_t{512} << 10;
  const int64_t threads = num_threads();
  const int64_t row_bytes = s.in_w * s.stride_h * shape.channels * static_cast<int64_t>(sizeof(T));
  const int64_t far_strips = (s.out_h * row_bytes - 1) / cached(kStripBytes) + 1;
  const int64_t most_strips = std::clamp<int64_t>(s.out_h * row_ops / kOpsPerTask, 1, s.out_h);
  const int64_t even_strips = (far_strips + threads - 1) / threads * threads;
  const int64_t strips = std::min(even_strips, most_strips);
  const int64_t grain = std::max<int64_t>(1, kOpsPerTask * strips / (row_ops * s.out_h));
  parallel_for(shape.batch * strips, grain, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      const int64_t strip = index % strips;
      run(index / strips, dwconv_strip_row(shape, strip, strips),
          dwconv_strip_row(shape, strip + 1, strips), 0, blocks);
    }
  });
}

// Of groups that vectors of any width take.
constexpr int64_t kMostGroupChannels = 32;

bool suits_groups(int64_t channels, int64_t group, int64_t kernel_w) {
  constexpr int64_t kBlock = kDwConvBlock<float>;
  return kernel_w > 1 && channels >= kBlock && channels % group == 0 &&
         (group < channels || group == kBlock);
}

}  // namespace

bool dwconv_is_rare(int64_t channels, int64_t group, int64_t kernel_w) {
  if (group == 1) return dwconv_is_wide(kernel_w);
  return group <= kMostGroupChannels && suits_groups(channels, group, kernel_w);
}

bool dwconv_takes(const DwConvShape& shape) {
  const Window2dShape& s = shape.window;
  if (shape.group == 1) return true;
  if constexpr (!selection::kHasRareConvolutions) return false;
  if (!suits_groups(shape.channels, shape.group, s.kernel_w)) return false;
  if (dwconv_is_looked_up(shape) || dwconv_is_winograd(shape)) return true;
  // One group is a matrix product without gaps, which narrow vectors compute faster, and so are
  // groups of many of them.
  const int64_t lanes = dwconv_group_lanes();
  if (shape.group == shape.channels && shape.group > lanes) return false;
  return shape.group <= std::max(kMostGroupChannels, 4 * lanes) && s.out_w >= kDwConvLeastColumns;
}

DwConvTiles dwconv_tiles(const int* sizes, int count, int64_t out_w) {
  // A tile loads weights for its pixels, and few sums wait for the ones before them.
  const auto time = [](int64_t size) { return std::max<int64_t>(5, size + 1); };
  DwConvTiles best;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int first = 0; first < count; ++first) {
    const int64_t size = sizes[first], rest = out_w % size;
    for (int last = 0; last < count; ++last) {
      if (std::max<int64_t>(size, sizes[last]) > out_w || sizes[last] < rest) continue;
      // As long as each other, those without a rest are the faster ones.
      const int64_t all = out_w / size * time(size) + (rest > 0 ? time(sizes[last]) : 0);
      if (2 * all + (rest > 0) < least) {
        least = 2 * all + (rest > 0);
        best = {first, last};
      }
    }
  }
  return best;
}

int dwconv_nhwc_f32_form(const DwConvShape& shape) {
  if (dwconv_is_winograd(shape)) return kDwConvWinograd;
  return dwconv_is_grouped(shape) ? 2 : 0;
}

size_t dwconv_nhwc_f32_packed_bytes(const DwConvShape& shape) {
  if (dwconv_is_winograd(shape)) {
    return static_cast<size_t>(shape.channels) * kWinogradPoints * kDwConvBlock<float> *
           sizeof(float);
  }
  return dwconv_is_grouped(shape) ? grouped_bytes(shape) : packed_bytes<float>(shape);
}
size_t dwconv_nhwc_f16_packed_bytes(const DwConvShape& shape) {
  return packed_bytes<Float16>(shape);
}

void dwconv_nhwc_f32_pack(const DwConvShape& shape, const float* weight, void* packed) {
  if (dwconv_is_winograd(shape)) return pack_winograd(shape, weight, static_cast<float*>(packed));
  if (dwconv_is_grouped(shape)) return pack_grouped(shape, weight, static_cast<float*>(packed));
  pack(shape, weight, static_cast<float*>(packed));
}
void dwconv_nhwc_f16_pack(const DwConvShape& shape, const float* weight, void* packed) {
  const int64_t count = shape.channels * shape.window.kernel_h * shape.window.kernel_w;
  const Scratch<Float16> rounded(count);
  to_float16(weight, rounded.data(), count);
  pack<Float16>(shape, rounded.data(), static_cast<Float16*>(packed));
}

template <typename T>
void dwconv_nhwc_rows(const DwConvShape& shape, const T* const* input_rows, int64_t input_stride,
                      const void* packed, const Epilogue<T>& epilogue, T* output,
                      int64_t output_stride, int64_t row_begin, int64_t row_end) {
  convolve_blocks<T>({&shape, input_rows, input_stride, static_cast<const T*>(packed), &epilogue,
                      output, output_stride, row_begin, row_end, 0,
                      dwconv_blocks_of<T>(shape).count});
}
template void dwconv_nhwc_rows<float>(const DwConvShape&, const float* const*, int64_t, const void*,
                                      const EpilogueF32&, float*, int64_t, int64_t, int64_t);
template void dwconv_nhwc_rows<Float16>(const DwConvShape&, const Float16* const*, int64_t,
                                        const void*, const EpilogueF16&, Float16*, int64_t, int64_t,
                                        int64_t);

void dwconv_nhwc_f32(const DwConvShape& shape, const float* input, int64_t input_stride,
                     const void* packed, const EpilogueF32& epilogue, float* output,
                     int64_t output_stride) {
  if (dwconv_suits_plane_by_plane(shape, epilogue, false)) {
    return dwconv_plane_by_plane(shape, false, input, input_stride,
                                 static_cast<const float*>(packed), epilogue, false, output,
                                 output_stride);
  }
  convolve(shape, input, input_stride, packed, epilogue, output, output_stride);
}
void dwconv_nhwc_f16(const DwConvShape& shape, const Float16* input, int64_t input_stride,
                     const void* packed, const EpilogueF16& epilogue, Float16* output,
                     int64_t output_stride) {
  convolve(shape, input, input_stride, packed, epilogue, output, output_stride);
}

}  // namespace torchlet::kernels
