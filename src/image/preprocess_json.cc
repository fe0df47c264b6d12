#include <torchlet/preprocess.h>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace torchlet {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostBytes = 1 << 16;
constexpr int kMostDepth = 3;

template <typename Enum>
struct Named {
  const char* name;
  Enum value;
};

constexpr Named<Interpolation> kInterpolations[] = {{"nearest", Interpolation::kNearest},
                                                    {"bilinear", Interpolation::kBilinear},
                                                    {"bicubic", Interpolation::kBicubic}};
constexpr Named<Channels> kChannels[] = {
    {"RGB", Channels::kRgb}, {"BGR", Channels::kBgr}, {"GREY", Channels::kGrey}};
constexpr Named<DType> kDTypes[] = {{"float32", DType::kFloat32}, {"uint8", DType::kUInt8}};
constexpr Named<MemoryFormat> kFormats[] = {{"contiguous", MemoryFormat::kContiguous},
                                            {"channels_last", MemoryFormat::kChannelsLast}};

[[noreturn]] void wrong(const std::string& why) {
  fail(ErrorCode::kInvalidArgument, "the record of preprocessing is wrong: " + why);
}

template <typename Enum, size_t kCount>
Enum named(const Json& node, const std::string& key, const Named<Enum> (&names)[kCount]) {
  std::string known;
  for (const auto& [name, value] : names) {
    if (node.is_string() && node.get_ref<const std::string&>() == name) return value;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  wrong("'" + key + "' must be one of " + known);
}

template <typename Enum, size_t kCount>
const char* name_of(Enum value, const Named<Enum> (&names)[kCount]) {
  for (const auto& [name, known] : names) {
    if (known == value) return name;
  }
  return names[0].name;
}

// 256, [256, 320] or null.
std::vector<int64_t> size_from(const Json& node, const std::string& key) {
  if (node.is_null()) return {};
  if (node.is_number_integer()) return {node.get<int64_t>()};
  if (!node.is_array() || node.size() != 2 || !node[0].is_number_integer() ||
      !node[1].is_number_integer()) {
    wrong("'" + key + "' must be a side, [height, width] or null");
  }
  return {node[0].get<int64_t>(), node[1].get<int64_t>()};
}

std::vector<double> numbers_from(const Json& node, const std::string& key) {
  if (node.is_number()) return {node.get<double>()};
  std::vector<double> numbers;
  bool is_right = node.is_array() && !node.empty() && node.size() <= 3;
  for (size_t i = 0; is_right && i < node.size(); ++i) {
    is_right = node[i].is_number();
    if (is_right) numbers.push_back(node[i].get<double>());
  }
  if (!is_right) wrong("'" + key + "' must be a number for each channel");
  return numbers;
}

void set(Preprocess& steps, const std::string& key, const Json& node) {
  if (key == "resize") {
    steps.resize = size_from(node, key);
  } else if (key == "interpolation") {
    steps.interpolation = named(node, key, kInterpolations);
  } else if (key == "antialias") {
    if (!node.is_boolean()) wrong("'antialias' must be true or false");
    steps.antialias = node.get<bool>();
  } else if (key == "crop") {
    steps.crop = size_from(node, key);
  } else if (key == "channels") {
    steps.channels = named(node, key, kChannels);
  } else if (key == "mean") {
    steps.mean = numbers_from(node, key);
  } else if (key == "std") {
    steps.std = numbers_from(node, key);
  } else if (key == "dtype") {
    steps.dtype = named(node, key, kDTypes);
  } else if (key == "memory_format") {
    steps.memory_format = named(node, key, kFormats);
  } else {
    wrong("there is no key '" + key.substr(0, 100) +
          "'; there are resize, interpolation, antialias, crop, channels, mean, std, dtype and "
          "memory_format");
  }
}

Json size_json(const std::vector<int64_t>& size) {
  return size.size() == 1 ? Json(size[0]) : Json(size);
}

}  // namespace

Preprocess parse_preprocess(std::string_view json) {
  if (json.size() > kMostBytes) wrong("it is too long");
  bool is_deep = false;
  const auto shallow = [&](int depth, Json::parse_event_t, Json&) {
    is_deep |= depth > kMostDepth;
    return !is_deep;
  };
  const Json root = Json::parse(json, shallow, /*allow_exceptions=*/false);
  if (is_deep || !root.is_object()) wrong("it is no JSON object");
  Preprocess steps;
  for (const auto& [key, node] : root.items()) set(steps, key, node);
  steps.check();
  return steps;
}

std::string to_json(const Preprocess& steps) {
  Json root = Json::object();
  if (!steps.resize.empty()) {
    root["resize"] = size_json(steps.resize);
    root["interpolation"] = name_of(steps.interpolation, kInterpolations);
    root["antialias"] = steps.antialias;
  }
  if (!steps.crop.empty()) root["crop"] = size_json(steps.crop);
  root["channels"] = name_of(steps.channels, kChannels);
  if (!steps.mean.empty()) root["mean"] = steps.mean;
  if (!steps.std.empty()) root["std"] = steps.std;
  root["dtype"] = name_of(steps.dtype, kDTypes);
  root["memory_format"] = name_of(steps.memory_format, kFormats);
  return root.dump();
}

}  // namespace torchlet
