#include <gtest/gtest.h>
#include <torchlet/image.h>

#include <cstdio>

#include "base/error.h"
#include "base/mapped_file.h"
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

TEST(Image, PreparesAsTorchvision) {
  for (const int crop : {24, 21, 60}) {
    SCOPED_TRACE(crop);
    ImageOptions options;
    options.resize = 32;
    options.crop = crop;
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
    // Of the end a JPEG's decoder fills in what is not there, and a PNG's last bytes hold no
    // pixels.
    const size_t limit = std::string(name) == "rgb.png" ? file.bytes().size() - 100 : 300;
    for (size_t length = 0; length < limit; length += 7) {
      EXPECT_THROW(decode_image(file.bytes().first(length)), Error) << name << " " << length;
    }
  }
  EXPECT_THROW(read_image("tests/fixtures/image/input_24.npy"), Error);
}

TEST(Image, LabelsAreLinesOfAnySystem) {
  const std::string path = testing::TempDir() + "labels.txt";
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
