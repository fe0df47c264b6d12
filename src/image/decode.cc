// PNG and JPEG to RGB. Both libraries report errors by longjmp, so the functions that call them
// hold nothing with a destructor.
#include <torchlet/image.h>

#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstring>

// jpeglib.h needs FILE and size_t to be there.
#include <jpeglib.h>

#include <jerror.h>
#include <png.h>

#include "base/error.h"
#include "base/mapped_file.h"
#include "image/exif.h"
#include "image/rows.h"

namespace torchlet {
namespace {

using image::kMaxPixels;

// A header may claim any size, and memory is given only to a file that has the bytes for its
// pixels: deflate makes no more than 1032 bytes of one (RFC 1951), and Huffman codes at least one
// bit for each block of 64 pixels.
constexpr size_t kMaxDeflated = 1032;
constexpr size_t kMaxHuffmanPixels = 8 * 64;
constexpr char kTooShort[] = "the file is too short for so large a picture";

constexpr int kExifMarker = JPEG_APP0 + 1;

// A progressive JPEG costs time for each of its scans; encoders make about ten.
constexpr int kMaxScans = 200;

void allocate(Image& image, int64_t height, int64_t width) {
  if (height < 1 || width < 1 || height > kMaxPixels / width) {
    fail(ErrorCode::kFileFormat, "a picture of %lld x %lld pixels is too large",
         static_cast<long long>(width), static_cast<long long>(height));
  }
  image.height = height;
  image.width = width;
  image.rgb.resize(static_cast<size_t>(height * width * 3));
}

Image upright(Image image, int orientation) {
  if (orientation == 1) return image;
  image::ImageRows rows(image);
  return image::turned(rows, image::turn_of_orientation(orientation));
}

// ---- PNG ----

struct PngSource {
  std::span<const std::byte> left;
  char message[200] = "";
  int orientation = 1;
};

void read_png_bytes(png_structp png, png_bytep target, size_t count) {
  auto& source = *static_cast<PngSource*>(png_get_io_ptr(png));
  if (count > source.left.size()) png_error(png, "the file is cut off");
  std::memcpy(target, source.left.data(), count);
  source.left = source.left.subspan(count);
}

void on_png_error(png_structp png, png_const_charp message) {
  auto& source = *static_cast<PngSource*>(png_get_error_ptr(png));
  std::strncpy(source.message, message, sizeof source.message - 1);
  png_longjmp(png, 1);
}

// Asks for 8-bit RGB whatever the file has; an alpha channel is removed at the end of each row.
void set_png_transforms(png_structp png) {
  png_set_expand(png);
  png_set_strip_16(png);
  png_set_strip_alpha(png);
  png_set_gray_to_rgb(png);
  png_set_interlace_handling(png);
}

// Of the chunk eXIf, which may stand before the pixels.
int png_orientation(png_structp png, png_infop info) {
  png_bytep exif = nullptr;
  png_uint_32 size = 0;
  if (!png_get_eXIf_1(png, info, &size, &exif) || !exif) return 1;
  return image::exif_orientation({exif, size});
}

// False if libpng gave up; `source.message` says why. With `rows` null it only reads the size.
bool read_png(PngSource& source, Image& size, png_bytep* rows) {
  png_structp png =
      png_create_read_struct(PNG_LIBPNG_VER_STRING, &source, on_png_error, [](auto, auto) {});
  png_infop info = png ? png_create_info_struct(png) : nullptr;
  bool done = false;
  if (info && !setjmp(png_jmpbuf(png))) {
    png_set_read_fn(png, &source, read_png_bytes);
    png_read_info(png, info);
    size.height = png_get_image_height(png, info);
    size.width = png_get_image_width(png, info);
    if (png_get_rowbytes(png, info) * static_cast<size_t>(size.height) / kMaxDeflated >
        source.left.size()) {
      png_error(png, kTooShort);
    }
    if (rows) {
      set_png_transforms(png);
      png_read_update_info(png, info);
      if (png_get_rowbytes(png, info) != 3 * static_cast<size_t>(size.width)) {
        png_error(png, "its pixels cannot be read as RGB");
      }
      png_read_image(png, rows);
      source.orientation = png_orientation(png, info);
    }
    done = true;
  }
  png_destroy_read_struct(&png, &info, nullptr);
  return done;
}

Image decode_png(std::span<const std::byte> bytes) {
  Image image;
  PngSource source{bytes};
  bool done = read_png(source, image, nullptr);
  if (done) {
    allocate(image, image.height, image.width);
    std::vector<png_bytep> rows;
    for (int64_t y = 0; y < image.height; ++y) {
      rows.push_back(image.rgb.data() + y * image.width * 3);
    }
    source.left = bytes;
    done = read_png(source, image, rows.data());
  }
  if (!done) fail(ErrorCode::kFileFormat, "the PNG is damaged: %s", source.message);
  return upright(std::move(image), source.orientation);
}

// ---- JPEG ----

struct JpegErrors {
  jpeg_error_mgr manager;  // first, so that libjpeg's pointer is ours
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
  int orientation;
};

void on_jpeg_error(j_common_ptr jpeg) {
  auto* errors = reinterpret_cast<JpegErrors*>(jpeg->err);
  jpeg->err->format_message(jpeg, errors->message);
  std::longjmp(errors->jump, 1);
}

// libjpeg only warns of an end that is not there, and makes up the pixels.
void on_jpeg_message(j_common_ptr jpeg, int) {
  if (jpeg->err->msg_code == JWRN_JPEG_EOF) on_jpeg_error(jpeg);
}

void on_jpeg_progress(j_common_ptr jpeg) {
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number <= kMaxScans) return;
  auto* errors = reinterpret_cast<JpegErrors*>(jpeg->err);
  std::snprintf(errors->message, sizeof errors->message, "it has more than %d scans", kMaxScans);
  std::longjmp(errors->jump, 1);
}

// Of the first APP1 that is Exif's.
int jpeg_orientation(const jpeg_decompress_struct& jpeg) {
  constexpr char kName[] = "Exif\0";  // and the null character that ends it
  for (const auto* marker = jpeg.marker_list; marker; marker = marker->next) {
    if (marker->marker != kExifMarker || marker->data_length < sizeof kName ||
        std::memcmp(marker->data, kName, sizeof kName) != 0) {
      continue;
    }
    return image::exif_orientation(
        {marker->data + sizeof kName, marker->data_length - sizeof kName});
  }
  return 1;
}

// Rows of CMYK, of which Adobe's programs write 255 - ink, as of anybody's (PIL does, too). The
// color beneath black is what is left of it.
void read_cmyk(j_decompress_ptr jpeg, uint8_t* rgb) {
  JSAMPARRAY row = (*jpeg->mem->alloc_sarray)(reinterpret_cast<j_common_ptr>(jpeg), JPOOL_IMAGE,
                                              4 * jpeg->output_width, 1);
  while (jpeg->output_scanline < jpeg->output_height) {
    jpeg_read_scanlines(jpeg, row, 1);
    for (const JSAMPLE* pixel = *row; pixel != *row + 4 * jpeg->output_width; pixel += 4) {
      const int black = pixel[3];
      for (int c = 0; c < 3; ++c) {
        const int product = (255 - pixel[c]) * black + 128;  // and divided by 255, rounded
        *rgb++ = static_cast<uint8_t>(std::max(0, black - (((product >> 8) + product) >> 8)));
      }
    }
  }
}

void read_rgb(j_decompress_ptr jpeg, uint8_t* rgb) {
  while (jpeg->output_scanline < jpeg->output_height) {
    JSAMPROW row = rgb + static_cast<size_t>(jpeg->output_scanline) * jpeg->output_width * 3;
    jpeg_read_scanlines(jpeg, &row, 1);
  }
}

// As read_png: with `rgb` null only the size.
bool read_jpeg(std::span<const std::byte> bytes, JpegErrors& errors, Image& size, uint8_t* rgb) {
  jpeg_decompress_struct jpeg{};
  jpeg.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = on_jpeg_error;
  errors.manager.emit_message = on_jpeg_message;
  jpeg_progress_mgr progress{};
  progress.progress_monitor = on_jpeg_progress;
  bool done = false;
  if (!setjmp(errors.jump)) {
    jpeg_create_decompress(&jpeg);
    jpeg.progress = &progress;
    jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(bytes.data()),
                 static_cast<unsigned long>(bytes.size()));
    jpeg_save_markers(&jpeg, kExifMarker, 0xffff);
    jpeg_read_header(&jpeg, TRUE);
    size.height = jpeg.image_height;
    size.width = jpeg.image_width;
    if (rgb) {
      const bool is_cmyk = jpeg.jpeg_color_space == JCS_CMYK || jpeg.jpeg_color_space == JCS_YCCK;
      errors.orientation = jpeg_orientation(jpeg);
      jpeg.out_color_space = is_cmyk ? JCS_CMYK : JCS_RGB;
      jpeg_start_decompress(&jpeg);
      is_cmyk ? read_cmyk(&jpeg, rgb) : read_rgb(&jpeg, rgb);
    }
    const auto pixels = static_cast<size_t>(size.height) * static_cast<size_t>(size.width);
    done = jpeg.arith_code || pixels / kMaxHuffmanPixels <= bytes.size();
    if (!done) std::strcpy(errors.message, kTooShort);
  }
  jpeg_destroy_decompress(&jpeg);
  return done;
}

Image decode_jpeg(std::span<const std::byte> bytes) {
  Image image;
  JpegErrors errors{};
  bool done = read_jpeg(bytes, errors, image, nullptr);
  if (done) {
    allocate(image, image.height, image.width);
    done = read_jpeg(bytes, errors, image, image.rgb.data());
  }
  if (!done) fail(ErrorCode::kFileFormat, "the JPEG is damaged: %s", errors.message);
  return upright(std::move(image), errors.orientation);
}

}  // namespace

Image decode_image(std::span<const std::byte> bytes) {
  const auto byte = [&](size_t i) { return i < bytes.size() ? static_cast<int>(bytes[i]) : -1; };
  if (byte(0) == 0x89 && byte(1) == 'P' && byte(2) == 'N' && byte(3) == 'G') {
    return decode_png(bytes);
  }
  if (byte(0) == 0xff && byte(1) == 0xd8) return decode_jpeg(bytes);
  fail(ErrorCode::kFileFormat, "the picture is neither PNG nor JPEG; convert it to one of them");
}

Image read_image(const std::string& path) {
  const MappedFile file(path);
  try {
    return decode_image(file.bytes());
  } catch (Error& error) {
    error.add_context("in " + path);
    throw;
  }
}

}  // namespace torchlet
