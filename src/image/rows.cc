#include "image/rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"

namespace torchlet::image {
namespace {

const uint8_t* not_null(const uint8_t* data, const char* name) {
  if (!data) fail(ErrorCode::kInvalidArgument, "the %s of a picture is null", name);
  return data;
}

int64_t pixel_size(PixelFormat format) {
  switch (format) {
    case PixelFormat::kGrey:
      return 1;
    case PixelFormat::kRgb:
      return 3;
    case PixelFormat::kRgba:
    case PixelFormat::kBgra:
      return 4;
  }
  fail(ErrorCode::kInvalidArgument, "there is no pixel format %d", static_cast<int>(format));
}

// The matrix that follows from the parts of red and blue in luma.
kernels::YuvWeights yuv_weights(YuvMatrix matrix) {
  const bool is_601 = matrix == YuvMatrix::kBt601 || matrix == YuvMatrix::kBt601Limited;
  const bool is_limited = matrix == YuvMatrix::kBt601Limited || matrix == YuvMatrix::kBt709Limited;
  if (!is_601 && matrix != YuvMatrix::kBt709 && !is_limited) {
    fail(ErrorCode::kInvalidArgument, "there is no YUV matrix %d", static_cast<int>(matrix));
  }
  const double red = is_601 ? 0.299 : 0.2126, blue = is_601 ? 0.114 : 0.0722;
  const double green = 1 - red - blue;
  const double luma = is_limited ? 255.0 / 219 : 1, chroma = is_limited ? 255.0 / 224 : 1;
  const auto fixed = [](double weight, int bits) {
    return static_cast<int16_t>(std::lround(std::ldexp(weight, bits)));
  };
  return {static_cast<int16_t>(is_limited ? 16 : 0),
          fixed(luma, 14),
          fixed(chroma * 2 * (1 - red), 13),
          fixed(chroma * 2 * (1 - blue) * blue / green, 13),
          fixed(chroma * 2 * (1 - red) * red / green, 13),
          fixed(chroma * 2 * (1 - blue), 13)};
}

void gather(const uint8_t* from, int64_t stride, int64_t count, uint8_t* to) {
  if (stride == 2) {  // a constant, so that this is compiled to vectors
    for (int64_t i = 0; i < count; ++i) to[i] = from[2 * i];
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = from[stride * i];
  }
}

}  // namespace

Rows::Rows(int64_t height, int64_t width) : height_(height), width_(width) {
  if (height < 1 || width < 1 || height > kMaxPixels / width) {
    fail(ErrorCode::kInvalidArgument, "a picture of %lld x %lld pixels is empty or too large",
         static_cast<long long>(width), static_cast<long long>(height));
  }
}

ImageRows::ImageRows(const Image& image) : Rows(image.height, image.width), image_(image) {
  if (image.rgb.size() != static_cast<size_t>(image.height * image.width * 3)) {
    fail(ErrorCode::kInvalidArgument, "a picture of %lld x %lld pixels has %zu bytes",
         static_cast<long long>(image.width), static_cast<long long>(image.height),
         image.rgb.size());
  }
}

void ImageRows::read(int64_t y, int64_t begin, int64_t end, uint8_t* rgbx) {
  kernels::rgbx_from_rgb(image_.rgb.data() + (y * width() + begin) * 3, end - begin, rgbx);
}

PixelRows::PixelRows(const PixelView& pixels) : Rows(pixels.height, pixels.width), pixels_(pixels) {
  not_null(pixels.data, "data");
  const int64_t bytes = pixels.width * pixel_size(pixels.format);
  if (pixels.height > 1 && pixels.row_stride < bytes && pixels.row_stride > -bytes) {
    fail(ErrorCode::kInvalidArgument, "rows of %lld bytes cannot lie %lld bytes apart",
         static_cast<long long>(bytes), static_cast<long long>(pixels.row_stride));
  }
}

void PixelRows::read(int64_t y, int64_t begin, int64_t end, uint8_t* rgbx) {
  const int64_t count = end - begin;
  const uint8_t* row = pixels_.data + y * pixels_.row_stride + begin * pixel_size(pixels_.format);
  switch (pixels_.format) {
    case PixelFormat::kGrey:
      for (int64_t i = 0; i < count; ++i) {
        std::fill_n(rgbx + kPixelBytes * i, kPixelBytes, row[i]);
      }
      break;
    case PixelFormat::kRgb:
      kernels::rgbx_from_rgb(row, count, rgbx);
      break;
    case PixelFormat::kRgba:
      std::memcpy(rgbx, row, static_cast<size_t>(kPixelBytes * count));
      break;
    case PixelFormat::kBgra:
      for (int64_t i = 0; i < kPixelBytes * count; i += kPixelBytes) {
        rgbx[i] = row[i + 2];
        rgbx[i + 1] = row[i + 1];
        rgbx[i + 2] = row[i];
      }
      break;
  }
}

YuvRows::YuvRows(const YuvView& picture)
    : Rows(picture.height, picture.width),
      picture_(picture),
      weights_(yuv_weights(picture.matrix)) {
  not_null(picture.y, "y");
  not_null(picture.u, "u");
  not_null(picture.v, "v");
  if (picture.y_pixel_stride < 1 || picture.uv_pixel_stride < 1) {
    fail(ErrorCode::kInvalidArgument, "the pixels of a picture lie %lld and %lld bytes apart",
         static_cast<long long>(picture.y_pixel_stride),
         static_cast<long long>(picture.uv_pixel_stride));
  }
}

void YuvRows::read_chroma(int64_t row, int64_t begin, int64_t end) {
  if (row == chroma_row_ && begin == chroma_begin_ && end == chroma_end_) return;
  const int64_t count = end - begin;
  chroma_.resize(static_cast<size_t>(3 * count));
  const int64_t offset = row * picture_.uv_row_stride + begin * picture_.uv_pixel_stride;
  const uint8_t* u = picture_.u + offset;
  const uint8_t* v = picture_.v + offset;
  if (picture_.uv_pixel_stride != 1) {
    plain_.resize(static_cast<size_t>(2 * count));
    gather(u, picture_.uv_pixel_stride, count, plain_.data());
    gather(v, picture_.uv_pixel_stride, count, plain_.data() + count);
    u = plain_.data();
    v = u + count;
  }
  int16_t* terms = chroma_.data();
  kernels::chroma_terms(weights_, u, v, count, terms, terms + count, terms + 2 * count);
  chroma_row_ = row;
  chroma_begin_ = begin;
  chroma_end_ = end;
}

void YuvRows::read(int64_t y, int64_t begin, int64_t end, uint8_t* rgbx) {
  read_chroma(y / 2, begin / 2, (end + 1) / 2);
  const int64_t count = end - begin;
  const uint8_t* luma = picture_.y + y * picture_.y_row_stride + begin * picture_.y_pixel_stride;
  if (picture_.y_pixel_stride != 1) {
    plain_.resize(static_cast<size_t>(count));
    gather(luma, picture_.y_pixel_stride, count, plain_.data());
    luma = plain_.data();
  }
  const int64_t pairs = chroma_end_ - chroma_begin_;
  const int16_t* terms = chroma_.data();
  kernels::rgbx_from_yuv(weights_, luma, count, terms, terms + pairs, terms + 2 * pairs, rgbx);
}

void GreyRows::read(int64_t y, int64_t begin, int64_t end, uint8_t* rgbx) {
  colors_.read(y, begin, end, rgbx);
  for (uint8_t* pixel = rgbx; pixel != rgbx + kPixelBytes * (end - begin); pixel += kPixelBytes) {
    // ITU-R BT.601 with 16 bits of fraction.
    const unsigned sum = pixel[0] * 19595u + pixel[1] * 38470u + pixel[2] * 7471u + 0x8000u;
    pixel[0] = pixel[1] = pixel[2] = static_cast<uint8_t>(sum >> 16);
  }
}

}  // namespace torchlet::image
