// `torchlet quantize`: a float model becomes one of 8-bit integers.
#include <torchlet/quantize.h>
#include <torchlet/save.h>
#include <torchlet/torchlet.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>

#include "base/error.h"
#include "base/read_float.h"
#include "cli/calibration.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/inputs.h"
#include "cli/labels.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/quantization_results.h"
#include "cli/text.h"
#include "prepare/training_mode.h"
#include "quant/accuracy.h"
#include "quant/interface.h"

namespace torchlet::cli {
namespace {

const std::map<std::string, QuantizationMode> kModes = {{"core", QuantizationMode::kCore},
                                                        {"full", QuantizationMode::kFull},
                                                        {"inside", QuantizationMode::kInside},
                                                        {"dynamic", QuantizationMode::kDynamic}};
const std::map<std::string, RangeMethod> kRanges = {
    {"min-max", RangeMethod::kMinMax},        {"moving-average", RangeMethod::kMovingAverage},
    {"histogram", RangeMethod::kHistogram},   {"l2", RangeMethod::kL2},
    {"percentile", RangeMethod::kPercentile}, {"entropy", RangeMethod::kEntropy}};

struct QuantizeOptions {
  std::string model, report;
  OutputOptions output;
  std::vector<std::string> calibration, test;
  std::string labels;
  PictureOptions pictures;
  QuantizationOptions quantization;
  LimitOptions limits;
  bool half = false, per_tensor = false, no_bias_correction = false, eval = false, json = false;
  bool no_layer_times = false;
  int threads = 0;
};

// In turns, so that what else the machine does hits both.
void measure_latency(const std::function<void()>& before, const std::function<void()>& after,
                     QuantizationComparison& result) {
  constexpr int kRounds = 50;
  constexpr double kSeconds = 2;
  const auto time = [](const std::function<void()>& run) {
    const double start = now();
    run();
    return (now() - start) * 1000;
  };
  std::vector<double> before_ms, after_ms;
  const double begin = now();
  for (int i = 0; i < kRounds && (i < 3 || now() - begin < kSeconds); ++i) {
    before_ms.push_back(time(before));
    after_ms.push_back(time(after));
  }
  const auto run_time = [](std::vector<double>& ms) {
    std::ranges::sort(ms);
    return RunTime{ms.front(), ms[ms.size() / 2]};
  };
  result.before = run_time(before_ms);
  result.after = run_time(after_ms);
}

using Labels = std::vector<std::vector<int64_t>>;

// Of the rows of scores that the model gives for the calls; empty if none were asked for.
Labels labels_of(const Module& model, const QuantizeOptions& options,
                 const CalibrationCalls& inputs) {
  if (options.labels.empty()) return {};
  if (inputs.calls.empty()) {
    fail(ErrorCode::kInvalidArgument, "--labels needs inputs, by --test or --calibration");
  }
  const Method method = model.get_method(options.quantization.method);
  std::vector<size_t> rows;
  int64_t classes = 0;
  for (const auto& call : inputs.calls) {
    const Tensor scores = quant::scores_of(method(call));
    if (!scores.defined()) {
      fail(ErrorCode::kInvalidArgument,
           "--labels needs a model that gives scores, [N, classes]; " + method.schema());
    }
    classes = scores.size(-1);
    rows.push_back(static_cast<size_t>(scores.numel() / classes));
  }
  return labels_of_inputs(options.labels, inputs.sources, rows, static_cast<size_t>(classes));
}

QuantizationComparison compare_models(const Module& before, const Quantized& after,
                                      const QuantizeOptions& options,
                                      const std::vector<std::vector<Value>>& calls,
                                      const Labels& labels) {
  QuantizationComparison result;
  const Method exact = before.get_method(options.quantization.method);
  const Method quantized = after.module.get_method(options.quantization.method);
  const auto arguments = [&](const std::vector<Value>& call) {
    const bool is_full = options.quantization.mode == QuantizationMode::kFull;
    return is_full ? quant::quantized_arguments(call, after.inputs) : call;
  };
  for (size_t i = 0; i < calls.size(); ++i) {
    const std::span<const int64_t> of_call =
        labels.empty() ? std::span<const int64_t>() : labels[i];
    result.fidelity.add(exact(calls[i]), quantized(arguments(calls[i])), of_call);
  }
  if (!calls.empty()) {
    measure_latency([&] { exact(calls[0]); }, [&, call = arguments(calls[0])] { quantized(call); },
                    result);
  }
  result.before_bytes = std::filesystem::file_size(options.model);
  result.after_bytes = std::filesystem::file_size(options.output.path());
  return result;
}

// Without --test the labels are those of the calibration inputs, and what may drop is the part of
// right answers.
void use_labels_for_drop(const Labels& labels, QuantizationOptions& options) {
  options.labels = labels;
  if (!options.least_agreement) return;
  options.most_top1_drop = 1 - *options.least_agreement;
  options.least_agreement.reset();
}

void run_quantize(QuantizeOptions& options) {
  set_num_threads(options.threads);
  Options load_options;
  options.limits.apply(load_options);
  Module model = load(options.model, load_options);
  if (options.eval) model = prepare::working_copy(model, true);
  QuantizationOptions& quantization = options.quantization;
  const auto inputs_of = [&](const std::vector<std::string>& sources) {
    return calibration_calls(model, quantization.method, sources, options.pictures);
  };
  const CalibrationCalls calibration = inputs_of(options.calibration);
  const CalibrationCalls test = inputs_of(options.test);
  const CalibrationCalls& compared = options.test.empty() ? calibration : test;
  const Labels labels = labels_of(model, options, compared);
  if (!labels.empty() && options.test.empty()) use_labels_for_drop(labels, quantization);
  quantization.per_channel = !options.per_tensor;
  quantization.bias_correction = !options.no_bias_correction;
  quantization.measure_times = !options.no_layer_times;
  if (options.half) quantization.mode = QuantizationMode::kHalf;
  Progress progress("quantizing");
  std::string stage;
  quantization.progress = [&](std::string_view what, double done) {
    if (stage != what) progress.stage(stage = what);
    progress.update(done);
  };
  const Quantized result = quantize(model, calibration.calls, quantization);
  options.output.save(result.module, options.model);
  const QuantizationComparison comparison =
      compare_models(model, result, options, compared.calls, labels);
  if (!options.report.empty()) {
    write_file(options.report, page_of_quantization(options.model, result, comparison));
  }
  if (options.json) {
    std::printf("%s\n", json_text(json_of_quantization(result, comparison)).c_str());
  } else {
    print_quantization(quantization, result, comparison);
  }
}

}  // namespace

void add_quantize_command(CLI::App& app) {
  auto options = std::make_shared<QuantizeOptions>();
  QuantizationOptions& q = options->quantization;
  CLI::App* command = app.add_subcommand("quantize", "Make a float model one of 8-bit integers");
  add_model(*command, options->model);
  options->output.add_to(*command);
  command
      ->add_option("--calibration", options->calibration,
                   "Typical inputs: .npy files, pictures, folders of them, or 'bundled' for those "
                   "that the model carries")
      ->type_name("FILE|FOLDER|bundled ...");
  command
      ->add_option("--test", options->test,
                   "Inputs on which the two models are compared, if not those of --calibration")
      ->type_name("FILE|FOLDER|bundled ...");
  command
      ->add_option("--labels", options->labels,
                   "The classes of the inputs on which the models are compared: 'folders' for "
                   "FOLDER/CLASS/FILE, or a file with lines of a number, or of a path and a number")
      ->type_name("FILE|folders");
  options->pictures.add_to(*command);
  command->add_option("--method", q.method, "What to quantize")->capture_default_str();
  command->add_option("--mode", q.mode, "Where the borders to real numbers are")
      ->transform(CLI::CheckedTransformer(kModes).description(""))
      ->type_name("core|full|inside|dynamic")
      ->default_str("core");
  command->add_option("--range", q.range, "How the range of an activation is chosen")
      ->transform(CLI::CheckedTransformer(kRanges).description(""))
      ->type_name("min-max|moving-average|histogram|l2|percentile|entropy")
      ->default_str("l2");
  command
      ->add_option_function<std::string>(
          "--weights", [options](const std::string& form) { options->half = form == "fp16"; },
          "int8, or fp16: half the file, and nothing else is quantized")
      ->check(CLI::IsMember({"int8", "fp16"}))
      ->default_str("int8");
  command->add_flag("--per-tensor", options->per_tensor,
                    "One scale for a whole weight, not one for each output channel");
  command->add_flag("--reduce-range", q.reduce_range,
                    "Activations in 7 bits, for old processors' 16-bit sums");
  command->add_flag("--equalize", q.equalize,
                    "Scale the channels between two layers so that both lose less");
  command->add_flag("--no-bias-correction", options->no_bias_correction,
                    "Leave the mean error of rounded weights in");
  command->add_option("--skip", q.skip, "Modules or operators that stay float")
      ->type_name("features.3|conv2d ...");
  command->add_option("--only", q.only, "Nothing else is quantized")->type_name("NAME ...");
  const auto set_target = [options](const std::string& text) {
    const auto number = read_float(text.substr(0, text.find_first_of("%d")));
    if (number && text.ends_with("%")) {
      options->quantization.least_agreement = 1 - *number / 100;
    } else if (number && text.ends_with("dB")) {
      options->quantization.least_sqnr_db = *number;
    } else {
      throw CLI::ValidationError("--max-drop", "'" + text + "' is neither such as 1% nor 20dB");
    }
  };
  command
      ->add_option_function<std::string>(
          "--max-drop", set_target,
          "Leave the worst layers float until at most this part of the calibration inputs has "
          "another largest output (or, with --labels of them, a wrong one more), or the SQNR is at "
          "least this")
      ->type_name("1%|20dB");
  command
      ->add_option("--preserve", q.preserve,
                   "Methods that stay although the quantized one calls them")
      ->type_name("METHOD ...");
  command->add_flag("--no-layer-times", options->no_layer_times,
                    "Do not measure how long each layer takes, which needs a second and more");
  add_threads_option(*command, options->threads);
  options->limits.add_to(*command);
  command->add_flag("--eval", options->eval,
                    "Put a model in training mode into evaluation mode first");
  command->add_flag("--json", options->json, "Write what was done as JSON");
  command->add_option("--report", options->report, "Write a page with plots of all layers")
      ->type_name("FILE.html");
  command->footer(
      "Examples: torchlet quantize mobilenet.pt --calibration photos/ -o mobilenet_int8.pt\n"
      "          torchlet quantize model.pt --calibration bundled --max-drop 1% -o int8.ptl\n"
      "          torchlet quantize lstm.pt --mode dynamic -o lstm_int8.pt");
  command->callback([options] { run_quantize(*options); });
}

}  // namespace torchlet::cli
