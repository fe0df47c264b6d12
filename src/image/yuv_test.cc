// YUV 4:2:0 in every order in memory against a reference in NumPy.
#include <gtest/gtest.h>
#include <torchlet/preprocess.h>

#include <cstdlib>
#include <memory>

#include "base/error.h"
#include "tensor/npy.h"

namespace torchlet {
namespace {

constexpr int64_t kHeight = 39, kWidth = 53;
constexpr YuvMatrix kMatrices[] = {YuvMatrix::kBt601, YuvMatrix::kBt601Limited, YuvMatrix::kBt709,
                                   YuvMatrix::kBt709Limited};
constexpr Rotation kRotations[] = {Rotation::k0, Rotation::k90, Rotation::k180, Rotation::k270};

struct Order {
  int64_t y_pixel, uv_pixel, y_padding, uv_padding;
  bool interleaved, v_first;  // u and v in one plane
};

constexpr Order kOrders[] = {
    {1, 1, 0, 0, false, false},  // I420
    {1, 2, 0, 0, true, false},   // NV12
    {1, 2, 11, 10, true, true},  // NV21 with longer rows
    {1, 1, 3, 5, false, true},  {2, 3, 1, 2, false, false}, {3, 4, 0, 7, true, false},
};

// The planes of a picture of `height` x `width` pixels, the upper left part of the fixture, each in
// memory of just its size, so that a sanitizer sees what is read beyond.
struct Planes {
  Planes(const Order& order, int64_t height, int64_t width) {
    const Tensor fixture = load_npy("tests/fixtures/image/yuv.npy").contiguous();
    const uint8_t* data = fixture.data_ptr<uint8_t>();
    const int64_t rows = (height + 1) / 2, columns = (width + 1) / 2;
    constexpr int64_t kColumns = (kWidth + 1) / 2, kRows = (kHeight + 1) / 2;
    view.width = width;
    view.height = height;
    view.y_pixel_stride = order.y_pixel;
    view.y_row_stride = width * order.y_pixel + order.y_padding;
    view.uv_pixel_stride = order.uv_pixel;
    view.uv_row_stride = columns * order.uv_pixel + order.uv_padding;
    const auto size = [](int64_t h, int64_t w, int64_t row, int64_t pixel) {
      return static_cast<size_t>((h - 1) * row + (w - 1) * pixel + 1);
    };
    const size_t y_size = size(height, width, view.y_row_stride, order.y_pixel);
    const size_t uv_size = size(rows, columns, view.uv_row_stride, order.uv_pixel);
    y = std::make_unique<uint8_t[]>(y_size);
    u = std::make_unique<uint8_t[]>(uv_size + (order.interleaved ? 1 : 0));
    v = std::make_unique<uint8_t[]>(uv_size);
    uint8_t* const us = u.get() + (order.interleaved && order.v_first ? 1 : 0);
    uint8_t* const vs = order.interleaved ? u.get() + (order.v_first ? 0 : 1) : v.get();
    for (int64_t i = 0; i < height; ++i) {
      for (int64_t j = 0; j < width; ++j) {
        y[static_cast<size_t>(i * view.y_row_stride + j * order.y_pixel)] = data[i * kWidth + j];
      }
    }
    const uint8_t* chroma = data + kHeight * kWidth;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        const int64_t at = i * view.uv_row_stride + j * order.uv_pixel;
        us[at] = chroma[i * kColumns + j];
        vs[at] = chroma[kRows * kColumns + i * kColumns + j];
      }
    }
    view.y = y.get();
    view.u = us;
    view.v = vs;
  }

  std::unique_ptr<uint8_t[]> y, u, v;
  YuvView view;
};

// The upper left part of what NumPy gives for the matrix.
Image reference(size_t matrix, int64_t height, int64_t width) {
  const Tensor fixture = load_npy("tests/fixtures/image/yuv_rgb.npy").contiguous();
  const uint8_t* data =
      fixture.data_ptr<uint8_t>() + static_cast<int64_t>(matrix) * kHeight * kWidth * 3;
  Image image{height, width, {}};
  for (int64_t i = 0; i < height; ++i) {
    image.rgb.insert(image.rgb.end(), data + i * kWidth * 3, data + (i * kWidth + width) * 3);
  }
  return image;
}

