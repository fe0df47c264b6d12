// `torchlet explain`: where the time of a model goes on devices, and what to change to gain.
#include "cli/explain.h"

#include <torchlet/quantize.h>
#include <torchlet/torchlet.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>

#include "base/error.h"
#include "base/mapped_file.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/guessed_inputs.h"
#include "cli/inputs.h"
#include "cli/json_values.h"
#include "cli/probe.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "device/kept_placements.h"
#include "device/registry.h"
#include "prepare/tune.h"

namespace torchlet::cli {
namespace {

using prepare::Advice;
using prepare::ExplainedSegment;
using prepare::Explanation;
using prepare::Refusal;
using Calls = std::vector<std::vector<Value>>;

struct ExplainCommand {
  std::string model, method = "forward", report;
  InputOptions inputs;
  LimitOptions limits;
  ProbeOptions probe;
  std::vector<std::string> devices;
  int threads = 0;
  double seconds = 3;
  bool json = false, no_quantize = false;
};

// ---- what to explain ----

Calls calls_of(const ExplainCommand& command, const Module& module) {
  Calls calls(1);
  for (const InputOptions::Named& named : command.inputs.named()) {
    if (named.kind == InputOptions::Kind::kNext) {
      calls.emplace_back();
      continue;
    }
    for (Value& value : command.inputs.values_of(named, module, command.method)) {
      calls.back().push_back(std::move(value));
    }
  }
  if (calls.size() == 1 && calls[0].empty()) {
    calls[0] = inputs_or_guess(command.inputs, module, command.method);
  }
  return calls;
}

std::optional<device::PlacementChoice> tuned_choice(const ExplainCommand& command,
                                                    const Module& module,
                                                    const std::vector<Value>& inputs) {
  const prepare::KnownCall call = prepare::known_call(module, command.method, inputs);
  const MappedFile file(command.model);
  for (device::PlacementChoice& choice :
       device::usable_placements(command.model, file.bytes(), version(), {})) {
    if (choice.threads == num_threads() && choice.method == call.method &&
        choice.signature == call.signature) {
      return std::move(choice);
    }
  }
  return std::nullopt;
}

bool uses_devices(const device::PlacementChoice& choice) {
  return std::ranges::any_of(choice.devices, [](const device::UsedDevice& device) {
    return device.name != prepare::kCpu;
  });
}

// Which devices to explain, without the processor: those of the command line, else those that were
// tuned, else all that there are but for what tuning has left out.
std::vector<std::string> devices_to_explain(const ExplainCommand& command, Explained& explained) {
  std::vector<std::string> names = command.devices;
  const bool is_free = names.empty() || names == std::vector<std::string>{device::kAutoDevice};
  if (is_free) {
    names.clear();
    explained.follows_tuned = explained.tuned && uses_devices(*explained.tuned);
    if (explained.tuned) explained.dropped = explained.tuned->dropped;
    if (explained.follows_tuned) {
      for (const device::UsedDevice& device : explained.tuned->devices)
        names.push_back(device.name);
    } else {
      for (const device::DeviceEntry& entry : device::all_devices()) names.push_back(entry.name);
    }
  }
  std::erase_if(names, [&](const std::string& name) {
    const auto is_same = [&](const device::DroppedDevice& device) { return device.name == name; };
    return name == prepare::kCpu || std::ranges::any_of(explained.dropped, is_same);
  });
  prepare::check_devices(names);
  for (const std::string& name : names) {
    try {
      device::make_devices(std::vector{name}, {});
    } catch (const Error& error) {
      // One that cannot be used here is told of like one that fails.
      if (error.code() == ErrorCode::kInvalidArgument) throw;
    } catch (const device::DeviceFailure&) {
    }
  }
  return names;
}

// What the model would gain as one of 8-bit integers, if anything: its ranges are those of these
// inputs, which will do for times.
std::optional<Advice> quantized_advice(const Module& module, const Calls& calls,
                                       const Explanation& real, prepare::ExplainOptions options) {
  constexpr double kLeastGain = 0.05;
  try {
    QuantizationOptions quantization;
    quantization.method = options.method;
    quantization.mode = QuantizationMode::kInside;
    quantization.range = RangeMethod::kMinMax;
    quantization.bias_correction = false;
    const Quantized quantized = quantize(module, std::span(calls).first(1), quantization);
    options.left.clear();
    options.seconds /= 3;
    const Explanation tried = prepare::explain(quantized.module, {calls[0]}, options);
    Advice advice = prepare::advise_quantized(real, tried);
    if (advice.gain > kLeastGain * real.whole.median) return advice;
  } catch (const Error&) {
    // It has nothing to quantize, or cannot be.
  }
  return std::nullopt;
}

// ---- text ----

double milliseconds(double seconds) { return seconds * 1e3; }

void print_segments(const Explanation& explanation) {
  std::printf("\n%4s  %-18s %9s %9s %9s %9s %9s %9s %9s  %s\n", "#", "device", "operators", "ms",
              "compute", "copies", "convert", "cpu ms", "moved", "what");
  double sum = 0;
  for (size_t i = 0; i < explanation.segments.size(); ++i) {
    const ExplainedSegment& segment = explanation.segments[i];
    sum += segment.time.median;
    std::printf("%4zu  %-18s %9zu %9.3f %9.3f %9.3f %9.3f %9.3f %9s  %s\n", i + 1,
                segment.device.c_str(), segment.operators.size(), milliseconds(segment.time.median),
                milliseconds(segment.compute), milliseconds(segment.in.copies + segment.out.copies),
                milliseconds(segment.in.conversions + segment.out.conversions),
                milliseconds(segment.cpu), human_bytes(segment.bytes).c_str(),
                segment_text(explanation, segment).c_str());
  }
  std::printf("%4s  %-18s %9s %9.3f\n", "", "all", "", milliseconds(sum));
}

void print_refusals(const std::vector<Refusal>& refusals) {
  constexpr size_t kMostPlaces = 3;
  if (refusals.empty()) return;
  std::printf("\nrefused\n");
  for (const Refusal& refusal : refusals) {
    std::printf("  %s: %s\n", refusal.device.c_str(), refusal.reason.c_str());
    for (const Refusal::Refused& refused : refusal.refused) {
      std::printf("      %s%s x%zu  %s\n", refused.is_segment ? "segment " : "",
                  refused.what.c_str(), refused.places.size(),
                  places_text(refused.places, kMostPlaces).c_str());
    }
  }
}

void print_text(const Explained& explained) {
  std::printf("model     %s\n", explained.model.c_str());
  std::printf("call      %s\n", call_text(explained).c_str());
  std::printf("devices   %s\n", devices_text(explained).c_str());
  std::printf("tuned     %s\n", tuned_text(explained).c_str());
  std::printf("compile   %s\n", compile_text(explained.explanation).c_str());
  std::printf("time      %s\n", time_text(explained).c_str());
  const std::string hardware = hardware_text(explained.explanation);
  if (!hardware.empty()) std::printf("hardware  %s\n", hardware.c_str());
  for (const device::DroppedDevice& device : explained.dropped) {
    std::printf("LEFT OUT  %s: %s\n", device.name.c_str(), device.reason.c_str());
  }
  print_segments(explained.explanation);
  print_refusals(explained.explanation.refusals);
  std::printf("\nto gain\n");
  for (const Advice& advice : explained.advice) std::printf("  - %s\n", advice.text.c_str());
  if (explained.advice.empty()) std::printf("  - nothing was found\n");
}

// ---- JSON ----

Json moved_json(const prepare::Moved& moved) {
  return {{"copies_ms", milliseconds(moved.copies)},
          {"conversions_ms", milliseconds(moved.conversions)},
          {"bytes", moved.bytes}};
}

Json segment_json(const Explanation& explanation, const ExplainedSegment& segment) {
  Json node = {{"device", segment.device},
               {"what", segment_text(explanation, segment)},
               {"operators", segment.operators},
               {"is_part", segment.is_part},
               {"runs", segment.runs},
               {"compiled", segment.compiled},
               {"compile_ms", milliseconds(segment.compiling)},
               {"min_ms", milliseconds(segment.time.min)},
               {"median_ms", milliseconds(segment.time.median)},
               {"compute_ms", milliseconds(segment.compute)},
               {"copies_ms", milliseconds(segment.in.copies + segment.out.copies)},
               {"conversions_ms", milliseconds(segment.in.conversions + segment.out.conversions)},
               {"in", moved_json(segment.in)},
               {"out", moved_json(segment.out)},
               {"bytes", segment.bytes},
               {"cpu_ms", milliseconds(segment.cpu)}};
  if (segment.on_hardware > 0) {
    node["on_hardware_ms"] = milliseconds(segment.on_hardware);
    node["in_driver_ms"] = milliseconds(segment.in_driver);
  }
  return node;
}

Json refusal_json(const Refusal& refusal) {
  Json refused = Json::array();
  for (const Refusal::Refused& one : refusal.refused) {
    refused.push_back({{"what", one.what}, {"is_segment", one.is_segment}, {"places", one.places}});
  }
  return {{"device", refusal.device}, {"reason", refusal.reason}, {"refused", std::move(refused)}};
}

Json run_times_json(const device::RunTimes& times) {
  return {{"min_ms", milliseconds(times.min)}, {"median_ms", milliseconds(times.median)}};
}

Json tuned_json(const Explained& explained) {
  if (!explained.tuned) return nullptr;
  Json names = Json::array();
  for (const device::UsedDevice& device : explained.tuned->devices) names.push_back(device.name);
  return {{"devices", std::move(names)},
          {"left", explained.tuned->left},
          {"cpu", run_times_json(explained.tuned->cpu)},
          {"chosen", run_times_json(explained.tuned->chosen)},
          {"is_explained", explained.follows_tuned}};
}

Json explained_json(const Explained& explained) {
  const Explanation& explanation = explained.explanation;
  Json devices = Json::array(), dropped = Json::array(), operators = Json::array(),
       segments = Json::array(), refused = Json::array(), advice = Json::array();
  for (const device::UsedDevice& device : explanation.devices) {
    devices.push_back({{"name", device.name}, {"version", device.version}});
  }
  for (const device::DroppedDevice& device : explained.dropped) {
    dropped.push_back({{"name", device.name}, {"reason", device.reason}});
  }
  for (const prepare::ExplainedOperator& op : explanation.operators) {
    operators.push_back({{"name", op.name}, {"place", op.place}, {"inputs", op.inputs}});
  }
  for (const ExplainedSegment& segment : explanation.segments) {
    segments.push_back(segment_json(explanation, segment));
  }
  for (const Refusal& refusal : explanation.refusals) refused.push_back(refusal_json(refusal));
  for (const Advice& one : explained.advice) {
    advice.push_back({{"kind", one.kind},
                      {"device", one.device},
                      {"text", one.text},
                      {"gain_ms", milliseconds(one.gain)},
                      {"segments", one.segments}});
  }
  return {{"model", explained.model},
          {"method", explained.method},
          {"inputs", explanation.call.signature.str()},
          {"threads", explanation.threads},
          {"devices", std::move(devices)},
          {"dropped", std::move(dropped)},
          {"tuned", tuned_json(explained)},
          {"time", run_times_json(explanation.whole)},
          {"cpu", run_times_json(explanation.cpu)},
          {"operators", std::move(operators)},
          {"segments", std::move(segments)},
          {"refused", std::move(refused)},
          {"advice", std::move(advice)}};
}

// ---- the command ----

void explain(const ExplainCommand& command) {
  set_num_threads(command.threads);
  Options load_options;
  command.limits.apply(load_options);
  load_options.print = [](std::string_view) {};
  const Module module = load(command.model, load_options);
  const Calls calls = calls_of(command, module);
  if (!command.probe.probed().empty()) {
    return command.probe.run_probe(module, command.method, calls[0]);
  }
  // What is wrong with the model or the inputs is no device's fault.
  for (const std::vector<Value>& inputs : calls) {
    module.deepcopy().get_method(command.method)(inputs);
  }

  Explained explained{command.model, command.method, {}, false, {}, {}, {}};
  explained.tuned = tuned_choice(command, module, calls[0]);
  prepare::ExplainOptions options;
  options.method = command.method;
  options.devices = devices_to_explain(command, explained);
  if (explained.follows_tuned) options.left = explained.tuned->left;
  Progress progress("trying devices");
  for (device::DroppedDevice& device : command.probe.drop_bad(options.devices)) {
    explained.dropped.push_back(std::move(device));
  }
  options.devices.emplace_back(prepare::kCpu);
  options.seconds = command.seconds;
  options.progress = [&](const std::string&, double done) { progress.update(done); };
  progress.stage("timing segments");
  explained.explanation = prepare::explain(module, calls, options);
  progress.stage("trying changes");
  explained.advice = prepare::advise(explained.explanation, module, calls[0], options);
  for (const device::DroppedDevice& device : explained.dropped) {
    if (!device.reason.starts_with(prepare::kWrongAnswers)) continue;
    explained.advice.push_back(
        {"answers",
         device.name,
         "--min-sqnr with fewer decibels explains " + device.name + " in spite of its answers",
         0,
         {}});
  }
  if (!command.no_quantize) {
    if (auto advice = quantized_advice(module, calls, explained.explanation, options)) {
      const auto at = std::ranges::find_if(
          explained.advice, [&](const Advice& other) { return other.gain < advice->gain; });
      explained.advice.insert(at, std::move(*advice));
    }
  }
  if (!command.report.empty()) write_file(command.report, explanation_page(explained));
  if (command.json) {
    std::printf("%s\n", json_text(explained_json(explained), 1).c_str());
  } else {
    print_text(explained);
  }
}

}  // namespace

std::string call_text(const Explained& explained) {
  const int threads = explained.explanation.threads;
  return explained.method + "(" + explained.explanation.call.signature.str() + "), " +
         format("%d thread%s", threads, threads == 1 ? "" : "s");
}

std::string devices_text(const Explained& explained) {
  std::string text;
  for (const device::UsedDevice& device : explained.explanation.devices) {
    text += (text.empty() ? "" : ", ") + device.name;
    if (!device.version.empty()) text += " (" + device.version + ")";
  }
  return text;
}

std::string tuned_text(const Explained& explained) {
  if (!explained.tuned) return "not for this call; `torchlet tune` keeps what is fastest";
  const device::PlacementChoice& tuned = *explained.tuned;
  std::string text;
  for (const device::UsedDevice& device : tuned.devices) {
    text += (text.empty() ? "" : ",") + device.name;
  }
  if (!tuned.left.empty()) text += format(" less %zu segments", tuned.left.size());
  return text +
         format(" is kept: %.2f ms, and cpu alone %.2f ms, then", tuned.chosen.median * 1e3,
                tuned.cpu.median * 1e3) +
         (explained.follows_tuned ? "" : "; what follows is another placement");
}

std::string time_text(const Explained& explained) {
  const Explanation& explanation = explained.explanation;
  return format("%.2f ms, and on cpu alone %.2f ms (medians)", explanation.whole.median * 1e3,
                explanation.cpu.median * 1e3);
}

std::string compile_text(const Explanation& explanation) {
  std::map<std::string, std::pair<size_t, double>> compiled;
  for (const ExplainedSegment& segment : explanation.segments) {
    if (segment.compiled == 0) continue;
    compiled[segment.device].first += segment.compiled;
    compiled[segment.device].second += segment.compiling;
  }
  std::string text;
  for (const auto& [device, spent] : compiled) {
    text += (text.empty() ? "" : ", ") + device +
            format(" %.2f ms (%zu segment%s)", spent.second * 1e3, spent.first,
                   spent.first == 1 ? "" : "s");
  }
  return text;
}

std::string hardware_text(const Explanation& explanation) {
  struct Told {
    double compute = 0, on_hardware = 0, in_driver = 0;
  };
  std::map<std::string, Told> all;
  for (const ExplainedSegment& segment : explanation.segments) {
    if (segment.on_hardware == 0) continue;
    Told& told = all[segment.device];
    told.compute += segment.compute;
    told.on_hardware += segment.on_hardware;
    told.in_driver += segment.in_driver;
  }
  std::string text;
  for (const auto& [device, told] : all) {
    text += (text.empty() ? "" : "; ") + device +
            format(" %.2f ms on hardware and %.2f ms in the driver, of %.2f ms compute",
                   told.on_hardware * 1e3, told.in_driver * 1e3, told.compute * 1e3);
  }
  return text;
}

std::string segment_text(const Explanation& explanation, const ExplainedSegment& segment) {
  if (segment.operators.empty()) return "";
  const prepare::ExplainedOperator& first = explanation.operators[segment.operators.front()];
  std::string text = first.name;
  if (segment.operators.size() > 1) {
    text += " to " + explanation.operators[segment.operators.back()].name;
  }
  if (!first.place.empty()) text += ", " + first.place;
  return text;
}

std::string places_text(const std::vector<std::string>& places, size_t most) {
  std::string text;
  for (size_t i = 0; i < std::min(most, places.size()); ++i) {
    text += (text.empty() ? "" : "; ") + places[i];
  }
  if (places.size() > most) text += format("; %zu more", places.size() - most);
  return text;
}

void add_explain_command(CLI::App& app) {
  auto options = std::make_shared<ExplainCommand>();
  CLI::App* command = app.add_subcommand(
      "explain", "Show where a model's time goes on devices, and what to change to gain");
  add_model(*command, options->model);
  options->inputs.add_to(*command);
  options->inputs.add_next_to(*command);
  command->add_option("--method", options->method, "What to call")->capture_default_str();
  command
      ->add_option("--device", options->devices,
                   "What runs it, each part on the first that takes it, and cpu behind them "
                   "(see torchlet devices)")
      ->delimiter(',')
      ->type_name("NAME[,NAME...]")
      ->default_str("what `torchlet tune` kept, else all");
  command
      ->add_option("--report", options->report,
                   "Write a page with the graph by device, a timeline, and everything else")
      ->type_name("FILE.html");
  command->add_flag("--no-quantize", options->no_quantize,
                    "Do not try what the model would gain if it were quantized");
  add_threads_option(*command, options->threads);
  options->limits.add_to(*command);
  options->probe.add_to(*command);
  command->add_option("--seconds", options->seconds, "How long to measure")
      ->check(above_zero())
      ->capture_default_str();
  command->add_flag("--json", options->json, "Write everything as JSON");
  command->footer(
      "Examples: torchlet explain model.pt --shape 1,3,224,224 --device nnapi,cpu\n"
      "          torchlet explain model.pt --image cat.png --report where.html\n"
      "          torchlet explain model.pt --shape 1,3,224,224 --next --shape 1,3,192,192 --json");
  command->callback([options] { explain(*options); });
}

}  // namespace torchlet::cli
