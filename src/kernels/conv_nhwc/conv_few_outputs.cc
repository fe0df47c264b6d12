#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv_nhwc/conv_few_outputs.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/conv_nhwc/conv_few_outputs.h"
#include "kernels/gemm/gemm_nhwc.h"
#include "kernels/layout/transpose.h"
#include "kernels/simd/caches.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/simd-inl.h"
#include "kernels/simd/split.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
constexpr D d;
using V = hn::Vec<D>;
constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));

// Vectors of pixels at once, so that sums, weights and pixels have registers.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr int kRegisters = 32;
#else
constexpr int kRegisters = 16;
#endif
constexpr int wide_of(int rows) { return std::min(6, (kRegisters - rows - 2) / rows); }
constexpr int kNarrow = 2;
static_assert(wide_of(1) * kLanes <= kFewOutputsSlack);

template <int kRows, int kVectors>
HWY_INLINE void add_products(const FewOutputsJob& job, int64_t x) {
  V sum[kRows][kVectors];
  HWY_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    const float* HWY_RESTRICT out = job.out + r * job.out_plane + x;
    const V start = job.bias ? hn::Set(d, job.bias[r]) : hn::Zero(d);
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) {
      sum[r][v] = job.adds ? hn::LoadU(d, out + v * kLanes) : start;
    }
  }
  const float* HWY_RESTRICT weight = job.weight;
  const float* HWY_RESTRICT in = job.in + x;
  const int64_t* const offsets = job.offsets;
  const int64_t taps = job.taps;
  for (int64_t c = job.channels; c > 0; --c, in += job.plane) {
    for (int64_t t = 0; t < taps; ++t, weight += kRows) {
      const float* HWY_RESTRICT from = in + offsets[t];
      V w[kRows];
      HWY_UNROLL(4)
      for (int r = 0; r < kRows; ++r) w[r] = keep_in_register(hn::Set(d, weight[r]));
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) {
        const V pixels = keep_in_register(hn::LoadU(d, from + v * kLanes));
        HWY_UNROLL(4)
        for (int r = 0; r < kRows; ++r) sum[r][v] = hn::MulAdd(pixels, w[r], sum[r][v]);
      }
    }
  }
  const V low = hn::Set(d, job.bounds.low), high = hn::Set(d, job.bounds.high);
  HWY_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    float* HWY_RESTRICT out = job.out + r * job.out_plane + x;
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) {
      hn::StoreU(clamp(sum[r][v], low, high), d, out + v * kLanes);
    }
  }
}

template <int kRows>
HWY_NOINLINE void run(const FewOutputsJob& job) {
  constexpr int kWide = wide_of(kRows);
  int64_t x = 0;
  for (; job.count - x > kWide * kLanes / 2; x += kWide * kLanes) {
    add_products<kRows, kWide>(job, x);
  }
  for (; x < job.count; x += kNarrow * kLanes) add_products<kRows, kNarrow>(job, x);
}

