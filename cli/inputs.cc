#include "cli/inputs.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <sstream>

#include "base/error.h"
#include "cli/json_values.h"
#include "device/registry.h"
#include "tensor/npy.h"

namespace torchlet::cli {
namespace {

DType dtype_option(const std::string& name) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype_name(dtype) == name && !is_quantized(dtype)) return dtype;
  }
  throw UsageError("--dtype: there is no dtype '" + name + "'");
}

std::vector<int64_t> parse_shape(const std::string& text) {
  std::vector<int64_t> sizes;
  if (text == "scalar") return sizes;
  const char* end = text.data() + text.size();
  for (const char* at = text.data();; ++at) {
    int64_t size = -1;
    at = std::from_chars(at, end, size).ptr;
    if (size < 0 || (at != end && *at != ',')) {
      throw UsageError("--shape: '" + text + "' is no shape such as 1,3,224,224");
    }
    sizes.push_back(size);
    if (at == end) return sizes;
  }
}

Value from_json(const Json& node) {
  if (node.is_boolean()) return Value(node.get<bool>());
  if (node.is_number_integer()) return Value(node.get<int64_t>());
  if (node.is_number_float()) return Value(node.get<double>());
  if (node.is_string()) return Value(node.get<std::string>());
  if (node.is_array()) {
    std::vector<Value> items;
    for (const auto& item : node) items.push_back(from_json(item));
    return Value::list(std::move(items));
  }
  if (node.is_object()) {
    std::vector<std::pair<Value, Value>> items;
    for (const auto& [key, item] : node.items()) items.emplace_back(key, from_json(item));
    return Value::dict(std::move(items));
  }
  return Value();
}

}  // namespace

void add_model(CommandLine& line, std::string& path) {
  const auto set = [&](const std::string& text) { path = text; };
  line.add_positional("model", "FILE.pt", set, "A TorchScript file");
}

void add_threads_option(CommandLine& line, int& threads) {
  const auto set = [&](const std::string& text) {
    threads = text == "auto" ? 0 : parse_integer("--threads", text, 0, 256);
  };
  line.add_option("--threads", "INT", set, "How many, or auto for all processors", "auto");
}

static std::vector<std::string> parse_devices(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream words(text);
  for (std::string name; std::getline(words, name, ',');) names.push_back(name);
  try {
    device::make_devices(names, {});
  } catch (const Error& error) {
    throw UsageError(std::string("--device: ") + error.what());
  }
  return names;
}

static const std::string& device_help() {
  static const std::string help = [] {
    std::string text = "What runs it, each part on the first that takes it: ";
    for (const device::DeviceEntry& entry : device::all_devices()) {
      text += std::string(entry.name) + " (" + entry.description + "), ";
    }
    return text + "reference (the program as it was written, operator by operator)";
  }();
  return help;
}

void DeviceOptions::add_to(CommandLine& line) {
  const auto set = [&](const std::string& text) { devices_ = parse_devices(text); };
  line.add_option("--device", "NAME[,NAME...]", set, device_help().c_str(), "cpu");
  line.add_choice("--precision", {"fp32", "fp16"}, precision_,
                  "fp32, or fp16: faster and less exact, where the processor computes in float16");
}

Options DeviceOptions::options() const {
  Options options;
  options.devices = devices_;
  options.precision = parse_precision(precision_);
  if (options.precision == Precision::kFloat16 && !has_float16_arithmetic()) {
    std::fprintf(stderr, "torchlet: this processor has no float16 arithmetic: plans stay fp32\n");
  }
  return options;
}

void LimitOptions::add_to(CommandLine& line) {
  line.add_option(
      "--memory-limit", "SIZE",
      [this](const std::string& text) { memory_ = parse_bytes("--memory-limit", text); },
      "What the model may hold at once, such as 500M or 2G (docs/limits.md)");
  line.add_option(
      "--time-limit", "SECONDS",
      [this](const std::string& text) { seconds_ = parse_positive("--time-limit", text); },
      "How long loading, and each call, may take");
}

void LimitOptions::apply(Options& options) const {
  options.memory_limit = memory_;
  options.time_limit = seconds_;
}

Value parse_literal(const std::string& text) {
  const Json node = parse_json(std::as_bytes(std::span(text)));
  if (node.is_discarded()) throw UsageError("--value: '" + text + "' is no JSON value");
  return from_json(node);
}

CommandLine::Setter InputOptions::keep(Kind kind) {
  return [this, kind](const std::string& text) { given_.emplace_back(kind, text); };
}

void InputOptions::add_to(CommandLine& line) {
  const auto add = [&](const char* name, const char* value, Kind kind, const char* help) {
    line.add_option(name, value, keep(kind), help, "", true);
  };
  line.add_positional("input", "FILE.npy", keep(Kind::kFile), "Tensors from .npy files", true);
  add("--input", "FILE.npy", Kind::kFile, "A tensor from a .npy file");
  add("--image", "FILE", Kind::kImage, "A picture (PNG, JPEG), prepared as for ImageNet");
  add("--shape", "1,3,224,224", Kind::kShape,
      "A tensor of this shape with pseudo-random values in [0, 1), or in 0..9 for integers; "
      "'scalar' for no dimension");
  add("--text", "TEXT", Kind::kText, "A str");
  add("--value", "JSON", Kind::kLiteral, "An int, float, bool, None, list or dict as JSON");
  line.add_text("--dtype", "TEXT", dtype_, "Of the tensors that --shape makes");
  line.add_integer("--resize", image_options_.resize, 0,
                   "Shorter side of --image before it is cropped; 0 keeps it");
  line.add_integer("--crop", image_options_.crop, 0, "Side of the central square; 0 keeps all");
}

bool InputOptions::has_image() const {
  return std::ranges::any_of(given_, [](auto& input) { return input.first == Kind::kImage; });
}

// A fixed generator (Knuth's MMIX constants), so that two runs see the same numbers.
Value InputOptions::filled(const std::string& shape) const {
  const DType dtype = dtype_option(dtype_);
  const Tensor values = empty(parse_shape(shape), DType::kFloat64);
  uint64_t state = 1;
  for (int64_t i = 0; i < values.numel(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double uniform = static_cast<double>(state >> 11) * 0x1p-53;
    values.data_ptr<double>()[i] = dtype == DType::kBool ? (uniform < 0.5 ? 0 : 1)
                                   : is_integral(dtype, false)
                                       ? static_cast<double>(static_cast<int>(uniform * 10))
                                       : uniform;
  }
  return Value(values.to(dtype));
}

std::vector<Value> InputOptions::values() const {
  std::vector<Value> result;
  for (const auto& [kind, text] : given_) {
    switch (kind) {
      case Kind::kFile:
        result.emplace_back(load_npy(text));
        break;
      case Kind::kImage:
        result.emplace_back(load_image(text, image_options_));
        break;
      case Kind::kShape:
        result.push_back(filled(text));
        break;
      case Kind::kText:
        result.emplace_back(text);
        break;
      case Kind::kLiteral:
        result.push_back(parse_literal(text));
        break;
    }
  }
  return result;
}

}  // namespace torchlet::cli
