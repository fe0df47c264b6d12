#include <gtest/gtest.h>
#include <torchlet/preprocess.h>

#include "base/error.h"

namespace torchlet {
namespace {

std::string complaint(const std::string& json) {
  try {
    parse_preprocess(json);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.message();
  }
  return "";
}

TEST(PreprocessRecord, IsReadAsItIsWritten) {
  const Preprocess imagenet = Preprocess::imagenet();
  EXPECT_EQ(parse_preprocess(to_json(imagenet)), imagenet);
  EXPECT_EQ(parse_preprocess("{}"), Preprocess());
  EXPECT_EQ(parse_preprocess(to_json(Preprocess())), Preprocess());
  Preprocess steps;
  steps.resize = {40, 60};
  steps.crop = {32, 48};
  steps.interpolation = Interpolation::kBicubic;
  steps.antialias = false;
  steps.channels = Channels::kGrey;
  steps.mean = {0.1307};
  steps.std = {0.3081};
  steps.memory_format = MemoryFormat::kChannelsLast;
  EXPECT_EQ(parse_preprocess(to_json(steps)), steps);
  EXPECT_EQ(to_json(steps),
            R"({"antialias":false,"channels":"GREY","crop":[32,48],"dtype":"float32",)"
            R"("interpolation":"bicubic","mean":[0.1307],"memory_format":"channels_last",)"
            R"("resize":[40,60],"std":[0.3081]})");
  EXPECT_EQ(parse_preprocess(R"({"resize": null, "mean": 0.5})").mean, std::vector<double>{0.5});
}

TEST(PreprocessRecord, IsRefusedWithTheKey) {
  EXPECT_NE(complaint("").find("no JSON object"), std::string::npos);
  EXPECT_NE(complaint("[1]").find("no JSON object"), std::string::npos);
  EXPECT_NE(complaint(std::string(60000, '[')).find("no JSON object"), std::string::npos);
  EXPECT_NE(complaint(std::string(70000, ' ')).find("too long"), std::string::npos);
  EXPECT_NE(complaint(R"({"size": 3})").find("no key 'size'; there are resize"), std::string::npos);
  EXPECT_NE(complaint(R"({"dtype": "int8"})").find("'dtype' must be one of float32, uint8"),
            std::string::npos);
  for (const auto& [json, key] : {std::pair{R"({"resize": 0})", "'resize'"},
                                  {R"({"resize": [1, 2, 3]})", "'resize'"},
                                  {R"({"resize": 1e9})", "'resize'"},
                                  {R"({"resize": 18446744073709551615})", "'resize'"},
                                  {R"({"crop": [5, -1]})", "'crop'"},
                                  {R"({"antialias": 1})", "'antialias'"},
                                  {R"({"channels": "CMYK"})", "'channels'"},
                                  {R"({"mean": [1, 2]})", "'mean'"},
                                  {R"({"mean": [1, 2, "3"]})", "'mean'"},
                                  {R"({"mean": [1e39, 2, 3]})", "'mean'"},
                                  {R"({"std": [1, 0, 3]})", "'std'"},
                                  {R"({"std": []})", "'std'"},
                                  {R"({"dtype": "uint8", "std": [1, 1, 1]})", "uint8"},
                                  {R"({"interpolation": 3})", "'interpolation'"},
                                  {R"({"memory_format": "NHWC"})", "'memory_format'"}}) {
    EXPECT_NE(complaint(json).find(key), std::string::npos) << json << ": " << complaint(json);
  }
}

TEST(Preprocess, GivesTheChannelsThatAreAskedFor) {
  const Image image{1, 2, {10, 20, 30, 200, 100, 50}};
  Preprocess steps;
  steps.dtype = DType::kUInt8;
  const auto values = [&] {
    const Tensor tensor = steps(image);
    const auto* data = tensor.data_ptr<uint8_t>();
    return std::vector<uint8_t>(data, data + tensor.numel());
  };
  EXPECT_EQ(values(), (std::vector<uint8_t>{10, 200, 20, 100, 30, 50}));
  steps.channels = Channels::kBgr;
  EXPECT_EQ(values(), (std::vector<uint8_t>{30, 50, 20, 100, 10, 200}));
  steps.memory_format = MemoryFormat::kChannelsLast;
  EXPECT_EQ(values(), (std::vector<uint8_t>{30, 20, 10, 50, 100, 200}));
  steps.channels = Channels::kGrey;
  EXPECT_EQ(values(), (std::vector<uint8_t>{18, 124}));  // PIL's convert("L")
  steps.crop = {1, 4};
  EXPECT_EQ(values(), (std::vector<uint8_t>{0, 18, 124, 0}));

  steps = {};
  steps.channels = Channels::kBgr;
  steps.mean = {0.5, 0.25, 0.125};
  steps.std = {2, 1, 0.5};
  const Tensor tensor = steps(image);
  EXPECT_EQ(tensor.data_ptr<float>()[1], (50 / 255.0f - 0.5f) / 2);
  EXPECT_EQ(tensor.data_ptr<float>()[5], (200 / 255.0f - 0.125f) / 0.5f);
}

TEST(Preprocess, ChecksItsFieldsAndThePicture) {
  const Image image{1, 2, {10, 20, 30, 200, 100, 50}};
  Preprocess steps;
  steps.mean = {1, 2};
  EXPECT_THROW(steps(image), Error);
  steps = {};
  steps.dtype = DType::kInt64;
  EXPECT_THROW(steps(image), Error);
  steps = {};
  steps.crop = {1, 2, 3};
  EXPECT_THROW(steps(image), Error);
  EXPECT_THROW(Preprocess()(Image{}), Error);
  EXPECT_THROW(Preprocess()(Image{2, 2, {1}}), Error);
  steps = {};
  steps.resize = {60000};  // 60000 x 120000
  EXPECT_THROW(steps(image), Error);
  steps.resize = {};
  steps.crop = {60000};
  try {
    steps(image);
    ADD_FAILURE() << "a tensor of 43 GB";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace torchlet
