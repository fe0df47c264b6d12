#include "kernels/conv_nhwc/dwconv_transpose.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/conv_nhwc/dwconv_nhwc.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/split.h"

namespace torchlet::kernels {
namespace {

// Outputs phase, phase + stride, ... of a dimension, as a convolution of stride 1 whose tap i is
// tap last - i * step of the transposed one.
struct Phase {
  int64_t taps = 0, last = 0, step, dilation;
  int64_t pad = 0, skip = 0;  // elements of the input before the first one, or that none reads
  int64_t in, out;

  Phase(int64_t phase, int64_t size, int64_t outputs, int64_t kernel, int64_t stride,
        int64_t padding, int64_t spread)
      : in(size), out(outputs <= phase ? 0 : ceil_div(outputs - phase, stride)) {
    const int64_t common = std::gcd(stride, spread);
    step = stride / common;
    dilation = spread / common;
    int64_t before = 0;
    for (int64_t k = 0; k < kernel; ++k) {
      const int64_t at = phase + padding - k * spread;
      if (at % stride != 0) continue;
      ++taps;
      last = k;
      before = -(at / stride);
    }
    if (taps == 0) {  // one that never lies on the input
      taps = 1;
      in = 0;
    }
    pad = std::max<int64_t>(0, before);
    skip = std::clamp<int64_t>(-before, 0, in);
    in -= skip;
  }
};

class Phases {
 public:
  explicit Phases(const ConvNhwcShape& shape) : shape_(shape), window_(shape.window) {
    const Window2dShape& w = window_;
    for (int64_t p = 0; p < w.stride_h; ++p) {
      rows_.emplace_back(p, w.in_h, w.out_h, w.kernel_h, w.stride_h, w.pad_h, w.dilation_h);
    }
    for (int64_t p = 0; p < w.stride_w; ++p) {
      columns_.emplace_back(p, w.in_w, w.out_w, w.kernel_w, w.stride_w, w.pad_w, w.dilation_w);
    }
    for (const Phase& y : rows_) {
      for (const Phase& x : columns_) {
        begins_.push_back(bytes_);
        bytes_ += dwconv_nhwc_f32_packed_bytes(shape_of(y, x));
      }
    }
  }

  size_t packed_bytes() const { return bytes_; }

  void pack(const float* weight, void* packed) const {
    std::vector<float> filters;
    for (size_t i = 0; i < begins_.size(); ++i) {
      const Phase &y = rows_[i / columns_.size()], &x = columns_[i % columns_.size()];
      filters.clear();
      for (int64_t c = 0; c < shape_.in_channels; ++c) {
        const float* filter = weight + c * window_.kernel_h * window_.kernel_w;
        for (int64_t k = 0; k < y.taps; ++k) {
          const float* row = filter + (y.last - k * y.step) * window_.kernel_w;
          for (int64_t j = 0; j < x.taps; ++j) filters.push_back(row[x.last - j * x.step]);
        }
      }
      dwconv_nhwc_f32_pack(shape_of(y, x), filters.data(),
                           static_cast<std::byte*>(packed) + begins_[i]);
    }
  }

  void run(const float* input, int64_t input_stride, const void* packed,
           const EpilogueF32& epilogue, float* output, int64_t output_stride) const {
    const Window2dShape& w = window_;
    const int64_t phases = w.stride_w;
    // Of each picture and phase of the columns, where its rows begin.
    const Scratch<const float*> pixels(shape_.batch * phases * w.in_h);
    for (int64_t i = 0; i < shape_.batch * phases * w.in_h; ++i) {
      const int64_t y = i % w.in_h, phase = i / w.in_h % phases, picture = i / w.in_h / phases;
      const int64_t skip = columns_[static_cast<size_t>(phase)].skip;
      pixels[i] = input + ((picture * w.in_h + y) * w.in_w + skip) * input_stride;
    }
    EpilogueF32 spread = epilogue;
    spread.residual_stride *= phases;
    constexpr int64_t kOpsPerTask = int64_t{1} << 16;
    const int64_t taps = ceil_div(w.kernel_h, w.stride_h) * ceil_div(w.kernel_w, w.stride_w);
    const int64_t grain = kOpsPerTask / (w.out_w * taps * shape_.in_channels) + 1;
    parallel_for(shape_.batch * w.out_h, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t picture = i / w.out_h, y = i % w.out_h;
        const size_t row_phase = static_cast<size_t>(y % w.stride_h);
        for (int64_t phase = 0; phase < std::min(phases, w.out_w); ++phase) {
          const Phase &rows = rows_[row_phase], &columns = columns_[static_cast<size_t>(phase)];
          const int64_t pixel = i * w.out_w + phase, row = y / w.stride_h;
          EpilogueF32 local = spread;
          if (local.residual) local.residual += pixel * epilogue.residual_stride;
          const size_t filters = begins_[row_phase * columns_.size() + static_cast<size_t>(phase)];
          dwconv_nhwc_rows(shape_of(rows, columns),
                           pixels.data() + (picture * phases + phase) * w.in_h + rows.skip,
                           input_stride, static_cast<const std::byte*>(packed) + filters, local,
                           output + pixel * output_stride, phases * output_stride, row, row + 1);
        }
      }
    });
  }

 private:
  DwConvShape shape_of(const Phase& y, const Phase& x) const {
    return {.channels = shape_.in_channels,
            .window = {y.in, x.in, y.out, x.out, y.taps, x.taps, 1, 1, y.pad, x.pad, y.dilation,
                       x.dilation}};
  }

  const ConvNhwcShape& shape_;
  const Window2dShape& window_;
  std::vector<Phase> rows_, columns_;
  std::vector<size_t> begins_;  // of the filters of each phase of rows and columns
  size_t bytes_ = 0;
};

}  // namespace

bool conv_transpose_is_depthwise(const ConvNhwcShape& shape) {
  constexpr int64_t kMostStride = 64;
  const Window2dShape& w = shape.window;
  return shape.groups > 1 && shape.groups == shape.in_channels &&
         shape.groups == shape.out_channels && std::max(w.stride_h, w.stride_w) <= kMostStride;
}

size_t dwconv_transpose_packed_bytes(const ConvNhwcShape& shape) {
  return Phases(shape).packed_bytes();
}

void dwconv_transpose_pack(const ConvNhwcShape& shape, const float* weight, void* packed) {
  Phases(shape).pack(weight, packed);
}

void dwconv_transpose(const ConvNhwcShape& shape, const float* input, int64_t input_stride,
                      const void* packed, const EpilogueF32& epilogue, float* output,
                      int64_t output_stride) {
  Phases(shape).run(input, input_stride, packed, epilogue, output, output_stride);
}

}  // namespace torchlet::kernels
