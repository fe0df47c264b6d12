// `torchlet tune`: which device runs each part of a model fastest.
#include <torchlet/torchlet.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "base/content_hash.h"
#include "base/mapped_file.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/guessed_inputs.h"
#include "cli/inputs.h"
#include "cli/json_values.h"
#include "cli/probe.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "device/registry.h"
#include "graph/event_sink.h"
#include "prepare/tune.h"

namespace torchlet::cli {
namespace {

struct TuneCommand {
  std::string model, method = "forward", output;
  InputOptions inputs;
  LimitOptions limits;
  ProbeOptions probe;
  std::vector<std::string> devices;
  int threads = 0;
  double seconds = 10;
  bool json = false;
};

// All that there are, unless the command line names some; the processor is always behind them.
std::vector<std::string> devices_to_try(const TuneCommand& command) {
  std::vector<std::string> names = command.devices;
  if (names.empty()) {
    for (const device::DeviceEntry& entry : device::all_devices()) names.push_back(entry.name);
  }
  std::erase_if(names, [](const std::string& name) { return name == "cpu"; });
  return names;
}

Json times_json(const device::RunTimes& times) {
  return {{"min_ms", times.min * 1e3}, {"median_ms", times.median * 1e3}};
}

Json tuning_json(const prepare::Tuning& tuning, const std::string& file) {
  Json tried = Json::array(), segments = Json::array(), dropped = Json::array();
  for (const prepare::TriedPlacement& placement : tuning.tried) {
    Json row = times_json(placement.times);
    row["devices"] = placement.devices;
    row["left"] = placement.left;
    row["max_abs"] = placement.difference.max_abs;
    row["sqnr_db"] = placement.difference.sqnr;
    row["problem"] = placement.difference.problem;
    tried.push_back(std::move(row));
  }
  for (const prepare::SegmentTimes& segment : tuning.segments) {
    segments.push_back({{"segment", segment.key},
                        {"device", segment.device},
                        {"what", segment.what},
                        {"place", segment.place},
                        {"operators", segment.operators},
                        {"here", times_json(segment.here)},
                        {"elsewhere", times_json(segment.elsewhere)},
                        {"copies_ms", segment.copies * 1e3},
                        {"conversions_ms", segment.conversions * 1e3},
                        {"bytes", segment.bytes}});
  }
  for (const device::DroppedDevice& device : tuning.choice.dropped) {
    dropped.push_back({{"name", device.name}, {"reason", device.reason}});
  }
  return {{"file", file},
          {"inputs", tuning.choice.signature.str()},
          {"threads", tuning.choice.threads},
          {"chosen", tuning.tried[tuning.chosen].devices},
          {"tried", std::move(tried)},
          {"segments", std::move(segments)},
          {"dropped", std::move(dropped)}};
}

void print_tuning(const prepare::Tuning& tuning, const std::string& file) {
  for (const device::DroppedDevice& device : tuning.choice.dropped) {
    std::printf("LEFT OUT  %s: %s\n", device.name.c_str(), device.reason.c_str());
  }
  if (!tuning.segments.empty()) {
    std::printf("%-18s %9s %9s %9s %10s  %s\n", "segment on", "operators", "here ms", "else ms",
                "bytes", "what");
  }
  for (const prepare::SegmentTimes& segment : tuning.segments) {
    std::printf("%-18s %9zu %9.3f %9.3f %10zu  %s, %s\n", segment.device.c_str(), segment.operators,
                segment.here.median * 1e3, segment.elsewhere.median * 1e3, segment.bytes,
                segment.what.c_str(), segment.place.c_str());
  }
  std::printf("\n%-9s %9s %9s %9s  %s\n", "", "min ms", "median ms", "SQNR dB", "placement");
  for (size_t i = 0; i < tuning.tried.size(); ++i) {
    const prepare::TriedPlacement& tried = tuning.tried[i];
    std::printf("%-9s %9.3f %9.3f %9.1f  %s", i == tuning.chosen ? "CHOSEN" : "",
                tried.times.min * 1e3, tried.times.median * 1e3, tried.difference.sqnr,
                joined(tried.devices, ",").c_str());
    if (!tried.left.empty()) std::printf(" (less %zu segments)", tried.left.size());
    if (!tried.difference.problem.empty()) {
      std::printf("  WRONG: %s", tried.difference.problem.c_str());
    }
    std::printf("\n");
  }
  std::printf("\nkept in %s for %s, threads %d\n", file.c_str(),
              tuning.choice.signature.str().c_str(), tuning.choice.threads);
}

// Beside those for other inputs, if the file is of this model; else alone.
void keep(const device::PlacementChoice& choice, const std::string& model,
          const std::string& file) {
  device::KeptPlacements kept;
  const uint64_t hash = content_hash(MappedFile(model).bytes());
  try {
    kept = device::read_placements(file);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kFileFormat) throw;
  }
  if (kept.model_hash != hash || kept.torchlet != version()) kept.choices.clear();
  kept.model_hash = hash;
  kept.torchlet = version();
  kept.add(choice);
  write_file(file, device::to_json(kept));
}

void tune(const TuneCommand& command) {
  set_num_threads(command.threads);
  Options load_options;
  command.limits.apply(load_options);
  load_options.print = [](std::string_view) {};
  const Module module = load(command.model, load_options);
  const std::vector<Value> inputs = inputs_or_guess(command.inputs, module, command.method);
  if (!command.probe.probed().empty()) {
    return command.probe.run_probe(module, command.method, inputs);
  }
  // What is wrong with the model or the inputs is no device's fault.
  module.deepcopy().get_method(command.method)(inputs);

  Progress progress("trying devices");
  prepare::TuneOptions options;
  options.method = command.method;
  options.devices = devices_to_try(command);
  // Wrong names are no fault of a device.
  prepare::check_devices(options.devices);
  device::make_devices(options.devices, {});
  const std::vector<device::DroppedDevice> dropped = command.probe.drop_bad(options.devices);
  options.seconds = command.seconds;
  options.min_sqnr = command.probe.min_sqnr();
  std::string at;
  options.progress = [&](const std::string& stage, double done) {
    if (stage != at) progress.stage(at = stage);
    progress.update(done);
  };
  prepare::Tuning tuning = prepare::tune(module, inputs, options);
  tuning.choice.dropped = dropped;
  const std::string file =
      command.output.empty() ? device::placement_file_of(command.model) : command.output;
  keep(tuning.choice, command.model, file);
  if (command.json) {
    std::printf("%s\n", json_text(tuning_json(tuning, file), 1).c_str());
  } else {
    print_tuning(tuning, file);
  }
}

}  // namespace

