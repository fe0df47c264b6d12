// The native methods of org.torchlet.internal.Native for pictures and preprocessing.
#include <algorithm>
#include <cstring>

#include "wire.h"

using namespace torchlet::jni;

namespace {

// Pixels in Java's memory, as Pixels.java writes them: in direct buffers, one or one for each
// plane, or in an array. It saw to it that they are there, as many as the numbers tell.
class PixelSource {
 public:
  PixelSource(JNIEnv* env, jobjectArray buffers, jbyteArray bytes, jintArray colours,
              jlongArray numbers)
      : env_(env),
        buffers_(buffers),
        bytes_(env, bytes),
        colours_(env, colours),
        numbers_(env, numbers) {}

  // Of the pair of functions of the C interface for pixels and for YUV the one that fits.
  template <typename OfPixels, typename OfYuv, typename T>
  torchlet_status give(const OfPixels& of_pixels, const OfYuv& of_yuv, T** result) const {
    const auto rotation = static_cast<torchlet_rotation>(number(4));
    if (number(0) == 0) {
      const torchlet_pixels pixels = {static_cast<torchlet_pixel_format>(number(1)), plane(0),
                                      number(2), number(3), number(5)};
      return of_pixels(&pixels, rotation, result);
    }
    torchlet_yuv yuv = {};
    yuv.y = plane(0);
    yuv.u = plane(1);
    yuv.v = plane(2);
    yuv.width = number(2);
    yuv.height = number(3);
    yuv.y_row_stride = number(5);
    yuv.y_pixel_stride = number(6);
    yuv.uv_row_stride = number(7);
    yuv.uv_pixel_stride = number(8);
    yuv.matrix = static_cast<torchlet_yuv_matrix>(number(1));
    return of_yuv(&yuv, rotation, result);
  }

 private:
  jlong number(size_t index) const { return numbers_.data()[index]; }

  const uint8_t* plane(size_t index) const {
    const void* memory = bytes_.data() ? static_cast<const void*>(bytes_.data()) : colours_.data();
    if (buffers_) {
      const jobject buffer = env_->GetObjectArrayElement(buffers_, static_cast<jsize>(index));
      memory = env_->GetDirectBufferAddress(buffer);
      env_->DeleteLocalRef(buffer);
    }
    return static_cast<const uint8_t*>(memory) + number(9 + index);
  }

  JNIEnv* env_;
  jobjectArray buffers_;
  Bytes bytes_;
  Ints colours_;
  Longs numbers_;
};

// {pointer, width, height}
jlongArray to_java(JNIEnv* env, Owned<torchlet_image> image) {
  const jlongArray result = there(env->NewLongArray(3));
  jlong numbers[] = {0, torchlet_image_width(image.get()), torchlet_image_height(image.get())};
  numbers[0] = given_away(std::move(image));
  env->SetLongArrayRegion(result, 0, 3, numbers);
  return result;
}

template <typename Make>
jlongArray new_picture(JNIEnv* env, const Make& make) {
  return entered(env, [&] { return to_java(env, made<torchlet_image>(env, make)); });
}

// Whether the tensor is as `numbers` tell: {dtype, memory format, sizes...}.
bool is_as(const torchlet_tensor* tensor, const Longs& numbers) {
  const size_t dims = torchlet_tensor_dims(tensor);
  const jlong* const sizes = numbers.data() + 2;
  return numbers.size() == 2 + dims && torchlet_tensor_dtype(tensor) == numbers.data()[0] &&
         std::equal(sizes, sizes + dims, torchlet_tensor_sizes(tensor)) &&
         torchlet_tensor_is_contiguous(tensor,
                                       static_cast<torchlet_memory_format>(numbers.data()[1]));
}

// Null if the tensor was copied into a direct buffer for one that is as `kind` tells.
template <typename Make>
jobjectArray new_input(JNIEnv* env, jobject buffer, jlongArray kind, const Make& make) {
  return entered(env, [&]() -> jobjectArray {
    auto tensor = made<torchlet_tensor>(env, make);
    if (!buffer || !is_as(tensor.get(), Longs(env, kind))) return to_wire(env, std::move(tensor));
    const auto bytes = static_cast<size_t>(torchlet_tensor_numel(tensor.get())) *
                       torchlet_tensor_element_size(tensor.get());
    std::memcpy(env->GetDirectBufferAddress(buffer), torchlet_tensor_data(tensor.get()), bytes);
    return nullptr;
  });
}

const torchlet_image* image_at(jlong pointer) { return handle_at<torchlet_image>(pointer); }

const torchlet_preprocess* steps_at(jlong pointer) {
  return handle_at<torchlet_preprocess>(pointer);
}

}  // namespace

// ---- pictures ----

TORCHLET_NATIVE(jlongArray, decodeArray)(JNIEnv* env, jclass, jbyteArray file) {
  return new_picture(env, [&](torchlet_image** image) {
    const Bytes bytes(env, file);
    return torchlet_image_decode(bytes.data(), bytes.size(), image);
  });
}

