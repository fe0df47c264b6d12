// Apart from the reading, which takes a smaller JSON: who only runs models does not need it.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "device/placement_choice.h"
#include "tensor/containers.h"

namespace torchlet::device {
namespace {

using Json = nlohmann::json;

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

Json times_json(const RunTimes& times) { return {times.min * 1e3, times.median * 1e3}; }

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

}  // namespace

std::string to_json(const KeptPlacements& kept) {
  Json choices = Json::array();
  for (const PlacementChoice& choice : kept.choices) choices.push_back(choice_json(choice));
  const Json root = {{"format", kPlacementFormat},
                     {"version", kPlacementVersion},
                     {"torchlet", kept.torchlet},
                     {"model", format("%016llx", static_cast<unsigned long long>(kept.model_hash))},
                     {"choices", std::move(choices)}};
  return root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace torchlet::device
