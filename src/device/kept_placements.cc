#include "device/kept_placements.h"

#include <algorithm>
#include <cstdio>

#include "base/content_hash.h"
#include "base/error.h"
#include "graph/event_sink.h"

namespace torchlet::device {
namespace {

// Why it does not hold here; empty if it does.
std::string problem_of(const PlacementChoice& choice, const DeviceConfig& config) {
  try {
    const auto devices = make_devices(choice, config);
    for (size_t i = 0; i < devices.size(); ++i) {
      if (devices[i]->version() == choice.devices[i].version) continue;
      return "the driver of '" + choice.devices[i].name + "' is another one now";
    }
    return "";
  } catch (const Error& error) {
    return error.what();
  } catch (const DeviceFailure& failure) {
    return failure.why;
  }
}

// The file may hold anything; what is shown of it is one line.
void warn(const std::string& file, std::string why) {
  std::ranges::replace_if(
      why, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  std::fprintf(stderr, "torchlet: %s is not used: %.300s; tune the model again\n", file.c_str(),
               why.c_str());
}

}  // namespace

std::vector<std::shared_ptr<Device>> make_devices(const PlacementChoice& choice,
                                                  const DeviceConfig& config) {
  std::vector<std::string> names;
  for (const UsedDevice& device : choice.devices) names.push_back(device.name);
  for (const std::string& name : names) {
    TORCHLET_CHECK(name != kReferenceDevice && name != kAutoDevice, "'%s' is no device to measure",
                   name.c_str());
  }
  return make_devices(names, config);
}

std::vector<PlacementChoice> usable_placements(const std::string& model,
                                               std::span<const std::byte> bytes,
                                               std::string_view torchlet,
                                               const DeviceConfig& config) {
  const std::string file = placement_file_of(model);
  try {
    KeptPlacements kept = read_placements(file);
    if (kept.choices.empty()) return {};
    if (kept.torchlet != torchlet) {
      warn(file, "another version of Torchlet wrote it");
      return {};
    }
    if (kept.model_hash != content_hash(bytes)) {
      warn(file, "the model is another one now");
      return {};
    }
    std::string problem;
    std::erase_if(kept.choices, [&](const PlacementChoice& choice) {
      std::string found = problem_of(choice, config);
      const bool is_wrong = !found.empty();
      if (is_wrong) problem = std::move(found);
      return is_wrong;
    });
    if (!problem.empty()) warn(file, problem);
    return std::move(kept.choices);
  } catch (const Error& error) {
    warn(file, error.what());
  } catch (const std::exception& error) {  // such as of memory
    warn(file, error.what());
  }
  return {};
}

}  // namespace torchlet::device
