// Version, threads and devices.
#include <torchlet/threads.h>
#include <torchlet/torchlet.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "c_api/handles.h"
#include "device/registry.h"
#include "graph/event_sink.h"

using namespace torchlet;
using namespace torchlet::c_api;

namespace {

// Why the device cannot be used here; empty if it can.
std::string problem_with(const device::DeviceEntry& entry, const device::DeviceConfig& config) {
  try {
    entry.make(config);
    return {};
  } catch (const Error& error) {
    return error.what();
  } catch (const device::DeviceFailure& failure) {
    return failure.why;
  }
}

nlohmann::json device_json(const std::string& name, const std::string& about,
                           const std::string& problem) {
  nlohmann::json node = {{"name", name}, {"about", about}, {"available", problem.empty()}};
  if (!problem.empty()) node["problem"] = problem;
  return node;
}

}  // namespace

const char* torchlet_version(void) { return version(); }

torchlet_status torchlet_set_num_threads(int count) {
  return guarded([&] {
    if (count < 0 || count > 256) {
      fail(ErrorCode::kInvalidArgument,
           "%d threads; there can be 1 to 256, or 0 for all processors", count);
    }
    set_num_threads(count);
  });
}

int torchlet_num_threads(void) {
  return answered([] { return num_threads(); });
}

torchlet_status torchlet_devices(char** json) {
  return guarded(kReports, [&] {
    char*& result = given(json, "json");
    nlohmann::json all = nlohmann::json::array();
    for (const device::DeviceEntry& entry : device::all_devices()) {
      const std::string problem = problem_with(entry, {});
      all.push_back(device_json(entry.name, entry.description, problem));
      if (!entry.parts || !problem.empty()) continue;
      for (const device::DevicePart& part : entry.parts()) {
        device::DeviceConfig config;
        config.part = part.name;
        all.push_back(device_json(std::string(entry.name) + ":" + part.name, part.description,
                                  problem_with(entry, config)));
      }
    }
    all.push_back(device_json(kReferenceDevice, "the program as it was written", ""));
    result = new_text(all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  });
}
