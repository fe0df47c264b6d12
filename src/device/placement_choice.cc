#include "device/placement_choice.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/mapped_file.h"
#include "tensor/containers.h"

namespace torchlet::device {
namespace {

using Json = nlohmann::json;

// What no file that was written honestly comes near.
constexpr size_t kMostBytes = 16 << 20, kMostChoices = 1000, kMostDevices = 16;
constexpr int kMostThreads = 256;  // as --threads
constexpr char kFormat[] = "torchlet placement";
constexpr int kVersion = 1;
constexpr size_t kMostText = 200;

std::string text_of(const Value& value) {
  std::string text;
  if (value.is_tensor()) return value.to_tensor().describe();
  if (value.is_list()) {
    for (const Value& item : value.list_ref().items) {
      text += (text.empty() ? "" : ", ") + text_of(item);
      if (text.size() > kMostText) break;
    }
    return "[" + text.substr(0, kMostText) + "]";
  }
  return std::string(value.kind_name()) + " " + to_text(value).substr(0, kMostText);
}

[[noreturn]] void wrong(const char* what) {
  fail(ErrorCode::kFileFormat, "it is no placement file: %s", what);
}

// A member of an object, of one of the kinds of JSON.
const Json& member(const Json& node, const char* name, bool (Json::*is_kind)() const noexcept) {
  if (!node.is_object()) wrong("an object is something else");
  const auto found = node.find(name);
  if (found == node.end() || !((*found).*is_kind)()) {
    fail(ErrorCode::kFileFormat, "it is no placement file: '%s' is missing or of another kind",
         name);
  }
  return *found;
}
std::string text_member(const Json& node, const char* name) {
  return member(node, name, &Json::is_string).get<std::string>();
}
const Json& list_member(const Json& node, const char* name, size_t most) {
  const Json& list = member(node, name, &Json::is_array);
  if (list.size() > most) wrong("a list is too long");
  return list;
}

Json inputs_json(const CallSignature& signature) {
  Json all = Json::array();
  for (const CallSignature::Input& input : signature.inputs()) {
    if (!input.is_tensor) {
      all.push_back({{"value", input.text}});
      continue;
    }
    all.push_back({{"dtype", std::string(dtype_name(input.dtype))},
                   {"shape", std::vector<int64_t>(input.sizes.begin(), input.sizes.end())}});
  }
  return all;
}

DType parse_dtype(const std::string& name) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (dtype_name(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  }
  wrong("there is no such dtype");
}

CallSignature parse_inputs(const Json& list) {
  std::vector<CallSignature::Input> inputs;
  for (const Json& node : list) {
    CallSignature::Input input;
    if (node.is_object() && node.contains("value")) {
      input.text = text_member(node, "value");
      inputs.push_back(std::move(input));
      continue;
    }
    input.is_tensor = true;
    input.dtype = parse_dtype(text_member(node, "dtype"));
    for (const Json& size : list_member(node, "shape", 64)) {
      if (!size.is_number_integer()) wrong("a size is no number");
      input.sizes.push_back(size.get<int64_t>());
    }
    inputs.push_back(std::move(input));
  }
  return CallSignature(std::move(inputs));
}

Json times_json(const RunTimes& times) { return {times.min * 1e3, times.median * 1e3}; }

RunTimes parse_times(const Json& node, const char* name) {
  const Json& pair = list_member(node, name, 2);
  if (pair.size() != 2 || !pair[0].is_number() || !pair[1].is_number())
    wrong("times are no numbers");
  return {pair[0].get<double>() * 1e-3, pair[1].get<double>() * 1e-3};
}

Json choice_json(const PlacementChoice& choice) {
  Json devices = Json::array(), dropped = Json::array();
  for (const UsedDevice& device : choice.devices) {
    devices.push_back({{"name", device.name}, {"version", device.version}});
  }
  for (const DroppedDevice& device : choice.dropped) {
    dropped.push_back(
        {{"name", device.name}, {"version", device.version}, {"reason", device.reason}});
  }
  return {{"method", choice.method},
          {"inputs", inputs_json(choice.signature)},
          {"threads", choice.threads},
          {"devices", std::move(devices)},
          {"left", choice.left},
          {"cpu_ms", times_json(choice.cpu)},
          {"chosen_ms", times_json(choice.chosen)},
          {"dropped", std::move(dropped)}};
}

PlacementChoice parse_choice(const Json& node) {
  PlacementChoice choice;
  choice.method = text_member(node, "method");
  choice.signature = parse_inputs(list_member(node, "inputs", 1000));
  const Json& threads = member(node, "threads", &Json::is_number_integer);
  if (threads < 1 || threads > kMostThreads) wrong("a number of threads is none");
  choice.threads = threads.get<int>();
  for (const Json& device : list_member(node, "devices", kMostDevices)) {
    choice.devices.push_back({text_member(device, "name"), text_member(device, "version")});
  }
  if (choice.devices.empty()) wrong("a choice has no devices");
  for (const Json& segment : list_member(node, "left", 100'000)) {
    if (!segment.is_string()) wrong("a segment is no text");
    choice.left.insert(segment.get<std::string>());
  }
  choice.cpu = parse_times(node, "cpu_ms");
  choice.chosen = parse_times(node, "chosen_ms");
  for (const Json& device : list_member(node, "dropped", kMostDevices)) {
    choice.dropped.push_back({text_member(device, "name"), text_member(device, "version"),
                              text_member(device, "reason")});
  }
  return choice;
}

// Depth is bounded before anything is built: what nests deeper than the format does is none.
Json parse_json(std::string_view text) {
  constexpr int kMostDepth = 8;
  bool is_deep = false;
  const auto callback = [&](int depth, Json::parse_event_t, Json&) {
    is_deep |= depth > kMostDepth;
    return !is_deep;
  };
  Json root = Json::parse(text, callback, false);
  if (is_deep || root.is_discarded() || !root.is_object()) wrong("it is not such JSON");
  return root;
}

}  // namespace

CallSignature::CallSignature(std::span<const Value> inputs) {
  for (const Value& value : inputs) {
    Input input;
    input.is_tensor = value.is_tensor() && value.tensor_impl();
    if (input.is_tensor) {
      input.dtype = value.tensor_impl()->dtype;
      input.sizes = value.tensor_impl()->sizes;
    } else {
      input.text = text_of(value);
    }
    inputs_.push_back(std::move(input));
  }
}

bool CallSignature::matches(std::span<const Value> inputs) const {
  return std::ranges::equal(inputs_, inputs, [](const Input& input, const Value& value) {
    if (!value.is_tensor() || !value.tensor_impl())
      return !input.is_tensor && input.text == text_of(value);
    const TensorImpl& impl = *value.tensor_impl();
    return input.is_tensor && impl.dtype == input.dtype &&
           std::ranges::equal(impl.sizes, input.sizes);
  });
}

std::string CallSignature::str() const {
  std::string text;
  for (const Input& input : inputs_) {
    text += text.empty() ? "" : ", ";
    if (!input.is_tensor) {
      text += input.text;
      continue;
    }
    text += std::string(dtype_name(input.dtype)) + " [";
    for (size_t i = 0; i < input.sizes.size(); ++i) {
      text += (i ? ", " : "") + std::to_string(input.sizes[i]);
    }
    text += "]";
  }
  return text;
}

void KeptPlacements::add(PlacementChoice choice) {
  std::erase_if(choices, [&](const PlacementChoice& known) {
    return known.method == choice.method && known.threads == choice.threads &&
           known.signature == choice.signature;
  });
  choices.push_back(std::move(choice));
}

std::string placement_file_of(const std::string& model) { return model + ".placement.json"; }

std::string to_json(const KeptPlacements& kept) {
  Json choices = Json::array();
  for (const PlacementChoice& choice : kept.choices) choices.push_back(choice_json(choice));
  const Json root = {{"format", kFormat},
                     {"version", kVersion},
                     {"torchlet", kept.torchlet},
                     {"model", format("%016llx", static_cast<unsigned long long>(kept.model_hash))},
                     {"choices", std::move(choices)}};
  return root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

KeptPlacements parse_placements(std::string_view text) {
  const Json root = parse_json(text);
  if (text_member(root, "format") != kFormat ||
      member(root, "version", &Json::is_number_integer) != kVersion) {
    wrong("it says that it is another format");
  }
  KeptPlacements kept;
  kept.torchlet = text_member(root, "torchlet");
  const std::string hash = text_member(root, "model");
  if (hash.size() != 16 || hash.find_first_not_of("0123456789abcdef") != std::string::npos) {
    wrong("the model's hash is none");
  }
  kept.model_hash = std::stoull(hash, nullptr, 16);
  for (const Json& node : list_member(root, "choices", kMostChoices)) {
    kept.choices.push_back(parse_choice(node));
  }
  return kept;
}

KeptPlacements read_placements(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  const MappedFile file(path);
  if (file.bytes().size() > kMostBytes) wrong("it is too large");
  return parse_placements(
      {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()});
}

}  // namespace torchlet::device
