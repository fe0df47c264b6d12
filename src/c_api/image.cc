#include <cstring>

#include "base/error.h"
#include "c_api/handles.h"

using namespace torchlet;
using namespace torchlet::c_api;

namespace {

// A new handle for what `make` gives.
template <typename Make>
torchlet_status make_image(torchlet_image** image, const char* name, const Make& make) {
  return guarded([&] {
    torchlet_image*& result = given(image, name);
    result = new torchlet_image{make()};
  });
}

// Three numbers, or three times the same.
std::array<float, 3> three(const float* numbers, float otherwise) {
  if (!numbers) return {otherwise, otherwise, otherwise};
  return {numbers[0], numbers[1], numbers[2]};
}

}  // namespace

torchlet_status torchlet_image_decode(const void* data, size_t size, torchlet_image** image) {
  return make_image(image, "image", [&] {
    if (!data) fail_null("data");
    return decode_image({static_cast<const std::byte*>(data), size});
  });
}

torchlet_status torchlet_image_read(const char* path, torchlet_image** image) {
  return make_image(image, "image", [&] { return read_image(given_text(path, "path")); });
}

void torchlet_image_free(torchlet_image* image) { delete image; }

int64_t torchlet_image_width(const torchlet_image* image) {
  return answered([&] { return given(image, "image").image.width; });
}

int64_t torchlet_image_height(const torchlet_image* image) {
  return answered([&] { return given(image, "image").image.height; });
}

const uint8_t* torchlet_image_data(const torchlet_image* image) {
  return answered([&] { return given(image, "image").image.rgb.data(); });
}

torchlet_status torchlet_image_to_tensor(const torchlet_image* image, torchlet_dtype dtype,
                                         torchlet_memory_format format, const float* mean,
                                         const float* std, torchlet_tensor** tensor) {
  return guarded([&] {
    torchlet_tensor*& result = given(tensor, "tensor");
    const Image& picture = given(image, "image").image;
    const MemoryFormat order = format_of(format, 4);
    if (dtype == TORCHLET_FLOAT32) {
      result =
          new torchlet_tensor{to_tensor(picture, three(mean, 0), three(std, 1)).contiguous(order)};
      return;
    }
    if (dtype != TORCHLET_UINT8 || mean || std) {
      fail(ErrorCode::kInvalidArgument,
           "a picture becomes float32, or uint8 without mean and std, not %s",
           torchlet_dtype_name(dtype));
    }
    const Tensor pixels = empty(std::array<int64_t, 4>{1, 3, picture.height, picture.width},
                                DType::kUInt8, MemoryFormat::kChannelsLast);
    std::memcpy(pixels.raw_data(), picture.rgb.data(), picture.rgb.size());
    result = new torchlet_tensor{pixels.contiguous(order)};
  });
}