void add_tune_command(CLI::App& app) {
  auto options = std::make_shared<TuneCommand>();
  CLI::App* command = app.add_subcommand(
      "tune", "Measure which devices run a model fastest, and keep that for --device auto");
  add_model(*command, options->model);
  options->inputs.add_to(*command);
  command->add_option("--method", options->method, "What to call")->capture_default_str();
  command
      ->add_option("--device", options->devices,
                   "What is tried, in each order, before cpu (see torchlet devices)")
      ->delimiter(',')
      ->type_name("NAME[,NAME...]")
      ->default_str("all");
  command
      ->add_option("-o,--output", options->output,
                   "Where to keep it (default: beside the model, where --device auto looks)")
      ->type_name("FILE.json");
  add_threads_option(*command, options->threads);
  options->limits.add_to(*command);
  options->probe.add_to(*command);
  command->add_option("--seconds", options->seconds, "How long to measure")
      ->check(above_zero())
      ->capture_default_str();
  command->add_flag("--json", options->json, "Write what was measured as JSON");
  command->footer(
      "Examples: torchlet tune model.pt --shape 1,3,224,224\n"
      "          torchlet tune model.pt --bundled 0 --device nnapi,cpu --threads 1\n"
      "          torchlet run model.pt --bundled 0 --device auto");
  command->callback([options] { tune(*options); });
}

}  // namespace torchlet::cli
