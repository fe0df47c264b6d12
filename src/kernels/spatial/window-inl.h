// Sliding windows over one plane, for depthwise convolution and pooling: a strip of input rows is
// copied to a buffer with its padding, with columns sorted by their phase (column modulo stride),
// so that whatever the stride, the inputs of neighbouring outputs under one tap of the window are
// neighbours in memory.

#if defined(TORCHLET_KERNELS_WINDOW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLET_KERNELS_WINDOW_INL_H_
#undef TORCHLET_KERNELS_WINDOW_INL_H_
#else
#define TORCHLET_KERNELS_WINDOW_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "kernels/simd/scratch.h"
#include "kernels/simd/simd-inl.h"
#include "kernels/spatial/window.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kWindowLanes = static_cast<int>(HWY_LANES(float));

inline int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

class WindowBuffer {
 public:
  // Windows are read in blocks of `block_rows` output rows by whole vectors; the buffer has room
  // for the last block, too. `padding` is the value outside of the plane.
  WindowBuffer(const Window2dShape& shape, int64_t block_rows, float padding)
      : shape_(shape),
        padding_(padding),
        phase_width_(phase_width(shape)),
        row_stride_(shape.stride_w * phase_width_),
        out_rows_(strip_rows(shape, block_rows, row_stride_)),
        in_rows_((round_up(out_rows_, block_rows) - 1) * shape.stride_h +
                 (shape.kernel_h - 1) * shape.dilation_h + 1),
        data_(in_rows_ * row_stride_),
        tap_offset_(shape.kernel_w) {
    fill(data_.data(), in_rows_ * row_stride_);
    for (int64_t j = 0; j < shape.kernel_w; ++j) {
      const int64_t column = j * shape.dilation_w;
      tap_offset_[j] = column % shape.stride_w * phase_width_ + column / shape.stride_w;
    }
  }

  int64_t out_rows() const { return out_rows_; }  // output rows per strip
  int64_t row_stride() const { return row_stride_; }

  // Where output pixel (y, x) of the strip finds its input under tap (i, j):
  // row(y * stride_h + i * dilation_h)[tap_offsets()[j] + x].
  const float* row(int64_t i) const { return data_.data() + i * row_stride_; }
  const int64_t* tap_offsets() const { return tap_offset_.data(); }

  // Fills the strip that begins with output row `y`.
  void load(const float* plane, int64_t y) {
    const int64_t first = y * shape_.stride_h - shape_.pad_h;
    for (int64_t i = 0; i < in_rows_; ++i) {
      float* to = data_.data() + i * row_stride_;
      const int64_t from = first + i;
      if (from >= 0 && from < shape_.in_h) {
        load_row(plane + from * shape_.in_w, to);
      } else if (out_rows_ < shape_.out_h) {  // if there is one strip only, these rows never change
        fill(to, row_stride_);
      }
    }
  }

 private:
  static constexpr int64_t kStripBytes = int64_t{64} << 10;

  static int64_t phase_width(const Window2dShape& s) {
    const int64_t read =
        round_up(s.out_w, kWindowLanes) + (s.kernel_w - 1) * s.dilation_w / s.stride_w;
    const int64_t written = (s.in_w + s.pad_w) / s.stride_w + 1 + kWindowLanes;
    return round_up(std::max(read, written), kWindowLanes);
  }

  // As many rows as the cache holds, but the same number for each strip.
  static int64_t strip_rows(const Window2dShape& s, int64_t block_rows, int64_t row_stride) {
    const int64_t row_bytes = row_stride * static_cast<int64_t>(sizeof(float)) * s.stride_h;
    const int64_t most = round_up(std::max<int64_t>(1, kStripBytes / row_bytes), block_rows);
    const int64_t strips = std::max<int64_t>(1, (s.out_h + most - 1) / most);
    return std::min(round_up((s.out_h + strips - 1) / strips, block_rows), s.out_h);
  }

  // `count` is a multiple of the vector length, as every row is.
  void fill(float* to, int64_t count) const {
    const hn::ScalableTag<float> d;
    for (int64_t i = 0; i < count; i += kWindowLanes) hn::StoreU(hn::Set(d, padding_), d, to + i);
  }

