#include "kernels/spatial/resize_nhwc.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

constexpr float kUntouched = -77;
const std::vector<float> kPicture = {1, 2, 4, 8, 16, 3, 5, 7, 11, 13, -1, 0, 1, -2, 6};  // 3 x 5

// kPicture in every channel, times the channel's number plus 1.
struct Image {
  int64_t stride;
  std::vector<float> data;
};
Image spread(const std::vector<float>& picture, int64_t batch, int64_t channels, int64_t gap) {
  Image image{channels + gap, {}};
  image.data.assign(static_cast<size_t>(batch * image.stride) * picture.size(), kUntouched);
  const int64_t pixels = static_cast<int64_t>(picture.size());
  for (int64_t i = 0; i < batch * pixels; ++i) {
    for (int64_t c = 0; c < channels; ++c) {
      image.data[static_cast<size_t>(i * image.stride + c)] =
          picture[static_cast<size_t>(i % pixels)] * static_cast<float>(c + 1);
    }
  }
  return image;
}

void check_linear(bool align_corners, double factor_h, double factor_w,
                  const std::vector<float>& expected) {
  LinearTap rows[5], columns[3];
  linear_taps(3, 5, align_corners, factor_h, rows);
  linear_taps(5, 3, align_corners, factor_w, columns);
  for_each_target([&] {
    for (int64_t channels : {1, 3, 15, 16, 17, 40}) {
      for (int64_t gap : {0, 5}) {
        const ResizeShape shape{2, channels, 3, 5, 5, 3};
        const Image input = spread(kPicture, 2, channels, gap);
        const Image wanted = spread(expected, 2, channels, 2 * gap);
        std::vector<float> out(wanted.data.size(), kUntouched);
        resize_linear_nhwc_f32(shape, rows, columns, input.data.data(), input.stride, out.data(),
                               wanted.stride);
        for (size_t i = 0; i < out.size(); ++i) {
          ASSERT_NEAR(out[i], wanted.data[i], 1e-4) << channels << " at " << i;
        }
      }
    }
  });
}

// Expected values are those of torch.nn.functional.interpolate.
TEST(ResizeNhwc, LinearAlongPixelCentres) {
  check_linear(false, 0, 0,
               {1.33333325f, 4, 13.3333321f, 2.26666665f, 5.19999981f, 12.9333324f, 3.66666627f,
                6.99999952f, 12.3333321f, 1.06666625f, 3.39999938f, 6.93333197f, -0.666666746f,
                0.99999994f, 3.33333254f});
}
TEST(ResizeNhwc, LinearAlongCorners) {
  check_linear(true, 0, 0, {1, 4, 16, 2, 5.5f, 14.5f, 3, 7, 13, 1, 4, 9.5f, -1, 1, 6});
}
TEST(ResizeNhwc, LinearByTheUsersFactor) {
  check_linear(false, 1.7, 0.6,
               {1.33333325f, 4, 13.3333321f, 2.22549033f, 5.14705896f, 12.9509802f, 3.59803939f,
                6.91176462f, 12.3627443f, 1.24509788f, 3.64705825f, 7.30392075f, -0.666666627f,
                0.999999881f, 3.33333254f});
}

TEST(ResizeNhwc, SameSizeIsTheIdentity) {
  LinearTap taps[7];
  linear_taps(7, 7, false, 1.9, taps);
  for (int64_t i = 0; i < 7; ++i) {
    EXPECT_EQ(taps[i].index, i);
    EXPECT_EQ(taps[i].weight, 0);
  }
}

TEST(ResizeNhwc, NearestOfEveryElementSize) {
  const std::vector<float> floor{1, 1,  2,  4, 4, 8, 16, 1, 1,  2,  4,  4,  8, 16, 3, 3,  5, 7,
                                 7, 11, 13, 3, 3, 5, 7,  7, 11, 13, -1, -1, 0, 1,  1, -2, 6};
  const std::vector<float> exact{1,  2,  2,  4,  8, 8, 16, 1,  2,  2, 4,  8, 8, 16, 3,  5,  5, 7,
                                 11, 11, 13, -1, 0, 0, 1,  -2, -2, 6, -1, 0, 0, 1,  -2, -2, 6};
  for (bool is_exact : {false, true}) {
    int64_t rows[5], columns[7];
    nearest_taps(3, 5, is_exact, 0, rows);
    nearest_taps(5, 7, is_exact, 0, columns);
    const Image input = spread(kPicture, 2, 3, 1);
    const Image wanted = spread(is_exact ? exact : floor, 2, 3, 2);
    const ResizeShape shape{2, 3, 3, 5, 5, 7};
    std::vector<float> out(wanted.data.size(), kUntouched);
    resize_nearest_nhwc(sizeof(float), shape, rows, columns, input.data.data(), input.stride,
                        out.data(), wanted.stride);
    ASSERT_EQ(out, wanted.data);
    const std::vector<int8_t> bytes(input.data.begin(), input.data.end());
    const std::vector<int8_t> wanted_bytes(wanted.data.begin(), wanted.data.end());
    std::vector<int8_t> out_bytes(wanted_bytes.size(), static_cast<int8_t>(kUntouched));
    resize_nearest_nhwc(1, shape, rows, columns, bytes.data(), input.stride, out_bytes.data(),
                        wanted.stride);
    ASSERT_EQ(out_bytes, wanted_bytes);
  }
}

}  // namespace
}  // namespace torchlet::kernels