// Which pixel of a picture lies at (row, column) after it has been turned.
const uint8_t* pixel_before(const Image& image, Rotation rotation, int64_t row, int64_t column) {
  int64_t y = row, x = column;
  if (rotation == Rotation::k90) y = image.height - 1 - column, x = row;
  if (rotation == Rotation::k180) y = image.height - 1 - row, x = image.width - 1 - column;
  if (rotation == Rotation::k270) y = column, x = image.width - 1 - row;
  return image.rgb.data() + (y * image.width + x) * 3;
}

void expect_turned(const Image& got, const Image& want, Rotation rotation, int tolerance) {
  const bool is_exchanged = rotation == Rotation::k90 || rotation == Rotation::k270;
  ASSERT_EQ(got.height, is_exchanged ? want.width : want.height);
  ASSERT_EQ(got.width, is_exchanged ? want.height : want.width);
  for (int64_t y = 0; y < got.height; ++y) {
    for (int64_t x = 0; x < got.width; ++x) {
      const uint8_t* a = got.rgb.data() + (y * got.width + x) * 3;
      const uint8_t* b = pixel_before(want, rotation, y, x);
      for (int c = 0; c < 3; ++c) ASSERT_NEAR(a[c], b[c], tolerance) << y << " " << x << " " << c;
    }
  }
}

TEST(Yuv, IsWithinOneStepOfTheReferenceInAnyOrderAndDirection) {
  for (size_t matrix = 0; matrix < 4; ++matrix) {
    for (const Order& order : kOrders) {
      for (const auto& [height, width] : {std::pair{kHeight, kWidth},
                                          {int64_t{38}, int64_t{52}},
                                          {int64_t{7}, int64_t{33}},
                                          {int64_t{1}, int64_t{2}},
                                          {int64_t{2}, int64_t{1}},
                                          {int64_t{1}, int64_t{1}}}) {
        Planes planes(order, height, width);
        planes.view.matrix = kMatrices[matrix];
        for (const Rotation rotation : kRotations) {
          expect_turned(to_image(planes.view, rotation), reference(matrix, height, width), rotation,
                        1);
        }
      }
    }
  }
}

TEST(Yuv, IsNearlyAlwaysTheReferenceToTheBit) {
  for (size_t matrix = 0; matrix < 4; ++matrix) {
    Planes planes(kOrders[0], kHeight, kWidth);
    planes.view.matrix = kMatrices[matrix];
    const Image got = to_image(planes.view), want = reference(matrix, kHeight, kWidth);
    int differs = 0;
    for (size_t i = 0; i < got.rgb.size(); ++i) differs += got.rgb[i] != want.rgb[i];
    EXPECT_LT(differs, static_cast<int>(got.rgb.size() / 40)) << matrix;
  }
}

void expect_equal(const Tensor& got, const Tensor& want) {
  ASSERT_TRUE(std::ranges::equal(got.sizes(), want.sizes()));
  ASSERT_TRUE(std::ranges::equal(got.strides(), want.strides()));
  const size_t bytes = static_cast<size_t>(got.numel()) * element_size(got.dtype());
  ASSERT_EQ(std::memcmp(got.raw_data(), want.raw_data(), bytes), 0);
}

TEST(Preprocess, InOnePassGivesTheBitsOfStepsOneByOne) {
  const Planes planes(kOrders[2], kHeight, kWidth);
  const Image upright = to_image(planes.view);
  for (const Rotation rotation : kRotations) {
    const Image turned = rotate(upright, rotation);
    expect_turned(turned, upright, rotation, 0);
    for (const std::vector<int64_t>& resize :
         {std::vector<int64_t>{}, {20}, {45}, {17, 60}, {80, 11}}) {
      for (const std::vector<int64_t>& crop : {std::vector<int64_t>{}, {16}, {70, 9}}) {
        for (const bool antialias : {true, false}) {
          for (const MemoryFormat format :
               {MemoryFormat::kContiguous, MemoryFormat::kChannelsLast}) {
            Preprocess steps = Preprocess::imagenet();
            steps.resize = resize;
            steps.crop = crop;
            steps.antialias = antialias;
            steps.memory_format = format;
            if (antialias) expect_equal(steps(planes.view, rotation), steps(turned));
            steps.mean = steps.std = {};
            steps.dtype = DType::kUInt8;
            steps.channels = Channels::kGrey;
            if (antialias) expect_equal(steps(planes.view, rotation), steps(turned));
            Image image = turned;
            if (resize.size() == 1) {
              const auto [h, w] = size_of_shorter_side(image.height, image.width, resize[0]);
              image = torchlet::resize(image, h, w, Interpolation::kBilinear, antialias);
            } else if (!resize.empty()) {
              image = torchlet::resize(image, resize[0], resize[1], Interpolation::kBilinear,
                                       antialias);
            }
            if (!crop.empty()) image = center_crop(image, crop.front(), crop.back());
            Preprocess plain;
            plain.dtype = DType::kUInt8;
            plain.memory_format = format;
            steps.channels = Channels::kRgb;
            expect_equal(steps(turned), plain(image));
          }
        }
      }
    }
  }
}

