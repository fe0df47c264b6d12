// What the C interface gives and refuses. tests/c_api/ has what is asked of all of its functions.
#include <gtest/gtest.h>
#include <torchlet/c_api.h>
#include <torchlet/error.h>
#include <torchlet/torchlet.h>

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>

#include "base/testing.h"
#include "c_api/handles.h"

namespace torchlet {
namespace {

constexpr char kValues[] = "tests/fixtures/values.pt";  // scripts/make_binding_fixtures.py
constexpr char kDigits[] = "models/digits_mobilenet_v2.pt";

struct Free {
  void operator()(torchlet_module* x) const { torchlet_module_free(x); }
  void operator()(torchlet_value* x) const { torchlet_value_free(x); }
  void operator()(torchlet_tensor* x) const { torchlet_tensor_free(x); }
  void operator()(torchlet_options* x) const { torchlet_options_free(x); }
  void operator()(torchlet_image* x) const { torchlet_image_free(x); }
  void operator()(torchlet_preprocess* x) const { torchlet_preprocess_free(x); }
  void operator()(torchlet_profiler* x) const { torchlet_profiler_free(x); }
  void operator()(char* x) const { torchlet_text_free(x); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

// What a function that must succeed gives by its last argument.
#define MAKE(type, function, ...)                                        \
  [&] {                                                                  \
    type* made_ = nullptr;                                               \
    EXPECT_EQ(function(__VA_ARGS__ __VA_OPT__(, ) & made_), TORCHLET_OK) \
        << #function << ": " << torchlet_last_error();                   \
    return Owned<type>(made_);                                           \
  }()

Owned<torchlet_module> load_module(const char* path, const torchlet_options* options = nullptr) {
  return MAKE(torchlet_module, torchlet_module_load, path, options);
}

Owned<torchlet_value> text_value(const std::string& text) {
  return MAKE(torchlet_value, torchlet_value_from_string, text.data(), text.size());
}
Owned<torchlet_value> int_value(int64_t number) {
  return MAKE(torchlet_value, torchlet_value_from_int, number);
}
Owned<torchlet_value> float_value(double number) {
  return MAKE(torchlet_value, torchlet_value_from_float, number);
}

Owned<torchlet_value> items(torchlet_kind kind, const std::vector<const torchlet_value*>& all) {
  return MAKE(torchlet_value, torchlet_value_from_items, kind, all.data(), all.size());
}

Owned<torchlet_value> call(const torchlet_module* module, const char* method,
                           const std::vector<const torchlet_value*>& inputs) {
  return MAKE(torchlet_value, torchlet_module_run, module, method, inputs.data(), inputs.size(),
              nullptr, nullptr, 0);
}

Owned<torchlet_value> item(const torchlet_value* value, size_t index) {
  return MAKE(torchlet_value, torchlet_value_item, value, index);
}

int64_t to_int(const torchlet_value* value) {
  int64_t number = 0;
  EXPECT_EQ(torchlet_value_to_int(value, &number), TORCHLET_OK) << torchlet_last_error();
  return number;
}
double to_float(const torchlet_value* value) {
  double number = 0;
  EXPECT_EQ(torchlet_value_to_float(value, &number), TORCHLET_OK) << torchlet_last_error();
  return number;
}
std::string to_text(const torchlet_value* value) {
  const char* text = nullptr;
  size_t size = 0;
  EXPECT_EQ(torchlet_value_to_string(value, &text, &size), TORCHLET_OK) << torchlet_last_error();
  return std::string(text, size);
}
std::string describe(const torchlet_value* value) {
  return MAKE(char, torchlet_value_describe, value).get();
}

std::vector<float> floats(const torchlet_tensor* tensor) {
  const auto* data = static_cast<const float*>(torchlet_tensor_data(tensor));
  return {data, data + torchlet_tensor_numel(tensor)};
}

// A tensor of three floats over `data`.
Owned<torchlet_tensor> three(float* data, void (*release)(void*) = nullptr,
                             void* context = nullptr) {
  const int64_t size = 3;
  return MAKE(torchlet_tensor, torchlet_tensor_from_memory, data, TORCHLET_FLOAT32, &size, nullptr,
              1, release, context);
}

std::vector<char> bytes_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(CApi, ValuesOfEveryKindGoThroughAMethod) {
  const auto module = load_module(kValues);
  const auto a = int_value(4), d = text_value("h\xc3\xa9");
  const auto b = float_value(1.5);
  const auto c = MAKE(torchlet_value, torchlet_value_from_bool, 7);
  const auto record = call(module.get(), "record", {a.get(), b.get(), c.get(), d.get()});
  ASSERT_EQ(torchlet_value_kind(record.get()), TORCHLET_KIND_TUPLE);
  EXPECT_EQ(to_int(item(record.get(), 0).get()), 5);
  EXPECT_EQ(to_float(item(record.get(), 1).get()), 3.0);
  int truth = 1;
  EXPECT_EQ(torchlet_value_to_bool(item(record.get(), 2).get(), &truth), TORCHLET_OK);
  EXPECT_EQ(truth, 0);
  EXPECT_EQ(to_text(item(record.get(), 3).get()), "h\xc3\xa9!");

  const auto imaginary = call(module.get(), "imaginary", {});
  double real = 0, imaginary_part = 0;
  EXPECT_EQ(torchlet_value_to_complex(imaginary.get(), &real, &imaginary_part), TORCHLET_OK);
  EXPECT_EQ(real, 1.0);
  EXPECT_EQ(imaginary_part, 2.0);

  const auto none = MAKE(torchlet_value, torchlet_value_none);
  EXPECT_EQ(torchlet_value_kind(call(module.get(), "maybe", {none.get()}).get()),
            TORCHLET_KIND_NONE);
  EXPECT_EQ(to_int(call(module.get(), "maybe", {a.get()}).get()), 4);
}

TEST(CApi, ListsTellTheirItemsAndNumbersAtOnce) {
  const auto module = load_module(kValues);
  const auto one = int_value(1), half = float_value(0.5);
  // Python's conversions: an int among floats, an empty list.
  const auto mixed = items(TORCHLET_KIND_LIST, {one.get(), half.get()});
  const auto raised = call(module.get(), "floats", {mixed.get()});
  EXPECT_EQ(torchlet_value_item_kind(raised.get()), TORCHLET_KIND_FLOAT);
  double numbers[3] = {0, 0, -1};
  size_t size = 0;
  EXPECT_EQ(torchlet_value_to_floats(raised.get(), numbers, 2, &size), TORCHLET_OK);
  EXPECT_EQ(size, 2u);
  EXPECT_EQ(numbers[0], 1.5);
  EXPECT_EQ(numbers[1], 1.0);
  EXPECT_EQ(numbers[2], -1.0);
  EXPECT_EQ(torchlet_value_to_floats(raised.get(), nullptr, 0, &size), TORCHLET_OK);
  EXPECT_EQ(size, 2u);

  const auto empty = items(TORCHLET_KIND_LIST, {});
  const auto still_empty = call(module.get(), "floats", {empty.get()});
  EXPECT_EQ(torchlet_value_size(still_empty.get(), &size), TORCHLET_OK);
  EXPECT_EQ(size, 0u);
  EXPECT_EQ(torchlet_value_item_kind(still_empty.get()), TORCHLET_KIND_FLOAT);

  const auto nested = items(TORCHLET_KIND_LIST, {items(TORCHLET_KIND_LIST, {one.get()}).get()});
  EXPECT_EQ(describe(call(module.get(), "nested", {nested.get()}).get()), "[[1], [1]]");
}

TEST(CApi, DictsKeepTheirOrder) {
  const auto module = load_module(kValues);
  const auto key = text_value("b"), other_key = text_value("a"), two = int_value(2);
  const torchlet_value *keys[] = {key.get(), other_key.get()}, *twos[] = {two.get(), two.get()};
  const auto dict = MAKE(torchlet_value, torchlet_value_from_dict, keys, twos, 2);
  const auto counts = call(module.get(), "counts", {dict.get()});
  EXPECT_EQ(torchlet_value_key_kind(counts.get()), TORCHLET_KIND_STRING);
  EXPECT_EQ(torchlet_value_item_kind(counts.get()), TORCHLET_KIND_INT);
  EXPECT_EQ(to_text(MAKE(torchlet_value, torchlet_value_key, counts.get(), 0).get()), "b");
  EXPECT_EQ(to_text(MAKE(torchlet_value, torchlet_value_key, counts.get(), 2).get()), "more");
  EXPECT_EQ(to_int(MAKE(torchlet_value, torchlet_value_lookup, counts.get(), "more").get()), 2);
  torchlet_value* untouched = nullptr;
  EXPECT_EQ(torchlet_value_lookup(counts.get(), "less", &untouched), TORCHLET_NOT_FOUND);
  EXPECT_EQ(torchlet_value_item(counts.get(), 3, &untouched), TORCHLET_INVALID_ARGUMENT);
  EXPECT_EQ(untouched, nullptr);
}

TEST(CApi, TensorsShareTheCallersMemory) {
  const auto module = load_module(kValues);
  float data[3] = {1, 2, 3};
  int released = 0;
  auto tensor = three(
      data, [](void* count) { ++*static_cast<int*>(count); }, &released);
  EXPECT_EQ(torchlet_tensor_data(tensor.get()), data);
  auto value = MAKE(torchlet_value, torchlet_value_from_tensor, tensor.get());
  tensor.reset();
  data[0] = 10;
  const auto result = call(module.get(), "forward", {value.get()});
  const auto out = MAKE(torchlet_value, torchlet_value_lookup, result.get(), "out");
  const auto answer = MAKE(torchlet_tensor, torchlet_value_to_tensor, out.get());
  EXPECT_EQ(floats(answer.get()), (std::vector<float>{20, 4, 6}));
  EXPECT_EQ(released, 0);
  value.reset();
  EXPECT_EQ(released, 1);
}

TEST(CApi, TensorsOfEveryDtypeAndFormat) {
  const int64_t sizes[] = {1, 3, 2, 2};
  for (int dtype = TORCHLET_UINT8; dtype <= TORCHLET_BFLOAT16; ++dtype) {
    if (dtype >= TORCHLET_QINT8 && dtype <= TORCHLET_QINT32) continue;
    const auto wanted = static_cast<torchlet_dtype>(dtype);
    const auto tensor =
        MAKE(torchlet_tensor, torchlet_tensor_new, wanted, sizes, 4, TORCHLET_CHANNELS_LAST);
    EXPECT_EQ(torchlet_tensor_dtype(tensor.get()), wanted);
    EXPECT_EQ(torchlet_tensor_numel(tensor.get()), 12);
    EXPECT_EQ(torchlet_tensor_strides(tensor.get())[1], 1);
    EXPECT_TRUE(torchlet_tensor_is_contiguous(tensor.get(), TORCHLET_CHANNELS_LAST));
    EXPECT_FALSE(torchlet_tensor_is_contiguous(tensor.get(), TORCHLET_CONTIGUOUS));
    const auto* data = static_cast<const char*>(torchlet_tensor_data(tensor.get()));
    EXPECT_EQ(std::count(data, data + 12 * torchlet_tensor_element_size(tensor.get()), 0),
              static_cast<long>(12 * torchlet_tensor_element_size(tensor.get())));
  }
  torchlet_tensor* none = nullptr;
  const int64_t huge[] = {int64_t{1} << 40, int64_t{1} << 40}, negative[] = {-1};
  EXPECT_EQ(torchlet_tensor_new(TORCHLET_FLOAT32, huge, 2, TORCHLET_CONTIGUOUS, &none),
            TORCHLET_INVALID_ARGUMENT);
  EXPECT_EQ(torchlet_tensor_new(TORCHLET_FLOAT32, negative, 1, TORCHLET_CONTIGUOUS, &none),
            TORCHLET_INVALID_ARGUMENT);
  EXPECT_EQ(
      torchlet_tensor_new(static_cast<torchlet_dtype>(99), sizes, 1, TORCHLET_CONTIGUOUS, &none),
      TORCHLET_INVALID_ARGUMENT);
  EXPECT_EQ(torchlet_tensor_new(TORCHLET_FLOAT32, sizes, 3, TORCHLET_CHANNELS_LAST, &none),
            TORCHLET_INVALID_ARGUMENT);
  EXPECT_EQ(none, nullptr);
}

TEST(CApi, QuantizedTensorsHaveAScale) {
  const int64_t size = 4;
  uint8_t integers[] = {0, 1, 2, 255};
  const auto raw = MAKE(torchlet_tensor, torchlet_tensor_from_memory, integers, TORCHLET_UINT8,
                        &size, nullptr, 1, nullptr, nullptr);
  const auto tensor = MAKE(torchlet_tensor, torchlet_tensor_quantized, raw.get(), 0.5, 1);
  EXPECT_EQ(torchlet_tensor_dtype(tensor.get()), TORCHLET_QUINT8);
  double scale = 0;
  int64_t zero_point = 0;
  EXPECT_EQ(torchlet_tensor_quantizer(tensor.get(), &scale, &zero_point), TORCHLET_OK);
  EXPECT_EQ(scale, 0.5);
  EXPECT_EQ(zero_point, 1);
  EXPECT_EQ(torchlet_tensor_quantizer(raw.get(), &scale, &zero_point), TORCHLET_INVALID_ARGUMENT);
}

TEST(CApi, ConvertsTensors) {
  float data[3] = {1, 2, 3};
  const auto tensor = three(data);
  const auto same = MAKE(torchlet_tensor, torchlet_tensor_to, tensor.get(), TORCHLET_FLOAT32,
                         TORCHLET_CONTIGUOUS);
  EXPECT_EQ(torchlet_tensor_data(same.get()), data);
  const auto integers =
      MAKE(torchlet_tensor, torchlet_tensor_to, tensor.get(), TORCHLET_INT64, TORCHLET_CONTIGUOUS);
  EXPECT_EQ(static_cast<const int64_t*>(torchlet_tensor_data(integers.get()))[2], 3);
}

// The same file by each way in, and the answers that the C++ interface gives, to the bit.
TEST(CApi, LoadsFromPathMemoryAndAPartOfAFile) {
  const std::vector<char> model = bytes_of(kDigits);
  const std::string path = temp_path("asset");
  std::ofstream(path, std::ios::binary)
      .write("skip this", 9)
      .write(model.data(), static_cast<std::streamsize>(model.size()))
      .write("and this", 8);
  const int fd = ::open(path.c_str(), O_RDONLY);
  ASSERT_GE(fd, 0);
  const auto length = static_cast<int64_t>(model.size());
  std::vector<Owned<torchlet_module>> modules;
  modules.push_back(load_module(kDigits));
  modules.push_back(
      MAKE(torchlet_module, torchlet_module_load_memory, model.data(), model.size(), nullptr));
  modules.push_back(MAKE(torchlet_module, torchlet_module_load_fd, fd, 9, length, nullptr));

  torchlet_module* none = nullptr;
  for (const auto& [offset, count] : std::vector<std::pair<int64_t, int64_t>>{
           {-1, 10}, {0, length + 100}, {INT64_MAX, 1}, {9, INT64_MAX}, {0, -2}}) {
    EXPECT_EQ(torchlet_module_load_fd(fd, offset, count, nullptr, &none), TORCHLET_INVALID_ARGUMENT)
        << offset;
  }
  EXPECT_EQ(torchlet_module_load_fd(fd, length, -1, nullptr, &none), TORCHLET_FILE_FORMAT);
  ::close(fd);
  std::remove(path.c_str());
  EXPECT_EQ(torchlet_module_load_fd(-1, 0, -1, nullptr, &none), TORCHLET_IO);
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  EXPECT_EQ(torchlet_module_load_fd(pipe_ends[0], 0, -1, nullptr, &none), TORCHLET_IO);
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);

  const auto image = MAKE(torchlet_image, torchlet_image_read, "models/samples/digit_7.png");
  const auto input = MAKE(torchlet_tensor, torchlet_image_to_tensor, image.get(), TORCHLET_FLOAT32,
                          TORCHLET_CONTIGUOUS, nullptr, nullptr);
  const auto value = MAKE(torchlet_value, torchlet_value_from_tensor, input.get());
  const Tensor expected = load(kDigits).forward({input->tensor}).to_tensor();
  for (const auto& module : modules) {
    const auto answer = MAKE(torchlet_tensor, torchlet_value_to_tensor,
                             call(module.get(), "forward", {value.get()}).get());
    ASSERT_EQ(torchlet_tensor_numel(answer.get()), 10);
    EXPECT_EQ(std::memcmp(torchlet_tensor_data(answer.get()), expected.raw_data(), 40), 0);
  }
}

TEST(CApi, PicturesOfCamerasAreChangedAndPrepared) {
  std::vector<uint8_t> bytes(6 * 4 * 3 / 2);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(7 * i);
  const uint8_t* chroma = bytes.data() + 24;
  const torchlet_yuv nv12{bytes.data(), chroma, chroma + 1, 6, 4, 6, 1, 6, 2, TORCHLET_YUV_BT601};
  YuvView view{bytes.data(), chroma, chroma + 1, 6, 4, 6, 6, 2};
  const Image expected = to_image(view, Rotation::k90);
  const auto same = [](const torchlet_image* got, const Image& want) {
    return torchlet_image_width(got) == want.width && torchlet_image_height(got) == want.height &&
           std::memcmp(torchlet_image_data(got), want.rgb.data(), want.rgb.size()) == 0;
  };
  const auto image = MAKE(torchlet_image, torchlet_image_from_yuv, &nv12, TORCHLET_ROTATE_90);
  EXPECT_TRUE(same(image.get(), expected));
  const auto turned = MAKE(torchlet_image, torchlet_image_rotate, image.get(), TORCHLET_ROTATE_180);
  EXPECT_TRUE(same(turned.get(), rotate(expected, Rotation::k180)));
  const auto small = MAKE(torchlet_image, torchlet_image_resize, image.get(), 3, 5, 1);
  EXPECT_TRUE(same(small.get(), resize(expected, 5, 3)));
  const auto part = MAKE(torchlet_image, torchlet_image_crop, image.get(), 1, 2, 2, 9);
  EXPECT_TRUE(same(part.get(), crop(expected, 2, 1, 9, 2)));
  const torchlet_pixels pixels{TORCHLET_PIXELS_RGB, torchlet_image_data(image.get()), 4, 6, 12};
  const auto again = MAKE(torchlet_image, torchlet_image_from_pixels, &pixels, TORCHLET_ROTATE_0);
  EXPECT_TRUE(same(again.get(), expected));

  const auto steps = MAKE(torchlet_preprocess, torchlet_preprocess_new, R"({"resize": 3})");
  const Tensor want = parse_preprocess(R"({"resize": 3})")(expected);
  for (const auto& tensor :
       {MAKE(torchlet_tensor, torchlet_preprocess_run, steps.get(), image.get()),
        MAKE(torchlet_tensor, torchlet_preprocess_run_yuv, steps.get(), &nv12, TORCHLET_ROTATE_90),
        MAKE(torchlet_tensor, torchlet_preprocess_run_pixels, steps.get(), &pixels,
             TORCHLET_ROTATE_0)}) {
    ASSERT_EQ(torchlet_tensor_numel(tensor.get()), want.numel());
    EXPECT_EQ(std::memcmp(torchlet_tensor_data(tensor.get()), want.raw_data(),
                          static_cast<size_t>(want.numel()) * sizeof(float)),
              0);
  }
  const auto json = MAKE(char, torchlet_preprocess_json, steps.get());
  EXPECT_EQ(parse_preprocess(json.get()), parse_preprocess(R"({"resize": 3})"));
}

TEST(CApi, PicturesThatCannotBeAreErrors) {
  const uint8_t bytes[64] = {};
  torchlet_image* image = nullptr;
  torchlet_pixels pixels{TORCHLET_PIXELS_RGBA, bytes, 4, 4, 15};
  const auto status = [&] {
    return torchlet_image_from_pixels(&pixels, TORCHLET_ROTATE_0, &image);
  };
  EXPECT_EQ(status(), TORCHLET_INVALID_ARGUMENT);
  pixels = {static_cast<torchlet_pixel_format>(-7), bytes, 4, 4, 16};
  EXPECT_EQ(status(), TORCHLET_INVALID_ARGUMENT);
  pixels = {TORCHLET_PIXELS_RGBA, nullptr, 4, 4, 16};
  EXPECT_EQ(status(), TORCHLET_INVALID_ARGUMENT);
  pixels = {TORCHLET_PIXELS_RGBA, bytes, 4, 4, 16};
  EXPECT_EQ(torchlet_image_from_pixels(&pixels, static_cast<torchlet_rotation>(65626), &image),
            TORCHLET_INVALID_ARGUMENT);
  EXPECT_EQ(image, nullptr);
  torchlet_preprocess* steps = nullptr;
  EXPECT_EQ(torchlet_preprocess_new(R"({"size": 3})", &steps), TORCHLET_INVALID_ARGUMENT);
  EXPECT_NE(std::string(torchlet_last_error()).find("no key 'size'"), std::string::npos);
  EXPECT_EQ(torchlet_preprocess_of(load_module(kDigits).get(), &steps), TORCHLET_NOT_FOUND);
  EXPECT_EQ(steps, nullptr);
}

TEST(CApi, AValueOutlivesItsModule) {
  auto module = load_module(kValues);
  const auto weight = MAKE(torchlet_value, torchlet_module_attribute, module.get(), "weight");
  module.reset();
  const auto tensor = MAKE(torchlet_tensor, torchlet_value_to_tensor, weight.get());
  EXPECT_EQ(floats(tensor.get()), (std::vector<float>{1, 2, 3}));
}

TEST(CApi, KeywordsAndWhatTheModuleTells) {
  const auto module = load_module(kValues);
  float data[3] = {1, 2, 3};
  const auto value = MAKE(torchlet_value, torchlet_value_from_tensor, three(data).get());
  const auto list = items(TORCHLET_KIND_LIST, {value.get()});
  const auto ten = float_value(10);
  const char* names[] = {"scale"};
  const torchlet_value *inputs[] = {list.get()}, *keywords[] = {ten.get()};
  const auto total = MAKE(torchlet_value, torchlet_module_run, module.get(), "total", inputs, 1,
                          names, keywords, 1);
  EXPECT_EQ(floats(MAKE(torchlet_tensor, torchlet_value_to_tensor, total.get()).get()),
            std::vector<float>{60});

  const std::string schema = MAKE(char, torchlet_module_method_schema, module.get(), "total").get();
  EXPECT_EQ(schema, "total(List[Tensor] x, float scale=1.0) -> Tensor");
  const size_t count = torchlet_module_method_count(module.get());
  EXPECT_EQ(count, load(kValues).methods().size());
  EXPECT_EQ(torchlet_module_method_name(module.get(), count), nullptr);
  EXPECT_NE(std::strstr(MAKE(char, torchlet_module_info, module.get()).get(), "\"TorchScript\""),
            nullptr);
}

TEST(CApi, ErrorsKeepMessagePlacesAndClass) {
  const auto module = load_module(kValues);
  const auto four = int_value(4);
  const torchlet_value* inputs[] = {four.get()};
  torchlet_value* none = nullptr;
  ASSERT_EQ(torchlet_module_run(module.get(), "fails", inputs, 1, nullptr, nullptr, 0, &none),
            TORCHLET_RUNTIME);
  EXPECT_EQ(torchlet_last_error_status(), TORCHLET_RUNTIME);
  try {
    load(kValues).run_method("fails", 4);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(torchlet_last_error(), error.what());
    EXPECT_EQ(torchlet_last_error_message(), error.message());
    EXPECT_EQ(torchlet_last_error_python_class(), error.python_class());
    ASSERT_FALSE(error.context().empty());
    for (size_t i = 0; i < error.context().size(); ++i) {
      EXPECT_EQ(torchlet_last_error_place(i), error.context()[i]);
    }
    EXPECT_EQ(torchlet_last_error_place(error.context().size()), nullptr);
  }
  EXPECT_NE(std::strstr(torchlet_last_error_message(), "too large: 4"), nullptr);

  EXPECT_EQ(torchlet_module_run(module.get(), "nothing", nullptr, 0, nullptr, nullptr, 0, &none),
            TORCHLET_NOT_FOUND);
  EXPECT_EQ(torchlet_module_forward(module.get(), nullptr, 0, &none), TORCHLET_INVALID_ARGUMENT);
  torchlet_module* no_module = nullptr;
  EXPECT_EQ(torchlet_module_load("no/such/file.pt", nullptr, &no_module), TORCHLET_IO);
  EXPECT_EQ(torchlet_module_load("README.md", nullptr, &no_module), TORCHLET_UNSUPPORTED);
  EXPECT_EQ(torchlet_module_load("tests/fixtures/unsupported.pt", nullptr, &no_module),
            TORCHLET_UNSUPPORTED);
  EXPECT_EQ(no_module, nullptr);
}

// Every kind of exception ends as a status, those of the C++ library, too.
TEST(CApi, EveryExceptionHasAStatus) {
  using c_api::guarded;
  for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code) {
    EXPECT_EQ(guarded([&] { throw Error(static_cast<ErrorCode>(code), "what"); }), code + 1);
    EXPECT_STREQ(torchlet_last_error_message(), "what");
  }
  EXPECT_EQ(guarded([] { throw std::bad_alloc(); }), TORCHLET_OUT_OF_MEMORY);
  EXPECT_EQ(guarded([] { throw std::length_error("vector"); }), TORCHLET_OUT_OF_MEMORY);
  EXPECT_EQ(guarded([] { throw std::out_of_range("at"); }), TORCHLET_INTERNAL);
  EXPECT_EQ(guarded([] { throw 5; }), TORCHLET_INTERNAL);
}

TEST(CApi, TextsAreUtf8) {
  EXPECT_EQ(c_api::utf8("a\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80"),
            "a\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80");
  // A byte that begins nothing, an overlong form, half of a surrogate pair, an end too early.
  EXPECT_EQ(c_api::utf8("\xff"), "\xef\xbf\xbd");
  EXPECT_EQ(c_api::utf8("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(c_api::utf8("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(c_api::utf8("x\xe2\x82"), "x\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(CApi, OptionsLimitAModel) {
  const auto options = MAKE(torchlet_options, torchlet_options_new);
  EXPECT_EQ(torchlet_options_set_time_limit(options.get(), 0.05), TORCHLET_OK);
  EXPECT_EQ(torchlet_options_set_devices(options.get(), "reference"), TORCHLET_OK);
  EXPECT_EQ(torchlet_options_set_time_limit(options.get(), NAN), TORCHLET_INVALID_ARGUMENT);
  EXPECT_EQ(torchlet_options_set_precision(options.get(), "fp8"), TORCHLET_INVALID_ARGUMENT);
  EXPECT_EQ(torchlet_options_set_footprint(options.get(), "less"), TORCHLET_INVALID_ARGUMENT);
  EXPECT_EQ(torchlet_options_set_footprint(options.get(), "lean"), TORCHLET_OK);
  const auto module = load_module(kValues, options.get());
  const auto many = int_value(int64_t{1} << 60);
  const torchlet_value* inputs[] = {many.get()};
  torchlet_value* none = nullptr;
  EXPECT_EQ(torchlet_module_run(module.get(), "spin", inputs, 1, nullptr, nullptr, 0, &none),
            TORCHLET_TIME_LIMIT);

  torchlet_module* no_module = nullptr;
  EXPECT_EQ(torchlet_options_set_cache_dir(options.get(), kValues), TORCHLET_OK);
  EXPECT_EQ(torchlet_module_load(kValues, options.get(), &no_module), TORCHLET_IO);
  EXPECT_EQ(torchlet_options_set_cache_dir(options.get(), ""), TORCHLET_OK);
  EXPECT_EQ(torchlet_options_set_devices(options.get(), "tpu"), TORCHLET_OK);
  EXPECT_EQ(torchlet_module_load(kValues, options.get(), &no_module), TORCHLET_INVALID_ARGUMENT);
  EXPECT_NE(std::strstr(torchlet_last_error(), "tpu"), nullptr);
}

TEST(CApi, AnotherThreadCancels) {
  const auto module = load_module(kValues);
  std::atomic<bool> ended = false;
  std::thread runner([&] {
    const auto many = int_value(int64_t{1} << 60);
    const torchlet_value* inputs[] = {many.get()};
    torchlet_value* none = nullptr;
    EXPECT_EQ(torchlet_module_run(module.get(), "spin", inputs, 1, nullptr, nullptr, 0, &none),
              TORCHLET_CANCELLED);
    ended = true;
  });
  while (!ended) {
    EXPECT_EQ(torchlet_module_cancel(module.get(), 1), TORCHLET_OK);
    std::this_thread::yield();
  }
  runner.join();
  EXPECT_EQ(torchlet_module_cancel(module.get(), 0), TORCHLET_OK);
  EXPECT_EQ(to_int(call(module.get(), "spin", {int_value(3).get()}).get()), 3);
}

TEST(CApi, EachThreadHasItsLastError) {
  const auto module = load_module(kValues);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const auto number = int_value(10 + i);
      const torchlet_value* inputs[] = {number.get()};
      for (int round = 0; round < 50; ++round) {
        torchlet_value* none = nullptr;
        ASSERT_EQ(torchlet_module_run(module.get(), "fails", inputs, 1, nullptr, nullptr, 0, &none),
                  TORCHLET_RUNTIME);
        const std::string expected = "too large: " + std::to_string(10 + i);
        ASSERT_NE(std::strstr(torchlet_last_error_message(), expected.c_str()), nullptr)
            << torchlet_last_error();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(CApi, BundledInputsAndCopies) {
  const auto module = load_module("tests/fixtures/bundled.pt");
  const auto calls = MAKE(torchlet_value, torchlet_module_bundled_inputs, module.get(), "forward");
  size_t size = 0;
  EXPECT_EQ(torchlet_value_size(calls.get(), &size), TORCHLET_OK);
  ASSERT_GT(size, 0u);
  EXPECT_EQ(torchlet_value_item_kind(calls.get()), TORCHLET_KIND_TUPLE);
  const auto copy = MAKE(torchlet_module, torchlet_module_copy, module.get());
  EXPECT_STREQ(torchlet_module_type_name(copy.get()), torchlet_module_type_name(module.get()));
  torchlet_value* none = nullptr;
  EXPECT_EQ(torchlet_module_bundled_inputs(load_module(kValues).get(), "forward", &none),
            TORCHLET_NOT_FOUND);
}

TEST(CApi, AProfilerHearsItsThread) {
  const auto module = load_module(kDigits);
  const int64_t sizes[] = {1, 3, 64, 64};
  const auto input =
      MAKE(torchlet_tensor, torchlet_tensor_new, TORCHLET_FLOAT32, sizes, 4, TORCHLET_CONTIGUOUS);
  const auto value = MAKE(torchlet_value, torchlet_value_from_tensor, input.get());
  const auto profiler = MAKE(torchlet_profiler, torchlet_profiler_new);
  call(module.get(), "forward", {value.get()});
  const std::string table = MAKE(char, torchlet_profiler_table, profiler.get()).get();
  EXPECT_NE(table.find("conv"), std::string::npos) << table;
  const std::string trace = MAKE(char, torchlet_profiler_trace, profiler.get()).get();
  EXPECT_NE(trace.find("traceEvents"), std::string::npos);
}

TEST(CApi, DamagedModelsAreErrors) {
  const std::vector<char> model = bytes_of(kValues);
  for (size_t size = 0; size < model.size(); size += 37) {
    torchlet_module* module = nullptr;
    EXPECT_NE(torchlet_module_load_memory(model.data(), size, nullptr, &module), TORCHLET_OK);
    EXPECT_EQ(module, nullptr);
    EXPECT_STRNE(torchlet_last_error(), "");
  }
  for (size_t at = 0; at < model.size(); at += 11) {
    std::vector<char> damaged = model;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    torchlet_module* module = nullptr;
    const torchlet_status status =
        torchlet_module_load_memory(damaged.data(), damaged.size(), nullptr, &module);
    EXPECT_EQ(status == TORCHLET_OK, module != nullptr);
    torchlet_module_free(module);
  }
}

}  // namespace
}  // namespace torchlet
