// Pictures of any kind as rows of pixels of one kind.
#pragma once

#include <torchlet/image.h>

#include <vector>

#include "kernels/image/pixels.h"

namespace torchlet::image {

// 4 bytes: red, green, blue, and one of no meaning (kernels/image/pixels.h).
constexpr int64_t kPixelBytes = 4;

constexpr int64_t kMaxPixels = int64_t{1} << 27;

class Rows {
 public:
  // Error kInvalidArgument for a picture of no pixels or of more than kMaxPixels.
  Rows(int64_t height, int64_t width);
  virtual ~Rows() = default;

  int64_t height() const { return height_; }
  int64_t width() const { return width_; }

  // Pixels [begin, end) of row y; `begin` is even.
  virtual void read(int64_t y, int64_t begin, int64_t end, uint8_t* rgbx) = 0;

 private:
  int64_t height_, width_;
};

class ImageRows : public Rows {
 public:
  explicit ImageRows(const Image& image);
  void read(int64_t y, int64_t begin, int64_t end, uint8_t* rgbx) override;

 private:
  const Image& image_;
};

class PixelRows : public Rows {
 public:
  explicit PixelRows(const PixelView& pixels);
  void read(int64_t y, int64_t begin, int64_t end, uint8_t* rgbx) override;

 private:
  PixelView pixels_;
};

// Two rows share their chroma: read them one after the other.
class YuvRows : public Rows {
 public:
  explicit YuvRows(const YuvView& picture);
  void read(int64_t y, int64_t begin, int64_t end, uint8_t* rgbx) override;

 private:
  void read_chroma(int64_t row, int64_t begin, int64_t end);

  YuvView picture_;
  kernels::YuvWeights weights_;
  // What chroma_ holds: columns [chroma_begin_, chroma_end_) of chroma's row chroma_row_.
  int64_t chroma_row_ = -1, chroma_begin_ = 0, chroma_end_ = 0;
  std::vector<int16_t> chroma_;  // terms of red, green, blue
  std::vector<uint8_t> plain_;   // y, u, v whose pixels are apart
};

// Grey that PIL's convert("L") makes of the rows of another, three times.
class GreyRows : public Rows {
 public:
  explicit GreyRows(Rows& colors) : Rows(colors.height(), colors.width()), colors_(colors) {}
  void read(int64_t y, int64_t begin, int64_t end, uint8_t* rgbx) override;

 private:
  Rows& colors_;
};

}  // namespace torchlet::image
