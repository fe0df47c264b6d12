// Fifty pictures of all kinds against PIL and torchvision (scripts/make_image_fixtures.py).
#include <gtest/gtest.h>
#include <torchlet/preprocess.h>
#include <zlib.h>

#include <cstdlib>
#include <fstream>

#include "tensor/npy.h"

namespace torchlet {
namespace {

constexpr char kFolder[] = "tests/fixtures/image/";
constexpr int64_t kSide = 24, kBytes = kSide * kSide * 3;

Preprocess steps_of_test() {
  Preprocess steps = Preprocess::imagenet();
  steps.resize = {28};
  steps.crop = {kSide};
  return steps;
}

// uint8 [1, 24, 24, 3] in memory.
Tensor pixels_of(const Image& image, bool antialias) {
  Preprocess steps = steps_of_test();
  steps.mean = steps.std = {};
  steps.dtype = DType::kUInt8;
  steps.memory_format = MemoryFormat::kChannelsLast;
  steps.antialias = antialias;
  return steps(image);
}

struct Difference {
  int largest = 0, count = 0;
};

Difference difference(const uint8_t* a, const uint8_t* b) {
  Difference result;
  for (int64_t i = 0; i < kBytes; ++i) {
    const int step = std::abs(a[i] - b[i]);
    result.largest = std::max(result.largest, step);
    result.count += step != 0;
  }
  return result;
}

TEST(KindsOfPictures, AreReadAndPreparedAsTorchvisionDoes) {
  const Tensor expected = load_npy(std::string(kFolder) + "kinds.npy").contiguous();
  std::ifstream list(std::string(kFolder) + "kinds.txt");
  std::string name;
  int64_t height, width, number = 0;
  uint32_t crc;
  for (; list >> name >> height >> width >> crc; ++number) {
    SCOPED_TRACE(name);
    const Image image = read_image(std::string(kFolder) + "kinds/" + name);
    EXPECT_EQ(image.height, height);
    EXPECT_EQ(image.width, width);
    const uint8_t* want = expected.data_ptr<uint8_t>() + number * 2 * kBytes;
    const Tensor smooth = pixels_of(image, true), rough = pixels_of(image, false);
    EXPECT_EQ(difference(smooth.data_ptr<uint8_t>(), want).count, 0);
    // Sums of floats that end on a half may be rounded to either side.
    const Difference step = difference(rough.data_ptr<uint8_t>(), want + kBytes);
    EXPECT_LE(step.largest, 1);
    EXPECT_LE(step.count, 2);

    const Tensor input = steps_of_test()(image);
    const auto* bytes = reinterpret_cast<const Bytef*>(input.data_ptr<float>());
    EXPECT_EQ(crc32(0, bytes, static_cast<uInt>(input.numel()) * 4), crc);
  }
  EXPECT_EQ(number, 50);
}

}  // namespace
}  // namespace torchlet
