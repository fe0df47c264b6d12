#include "cli/convert_nnapi.h"

#include <torchlet/bundled_inputs.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "base/error.h"
#include "cli/calls.h"
#include "cli/guessed_inputs.h"
#include "cli/json_values.h"
#include "cli/text.h"

namespace torchlet::cli {
namespace {

const char* kOptions[] = {"--nhwc",          "--preference",   "--relax-fp16", "--feature-level",
                          "--min-operators", "--fixed-shapes", "--any-batch",  "--tolerance",
                          "--no-proof",      "--report",       "--method",     "--eval",
                          "--calls"};

const std::map<std::string, NnapiPreference> kPreferences = {
    {"low-power", NnapiPreference::kLowPower},
    {"fast", NnapiPreference::kFastSingleAnswer},
    {"sustained", NnapiPreference::kSustainedSpeed}};

std::string place_of(const NnapiReport::Stays& stays) {
  std::string place = stays.place.empty() ? "somewhere" : stays.place;
  if (!stays.module.empty()) place += ", in " + stays.module;
  return place;
}

std::string plural(size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

// "61 of 66 operators go to NNAPI in 2 parts, 5 stay on the processor"
std::string summary(const NnapiReport& report) {
  return format("%zu of %s go to NNAPI in %s, %zu %s on the processor", report.operators_in_parts(),
                plural(report.operators(), "operator").c_str(),
                plural(report.parts.size(), "part").c_str(), report.stays.size(),
                report.stays.size() == 1 ? "stays" : "stay");
}

std::string text_of(const NnapiReport& report) {
  std::string text = summary(report) + "\n";
  for (const NnapiReport::Part& part : report.parts) {
    text += "nnapi  " + part.what + " (" + plural(part.operators, "operator") + ", " +
            plural(part.operations, "operation") + " of NNAPI)";
    text += (part.place.empty() ? "" : "  " + part.place);
    if (!part.one_batch.empty()) text += "  for this batch alone: " + part.one_batch;
    text += "\n";
  }
  for (const NnapiReport::Stays& stays : report.stays) {
    text += "cpu    " + stays.what + "  " + place_of(stays) + ": " + stays.reason + "\n";
  }
  return text;
}

Json json_of(const NnapiReport& report) {
  Json parts = Json::array(), stays = Json::array(), proofs = Json::array();
  for (const NnapiReport::Part& part : report.parts) {
    parts.push_back({{"what", part.what},
                     {"place", part.place},
                     {"operators", part.operators},
                     {"operations", part.operations},
                     {"one_batch", part.one_batch}});
  }
  for (const NnapiReport::Stays& one : report.stays) {
    stays.push_back({{"operator", one.what},
                     {"place", one.place},
                     {"module", one.module},
                     {"reason", one.reason}});
  }
  for (const OptimizeReport::Proof& proof : report.proofs) {
    Json node = {{"device", proof.device},
                 {"error", proof.error},
                 {"max_abs", proof.max_abs},
                 {"sqnr_db", nullptr}};
    if (std::isfinite(proof.sqnr)) node["sqnr_db"] = proof.sqnr;
    proofs.push_back(std::move(node));
  }
  return {{"operators", report.operators()}, {"operators_in_parts", report.operators_in_parts()},
          {"parts", std::move(parts)},       {"stays", std::move(stays)},
          {"proofs", std::move(proofs)},     {"not_proved", report.not_proved}};
}

}  // namespace

void NnapiConversion::add_to(CLI::App& command) {
  command_ = &command;
  command
      .add_option("--to", target_,
                  "nnapi: what Android's NNAPI takes of the model becomes modules of PyTorch's "
                  "class NnapiModule, for inputs like those named here, bundled or guessed")
      ->check(CLI::IsMember({"nnapi"}))
      ->type_name("nnapi");
  inputs_.add_to(command, false);
  command
      .add_option("--calls", calls_,
                  "The inputs of the first call in this file (as of `torchlet run`): for lists of "
                  "tensors and the like")
      ->type_name("FILE.json");
  command.add_option("--method", options_.method, "What of the model becomes NNAPI's")
      ->capture_default_str();
  command.add_flag("--nhwc", options_.nhwc,
                   "Images go in and come out channels last; otherwise NNAPI transposes them");
  command.add_option("--preference", preference_, "fast, sustained or low-power")
      ->check(CLI::IsMember({"fast", "sustained", "low-power"}))
      ->capture_default_str();
  command.add_flag("--relax-fp16", options_.relax_fp16, "NNAPI may compute in float16");
  command
      .add_option("--feature-level", options_.feature_level,
                  "Of the NNAPI that will run it: 2 is Android 9, 3 is 10, 4 is 11, 5 is 12")
      ->check(CLI::Range(1, 7))
      ->capture_default_str();
  command
      .add_option("--min-operators", options_.min_operators,
                  "Parts of fewer operators stay on the processor")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command.add_flag("--fixed-shapes", options_.fixed_shapes,
                   "For these shapes alone: the file then lacks what runs others");
  command.add_flag("--any-batch", options_.any_batch,
                   "For any number of images at a time: parts compile themselves again when it "
                   "changes");
  command.add_flag("--eval", options_.eval, "Put a model in training mode into evaluation mode");
  command
      .add_option("--tolerance", options_.tolerance,
                  "What results may differ by, as a part of the largest number of the tensor "
                  "(1e-3, of 8-bit models and with --relax-fp16 5e-2)")
      ->check(above_zero());
  command.add_flag("--no-proof", no_proof_, "Write the result without comparing answers");
  command
      .add_option("--report", report_file_,
                  "List what goes to NNAPI, and each operator that does not, with its place and "
                  "the reason")
      ->expected(0, 1)
      ->type_name("[FILE]");
}

void NnapiConversion::refuse_options() const {
  for (const char* option : kOptions) {
    if (command_->count(option) == 0) continue;
    throw CLI::ValidationError(option, "belongs to --to nnapi");
  }
  if (!inputs_.named().empty()) {
    throw CLI::ValidationError("inputs", "they belong to --to nnapi");
  }
}

void NnapiConversion::choose_inputs(const Module& module) {
  if (!calls_.empty()) {
    RequestedCall call = first_call(calls_);
    options_.method = std::move(call.method);
    options_.inputs = std::move(call.inputs);
    return;
  }
  options_.inputs = inputs_.values(module, options_.method);
  if (!options_.inputs.empty()) return;
  for (const auto& [method, info] : bundled_methods(module)) {
    if (method != options_.method) continue;
    const std::vector<std::vector<Value>> bundled = bundled_inputs(module, method);
    if (!bundled.empty()) options_.inputs = bundled.front();
  }
  if (!options_.inputs.empty()) return;
  options_.inputs = inputs_or_guess(inputs_, module, options_.method);
  for (const Value& input : options_.inputs) {
    const Tensor tensor = input.is_list() ? input.to_list().front().to_tensor() : input.to_tensor();
    guessed_ = (input.is_list() ? "List of " : "") + tensor.describe();
  }
}

void NnapiConversion::report(const std::string& text) const {
  if (report_file_.empty()) {
    std::printf("%s", text.c_str());
    return;
  }
  std::ofstream file(report_file_, std::ios::binary);
  file << text;
  if (!file.flush()) fail(ErrorCode::kIo, "cannot write '%s'", report_file_.c_str());
}

void NnapiConversion::run(const std::string& path, const Module& module,
                          const OutputOptions& output, bool json) {
  choose_inputs(module);
  options_.preference = kPreferences.at(preference_);
  options_.prove = !no_proof_;
  const NnapiModule result = to_nnapi(module, options_);
  output.save(result.module, path);
  const NnapiReport& made = result.report;
  if (!guessed_.empty()) {
    std::fprintf(stderr, "torchlet: converted for a guessed input, %s; --input names another\n",
                 guessed_.c_str());
  }
  if (options_.prove && !made.not_proved.empty()) {
    std::fprintf(stderr, "torchlet: not proved: %s\n", made.not_proved.c_str());
  }
  if (json) {
    report(json_text(json_of(made), 1) + "\n");
  } else if (command_->count("--report") > 0) {
    report(text_of(made));
  } else {
    std::printf("%s%s\n", summary(made).c_str(), made.stays.empty() ? "" : ": --report names them");
  }
}

}  // namespace torchlet::cli