void run_job(const FewOutputsJob& job) {
  static constexpr void (*kRuns[kMostFewOutputs])(const FewOutputsJob&) = {run<1>, run<2>, run<3>,
                                                                           run<4>};
  kRuns[job.rows - 1](job);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(run_job);

void few_outputs_job(const FewOutputsJob& job) { HWY_DYNAMIC_DISPATCH(run_job)(job); }

namespace {

// As many channels of the input as have planes at once: they share cache lines before.
constexpr int64_t kChannelsAtOnce = 16;
// Their planes and the sums of a block stay in the second-level cache; so do wide lines, in parts.
constexpr int64_t kBlockFloats = int64_t{128} << 10;
constexpr int64_t kMostColumns = 256, kLeastColumns = 64;
// Shorter lines leave vectors of pixels as empty as those of channels.
constexpr int64_t kLeastWidth = 12;
// Windows whose padding is no larger than a block, and steps whose phases are few.
constexpr int64_t kMostReach = 32, kMostDepthReach = 8, kMostStride = 4;
// The first layer of a network of images has a way of its own, unless its window is tall; one that
// is taller has few channels.
constexpr int64_t kLeastChannels = 5, kMostTallReach = 1024, kMostTallChannels = 4;

struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

// Outputs in steps of the stride of a transposed convolution have the same taps: those of a phase.
// Output `phase + t * step()` sees, by its tap k, input t + shift.
struct Axis : WindowAxis {
  bool transposed;
  int64_t least = 0, most = 0;  // of the shifts

  HWY_NOINLINE Axis(const WindowAxis& axis, bool is_transposed)
      : WindowAxis(axis), transposed(is_transposed) {
    bool is_first = true;
    for (int64_t p = 0; p < step(); ++p) {
      for (int64_t k = 0; k < kernel; ++k) {
        int64_t shift;
        if (!shift_of(p, k, &shift)) continue;
        least = is_first ? shift : std::min(least, shift);
        most = is_first ? shift : std::max(most, shift);
        is_first = false;
      }
    }
  }

  int64_t step() const { return transposed ? stride : 1; }  // and the number of phases
  int64_t grid() const { return ceil_div(out, step()); }    // values of t
  int64_t reach() const { return most - least; }
  bool shift_of(int64_t phase, int64_t k, int64_t* shift) const {
    const int64_t at = transposed ? phase + pad - k * dilation : k * dilation - pad;
    *shift = transposed ? at / stride : at;
    return !transposed || at % stride == 0;
  }
};

class FewOutputs {
 public:
  explicit FewOutputs(const Conv3dNhwcShape& shape)
      : shape_(shape),
        d_(shape.depth, shape.transposed),
        h_(shape.height, shape.transposed),
        w_(shape.width, shape.transposed),
        rows_(even_block(shape.out_channels, kMostFewOutputs, 1)) {}

  void pack(const float* weight, float* packed) const {
    const int64_t taps = d_.kernel * h_.kernel * w_.kernel;
    for_each_phase([&](int64_t z, int64_t y, int64_t x) {
      for_each_row_block([&](int64_t row, int64_t rows) {
        for (int64_t c = 0; c < shape_.in_channels; ++c) {
          for_each_tap(z, y, x, [&](int64_t tap, int64_t, int64_t, int64_t) {
            for (int64_t r = row; r < row + rows; ++r) {
              const int64_t filter =
                  shape_.transposed ? c * shape_.out_channels + r : r * shape_.in_channels + c;
              *packed++ = weight[filter * taps + tap];
            }
          });
        }
      });
    });
  }

  void run(const float* input, int64_t input_stride, const float* packed,
           const EpilogueF32& epilogue, float* output, int64_t output_stride) const {
    const int64_t channels = std::min(kChannelsAtOnce, shape_.in_channels);
    // A tall window wants twice its lines in a block, else most are copied for few outputs.
    const int64_t most_columns =
        std::clamp(kBlockFloats / (channels * 2 * (h_.reach() + 1)), kLeastColumns, kMostColumns);
    const int64_t columns = even_block(w_.grid(), most_columns, 1);
    int64_t lines = 1, planes = 1;
    const int64_t column_blocks = ceil_div(w_.grid(), columns);
    const int64_t all = shape_.batch * d_.grid() * h_.grid() * column_blocks;
    const int64_t most = num_threads() > 1 ? ceil_div(all, 2 * num_threads()) : all;
    const auto fits = [&](int64_t more_planes, int64_t more_lines) {
      const Sizes sizes = sizes_of(more_planes, more_lines, columns);
      return more_planes * more_lines <= most &&
             sizes.plane * channels + sizes.sums <= kBlockFloats;
    };
    while (lines < h_.grid() && fits(planes, lines + 1)) ++lines;
    while (lines == h_.grid() && planes < d_.grid() && fits(planes + 1, lines)) ++planes;
    const int64_t line_blocks = ceil_div(h_.grid(), lines);
    const int64_t plane_blocks = ceil_div(d_.grid(), planes);
    const Call call{input, input_stride, packed, epilogue, output, output_stride};
    parallel_for(shape_.batch * plane_blocks * line_blocks * column_blocks, 1,
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     const auto part = [](int64_t index, int64_t size, const Axis& axis) {
                       return Range{index * size, std::min(axis.grid(), (index + 1) * size)};
                     };
                     const int64_t line = i / column_blocks, plane = line / line_blocks;
                     run_block(call, {.image = plane / plane_blocks,
                                      .z = part(plane % plane_blocks, planes, d_),
                                      .y = part(line % line_blocks, lines, h_),
                                      .x = part(i % column_blocks, columns, w_)});
                   }
                 });
  }

 private:
  struct Call {
    const float* input;
    int64_t input_stride;
    const float* packed;
    const EpilogueF32& epilogue;
    float* output;
    int64_t output_stride;
  };
  // Some outputs, as values of t.
  struct Block {
    int64_t image;
    Range z, y, x;
  };
  // In floats: of a line with its padding, of such lines, of all that a channel has; of what an
  // output channel has of a phase and a plane, and of all sums.
  struct Sizes {
    int64_t pitch, lines, plane, sums_plane, sums;
  };
  HWY_NOINLINE Sizes sizes_of(int64_t planes, int64_t lines, int64_t columns) const {
    constexpr int64_t kLine = 16;
    Sizes s;
    s.pitch = columns + w_.reach();
    s.lines = (lines + h_.reach()) * s.pitch;
    s.plane = odd_lines((planes + d_.reach()) * s.lines, kLine);
    s.sums_plane = (lines * s.pitch + kFewOutputsSlack) / kLine * kLine + kLine;
    s.sums = planes * d_.step() * h_.step() * w_.step() * shape_.out_channels * s.sums_plane;
    return s;
  }

  template <typename Body>
  void for_each_phase(const Body& body) const {
    for (int64_t z = 0; z < d_.step(); ++z) {
      for (int64_t y = 0; y < h_.step(); ++y) {
        for (int64_t x = 0; x < w_.step(); ++x) body(z, y, x);
      }
    }
  }
  template <typename Body>
  void for_each_row_block(const Body& body) const {
    for (int64_t row = 0; row < shape_.out_channels; row += rows_) {
      body(row, std::min(rows_, shape_.out_channels - row));
    }
  }
  // body(tap, shifts) for those of a phase.
  template <typename Body>
  void for_each_tap(int64_t z, int64_t y, int64_t x, const Body& body) const {
    for (int64_t i = 0; i < d_.kernel; ++i) {
      for (int64_t j = 0; j < h_.kernel; ++j) {
        for (int64_t k = 0; k < w_.kernel; ++k) {
          int64_t dz, dy, dx;
          if (d_.shift_of(z, i, &dz) && h_.shift_of(y, j, &dy) && w_.shift_of(x, k, &dx)) {
            body((i * h_.kernel + j) * w_.kernel + k, dz, dy, dx);
          }
        }
      }
    }
  }

  void run_block(const Call& call, const Block& block) const {
    const Sizes s = sizes_of(block.z.size(), block.y.size(), block.x.size());
    const int64_t channels = shape_.in_channels;
    const Scratch<float> planes(s.plane * kChannelsAtOnce + kFewOutputsSlack);
    const Scratch<float> sums(s.sums);
    for (int64_t c = 0; c < channels; c += kChannelsAtOnce) {
      const Range some{c, std::min(channels, c + kChannelsAtOnce)};
      copy_planes(call, block, s, some, planes.data());
      add_products(call, block, s, some, planes.data(), sums.data());
    }
    store(call, block, s, sums.data());
  }

  static bool in_registers(const EpilogueF32& epilogue) {
    return is_clamp(epilogue.activation) && !epilogue.residual;
  }
  // Where the sums of a plane in a phase begin; those along the width are next to each other.
  int64_t sums_of(const Block& block, const Sizes& s, int64_t pz, int64_t py, int64_t z) const {
    return ((pz * h_.step() + py) * block.z.size() + z) * w_.step() * shape_.out_channels *
           s.sums_plane;
  }

  void add_products(const Call& call, const Block& block, const Sizes& s, const Range& channels,
                    const float* planes, float* sums) const {
    const EpilogueF32& epilogue = call.epilogue;
    const bool is_last = channels.end == shape_.in_channels && in_registers(epilogue);
    const Bounds bounds = bounds_of(is_last ? epilogue.activation : Activation{});
    const int64_t count = (block.y.size() - 1) * s.pitch + block.x.size();
    const Scratch<int64_t> offsets(d_.kernel * h_.kernel * w_.kernel);
    const float* packed = call.packed;
    for_each_phase([&](int64_t pz, int64_t py, int64_t px) {
      int64_t taps = 0;
      for_each_tap(pz, py, px, [&](int64_t, int64_t dz, int64_t dy, int64_t dx) {
        offsets[taps++] = (dz - d_.least) * s.lines + (dy - h_.least) * s.pitch + dx - w_.least;
      });
      for_each_row_block([&](int64_t row, int64_t rows) {
        for (int64_t z = 0; z < block.z.size(); ++z) {
          few_outputs_job({.in = planes + z * s.lines,
                           .plane = s.plane,
                           .channels = channels.size(),
                           .offsets = offsets.data(),
                           .taps = taps,
                           .weight = packed + channels.begin * taps * rows,
                           .bias = epilogue.bias ? epilogue.bias + row : nullptr,
                           .adds = channels.begin > 0,
                           .bounds = bounds,
                           .rows = rows,
                           .count = count,
                           .out = sums + sums_of(block, s, pz, py, z) +
                                  (px * shape_.out_channels + row) * s.sums_plane,
                           .out_plane = s.sums_plane});
        }
        packed += taps * shape_.in_channels * rows;
      });
    });
  }

  void store(const Call& call, const Block& block, const Sizes& s, const float* sums) const {
    const Scratch<float> line(block.x.size() * w_.step() * shape_.out_channels);
    for (int64_t z = block.z.begin * d_.step(); z < std::min(d_.out, block.z.end * d_.step());
         ++z) {
      for (int64_t y = block.y.begin * h_.step(); y < std::min(h_.out, block.y.end * h_.step());
           ++y) {
        const int64_t plane =
            sums_of(block, s, z % d_.step(), y % h_.step(), z / d_.step() - block.z.begin);
        store_line(call, block.x, ((block.image * d_.out + z) * h_.out + y) * w_.out,
                   sums + plane + (y / h_.step() - block.y.begin) * s.pitch, s.sums_plane,
                   line.data());
      }
    }
  }

  void copy_planes(const Call& call, const Block& block, const Sizes& s, const Range& some,
                   float* to) const {
    const int64_t channels = some.size();
    const int64_t first_x = block.x.begin + w_.least;
    const int64_t begin = std::clamp<int64_t>(-first_x, 0, s.pitch);
    const int64_t end = std::clamp(w_.in - first_x, begin, s.pitch);
    const int64_t used = (block.z.size() + d_.reach()) * s.lines;
    // The padding of the first channels is that of the next ones.
    const int64_t padded = some.begin == 0 ? channels : 0;
    for (int64_t c = 0; c < padded; ++c) {
      std::fill(to + c * s.plane + used, to + (c + 1) * s.plane, 0.0f);
    }
    std::fill_n(to + channels * s.plane, kFewOutputsSlack, 0.0f);
    for (int64_t z = block.z.begin + d_.least; z < block.z.end + d_.most; ++z) {
      for (int64_t y = block.y.begin + h_.least; y < block.y.end + h_.most; ++y, to += s.pitch) {
        const bool exists = z >= 0 && z < d_.in && y >= 0 && y < h_.in && begin < end;
        for (int64_t c = 0; c < padded; ++c) {
          float* line = to + c * s.plane;
          std::fill(line, line + (exists ? begin : s.pitch), 0.0f);
          if (exists) std::fill(line + end, line + s.pitch, 0.0f);
        }
        if (!exists) continue;
        const int64_t pixel = ((block.image * d_.in + z) * h_.in + y) * w_.in + first_x + begin;
        transpose_f32(end - begin, channels, call.input + pixel * call.input_stride + some.begin,
                      call.input_stride, to + begin, s.plane);
      }
    }
  }

  // The sums of outputs in steps are [phase, channel] planes; `first` is the line's first pixel.
  HWY_NOINLINE void store_line(const Call& call, const Range& x, int64_t first, const float* sums,
                               int64_t sums_plane, float* line) const {
    const int64_t channels = shape_.out_channels, begin = x.begin * w_.step();
    const int64_t count = std::min(w_.out, x.end * w_.step()) - begin;
    const int64_t pixel = first + begin;
    float* const output = call.output + pixel * call.output_stride;
    if (in_registers(call.epilogue) && w_.step() == 1) {
      return transpose_f32(channels, count, sums, sums_plane, output, call.output_stride);
    }
    transpose_f32(w_.step() * channels, x.size(), sums, sums_plane, line, w_.step() * channels);
    if (in_registers(call.epilogue)) {
      if (call.output_stride == channels) {
        std::copy_n(line, count * channels, output);
        return;
      }
      for (int64_t i = 0; i < count; ++i) {
        std::copy_n(line + i * channels, channels, output + i * call.output_stride);
      }
      return;
    }
    const int64_t most = tile_shape<float>().rows;
    for (int64_t i = 0; i < count; i += most) {
      multiply_strip(StripJob<float>{.segments = nullptr,
                                     .segment_count = 0,
                                     .b = nullptr,
                                     .depth = 0,
                                     .first_column = 0,
                                     .last_column = channels,
                                     .rows = std::min(most, count - i),
                                     .partial = line + i * channels,
                                     .partial_stride = channels,
                                     .is_first = false,
                                     .epilogue = &call.epilogue,
                                     .output = call.output,
                                     .output_stride = call.output_stride,
                                     .pixel = pixel + i,
                                     .channel = 0});
    }
  }

  const Conv3dNhwcShape& shape_;
  const Axis d_, h_, w_;
  const int64_t rows_;  // outputs at once
};

}  // namespace

