#include "cli/inputs.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
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
  std::stringstream parts(text == "scalar" ? "" : text);
  for (std::string part; std::getline(parts, part, ',');) {
    size_t used = 0;
    int64_t size = -1;
    try {
      size = std::stoll(part, &used);
    } catch (const std::exception&) {
      used = std::string::npos;
    }
    if (used != part.size() || size < 0) {
      throw CLI::ValidationError("--shape", "'" + text + "' is no shape such as 1,3,224,224");
    }
    sizes.push_back(size);
  }
  return sizes;
}

Value from_json(const nlohmann::json& node) {
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

void add_threads_option(CLI::App& command, int& threads) {
  command.add_option("--threads", threads, "How many, or auto for all processors")
      ->check(CLI::Range(0, 256))
      ->transform([](std::string text) { return text == "auto" ? "0" : text; })
      ->default_str("auto");
}

Value parse_literal(const std::string& text) {
  const auto node = nlohmann::json::parse(text, nullptr, false);
  if (node.is_discarded()) {
    throw CLI::ValidationError("--value", "'" + text + "' is no JSON value");
  }
  return from_json(node);
}

void InputOptions::add_to(CLI::App& command) {
  command_ = &command;
  files_option_ =
      command.add_option("input,--input", files_, "Tensors from .npy files")->type_name("FILE.npy");
  images_option_ =
      command.add_option("--image", images_, "A picture (PNG, JPEG), prepared as for ImageNet")
          ->type_name("FILE");
  shapes_option_ = command
                       .add_option("--shape", shapes_,
                                   "A tensor of this shape with pseudo-random values in [0, 1), "
                                   "or in 0..9 for integers; 'scalar' for no dimension")
                       ->type_name("1,3,224,224");
  texts_option_ = command.add_option("--text", texts_, "A str")->type_name("TEXT");
  literals_option_ =
      command.add_option("--value", literals_, "An int, float, bool, None, list or dict as JSON")
          ->type_name("JSON");
  command.add_option("--dtype", dtype_, "Of the tensors that --shape makes")->capture_default_str();
  command
      .add_option("--resize", image_options_.resize,
                  "Shorter side of --image before it is cropped; 0 keeps it")
      ->capture_default_str();
  command.add_option("--crop", image_options_.crop, "Side of the central square; 0 keeps all")
      ->capture_default_str();
  for (CLI::Option* option : {images_option_, shapes_option_, texts_option_, literals_option_}) {
    option->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);  // else CLI11 takes "[1, 2]" apart
  }
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
  std::map<const CLI::Option*, size_t> taken;
  for (const CLI::Option* option : command_->parse_order()) {
    const size_t i = taken[option]++;
    if (option == files_option_ && i < files_.size()) {
      result.emplace_back(load_npy(files_[i]));
    } else if (option == images_option_ && i < images_.size()) {
      result.emplace_back(load_image(images_[i], image_options_));
    } else if (option == shapes_option_ && i < shapes_.size()) {
      result.push_back(filled(shapes_[i]));
    } else if (option == texts_option_ && i < texts_.size()) {
      result.emplace_back(texts_[i]);
    } else if (option == literals_option_ && i < literals_.size()) {
      result.push_back(parse_literal(literals_[i]));
    }
  }
  return result;
}

}  // namespace torchlet::cli
