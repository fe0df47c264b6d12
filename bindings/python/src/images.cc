// Pictures as the inputs of models (torchlet/image.h, torchlet/preprocess.h).
#include <nanobind/stl/array.h>
#include <torchlet/preprocess.h>

#include "base/error.h"
#include "python.h"

namespace torchlet::python {
namespace {

// uint8 [height, width, 3], over the picture's own memory.
nb::object pixels(nb::handle self) {
  class KeptImage : public Kept {
   public:
    explicit KeptImage(nb::handle i) : image(nb::borrow(i)) {}
    nb::object image;
  };
  Image& image = nb::cast<Image&>(self);
  auto* kept = new KeptImage(self);
  const std::array<int64_t, 3> sizes = {image.height, image.width, 3};
  return from_tensor(
      from_blob(image.rgb.data(), sizes, DType::kUInt8, {}, [kept](void*) { kept->drop(); }));
}

template <typename T>
T choice(const char* what, const std::string& name,
         const std::vector<std::pair<const char*, T>>& choices) {
  std::string known;
  for (const auto& [word, value] : choices) {
    if (name == word) return value;
    known += (known.empty() ? "" : ", ") + std::string(word);
  }
  fail(ErrorCode::kInvalidArgument,
       std::string(what) + ": one of " + known + ", not '" + name + "'");
}

Rotation rotation_of(int degrees) {
  if (degrees == 0 || degrees == 90 || degrees == 180 || degrees == 270) {
    return static_cast<Rotation>(degrees);
  }
  fail(ErrorCode::kInvalidArgument, "rotation: 0, 90, 180 or 270 degrees, not %d", degrees);
}

// Of uint8 [height, width] or [height, width, 1, 3 or 4 channels].
Image of_pixels(nb::handle array, int rotation) {
  const Tensor tensor = torchlet::python::to_tensor(array).contiguous();
  const int64_t channels = tensor.dim() == 2 ? 1 : tensor.dim() == 3 ? tensor.size(2) : 0;
  if (tensor.dtype() != DType::kUInt8 || (channels != 1 && channels != 3 && channels != 4)) {
    fail(ErrorCode::kInvalidArgument,
         "a picture is uint8 [height, width] or [height, width, 1, 3 or 4], not " +
             tensor.describe());
  }
  const PixelFormat format = channels == 1   ? PixelFormat::kGrey
                             : channels == 3 ? PixelFormat::kRgb
                                             : PixelFormat::kRgba;
  const PixelView view{format, tensor.data_ptr<uint8_t>(), tensor.size(1), tensor.size(0),
                       tensor.size(1) * channels};
  return unlocked([&] { return to_image(view, rotation_of(rotation)); });
}

Tensor plane(nb::handle array, const char* name, int64_t height, int64_t width) {
  Tensor tensor = torchlet::python::to_tensor(array);
  const bool fits =
      tensor.dim() == 2 && (height < 0 || (tensor.size(0) == height && tensor.size(1) == width));
  if (tensor.dtype() == DType::kUInt8 && fits) return tensor;
  std::string wanted = "[height, width]";
  if (height >= 0)
    wanted = format("[%lld, %lld]", static_cast<long long>(height), static_cast<long long>(width));
  fail(ErrorCode::kInvalidArgument,
       std::string(name) + " is uint8 " + wanted + ", not " + tensor.describe());
}

Image of_yuv420(nb::handle y_plane, nb::handle u_plane, nb::handle v_plane, int rotation,
                const std::string& matrix) {
  const Tensor y = plane(y_plane, "y", -1, -1);
  const int64_t height = y.size(0), width = y.size(1);
  Tensor u = plane(u_plane, "u", (height + 1) / 2, (width + 1) / 2);
  Tensor v = plane(v_plane, "v", (height + 1) / 2, (width + 1) / 2);
  if (u.stride(0) != v.stride(0) || u.stride(1) != v.stride(1)) {
    u = u.contiguous();
    v = v.contiguous();
  }
  const YuvView view{y.data_ptr<uint8_t>(),
                     u.data_ptr<uint8_t>(),
                     v.data_ptr<uint8_t>(),
                     width,
                     height,
                     y.stride(0),
                     u.stride(0),
                     u.stride(1),
                     y.stride(1),
                     choice<YuvMatrix>("matrix", matrix,
                                       {{"bt601", YuvMatrix::kBt601},
                                        {"bt601-limited", YuvMatrix::kBt601Limited},
                                        {"bt709", YuvMatrix::kBt709},
                                        {"bt709-limited", YuvMatrix::kBt709Limited}})};
  return unlocked([&] { return to_image(view, rotation_of(rotation)); });
}

Interpolation interpolation_of(const std::string& name) {
  return choice<Interpolation>("interpolation", name,
                               {{"nearest", Interpolation::kNearest},
                                {"bilinear", Interpolation::kBilinear},
                                {"bicubic", Interpolation::kBicubic}});
}

MemoryFormat format_of(const std::string& name) {
  return choice<MemoryFormat>(
      "memory_format", name,
      {{"contiguous", MemoryFormat::kContiguous}, {"channels_last", MemoryFormat::kChannelsLast}});
}

nb::str json_of(const Preprocess& steps) { return text(to_json(steps)); }

void bind_preprocess(nb::module_& m) {
  nb::class_<Preprocess>(
      m, "Preprocess",
      "The steps from a picture to a model's input: the record of docs/pictures.md.\n\n"
      "    steps = torchlet.Preprocess(resize=256, crop=224, mean=[0.5], std=[0.5])\n"
      "    model(steps(torchlet.Image.read(\"cat.jpg\")))")
      .def(
          "__init__",
          [](Preprocess* self, const nb::kwargs& record) {
            const nb::object json = nb::module_::import_("json").attr("dumps")(record);
            new (self) Preprocess(parse_preprocess(cast_to<std::string>(json, "the record")));
          },
          nb::sig("def __init__(self, *, resize: int | typing.Sequence[int] | None = ..., "
                  "antialias: bool = ..., "
                  "interpolation: str = ..., crop: int | typing.Sequence[int] | None = ..., "
                  "channels: str = ..., "
                  "mean: typing.Sequence[float] = ..., std: typing.Sequence[float] = ..., dtype: "
                  "str = ..., "
                  "memory_format: str = ...) -> None"),
          "What is not given keeps the picture as it is.")
      .def_static("imagenet", &Preprocess::imagenet, "Those of torchvision's models for ImageNet.")
      .def_static(
          "parse", [](const std::string& json) { return parse_preprocess(json); }, nb::arg("json"))
      .def("json", json_of, nb::sig("def json(self) -> str"), "The record, on one line.")
      .def(
          "__call__",
          [](const Preprocess& steps, const Image& image) {
            return from_tensor(unlocked([&] { return steps(image); }));
          },
          nb::arg("image"), nb::sig("def __call__(self, image: Image) -> Array"),
          "[1, channels, height, width]")
      .def(
          "__eq__",
          [](const Preprocess& a, const nb::object& b) {
            return nb::isinstance<Preprocess>(b) && a == nb::cast<Preprocess&>(b);
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object) -> bool"))
      .def("__hash__", [](const Preprocess& steps) { return nb::hash(json_of(steps)); })
      .def(
          "__repr__",
          [](const Preprocess& steps) {
            return text("torchlet.Preprocess.parse('" + to_json(steps) + "')");
          },
          nb::sig("def __repr__(self) -> str"));
  m.def(
      "preprocess_of",
      [](const PyModule& model) { return unlocked([&] { return preprocess_of(model.module); }); },
      nb::arg("model"), "The steps that the model carries; None if it carries none.");
  m.def(
      "labels_of",
      [](const PyModule& model) {
        nb::list all;
        for (const std::string& label : unlocked([&] { return labels_of(model.module); }))
          all.append(text(label));
        return all;
      },
      nb::arg("model"), nb::sig("def labels_of(model: Module) -> list[str]"),
      "The labels that the model carries; none if it carries none.");
}

}  // namespace

void bind_images(nb::module_& m) {
  nb::class_<Image>(m, "Image", "A picture: 8-bit RGB, rows from the top.")
      .def(
          "__init__",
          [](Image* self, nb::handle array, int rotation) {
            new (self) Image(of_pixels(array, rotation));
          },
          nb::arg("array"), nb::arg("rotation") = 0,
          nb::sig("def __init__(self, array: typing.Any, rotation: int = 0) -> None"),
          "Of uint8 pixels [height, width] or [height, width, 1, 3 or 4], which are copied: grey "
          "becomes RGB,\n"
          "alpha is dropped; turned clockwise by `rotation` degrees.")
      .def_static(
          "read",
          [](const std::string& path) { return unlocked([&] { return read_image(path); }); },
          nb::arg("path"), "PNG or JPEG, made upright by its EXIF orientation.")
      .def_static(
          "decode",
          [](const nb::bytes& bytes) {
            const std::span data(static_cast<const std::byte*>(bytes.data()), bytes.size());
            return unlocked([&] { return decode_image(data); });
          },
          nb::arg("data"), "The same from memory.")
      .def_static("from_yuv420", of_yuv420, nb::arg("y"), nb::arg("u"), nb::arg("v"),
                  nb::arg("rotation") = 0, nb::arg("matrix") = "bt601",
                  nb::sig("def from_yuv420(y: typing.Any, u: typing.Any, v: typing.Any, rotation: "
                          "int = 0, matrix: str = \"bt601\") -> Image"),
                  "A camera's picture: uint8 planes [height, width], and two of half of both, "
                  "rounded up. Of NV21,\n"
                  "with v and u in turns in an array `vu` [rows, 2 * columns], they are vu[:, "
                  "1::2] and vu[:, ::2].\n"
                  "matrix: bt601, bt601-limited, bt709 or bt709-limited.")
      .def_ro("height", &Image::height)
      .def_ro("width", &Image::width)
      .def("numpy", pixels, nb::sig("def numpy(self) -> Array"),
           "uint8 [height, width, 3], over the same memory.")
      .def(
          "__array__",
          [](nb::handle self, const nb::object& dtype, const nb::object& copy) {
            const nb::object array = pixels(self);
            const bool copies = !copy.is_none() && cast_to<bool>(copy, "copy");
            if (dtype.is_none()) return copies ? nb::object(array.attr("copy")()) : array;
            return nb::object(array.attr("astype")(dtype, nb::arg("copy") = copies));
          },
          nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none(),
          nb::sig(
              "def __array__(self, dtype: typing.Any = None, copy: bool | None = None) -> Array"))
      .def(
          "resize",
          [](const Image& image, int64_t height, int64_t width, const std::string& interpolation,
             bool antialias) {
            return unlocked([&] {
              return resize(image, height, width, interpolation_of(interpolation), antialias);
            });
          },
          nb::arg("height"), nb::arg("width"), nb::arg("interpolation") = "bilinear",
          nb::arg("antialias") = true,
          "With antialias the bits of PIL, without what torchvision gives for "
          "tensors.\ninterpolation: nearest, bilinear or bicubic.")
      .def(
          "resize_shorter_side",
          [](const Image& image, int64_t size) {
            return unlocked([&] { return resize_shorter_side(image, size); });
          },
          nb::arg("size"), "The longer one keeps the ratio.")
      .def(
          "crop",
          [](const Image& image, int64_t top, int64_t left, int64_t height, int64_t width) {
            return unlocked([&] { return crop(image, top, left, height, width); });
          },
          nb::arg("top"), nb::arg("left"), nb::arg("height"), nb::arg("width"),
          "Black where it leaves the picture.")
      .def(
          "center_crop",
          [](const Image& image, int64_t height, int64_t width) {
            return unlocked([&] { return center_crop(image, height, width); });
          },
          nb::arg("height"), nb::arg("width"), "The middle; black where the picture is smaller.")
      .def(
          "rotate",
          [](const Image& image, int degrees) {
            return unlocked([&] { return rotate(image, rotation_of(degrees)); });
          },
          nb::arg("degrees"), "Clockwise.")
      .def(
          "to_tensor",
          [](const Image& image, const std::array<float, 3>& mean, const std::array<float, 3>& std,
             const std::string& format) {
            return from_tensor(
                unlocked([&] { return to_tensor(image, mean, std, format_of(format)); }));
          },
          nb::arg("mean"), nb::arg("std"), nb::arg("memory_format") = "contiguous",
          nb::sig("def to_tensor(self, mean: typing.Sequence[float], std: typing.Sequence[float], "
                  "memory_format: str = \"contiguous\") -> Array"),
          "float32 [1, 3, height, width]: (pixel / 255 - mean) / std.")
      .def("__repr__", [](const Image& i) {
        return format("<torchlet.Image %lld x %lld>", static_cast<long long>(i.width),
                      static_cast<long long>(i.height));
      });
  bind_preprocess(m);
  m.def("top_classes", [](nb::handle scores, int64_t count) {
    const Tensor tensor = torchlet::python::to_tensor(scores);
    return unlocked([&] { return top_classes(tensor, count); });
  });
  m.def(
      "read_labels",
      [](const std::string& path) {
        nb::list all;
        for (const std::string& label : unlocked([&] { return read_labels(path); }))
          all.append(text(label));
        return all;
      },
      nb::arg("path"), nb::sig("def read_labels(path: str) -> list[str]"), "One label a line.");
}

}  // namespace torchlet::python
