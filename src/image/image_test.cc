#include <gtest/gtest.h>
#include <torchlet/preprocess.h>
#include <zlib.h>

#include <climits>
#include <cstdio>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/testing.h"
#include "tensor/npy.h"

namespace torchlet {
namespace {

std::string fixture(const std::string& name) { return "tests/fixtures/image/" + name; }

// The pixels that PIL gave, as an Image.
Image expected(const std::string& name) {
  const Tensor tensor = load_npy(fixture(name)).contiguous();
  const uint8_t* data = tensor.data_ptr<uint8_t>();
  return {tensor.size(0), tensor.size(1), std::vector<uint8_t>(data, data + tensor.numel())};
}

void expect_same(const Image& image, const Image& want) {
  EXPECT_EQ(image.height, want.height);
  EXPECT_EQ(image.width, want.width);
  EXPECT_EQ(image.rgb, want.rgb);
}

TEST(Image, DecodesAsPil) {
  for (const char* name : {"rgb.png", "rgb.jpg", "grey.jpg", "rgba.png", "palette.png"}) {
    SCOPED_TRACE(name);
    expect_same(read_image(fixture(name)), expected(std::string(name) + ".npy"));
  }
}

TEST(Image, ResizesAsPil) {
  const Image image = read_image(fixture("rgb.png"));
  for (const auto& [height, width] : {std::pair{20, 30}, {37, 11}, {90, 120}, {50, 20}}) {
    SCOPED_TRACE(height);
    expect_same(resize(image, height, width), expected(format("resized_%dx%d.npy", height, width)));
  }
}

TEST(Image, ResizesByOtherMeansAsPil) {
  const Image image = read_image(fixture("rgb.png"));
  for (const auto& [height, width] : {std::pair{20, 30}, {90, 120}}) {
    SCOPED_TRACE(height);
    expect_same(resize(image, height, width, Interpolation::kNearest),
                expected(format("nearest_%dx%d.npy", height, width)));
    expect_same(resize(image, height, width, Interpolation::kBicubic),
                expected(format("bicubic_%dx%d.npy", height, width)));
  }
}

TEST(Image, IsNotResizedToWhatCannotBe) {
  const Image image{2, 2, {1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4}};
  for (const auto& [height, width] : {std::pair{0, 1}, {1, -1}, {INT_MIN, 1}, {INT_MAX, INT_MAX}}) {
    try {
      resize(image, height, width);
      ADD_FAILURE() << height << " x " << width;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    }
  }
}

TEST(Image, IsCroppedAnywhere) {
  const Image image{2, 2, {1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4}};
  expect_same(crop(image, 0, 1, 2, 1), {2, 1, {2, 2, 2, 4, 4, 4}});
  expect_same(crop(image, -1, -1, 2, 2), {2, 2, {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1}});
  expect_same(crop(image, 9, 0, 1, 1), {1, 1, {0, 0, 0}});
  expect_same(crop(image, INT64_MIN, INT64_MAX, 1, 1), {1, 1, {0, 0, 0}});
  EXPECT_THROW(crop(image, 0, 0, 0, 1), Error);
  EXPECT_THROW(crop(image, 0, 0, INT64_MAX, 2), Error);
}

TEST(Image, PreparesAsTorchvision) {
  for (const int crop : {24, 21, 60}) {
    SCOPED_TRACE(crop);
    Preprocess options = Preprocess::imagenet();
    options.resize = {32};
    options.crop = {crop};
    const Tensor got = load_image(fixture("rgb.png"), options);
    const Tensor want = load_npy(fixture(format("input_%d.npy", crop))).contiguous();
    ASSERT_EQ(std::vector<int64_t>(got.sizes().begin(), got.sizes().end()),
              std::vector<int64_t>(want.sizes().begin(), want.sizes().end()));
    for (int64_t i = 0; i < got.numel(); ++i) {
      ASSERT_FLOAT_EQ(got.data_ptr<float>()[i], want.data_ptr<float>()[i]) << i;
    }
  }
}

TEST(Image, DamagedPicturesAreErrors) {
  for (const char* name : {"rgb.png", "rgb.jpg"}) {
    const MappedFile file(fixture(name));
    // A PNG's last bytes hold no pixels.
    const size_t limit = file.bytes().size() - (std::string(name) == "rgb.png" ? 100 : 2);
    for (size_t length = 0; length < limit; length += 7) {
      EXPECT_THROW(decode_image(file.bytes().first(length)), Error) << name << " " << length;
    }
  }
  EXPECT_THROW(read_image("tests/fixtures/image/input_24.npy"), Error);
}

std::vector<std::byte> bytes_of(const std::string& name) {
  const MappedFile file(fixture(name));
  return {file.bytes().begin(), file.bytes().end()};
}

void put_big_endian(std::byte* to, uint32_t value, int width) {
  for (int i = width; i-- > 0; value >>= 8) to[i] = static_cast<std::byte>(value);
}

std::string decode_error(const std::vector<std::byte>& bytes) {
  try {
    decode_image(bytes);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(Image, ASizeThatTheFileIsTooShortForIsAnError) {
  std::vector<std::byte> png = bytes_of("rgb.png");
  constexpr size_t kHeader = 12;  // of the first chunk: name, sizes, CRC
  put_big_endian(&png[kHeader + 4], 11000, 4);
  put_big_endian(&png[kHeader + 8], 11000, 4);
  const auto* header = reinterpret_cast<const unsigned char*>(&png[kHeader]);
  put_big_endian(&png[kHeader + 17], static_cast<uint32_t>(crc32(0, header, 17)), 4);
  EXPECT_EQ(decode_error(png), "the PNG is damaged: the file is too short for so large a picture");

  std::vector<std::byte> jpeg = bytes_of("rgb.jpg");
  size_t frame = 0;
  while (jpeg[frame] != std::byte{0xff} || jpeg[frame + 1] != std::byte{0xc0}) ++frame;
  put_big_endian(&jpeg[frame + 5], 11000, 2);
  put_big_endian(&jpeg[frame + 7], 11000, 2);
  EXPECT_EQ(decode_error(jpeg),
            "the JPEG is damaged: the file is too short for so large a picture");
}

TEST(Image, LabelsAreLinesOfAnySystem) {
  const std::string path = temp_path("labels.txt");
  std::FILE* file = std::fopen(path.c_str(), "wb");
  std::fputs("cat\r\n\nsea lion\ndog", file);
  std::fclose(file);
  EXPECT_EQ(read_labels(path), (std::vector<std::string>{"cat", "", "sea lion", "dog"}));
  EXPECT_THROW(read_labels(path + ".none"), Error);
}

TEST(Image, TopClassesAreSortedProbabilities) {
  float scores[4] = {0, 2, -1, 2};
  const auto top = top_classes(from_blob(scores, std::array<int64_t, 2>{1, 4}, DType::kFloat32), 3);
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].first, 1);
  EXPECT_EQ(top[1].first, 3);
  EXPECT_EQ(top[2].first, 0);
  EXPECT_FLOAT_EQ(top[0].second, 0.45764026f);  // torch.softmax
  EXPECT_FLOAT_EQ(top[2].second, 0.06193487f);
  EXPECT_THROW(top_classes(from_blob(scores, std::array<int64_t, 2>{2, 2}, DType::kFloat32), 3),
               Error);
}

}  // namespace
}  // namespace torchlet
