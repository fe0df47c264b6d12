#include <torchlet/image.h>

#include <algorithm>

#include "tests/fuzz/targets.h"

namespace torchlet::fuzz {

int fuzz_picture(std::span<const std::byte> input) {
  return expect_good_end([&] {
    const Image image = decode_image(input);
    expect(static_cast<int64_t>(image.rgb.size()) == image.height * image.width * 3,
           "a decoded picture has three bytes for each pixel");
    if (image.rgb.size() > (1 << 20)) return;  // the rest of the work only grows with the picture
    const Image small = resize(image, 1 + image.width % 40, 1 + image.height % 40);
    center_crop(small, 16, 24);
    to_tensor(center_crop(image, 5, 3), {0, 0, 0}, {1, 1, 1});
    // A long strip would become a long one, too.
    if (std::max(image.height, image.width) / std::min(image.height, image.width) < 100) {
      resize_shorter_side(image, 24);
    }
  });
}

}  // namespace torchlet::fuzz
