#include "kernels/layout/transpose.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

template <typename T>
std::vector<T> counted(int64_t count) {
  std::vector<T> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i * 31 % 251);
  return values;
}

template <typename T>
void check_transpose(int64_t rows, int64_t cols, int64_t from_stride, int64_t to_stride) {
  const auto from = counted<T>(rows * from_stride);
  std::vector<T> to(static_cast<size_t>(cols * to_stride), T{9}), expected = to;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j) {
      expected[static_cast<size_t>(j * to_stride + i)] =
          from[static_cast<size_t>(i * from_stride + j)];
    }
  }
  transpose(sizeof(T), rows, cols, from.data(), from_stride, to.data(), to_stride);
  ASSERT_EQ(to, expected) << rows << "x" << cols << " of " << sizeof(T) << " bytes";
}

TEST(Transpose, EveryTailStrideAndElementSize) {
  for_each_target([] {
    for (int64_t rows : {1, 2, 3, 4, 7, 48, 130}) {
      for (int64_t cols : {1, 2, 3, 4, 9, 13, 16, 67}) {
        for (int64_t gap : {0, 3}) {
          check_transpose<uint8_t>(rows, cols, cols + gap, rows + gap);
          check_transpose<uint16_t>(rows, cols, cols + gap, rows + gap);
          check_transpose<uint32_t>(rows, cols, cols + gap, rows + gap);
          check_transpose<uint64_t>(rows, cols, cols + gap, rows + gap);
        }
      }
    }
  });
}

TEST(Transpose, PicturesAndPixels) {
  for (int64_t channels : {1, 3, 17}) {
    const int64_t batch = 2, pixels = 70, stride = channels + 2;
    const auto planes = counted<float>(batch * channels * pixels);
    std::vector<float> picture(static_cast<size_t>(batch * pixels * stride), -1);
    nchw_to_nhwc(sizeof(float), batch, channels, pixels, planes.data(), picture.data(), stride);
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t p = 0; p < pixels; ++p) {
        for (int64_t c = 0; c < stride; ++c) {
          const float value = picture[static_cast<size_t>((n * pixels + p) * stride + c)];
          ASSERT_EQ(value, c < channels
                               ? planes[static_cast<size_t>((n * channels + c) * pixels + p)]
                               : -1);
        }
      }
    }
    std::vector<float> back(planes.size());
    nhwc_to_nchw(sizeof(float), batch, channels, pixels, picture.data(), stride, back.data());
    ASSERT_EQ(back, planes);
  }
}

// Copies a permutation of a contiguous tensor to a contiguous one.
template <typename T>
void check_copy(const std::vector<int64_t>& shape, const std::vector<int>& order, int64_t gap) {
  const int dims = static_cast<int>(shape.size());
  std::vector<int64_t> strides(shape.size(), 1), sizes, from_strides, to_strides(shape.size());
  int64_t elements = gap;
  for (int i = dims; i-- > 0;) {
    strides[static_cast<size_t>(i)] = elements;
    elements *= shape[static_cast<size_t>(i)];
  }
  for (int axis : order) {
    sizes.push_back(shape[static_cast<size_t>(axis)]);
    from_strides.push_back(strides[static_cast<size_t>(axis)]);
  }
  int64_t count = 1;
  for (int i = dims; i-- > 0;) {
    to_strides[static_cast<size_t>(i)] = count;
    count *= sizes[static_cast<size_t>(i)];
  }
  const auto from = counted<T>(elements);
  std::vector<T> to(static_cast<size_t>(count)), expected(to.size());
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = 0;
    for (size_t k = 0; k < sizes.size(); ++k) at += i / to_strides[k] % sizes[k] * from_strides[k];
    expected[static_cast<size_t>(i)] = from[static_cast<size_t>(at)];
  }
  copy_strided(sizeof(T), dims, sizes.data(), from.data(), from_strides.data(), to.data(),
               to_strides.data());
  ASSERT_EQ(to, expected) << testing::PrintToString(shape) << testing::PrintToString(order) << gap;
}

TEST(CopyStrided, EveryPermutation) {
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{3, 5, 20, 4}, {1, 33, 2, 17}, {2, 1, 1, 65}, {600, 3, 2, 2}}) {
    std::vector<int> order{0, 1, 2, 3};
    do {
      for (int64_t gap : {1, 2}) {
        check_copy<uint8_t>(shape, order, gap);
        check_copy<uint16_t>(shape, order, gap);
        check_copy<float>(shape, order, gap);
        check_copy<int64_t>(shape, order, gap);
      }
    } while (std::next_permutation(order.begin(), order.end()));
  }
  check_copy<float>({2, 3, 2, 5, 3, 4}, {4, 2, 0, 5, 1, 3}, 1);
  check_copy<float>({}, {}, 1);
  check_copy<float>({0, 3}, {1, 0}, 1);
  check_copy<float>({700, 300}, {1, 0}, 1);
  check_copy<float>({700, 300}, {0, 1}, 1);
}

TEST(CopyStrided, RangesOfChannelsAndBroadcasts) {
  // Channels [2, 5) of [4, 3] to [4, 8].
  const auto from = counted<float>(12);
  std::vector<float> to(32, -1);
  const int64_t sizes[] = {4, 3}, from_strides[] = {3, 1}, to_strides[] = {8, 1};
  copy_strided(sizeof(float), 2, sizes, from.data(), from_strides, to.data() + 2, to_strides);
  for (size_t i = 0; i < 32; ++i) {
    ASSERT_EQ(to[i], i % 8 >= 2 && i % 8 < 5 ? from[i / 8 * 3 + i % 8 - 2] : -1);
  }
  const int64_t repeated[] = {0, 1}, dense[] = {3, 1};
  std::vector<float> rows(12);
  copy_strided(sizeof(float), 2, sizes, from.data(), repeated, rows.data(), dense);
  for (size_t i = 0; i < 12; ++i) ASSERT_EQ(rows[i], from[i % 3]);
}

}  // namespace
}  // namespace torchlet::kernels
