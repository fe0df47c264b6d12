#include "kernels/spatial/pad_nhwc.h"

#include <gtest/gtest.h>

#include <vector>

namespace torchlet::kernels {
namespace {

// Which of the positions [0, size) is seen at `at`; -1: none.
int64_t position(PadMode mode, int64_t at, int64_t size) {
  if (at >= 0 && at < size) return at;
  if (mode == PadMode::kReplicate) return at < 0 ? 0 : size - 1;
  if (mode == PadMode::kCircular) return (at + size) % size;
  if (mode == PadMode::kReflect) return at < 0 ? -at : size - 1 - (at - (size - 1));
  return -1;
}

template <typename T>
void check(const PadShape& s, int64_t input_gap, int64_t output_gap) {
  const int64_t in_stride = s.channels + input_gap, out_stride = s.channels + output_gap;
  const int64_t height = s.top + s.in_h + s.bottom, width = s.left + s.in_w + s.right;
  std::vector<T> input(static_cast<size_t>(s.batch * s.in_h * s.in_w * in_stride));
  for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<T>(i % 101);
  constexpr T kValue = 200, kUntouched = 111;
  std::vector<T> want(static_cast<size_t>(s.batch * height * width * out_stride), kUntouched);
  std::vector<T> got = want;
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) {
        const int64_t in_y = position(s.mode, y - s.top, s.in_h);
        const int64_t in_x = position(s.mode, x - s.left, s.in_w);
        const bool inside = in_y >= 0 && in_x >= 0;
        for (int64_t c = 0; c < s.channels; ++c) {
          const int64_t from = ((n * s.in_h + in_y) * s.in_w + in_x) * in_stride + c;
          want[static_cast<size_t>(((n * height + y) * width + x) * out_stride + c)] =
              inside ? input[static_cast<size_t>(from)] : kValue;
        }
      }
    }
  }
  pad_nhwc(sizeof(T), s, &kValue, input.data(), in_stride, got.data(), out_stride);
  EXPECT_EQ(got, want);
}

TEST(PadNhwc, AnySidesAndStrides) {
  for (const PadShape& shape :
       {PadShape{1, 3, 4, 5, 0, 1, 0, 1}, PadShape{2, 7, 3, 2, 3, 0, 2, 1},
        PadShape{3, 16, 1, 1, 1, 1, 1, 1}, PadShape{2, 5, 40, 30, 0, 0, 0, 0},
        PadShape{2, 5, 4, 3, 2, 1, 0, 3, PadMode::kReflect},
        PadShape{2, 3, 1, 2, 3, 1, 2, 5, PadMode::kReplicate},
        PadShape{2, 4, 3, 2, 2, 1, 1, 3, PadMode::kCircular}}) {
    for (const int64_t gap : {0, 2}) {
      check<uint8_t>(shape, gap, 0);
      check<uint16_t>(shape, 0, gap);
      check<uint32_t>(shape, gap, gap);
    }
  }
}

}  // namespace
}  // namespace torchlet::kernels