TORCHLET_NATIVE(jlongArray, decodeBuffer)(JNIEnv* env, jclass, jobject file, jlong size) {
  return new_picture(env, [&](torchlet_image** image) {
    static const char nothing = 0;
    const void* const data = env->GetDirectBufferAddress(file);
    return torchlet_image_decode(data ? data : &nothing, static_cast<size_t>(size), image);
  });
}

TORCHLET_NATIVE(jlongArray, readPicture)(JNIEnv* env, jclass, jbyteArray path) {
  return new_picture(env, [&](torchlet_image** image) {
    const Bytes text(env, path);
    return torchlet_image_read(text_of(text), image);
  });
}

TORCHLET_NATIVE(jlongArray, pictureOf)
(JNIEnv* env, jclass, jobjectArray buffers, jbyteArray bytes, jintArray colours,
 jlongArray numbers) {
  return new_picture(env, [&](torchlet_image** image) {
    const PixelSource source(env, buffers, bytes, colours, numbers);
    return source.give(torchlet_image_from_pixels, torchlet_image_from_yuv, image);
  });
}

TORCHLET_NATIVE(jlongArray, resized)
(JNIEnv* env, jclass, jlong picture, jlong width, jlong height, jboolean antialias) {
  return new_picture(env, [&](torchlet_image** result) {
    return torchlet_image_resize(image_at(picture), width, height, antialias, result);
  });
}

TORCHLET_NATIVE(jlongArray, cropped)
(JNIEnv* env, jclass, jlong picture, jlong left, jlong top, jlong width, jlong height) {
  return new_picture(env, [&](torchlet_image** result) {
    return torchlet_image_crop(image_at(picture), left, top, width, height, result);
  });
}

TORCHLET_NATIVE(jlongArray, rotated)(JNIEnv* env, jclass, jlong picture, jint degrees) {
  return new_picture(env, [&](torchlet_image** result) {
    return torchlet_image_rotate(image_at(picture), static_cast<torchlet_rotation>(degrees),
                                 result);
  });
}

TORCHLET_NATIVE(jbyteArray, pictureRgb)(JNIEnv* env, jclass, jlong picture) {
  return entered(env, [&] {
    const torchlet_image* const image = image_at(picture);
    const int64_t size = 3 * torchlet_image_width(image) * torchlet_image_height(image);
    return bytes_of(env, reinterpret_cast<const char*>(torchlet_image_data(image)),
                    static_cast<size_t>(size));
  });
}

// ---- preprocessing ----

TORCHLET_NATIVE(jlong, newPreprocess)(JNIEnv* env, jclass, jbyteArray json) {
  return entered(env, [&] {
    const Bytes text(env, json);
    return given_away(made<torchlet_preprocess>(env, [&](torchlet_preprocess** steps) {
      return torchlet_preprocess_new(text_of(text), steps);
    }));
  });
}

TORCHLET_NATIVE(jlong, preprocessOf)(JNIEnv* env, jclass, jlong module) {
  return entered(env, [&]() -> jlong {
    torchlet_preprocess* steps = nullptr;
    const torchlet_status status =
        torchlet_preprocess_of(handle_at<torchlet_module>(module), &steps);
    if (status == TORCHLET_NOT_FOUND) return 0;
    check(env, status);
    return given_away(Owned<torchlet_preprocess>(steps));
  });
}

TORCHLET_NATIVE(jbyteArray, preprocessJson)(JNIEnv* env, jclass, jlong steps) {
  return entered(env, [&] {
    const auto json = made<char>(
        env, [&](char** text) { return torchlet_preprocess_json(steps_at(steps), text); });
    return bytes_of(env, json.get());
  });
}

TORCHLET_NATIVE(jobjectArray, preprocess)
(JNIEnv* env, jclass, jlong steps, jlong picture, jobject reused, jlongArray kind) {
  return new_input(env, reused, kind, [&](torchlet_tensor** tensor) {
    return torchlet_preprocess_run(steps_at(steps), image_at(picture), tensor);
  });
}

TORCHLET_NATIVE(jobjectArray, preprocessPixels)
(JNIEnv* env, jclass, jlong steps, jobjectArray buffers, jbyteArray bytes, jintArray colours,
 jlongArray numbers, jobject reused, jlongArray kind) {
  return new_input(env, reused, kind, [&](torchlet_tensor** tensor) {
    const auto of_pixels = [&](auto... arguments) {
      return torchlet_preprocess_run_pixels(steps_at(steps), arguments...);
    };
    const auto of_yuv = [&](auto... arguments) {
      return torchlet_preprocess_run_yuv(steps_at(steps), arguments...);
    };
    return PixelSource(env, buffers, bytes, colours, numbers).give(of_pixels, of_yuv, tensor);
  });
}
