#include "device/registry.h"

#include <algorithm>
#include <mutex>

#include "base/error.h"
#include "base/selection.h"
#include "device/cpu/cpu_device.h"
#include "device/nnapi/nnapi_device.h"
#include "graph/event_sink.h"
#include "passes/analysis/effects.h"

namespace torchlet::device {
namespace {

constexpr char kCpuName[] = "cpu", kNnapiName[] = "nnapi";

// Those of this build.
std::vector<DeviceEntry> own_devices() {
  std::vector<DeviceEntry> entries;
  if constexpr (selection::has_device(kCpuName)) entries.push_back(cpu::kCpuDevice);
  if constexpr (selection::has_device(kNnapiName)) entries.push_back(nnapi::kNnapiDevice);
  return entries;
}

struct Registry {
  std::mutex mutex;
  std::vector<DeviceEntry> entries = own_devices();
};
Registry& registry() {
  static Registry all;
  return all;
}

[[noreturn]] void unknown_device(const std::string& name, const std::vector<DeviceEntry>& known) {
  std::string names;
  for (const DeviceEntry& entry : known) names += std::string(entry.name) + ", ";
  const bool is_left_out = (name == kCpuName && !selection::has_device(kCpuName)) ||
                           (name.starts_with(kNnapiName) && !selection::has_device(kNnapiName));
  fail(ErrorCode::kInvalidArgument,
       "there is no device '" + name + "'; there are: " + names + kReferenceDevice + ", " +
           kAutoDevice +
           (is_left_out ? "; this libtorchlet was built without it (TORCHLET_DEVICES)" : ""));
}

}  // namespace

std::vector<DeviceEntry> all_devices() {
  const std::lock_guard lock(registry().mutex);
  return registry().entries;
}

void add_device(const DeviceEntry& entry) {
  const std::lock_guard lock(registry().mutex);
  registry().entries.push_back(entry);
}

std::vector<std::shared_ptr<Device>> make_devices(std::span<const std::string> names,
                                                  const DeviceConfig& config) {
  const std::vector<DeviceEntry> known = all_devices();
  std::vector<std::shared_ptr<Device>> devices;
  static const std::string kFirst[] = {kCpuName};
  if (names.size() == 1 && names[0] == kAutoDevice) names = kFirst;
  for (const std::string& name : names) {
    TORCHLET_CHECK(name != kAutoDevice, "'%s' chooses the devices itself, so it stands alone",
                   kAutoDevice);
    if (name == kReferenceDevice) {
      TORCHLET_CHECK(&name == &names.back(),
                     "no device can come after '%s', which takes everything", kReferenceDevice);
      break;
    }
    const size_t colon = name.find(':');
    const auto found = std::ranges::find(known, name.substr(0, colon), &DeviceEntry::name);
    const bool is_part = colon != std::string::npos;
    if (found == known.end() || (is_part && !found->parts)) unknown_device(name, known);
    DeviceConfig own = config;
    if (is_part) own.part = name.substr(colon + 1);
    devices.push_back(found->make(own));
  }
  return devices;
}

std::vector<const Operator*> operators_taken(const Device& device) {
  std::vector<const Operator*> taken;
  for (const Operator* op : all_operators()) {
    // A program's inputs stand for the arguments.
    Graph graph;
    std::vector<SsaValue*> inputs;
    for (const Argument& argument : op->schema.arguments) {
      inputs.push_back(graph.block()->add_input(argument.type));
    }
    Node* node = graph.block()->append(graph.create(op->name, inputs));
    node->set_op(op);
    for (const Argument& result : op->schema.returns) node->add_output(result.type);
    if (passes::is_pure(*node) && device.refusal(*node).empty()) taken.push_back(op);
  }
  return taken;
}

}  // namespace torchlet::device
