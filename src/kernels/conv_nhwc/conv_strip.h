#pragma once

// The rows of A in the matrix product that an NHWC convolution is: which elements of the image meet
// which rows of the packed weights.

#include <algorithm>
#include <cstdint>

#include "kernels/conv_nhwc/conv_runs.h"
#include "kernels/gemm/gemm_nhwc.h"

namespace torchlet::kernels {

// Some pixels of the output that follow each other, at most kMaxTileRows.
class PixelStrip {
 public:
  PixelStrip(const ConvRuns& conv, int64_t first_pixel, int64_t rows) : conv_(conv), rows_(rows) {
    const Window2dShape& w = conv.window;
    int64_t x = first_pixel % w.out_w;
    int64_t y = first_pixel / w.out_w % w.out_h;
    int64_t image = first_pixel / w.out_w / w.out_h;
    one_line_ = x + rows <= w.out_w;
    for (int64_t r = 0; r < rows; ++r) {
      image_[r] = image * w.in_h;
      y_[r] = y * w.stride_h - w.pad_h;
      x_[r] = x * w.stride_w - w.pad_w;
      if (++x == w.out_w) {
        x = 0;
        if (++y == w.out_h) y = 0, ++image;
      }
    }
  }

  // The segments of all runs, in order; runs that are all padding are left out. What
  // cannot be read in place is copied to `copies`, whose rows are copy_stride >= the length of all
  // runs apart. Returns how many segments there are.
  template <typename T>
  int64_t segments(const T* input, bool copy_all, T* copies, int64_t copy_stride,
                   TileSegment<T>* out) const {
    int64_t count = 0, copied = 0;
    bool last_is_copy = false;
    for (int64_t i = 0; i < conv_.count; ++i) {
      const ConvRun run = conv_.run(i);
      if (is_padding(run)) continue;
      const bool in_place =
          !copy_all && one_line_ && is_inside(run, 0) && is_inside(run, rows_ - 1);
      if (in_place) {
        out[count++] = {input + offset(run, 0), conv_.window.stride_w * conv_.input_stride,
                        run.length, run.b_row};
      } else {
        T* to = copies + copied;
        for (int64_t r = 0; r < rows_; ++r) {
          copy_run(input, run, r, 0, run.depth, to + r * copy_stride);
        }
        copied += run.depth;
        const bool follows = last_is_copy && out[count - 1].b_row + out[count - 1].k == run.b_row;
        if (follows)
          out[count - 1].k += run.depth;
        else
          out[count++] = {to, copy_stride, run.depth, run.b_row};
      }
      last_is_copy = !in_place;
    }
    return count;
  }

  // Copies elements [first, last) of what the runs are in the packed weights, of all rows, also of
  // runs that are padding.
  template <typename T>
  void copy(const T* input, int64_t first, int64_t last, T* copies, int64_t copy_stride) const {
    for (int64_t i = 0; i < conv_.count; ++i) {
      const ConvRun run = conv_.run(i);
      const int64_t begin = std::max<int64_t>(0, first - run.b_row);
      const int64_t end = std::min(run.depth, last - run.b_row);
      if (begin >= end) continue;
      for (int64_t r = 0; r < rows_; ++r) {
        copy_run(input, run, r, begin, end, copies + r * copy_stride + run.b_row + begin - first);
      }
    }
  }

 private:
  bool row_exists(const ConvRun& run, int64_t r) const {
    const int64_t y = y_[r] + run.y;
    return y >= 0 && y < conv_.window.in_h;
  }

  bool is_inside(const ConvRun& run, int64_t r) const {
    const int64_t x = x_[r] + run.x;
    return row_exists(run, r) && x >= 0 && x + run.width <= conv_.window.in_w;
  }

  bool is_padding(const ConvRun& run) const {
    for (int64_t r = 0; r < rows_; ++r) {
      const int64_t x = x_[r] + run.x;
      if (row_exists(run, r) && x + run.width > 0 && x < conv_.window.in_w) return false;
    }
    return true;
  }

  int64_t offset(const ConvRun& run, int64_t r) const {
    return ((image_[r] + y_[r] + run.y) * conv_.window.in_w + x_[r] + run.x) * conv_.input_stride;
  }

  // Elements [first, last) of a run of row r.
  template <typename T>
  void copy_run(const T* input, const ConvRun& run, int64_t r, int64_t first, int64_t last,
                T* to) const {
    int64_t begin = last, end = last;  // of what exists
    if (row_exists(run, r)) {
      const int64_t x = x_[r] + run.x;
      const int64_t channels = conv_.channels, in_w = conv_.window.in_w;
      begin = std::clamp(std::min(-x * channels, run.length), first, last);
      end = std::clamp(std::min((in_w - x) * channels, run.length), begin, last);
    }
    std::fill_n(to, begin - first, T{});
    if (begin < end) {
      std::copy_n(input + offset(run, r) + begin, end - begin, to + begin - first);
    }
    std::fill(to + (end - first), to + (last - first), T{});
  }

  const ConvRuns& conv_;
  int64_t rows_;
  bool one_line_;  // all in one line of the output
  int64_t image_[kMaxTileRows], y_[kMaxTileRows], x_[kMaxTileRows];
};

}  // namespace torchlet::kernels