Conv3dNhwcShape flat_volume(const ConvNhwcShape& shape) {
  const Window2dShape& w = shape.window;
  return {.batch = shape.batch,
          .in_channels = shape.in_channels,
          .out_channels = shape.out_channels,
          .groups = shape.groups,
          .transposed = false,
          .depth = {1, 1, 1},
          .height = {w.in_h, w.out_h, w.kernel_h, w.stride_h, w.pad_h, w.dilation_h},
          .width = {w.in_w, w.out_w, w.kernel_w, w.stride_w, w.pad_w, w.dilation_w}};
}

bool suits_few_outputs(const Conv3dNhwcShape& shape) {
  const WindowAxis &d = shape.depth, &h = shape.height, &w = shape.width;
  const bool is_image = shape.depth.kernel == 1;
  if (shape.groups != 1 ||
      (is_image && shape.in_channels < kLeastChannels && h.kernel <= kMostReach) ||
      2 * shape.out_channels > 3 * tile_shape<float>().lanes) {
    return false;
  }
  const auto suits = [&](const WindowAxis& a, int64_t most_reach) {
    return a.dilation <= most_reach && (a.kernel - 1) * a.dilation <= most_reach &&
           a.stride <= (shape.transposed ? std::min(a.kernel, kMostStride) : 1);
  };
  const bool is_overlapping = d.kernel > d.stride || h.kernel > h.stride || w.kernel > w.stride;
  // Without overlap, lines of several pixels fill vectors as well where channels or steps are more.
  const bool has_phases = shape.transposed && w.stride < kMostStride;
  if (!is_overlapping && (!has_phases || shape.out_channels > kMostFewOutputs)) return false;
  return w.out >= kLeastWidth && suits(d, kMostDepthReach) &&
         suits(h, shape.in_channels <= kMostTallChannels ? kMostTallReach : kMostReach) &&
         suits(w, kMostReach);
}

size_t few_outputs_packed_bytes(const Conv3dNhwcShape& shape) {
  return static_cast<size_t>(shape.in_channels * shape.out_channels * shape.depth.kernel *
                             shape.height.kernel * shape.width.kernel) *
         sizeof(float);
}

void few_outputs_pack(const Conv3dNhwcShape& shape, const float* weight, float* packed) {
  FewOutputs(shape).pack(weight, packed);
}

void conv_few_outputs(const Conv3dNhwcShape& shape, const float* input, int64_t input_stride,
                      const float* packed, const EpilogueF32& epilogue, float* output,
                      int64_t output_stride) {
  FewOutputs(shape).run(input, input_stride, packed, epilogue, output, output_stride);
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