TEST(Pixels, OfAnyFormatAndStrideAreRead) {
  const Image image = reference(0, 5, 19);
  const struct {
    PixelFormat format;
    std::vector<int> bytes;  // which of red, green and blue each is; 3 for anything
  } kFormats[] = {{PixelFormat::kRgb, {0, 1, 2}},
                  {PixelFormat::kRgba, {0, 1, 2, 3}},
                  {PixelFormat::kBgra, {2, 1, 0, 3}}};
  for (const auto& [format, bytes] : kFormats) {
    const auto pixel = static_cast<int64_t>(bytes.size());
    const int64_t stride = image.width * pixel + 3;
    std::vector<uint8_t> memory(static_cast<size_t>(4 * stride + image.width * pixel), 9);
    for (int64_t y = 0; y < image.height; ++y) {
      for (int64_t x = 0; x < image.width; ++x) {
        for (size_t c = 0; c < bytes.size(); ++c) {
          if (bytes[c] == 3) continue;
          memory[static_cast<size_t>(y * stride + x * pixel) + c] =
              image.rgb[static_cast<size_t>((y * image.width + x) * 3 + bytes[c])];
        }
      }
    }
    const PixelView view{format, memory.data(), image.width, image.height, stride};
    EXPECT_EQ(to_image(view).rgb, image.rgb);
    expect_turned(to_image(view, Rotation::k90), image, Rotation::k90, 0);
    PixelView flipped = view;
    flipped.data += 4 * stride;
    flipped.row_stride = -stride;
    const Image from_below = to_image(flipped);
    EXPECT_TRUE(std::equal(from_below.rgb.begin(), from_below.rgb.begin() + image.width * 3,
                           image.rgb.end() - image.width * 3));
  }
  const uint8_t grey[] = {1, 2, 77, 4};
  EXPECT_EQ(to_image(PixelView{PixelFormat::kGrey, grey, 2, 1, 2}).rgb,
            (std::vector<uint8_t>{1, 1, 1, 2, 2, 2}));
}

TEST(Pixels, ThatCannotBeAreErrors) {
  const uint8_t bytes[64] = {};
  EXPECT_THROW(to_image(PixelView{PixelFormat::kRgb, nullptr, 2, 2, 6}), Error);
  EXPECT_THROW(to_image(PixelView{PixelFormat::kRgb, bytes, 0, 2, 6}), Error);
  EXPECT_THROW(to_image(PixelView{PixelFormat::kRgb, bytes, 2, -2, 6}), Error);
  EXPECT_THROW(to_image(PixelView{PixelFormat::kRgb, bytes, 2, 2, 5}), Error);
  EXPECT_THROW(to_image(PixelView{static_cast<PixelFormat>(9), bytes, 2, 2, 8}), Error);
  EXPECT_THROW(to_image(PixelView{PixelFormat::kRgb, bytes, 2, 2, 6}, static_cast<Rotation>(45)),
               Error);
  EXPECT_THROW(to_image(PixelView{PixelFormat::kRgb, bytes, int64_t{1} << 40, int64_t{1} << 40, 6}),
               Error);
  YuvView yuv{bytes, bytes, bytes, 4, 4, 4, 2};
  EXPECT_NO_THROW(to_image(yuv));
  yuv.uv_pixel_stride = 0;
  EXPECT_THROW(to_image(yuv), Error);
  yuv = {bytes, nullptr, bytes, 4, 4, 4, 2};
  EXPECT_THROW(to_image(yuv), Error);
  yuv = {bytes, bytes, bytes, 4, 4, 4, 2};
  yuv.matrix = static_cast<YuvMatrix>(77);
  EXPECT_THROW(to_image(yuv), Error);
}

}  // namespace
}  // namespace torchlet
