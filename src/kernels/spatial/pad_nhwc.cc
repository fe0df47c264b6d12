#include "kernels/spatial/pad_nhwc.h"

#include <algorithm>
#include <cstring>

#include "base/thread_pool.h"
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

template <typename T>
class Padding {
 public:
  Padding(const PadShape& shape, const void* value, int64_t input_stride, int64_t output_stride)
      : s_(shape), input_stride_(input_stride), output_stride_(output_stride) {
    std::memcpy(&value_, value, sizeof(T));
  }

  // Line `y` of the output, of which `input` is the picture.
  void write_line(const T* input, int64_t y, T* to) const {
    int64_t in_y = y - s_.top;
    if (in_y < 0 || in_y >= s_.in_h) in_y = border_position(s_.mode, in_y, s_.in_h);
    if (in_y < 0) {
      fill(s_.left + s_.in_w + s_.right, to);
      return;
    }
    const T* line = input + in_y * s_.in_w * input_stride_;
    to = border(line, -s_.left, s_.left, to);
    to = copy(line, s_.in_w, to);
    border(line, s_.in_w, s_.right, to);
  }

 private:
  T* fill(int64_t pixels, T* to) const {
    if (output_stride_ == s_.channels) return std::fill_n(to, pixels * s_.channels, value_);
    for (int64_t x = 0; x < pixels; ++x, to += output_stride_) {
      std::fill_n(to, s_.channels, value_);
    }
    return to;
  }

  T* border(const T* line, int64_t x, int64_t pixels, T* to) const {
    if (s_.mode == PadMode::kConstant) return fill(pixels, to);
    for (const int64_t end = x + pixels; x < end; ++x) {
      to = copy(line + border_position(s_.mode, x, s_.in_w) * input_stride_, 1, to);
    }
    return to;
  }

  T* copy(const T* from, int64_t pixels, T* to) const {
    if (output_stride_ == s_.channels && input_stride_ == s_.channels) {
      return std::copy_n(from, pixels * s_.channels, to);
    }
    for (int64_t x = 0; x < pixels; ++x, from += input_stride_, to += output_stride_) {
      std::copy_n(from, s_.channels, to);
    }
    return to;
  }

  const PadShape& s_;
  int64_t input_stride_, output_stride_;
  T value_;
};

template <typename T>
void pad(const PadShape& s, const void* value, const T* input, int64_t input_stride, T* output,
         int64_t output_stride) {
  const Padding<T> padding(s, value, input_stride, output_stride);
  const int64_t height = s.top + s.in_h + s.bottom, width = s.left + s.in_w + s.right;
  const int64_t lines = s.batch * height;
  const int64_t grain = even_grain(lines, 1, lines * width * s.channels, int64_t{1} << 14);
  parallel_for(lines, grain, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      padding.write_line(input + line / height * s.in_h * s.in_w * input_stride, line % height,
                         output + line * width * output_stride);
    }
  });
}

}  // namespace

void pad_nhwc(int64_t element_size, const PadShape& shape, const void* value, const void* input,
              int64_t input_stride, void* output, int64_t output_stride) {
  const auto pad_as = [&](auto element) {
    using T = decltype(element);
    pad<T>(shape, value, static_cast<const T*>(input), input_stride, static_cast<T*>(output),
           output_stride);
  };
  if (element_size == 1) return pad_as(uint8_t());
  if (element_size == 2) return pad_as(uint16_t());
  pad_as(uint32_t());
}

}  // namespace torchlet::kernels