  // Cells beside the plane keep the padding that the constructor wrote.
  void load_row(const float* from, float* to) const {
    const hn::ScalableTag<float> d;
    const int64_t w = shape_.in_w;
    if (shape_.stride_w == 1) {
      for (int64_t x = 0; x < w; x += kWindowLanes) store(to + shape_.pad_w + x, from + x, w - x);
    } else if (shape_.stride_w == 2) {
      float* even = to + (shape_.pad_w % 2) * phase_width_ + shape_.pad_w / 2;
      float* odd = to + ((shape_.pad_w + 1) % 2) * phase_width_ + (shape_.pad_w + 1) / 2;
      for (int64_t x = 0; x < w; x += 2 * kWindowLanes) {
        const auto lo = load_padded(from + x, w - x);
        const auto hi = load_padded(from + x + kWindowLanes, w - x - kWindowLanes);
        hn::StoreU(hn::ConcatEven(d, hi, lo), d, even + x / 2);
        hn::StoreU(hn::ConcatOdd(d, hi, lo), d, odd + x / 2);
      }
    } else {
      const int64_t stride = shape_.stride_w;
      int64_t x = 0;
      if (stride == 3) {
        float* const phases[] = {cell(to, 0), cell(to, 1), cell(to, 2)};
        for (; x + 3 * kWindowLanes <= w; x += 3 * kWindowLanes) {
          hn::Vec<hn::ScalableTag<float>> v0, v1, v2;
          hn::LoadInterleaved3(d, from + x, v0, v1, v2);
          hn::StoreU(v0, d, phases[0] + x / 3);
          hn::StoreU(v1, d, phases[1] + x / 3);
          hn::StoreU(v2, d, phases[2] + x / 3);
        }
      } else if (stride == 4) {
        float* const phases[] = {cell(to, 0), cell(to, 1), cell(to, 2), cell(to, 3)};
        for (; x + 4 * kWindowLanes <= w; x += 4 * kWindowLanes) {
          hn::Vec<hn::ScalableTag<float>> v0, v1, v2, v3;
          hn::LoadInterleaved4(d, from + x, v0, v1, v2, v3);
          hn::StoreU(v0, d, phases[0] + x / 4);
          hn::StoreU(v1, d, phases[1] + x / 4);
          hn::StoreU(v2, d, phases[2] + x / 4);
          hn::StoreU(v3, d, phases[3] + x / 4);
        }
      }
      int64_t k = x;
      for (; k + 4 <= x + stride && x + stride <= w; k += 4) {  // four phases at a time
        float *out0 = cell(to, k), *out1 = cell(to, k + 1);
        float *out2 = cell(to, k + 2), *out3 = cell(to, k + 3);
        int64_t i = k;
        for (; i + 3 < w; i += stride) {
          *out0++ = from[i];
          *out1++ = from[i + 1];
          *out2++ = from[i + 2];
          *out3++ = from[i + 3];
        }
        if (i < w) *out0 = from[i];
        if (i + 1 < w) *out1 = from[i + 1];
        if (i + 2 < w) *out2 = from[i + 2];
      }
      for (; k < std::min(w, x + stride); ++k) {
        float* out = cell(to, k);
        for (int64_t i = k; i < w; i += stride) *out++ = from[i];
      }
    }
  }

  // Where column x of a row lies.
  float* cell(float* row, int64_t x) const {
    const int64_t column = x + shape_.pad_w;
    return row + column % shape_.stride_w * phase_width_ + column / shape_.stride_w;
  }

  void store(float* to, const float* from, int64_t left) const {
    const hn::ScalableTag<float> d;
    hn::StoreU(load_padded(from, left), d, to);
  }

  hn::Vec<hn::ScalableTag<float>> load_padded(const float* from, int64_t left) const {
    const hn::ScalableTag<float> d;
    if (left >= kWindowLanes) return hn::LoadU(d, from);
    const auto padding = hn::Set(d, padding_);
    if (left <= 0) return padding;
    return hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(left)), load_first(d, from, left),
                          padding);
  }

  const Window2dShape shape_;
  const float padding_;
  const int64_t phase_width_;
  const int64_t row_stride_;
  const int64_t out_rows_;
  const int64_t in_rows_;
  const Scratch<float> data_;  // [in_rows, stride_w, phase_width]
  const Scratch<int64_t> tap_offset_;
};

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#endif  // TORCHLET_KERNELS_WINDOW_INL_H_
