// `torchlet devices`: what runs models, and which operators it takes.
#include <torchlet/torchlet.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "cli/commands.h"
#include "cli/json_values.h"
#include "device/registry.h"
#include "graph/event_sink.h"

namespace torchlet::cli {
namespace {

struct DevicesOptions {
  std::vector<std::string> names;
  bool ops = false, json = false;
};

struct ListedDevice {
  std::string name, description, version;
  std::string problem;  // why it cannot be used here; empty if it can
  std::vector<std::string> operators;
};

constexpr char kReferenceDescription[] =
    "the program as it was written, operator by operator: the measure of what is right";

// With `part`, that one of those that the entry stands for.
ListedDevice list(const device::DeviceEntry& entry, const device::DevicePart* part = nullptr) {
  ListedDevice listed{entry.name, entry.description, {}, {}, {}};
  device::DeviceConfig config;
  if (part) {
    config.part = part->name;
    listed.name += ":" + part->name;
    listed.description = part->description;
  }
  try {
    const std::shared_ptr<device::Device> device = entry.make(config);
    listed.version = device->version();
    for (const Operator* op : device::operators_taken(*device)) {
      listed.operators.push_back(op->schema.full_name());
    }
  } catch (const Error& error) {
    listed.problem = error.what();
  } catch (const device::DeviceFailure& failure) {
    listed.problem = failure.why;
  }
  return listed;
}

std::vector<ListedDevice> list_all(const std::vector<std::string>& names) {
  std::vector<ListedDevice> all;
  for (const device::DeviceEntry& entry : device::all_devices()) {
    all.push_back(list(entry));
    if (!entry.parts || !all.back().problem.empty()) continue;
    for (const device::DevicePart& part : entry.parts()) all.push_back(list(entry, &part));
  }
  ListedDevice reference{kReferenceDevice, kReferenceDescription, {}, {}, {}};
  for (const Operator* op : all_operators()) reference.operators.push_back(op->schema.full_name());
  all.push_back(std::move(reference));
  if (names.empty()) return all;

  std::vector<ListedDevice> chosen;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(all, name, &ListedDevice::name);
    if (found == all.end()) {
      throw CLI::ValidationError("devices", "there is no device '" + name + "'");
    }
    chosen.push_back(*found);
  }
  return chosen;
}

void print_json(const std::vector<ListedDevice>& devices, bool ops) {
  Json all = Json::array();
  for (const ListedDevice& device : devices) {
    Json row = {{"name", device.name},
                {"description", device.description},
                {"version", device.version},
                {"usable", device.problem.empty()},
                {"num_operators", device.operators.size()}};
    if (!device.problem.empty()) row["problem"] = device.problem;
    if (ops) row["operators"] = device.operators;
    all.push_back(std::move(row));
  }
  std::printf("%s\n", json_text(all, 1).c_str());
}

void print_text(const std::vector<ListedDevice>& devices, bool ops) {
  std::printf("%-24s %9s  %s\n", "device", "operators", "what it is");
  for (const ListedDevice& device : devices) {
    const std::string version = device.version.empty() ? "" : " (" + device.version + ")";
    std::printf("%-24s %9zu  %s%s\n", device.name.c_str(), device.operators.size(),
                device.description.c_str(), version.c_str());
    if (!device.problem.empty()) std::printf("    NOT USABLE: %s\n", device.problem.c_str());
    if (!ops) continue;
    for (const std::string& name : device.operators) std::printf("    %s\n", name.c_str());
  }
}

void devices(const DevicesOptions& options) {
  const std::vector<ListedDevice> all = list_all(options.names);
  if (options.json) {
    print_json(all, options.ops);
  } else {
    print_text(all, options.ops);
  }
}

}  // namespace

void add_devices_command(CLI::App& app) {
  auto options = std::make_shared<DevicesOptions>();
  CLI::App* command =
      app.add_subcommand("devices", "List what runs models, and which operators it takes");
  command->add_option("names", options->names, "Only these devices")
      ->type_name("NAME")
      ->expected(0, -1);
  command->add_flag("--ops", options->ops, "With the operators that each takes");
  command->add_flag("--json", options->json, "Write the list as JSON");
  command->footer(
      "Examples: torchlet devices --ops\n"
      "          torchlet devices cpu --ops --json");
  command->callback([options] { devices(*options); });
}

}  // namespace torchlet::cli
