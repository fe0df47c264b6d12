#include "kernels/spatial/pad_nhwc.h"

#include <cstring>

#include "base/thread_pool.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/split.h"

namespace torchlet::kernels {
namespace {

// Which of `size` positions is seen at `at`, outside of them; -1: none.
int64_t border_position(PadMode mode, int64_t at, int64_t size) {
  switch (mode) {
    case PadMode::kReflect:
      return at < 0 ? -at : 2 * (size - 1) - at;
    case PadMode::kReplicate:
      return at < 0 ? 0 : size - 1;
    case PadMode::kCircular:
      return at < 0 ? at + size : at - size;
    case PadMode::kConstant:
      break;
  }
  return -1;
}

// In bytes.
class Padding {
 public:
  Padding(int64_t element_size, const PadShape& shape, const void* value, int64_t input_stride,
          int64_t output_stride)
      : s_(shape),
        pixel_(shape.channels * element_size),
        input_stride_(input_stride * element_size),
        output_stride_(output_stride * element_size),
        value_(pixel_) {
    for (int64_t i = 0; i < pixel_; ++i) {
      value_[i] = static_cast<const uint8_t*>(value)[i % element_size];
    }
  }

  // Line `y` of the output, of which `input` is the picture.
  void write_line(const uint8_t* input, int64_t y, uint8_t* to) const {
    int64_t in_y = y - s_.top;
    if (in_y < 0 || in_y >= s_.in_h) in_y = border_position(s_.mode, in_y, s_.in_h);
    if (in_y < 0) {
      border(nullptr, 0, s_.left + s_.in_w + s_.right, to);
      return;
    }
    const uint8_t* line = input + in_y * s_.in_w * input_stride_;
    to = border(line, -s_.left, s_.left, to);
    if (input_stride_ == pixel_ && output_stride_ == pixel_) {
      std::memcpy(to, line, static_cast<size_t>(s_.in_w * pixel_));
      to += s_.in_w * pixel_;
    } else {
      for (int64_t x = 0; x < s_.in_w; ++x) to = copy(line + x * input_stride_, to);
    }
    border(line, s_.in_w, s_.right, to);
  }

 private:
  uint8_t* border(const uint8_t* line, int64_t x, int64_t pixels, uint8_t* to) const {
    for (const int64_t end = x + pixels; x < end; ++x) {
      to = copy(s_.mode == PadMode::kConstant
                    ? value_.data()
                    : line + border_position(s_.mode, x, s_.in_w) * input_stride_,
                to);
    }
    return to;
  }

  uint8_t* copy(const uint8_t* pixel, uint8_t* to) const {
    std::memcpy(to, pixel, static_cast<size_t>(pixel_));
    return to + output_stride_;
  }

  const PadShape& s_;
  int64_t pixel_, input_stride_, output_stride_;
  Scratch<uint8_t> value_;  // a pixel of it
};

}  // namespace

void pad_nhwc(int64_t element_size, const PadShape& s, const void* value, const void* input,
              int64_t input_stride, void* output, int64_t output_stride) {
  const Padding padding(element_size, s, value, input_stride, output_stride);
  const int64_t height = s.top + s.in_h + s.bottom, width = s.left + s.in_w + s.right;
  const int64_t lines = s.batch * height;
  const int64_t grain = even_grain(lines, 1, lines * width * s.channels, int64_t{1} << 14);
  parallel_for(lines, grain, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      padding.write_line(
          static_cast<const uint8_t*>(input) +
              line / height * s.in_h * s.in_w * input_stride * element_size,
          line % height,
          static_cast<uint8_t*>(output) + line * width * output_stride * element_size);
    }
  });
}

}  // namespace torchlet::kernels
