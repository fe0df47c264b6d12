#include "cli/inputs.h"

#include <torchlet/bundled_inputs.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <climits>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "base/read_float.h"
#include "cli/files.h"
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
  throw CLI::ValidationError("--dtype", "there is no dtype '" + name + "'");
}

std::vector<int64_t> parse_shape(const std::string& text) {
  std::vector<int64_t> sizes;
  if (text == "scalar") return sizes;
  const char* end = text.data() + text.size();
  for (const char* at = text.data();; ++at) {
    int64_t size = -1;
    at = std::from_chars(at, end, size).ptr;
    if (size < 0 || (at != end && *at != ',')) {
      throw CLI::ValidationError("--shape", "'" + text + "' is no shape such as 1,3,224,224");
    }
    sizes.push_back(size);
    if (at == end) return sizes;
  }
}

std::vector<Value> bundled_call(const Module& module, const std::string& method,
                                const std::string& index) {
  const std::vector<std::vector<Value>> calls = bundled_inputs(module, method);
  const size_t i = std::stoul(index);  // InputOptions has checked it
  if (i < calls.size()) return calls[i];
  fail(ErrorCode::kInvalidArgument, "the model has %zu bundled inputs for %s(), no number %zu",
       calls.size(), method.c_str(), i);
}

// "1,3,224,224" where a file could stand.
bool is_shape(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789,") == std::string::npos &&
         !std::filesystem::exists(text);
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

void add_model(CLI::App& command, std::string& path) {
  command.add_option("model", path, "A TorchScript file")->type_name("FILE.pt")->required();
}

CLI::Validator not_negative() { return CLI::Range(0, INT_MAX, "0.."); }

CLI::Validator above_zero() {
  const auto complaint = [](const std::string& text) {
    const double value = read_float(text).value_or(0);
    return value > 0 && std::isfinite(value) ? "" : "'" + text + "' is no number above 0";
  };
  return {complaint, ""};
}

void add_threads_option(CLI::App& command, int& threads) {
  command.add_option("--threads", threads, "How many, or auto for all processors")
      ->check(CLI::Range(0, 256, "0..256"))
      ->transform([](std::string text) { return text == "auto" ? "0" : text; })
      ->default_str("auto");
}

void DeviceOptions::add_to(CLI::App& command, const std::string& suffix,
                           const std::string& otherwise) {
  std::string help = "What runs it, each part on the first that takes it: ";
  for (const device::DeviceEntry& entry : device::all_devices()) {
    help += std::string(entry.name) + " (" + entry.description + "), ";
  }
  const auto set = [this, suffix](const std::string& text) {
    devices_ = CLI::detail::split(text, ',');
    is_given_ = true;
    try {
      device::make_devices(devices_, {});
    } catch (const Error& error) {
      throw CLI::ValidationError("--device" + suffix, error.what());
    }
  };
  command
      .add_option_function<std::string>(
          "--device" + suffix, set,
          help +
              "reference (the program as it was written, operator by operator); or auto: what "
              "`torchlet tune` kept for the model, else cpu (the default). nnapi:NAME is one of "
              "NNAPI's devices, as `torchlet devices` lists them")
      ->type_name("NAME[,NAME...]")
      ->default_str(otherwise);
  command
      .add_option("--precision" + suffix, precision_,
                  "fp32; fp16, less exact: half the memory for weights, and faster where the "
                  "processor computes in float16 or waits for weights; or bf16, still less exact: "
                  "faster where the processor multiplies in bfloat16")
      ->check(CLI::IsMember({"fp32", "fp16", "bf16"}))
      ->capture_default_str();
  command
      .add_option("--preference" + suffix, preference_,
                  "What NNAPI's drivers aim for: low-power, fast (one answer), sustained (many)")
      ->check(CLI::IsMember({"low-power", "fast", "sustained"}))
      ->capture_default_str();
}

CLI::Option* DeviceOptions::add_footprint_to(CLI::App& command) {
  return command
      .add_option("--memory", footprint_, "fast, or lean: fewer copies of weights, a little slower")
      ->type_name("fast|lean")
      ->check(CLI::IsMember({"fast", "lean"}));
}

void DeviceOptions::add_cache_to(CLI::App& command) {
  command
      .add_option("--cache", cache_,
                  "A folder that keeps weights as the processor takes them, for the next start")
      ->type_name("DIR");
}

void DeviceOptions::set_default(std::vector<std::string> devices) {
  if (!is_given_) devices_ = std::move(devices);
}

Options DeviceOptions::options() const {
  Options options;
  options.devices = devices_;
  options.precision = parse_precision(precision_);
  options.preference = parse_preference(preference_);
  options.cache_dir = cache_;
  // `bench --memory` alone asks for a report.
  if (!footprint_.empty()) options.footprint = parse_footprint(footprint_);
  static bool is_told = false;
  const char* const missing =
      options.precision == Precision::kFloat16 && !has_float16_arithmetic()
          ? "this processor has no float16 arithmetic: weights alone are fp16"
      : options.precision == Precision::kBFloat16 && !has_bfloat16_products()
          ? "this processor has no products of bfloat16: bf16 is fp32"
          : nullptr;
  if (missing && !is_told) {
    is_told = true;
    std::fprintf(stderr, "torchlet: %s\n", missing);
  }
  return options;
}

void LimitOptions::add_to(CLI::App& command) {
  command
      .add_option("--memory-limit", memory_,
                  "What the model may hold at once, such as 500M or 2G (docs/limits.md)")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->check(above_zero())
      ->type_name("SIZE");
  command.add_option("--time-limit", seconds_, "How long loading, and each call, may take")
      ->check(above_zero())
      ->type_name("SECONDS");
}

void LimitOptions::apply(Options& options) const {
  options.memory_limit = memory_;
  options.time_limit = seconds_;
}

void PictureOptions::add_to(CLI::App& command) {
  const auto parse = [this](const std::string& text) {
    try {
      if (text == "imagenet") {
        given_ = Preprocess::imagenet();
      } else {
        given_ = parse_preprocess(text.starts_with("{") ? text : read_file(text));
      }
    } catch (const Error& error) {
      throw CLI::ValidationError("--preprocess", error.what());
    }
  };
  command
      .add_option_function<std::string>(
          "--preprocess", parse,
          "How pictures become inputs: a record as JSON or in a file (docs/pictures.md), or "
          "imagenet; default: what the model carries, else imagenet")
      ->type_name("JSON|FILE|imagenet");
  command.add_option("--resize", resize_, "Shorter side of a picture; 0 keeps it (default 256)")
      ->check(not_negative());
  command.add_option("--crop", crop_, "Side of the central square; 0 keeps all (default 224)")
      ->check(not_negative());
}

Preprocess PictureOptions::steps(const Module& module) const {
  Preprocess steps = given_ ? *given_ : preprocess_of(module).value_or(Preprocess::imagenet());
  const auto size = [](int64_t side) {
    return side > 0 ? std::vector<int64_t>{side} : std::vector<int64_t>();
  };
  if (resize_) steps.resize = size(*resize_);
  if (crop_) steps.crop = size(*crop_);
  return steps;
}

Value parse_literal(const std::string& text) {
  const Json node = parse_json(std::as_bytes(std::span(text)));
  if (node.is_discarded()) {
    throw CLI::ValidationError("--value", "'" + text + "' is no JSON value");
  }
  return from_json(node);
}

void InputOptions::add_to(CLI::App& command, bool positional) {
  command_ = &command;
  const auto add = [&](const char* name, const char* value, Kind kind, const std::string& help) {
    CLI::Option* option = command.add_option(name, help)->type_name(value);
    kinds_[option] = kind;
    return option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  if (positional) {
    add("input", "FILE.npy", Kind::kFile, "Tensors from .npy files")
        ->expected(1, -1)
        ->allow_extra_args();
  }
  add("--input", "FILE.npy", Kind::kFile,
      "A tensor from a .npy file, or of a shape as --shape makes it");
  add("--image", "FILE", Kind::kImage, "A picture (PNG, JPEG), prepared as --preprocess says");
  add("--shape", "1,3,224,224", Kind::kShape,
      "A tensor of this shape with pseudo-random values in [0, 1), or in 0..9 for integers; "
      "'scalar' for no dimension");
  add("--zeros", "1,3,224,224", Kind::kZeros, "A tensor of zeros of this shape");
  add("--text", "TEXT", Kind::kText, "A str");
  add("--value", "JSON", Kind::kLiteral, "An int, float, bool, None, list or dict as JSON");
  add("--bundled", "INDEX", Kind::kBundled,
      "The inputs of this number that the model carries, from 0")
      ->check(not_negative());
  command.add_option("--dtype", dtype_, "Of the tensors that --shape and --zeros make")
      ->capture_default_str();
  pictures_.add_to(command);
}

void InputOptions::add_next_to(CLI::App& command) {
  const auto is_only_heard = [](int64_t) {};
  CLI::Option* next = command.add_flag_function("--next", is_only_heard,
                                                "The inputs that follow are of another call");
  kinds_[next] = Kind::kNext;
}

bool InputOptions::has_image() const { return command_->count("--image") > 0; }

// A fixed generator (Knuth's MMIX constants), so that two runs see the same numbers.
Value InputOptions::filled(const std::string& shape) const {
  const DType dtype = this->dtype();
  const bool is_float = dtype == DType::kFloat32;  // then without a copy of twice the size
  const Tensor values = empty(parse_shape(shape), is_float ? dtype : DType::kFloat64);
  uint64_t state = 1;
  for (int64_t i = 0; i < values.numel(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double uniform = static_cast<double>(state >> 11) * 0x1p-53;
    if (is_float) {
      values.data_ptr<float>()[i] = static_cast<float>(uniform);
      continue;
    }
    values.data_ptr<double>()[i] = dtype == DType::kBool ? (uniform < 0.5 ? 0 : 1)
                                   : is_integral(dtype, false)
                                       ? static_cast<double>(static_cast<int>(uniform * 10))
                                       : uniform;
  }
  return Value(values.to(dtype));
}

std::vector<InputOptions::Named> InputOptions::named() const {
  std::vector<Named> result;
  std::map<const CLI::Option*, size_t> taken;
  for (const CLI::Option* option : command_->parse_order()) {
    const auto kind = kinds_.find(option);
    if (kind == kinds_.end()) continue;
    result.push_back({kind->second, option->results()[taken[option]++]});
  }
  return result;
}

std::vector<Value> InputOptions::values_of(const Named& named, const Module& module,
                                           const std::string& method) const {
  const std::string& text = named.text;
  switch (named.kind) {
    case Kind::kFile:
      return {is_shape(text) ? filled(text) : Value(load_npy(text))};
    case Kind::kImage:
      return {Value(load_image(text, pictures_.steps(module)))};
    case Kind::kShape:
      return {filled(text)};
    case Kind::kZeros:
      return {Value(zeros(parse_shape(text), dtype()))};
    case Kind::kText:
      return {Value(text)};
    case Kind::kLiteral:
      return {parse_literal(text)};
    case Kind::kBundled:
      return bundled_call(module, method, text);
    case Kind::kNext:
      break;
  }
  return {};
}

std::vector<Value> InputOptions::values(const Module& module, const std::string& method) const {
  std::vector<Value> result;
  for (const Named& one : named()) {
    for (Value& value : values_of(one, module, method)) result.push_back(std::move(value));
  }
  return result;
}

std::vector<int64_t> InputOptions::shape_of(const Named& named) { return parse_shape(named.text); }

DType InputOptions::dtype() const { return dtype_option(dtype_); }

}  // namespace torchlet::cli
