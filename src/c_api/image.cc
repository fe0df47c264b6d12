#include <algorithm>

#include "base/error.h"
#include "c_api/handles.h"

using namespace torchlet;
using namespace torchlet::c_api;

namespace {

// A new handle for what `make` gives.
template <typename Make>
torchlet_status make_image(torchlet_image** image, const char* name, const Make& make) {
  return guarded(kPictures, [&] {
    torchlet_image*& result = given(image, name);
    result = new torchlet_image{make()};
  });
}

// Numbers that are none of what they should be stay so, for what refuses them.
template <typename Enum>
Enum byte_enum(int number) {
  return static_cast<Enum>(number >= 0 && number < 255 ? number : 255);
}

Rotation rotation_of(torchlet_rotation rotation) {
  return static_cast<Rotation>(std::clamp(static_cast<int>(rotation), -1, 999));
}

PixelView view_of(const torchlet_pixels* given_pixels) {
  const torchlet_pixels& pixels = given(given_pixels, "pixels");
  return {byte_enum<PixelFormat>(static_cast<int>(pixels.format)),
          static_cast<const uint8_t*>(pixels.data), pixels.width, pixels.height, pixels.row_stride};
}

YuvView view_of(const torchlet_yuv* given_picture) {
  const torchlet_yuv& picture = given(given_picture, "picture");
  YuvView view;
  view.y = picture.y;
  view.u = picture.u;
  view.v = picture.v;
  view.width = picture.width;
  view.height = picture.height;
  view.y_row_stride = picture.y_row_stride;
  view.y_pixel_stride = picture.y_pixel_stride;
  view.uv_row_stride = picture.uv_row_stride;
  view.uv_pixel_stride = picture.uv_pixel_stride;
  view.matrix = byte_enum<YuvMatrix>(static_cast<int>(picture.matrix));
  return view;
}

template <typename Make>
torchlet_status make_tensor(torchlet_tensor** tensor, const Make& make) {
  return guarded(kPictures, [&] {
    torchlet_tensor*& result = given(tensor, "tensor");
    result = new torchlet_tensor{make()};
  });
}

// What is not given is not set.
std::vector<double> three(const float* numbers) {
  return numbers ? std::vector<double>(numbers, numbers + 3) : std::vector<double>();
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

torchlet_status torchlet_image_from_pixels(const torchlet_pixels* pixels,
                                           torchlet_rotation rotation, torchlet_image** image) {
  return make_image(image, "image",
                    [&] { return to_image(view_of(pixels), rotation_of(rotation)); });
}

torchlet_status torchlet_image_from_yuv(const torchlet_yuv* picture, torchlet_rotation rotation,
                                        torchlet_image** image) {
  return make_image(image, "image",
                    [&] { return to_image(view_of(picture), rotation_of(rotation)); });
}

torchlet_status torchlet_image_resize(const torchlet_image* image, int64_t width, int64_t height,
                                      int antialias, torchlet_image** result) {
  return make_image(result, "result", [&] {
    return resize(given(image, "image").image, height, width, Interpolation::kBilinear,
                  antialias != 0);
  });
}

torchlet_status torchlet_image_crop(const torchlet_image* image, int64_t left, int64_t top,
                                    int64_t width, int64_t height, torchlet_image** result) {
  return make_image(result, "result",
                    [&] { return crop(given(image, "image").image, top, left, height, width); });
}

torchlet_status torchlet_image_rotate(const torchlet_image* image, torchlet_rotation rotation,
                                      torchlet_image** result) {
  return make_image(result, "result",
                    [&] { return rotate(given(image, "image").image, rotation_of(rotation)); });
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
  return make_tensor(tensor, [&] {
    Preprocess steps;
    steps.mean = three(mean);
    steps.std = three(std);
    steps.dtype = dtype_of(dtype);
    steps.memory_format = format_of(format, 4);
    return steps(given(image, "image").image);
  });
}

torchlet_status torchlet_preprocess_new(const char* json, torchlet_preprocess** preprocess) {
  return guarded(kPictures, [&] {
    torchlet_preprocess*& result = given(preprocess, "preprocess");
    result = new torchlet_preprocess{parse_preprocess(given_text(json, "json"))};
  });
}

torchlet_status torchlet_preprocess_of(const torchlet_module* module,
                                       torchlet_preprocess** preprocess) {
  return guarded(kPictures, [&] {
    torchlet_preprocess*& result = given(preprocess, "preprocess");
    const auto steps = preprocess_of(given(module, "module").module);
    if (!steps) {
      fail(ErrorCode::kNotFound,
           "the model carries no preprocessing; `torchlet bundle --preprocess` adds it");
    }
    result = new torchlet_preprocess{*steps};
  });
}

void torchlet_preprocess_free(torchlet_preprocess* preprocess) { delete preprocess; }

torchlet_status torchlet_preprocess_json(const torchlet_preprocess* preprocess, char** json) {
  return guarded(kPictures, [&] {
    char*& result = given(json, "json");
    result = new_text(to_json(given(preprocess, "preprocess").steps));
  });
}

torchlet_status torchlet_preprocess_run(const torchlet_preprocess* preprocess,
                                        const torchlet_image* image, torchlet_tensor** tensor) {
  return make_tensor(
      tensor, [&] { return given(preprocess, "preprocess").steps(given(image, "image").image); });
}

torchlet_status torchlet_preprocess_run_pixels(const torchlet_preprocess* preprocess,
                                               const torchlet_pixels* pixels,
                                               torchlet_rotation rotation,
                                               torchlet_tensor** tensor) {
  return make_tensor(tensor, [&] {
    return given(preprocess, "preprocess").steps(view_of(pixels), rotation_of(rotation));
  });
}

torchlet_status torchlet_preprocess_run_yuv(const torchlet_preprocess* preprocess,
                                            const torchlet_yuv* picture, torchlet_rotation rotation,
                                            torchlet_tensor** tensor) {
  return make_tensor(tensor, [&] {
    return given(preprocess, "preprocess").steps(view_of(picture), rotation_of(rotation));
  });
}
