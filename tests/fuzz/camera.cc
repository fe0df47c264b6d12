#include <torchlet/preprocess.h>

#include <algorithm>
#include <vector>

#include "image/exif.h"
#include "tests/fuzz/targets.h"

namespace torchlet::fuzz {
namespace {

// Takes numbers from the input, 0 when it has ended.
class Numbers {
 public:
  explicit Numbers(std::span<const std::byte> input) : left_(input) {}
  int64_t next(int64_t count) {
    if (left_.empty()) return 0;
    const auto number = static_cast<int64_t>(left_.front());
    left_ = left_.subspan(1);
    return number % count;
  }
  std::span<const std::byte> left() const { return left_; }

 private:
  std::span<const std::byte> left_;
};

// A plane that ends with its last pixel.
std::vector<uint8_t> plane(int64_t height, int64_t width, int64_t row, int64_t pixel) {
  return std::vector<uint8_t>(static_cast<size_t>((height - 1) * row + (width - 1) * pixel + 1), 7);
}

Preprocess some_steps(Numbers& numbers) {
  Preprocess steps;
  const auto size = [&] {
    std::vector<int64_t> sides(static_cast<size_t>(numbers.next(3)));
    for (int64_t& side : sides) side = 1 + numbers.next(90);
    return sides;
  };
  steps.resize = size();
  steps.crop = size();
  steps.interpolation = static_cast<Interpolation>(numbers.next(3));
  steps.antialias = numbers.next(2) != 0;
  steps.channels = static_cast<Channels>(numbers.next(3));
  if (numbers.next(2)) steps.dtype = DType::kUInt8;
  if (numbers.next(2)) steps.memory_format = MemoryFormat::kChannelsLast;
  return steps;
}

void prepare_yuv(Numbers& numbers) {
  YuvView view;
  view.width = 1 + numbers.next(70);
  view.height = 1 + numbers.next(50);
  const int64_t rows = (view.height + 1) / 2, columns = (view.width + 1) / 2;
  view.y_pixel_stride = 1 + numbers.next(3);
  view.uv_pixel_stride = 1 + numbers.next(3);
  view.y_row_stride = view.width * view.y_pixel_stride + numbers.next(9);
  view.uv_row_stride = columns * view.uv_pixel_stride + numbers.next(9);
  view.matrix = static_cast<YuvMatrix>(numbers.next(5));
  const auto y = plane(view.height, view.width, view.y_row_stride, view.y_pixel_stride);
  const auto u = plane(rows, columns, view.uv_row_stride, view.uv_pixel_stride), v = u;
  view.y = y.data();
  view.u = u.data();
  view.v = v.data();
  const auto rotation = static_cast<Rotation>(numbers.next(5) * 90);
  const Preprocess steps = some_steps(numbers);
  const Tensor tensor = steps(view, rotation);
  expect(tensor.size(1) == (steps.channels == Channels::kGrey ? 1 : 3), "channels are as asked");
}

}  // namespace

int fuzz_camera(std::span<const std::byte> input) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(input.data());
  const int orientation = image::exif_orientation({bytes, input.size()});
  expect(orientation >= 1 && orientation <= 8, "an orientation is 1 to 8");
  expect_good_end([&] {
    const Preprocess steps =
        parse_preprocess({reinterpret_cast<const char*>(input.data()), input.size()});
    expect(parse_preprocess(to_json(steps)) == steps, "a record is read as it is written");
  });
  return expect_good_end([&] {
    Numbers numbers(input);
    prepare_yuv(numbers);
  });
}

}  // namespace torchlet::fuzz
