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

#include "base/read_float.h"
#include "cli/calibration.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/inputs.h"
#include "cli/json_values.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/report/html.h"
#include "cli/report/plot.h"
#include "cli/text.h"
#include "ops/engines/quantize.h"
#include "prepare/training_mode.h"
#include "quant/fidelity.h"
#include "tensor/tensor_impl.h"

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
  ImageOptions images;
  QuantizationOptions quantization;
  LimitOptions limits;
  bool half = false, per_tensor = false, no_bias_correction = false, eval = false, json = false;
};

// How the two models do on the same inputs.
struct Comparison {
  quant::Fidelity fidelity;
  double before_ms = 0, after_ms = 0;  // the fastest of some calls; 0 if there was no input
  uint64_t before_bytes = 0, after_bytes = 0;
};

// In turns, so that what else the machine does hits both.
void measure_latency(const std::function<void()>& before, const std::function<void()>& after,
                     Comparison& result) {
  constexpr int kRounds = 50;
  constexpr double kSeconds = 2;
  const auto time = [](const std::function<void()>& run) {
    const double start = now();
    run();
    return (now() - start) * 1000;
  };
  const double begin = now();
  for (int i = 0; i < kRounds && (i < 3 || now() - begin < kSeconds); ++i) {
    const double a = time(before), b = time(after);
    result.before_ms = i == 0 ? a : std::min(result.before_ms, a);
    result.after_ms = i == 0 ? b : std::min(result.after_ms, b);
  }
}

// The arguments as a method takes them whose interface is quantized.
std::vector<Value> quantized_arguments(const Quantized& result, const std::vector<Value>& call) {
  std::vector<Value> arguments;
  for (size_t i = 0; i < call.size(); ++i) {
    const InputQuantization& q = result.inputs.at(i);
    arguments.emplace_back(ops::quantize(call[i].to_tensor(), DType::kQUInt8,
                                         per_tensor_quantizer(q.scale, q.zero_point)));
  }
  return arguments;
}

Comparison compare_models(const Module& before, const Quantized& after,
                          const QuantizeOptions& options,
                          const std::vector<std::vector<Value>>& calls) {
  Comparison result;
  const Method exact = before.get_method(options.quantization.method);
  const Method quantized = after.module.get_method(options.quantization.method);
  const auto arguments = [&](const std::vector<Value>& call) {
    const bool is_full = options.quantization.mode == QuantizationMode::kFull;
    return is_full ? quantized_arguments(after, call) : call;
  };
  for (const auto& call : calls) result.fidelity.add(exact(call), quantized(arguments(call)));
  if (!calls.empty()) {
    measure_latency([&] { exact(calls[0]); }, [&, call = arguments(calls[0])] { quantized(call); },
                    result);
  }
  result.before_bytes = std::filesystem::file_size(options.model);
  result.after_bytes = std::filesystem::file_size(options.output.path());
  return result;
}

void print_layer(const LayerReport& layer) {
  const char* path = layer.path.empty() ? "(root)" : layer.path.c_str();
  std::printf("%-28s %-15s ", path, layer.op.c_str());
  if (!layer.quantized) {
    std::printf("float: %s", layer.reason.c_str());
    if (layer.alone_sqnr_db != 0) std::printf(" (alone %.1f dB)", layer.alone_sqnr_db);
    std::printf("\n");
    return;
  }
  const std::string bytes =
      layer.weight_bytes == 0 ? "" : human_bytes(layer.quantized_weight_bytes);
  if (layer.scale > 0) {
    std::printf("%10.4g %10.4g %11.5g %4lld %8.1f ", layer.low, layer.high, layer.scale,
                static_cast<long long>(layer.zero_point), layer.sqnr_db);
  }
  std::printf("%10s", bytes.c_str());
  if (layer.equalization > 1) {
    std::printf("  equalised with %s, by up to %.0f", layer.equalized_with.c_str(),
                layer.equalization);
  }
  std::printf("\n");
}

void print_table(const QuantizeOptions& options, const std::vector<LayerReport>& layers) {
  const QuantizationMode mode = options.quantization.mode;
  std::printf("%-28s %-15s ", "layer", "operator");
  if (mode != QuantizationMode::kDynamic && mode != QuantizationMode::kHalf) {
    std::printf("%10s %10s %11s %4s %8s ", "least", "largest", "scale", "zero", "SQNR dB");
  }
  std::printf("%10s\n", "weights");
  for (const LayerReport& layer : layers) print_layer(layer);
}

void print_inputs(const QuantizeOptions& options, const Quantized& result) {
  const bool is_full = options.quantization.mode == QuantizationMode::kFull;
  const std::string method = is_full ? options.quantization.method : "core";
  for (size_t i = 0; i < result.inputs.size(); ++i) {
    std::printf("%s takes argument %zu as quint8 of scale %.9g, zero point %lld\n", method.c_str(),
                i, result.inputs[i].scale, static_cast<long long>(result.inputs[i].zero_point));
  }
}

void print_comparison(const Comparison& c) {
  std::printf("file     %s -> %s\n", human_bytes(c.before_bytes).c_str(),
              human_bytes(c.after_bytes).c_str());
  if (c.before_ms == 0) return;
  std::printf("SQNR     %.2f dB\n", c.fidelity.sqnr_db());
  if (c.fidelity.rows() > 0) {
    std::printf("top 1    %.2f %% as the float model, of %zu\n", c.fidelity.agreement() * 100,
                c.fidelity.rows());
  }
  std::printf("latency  %.2f ms -> %.2f ms%s\n", c.before_ms, c.after_ms,
              c.after_ms < c.before_ms ? "" : ": quantizing gains no time here");
}

Json json_of(const std::vector<LayerReport>& layers) {
  Json list = Json::array();
  for (const LayerReport& layer : layers) {
    Json node = {{"path", layer.path},
                 {"op", layer.op},
                 {"quantized", layer.quantized},
                 {"low", layer.low},
                 {"high", layer.high}};
    if (layer.quantized) {
      node["scale"] = layer.scale;
      node["zero_point"] = layer.zero_point;
      node["sqnr_db"] = layer.sqnr_db;
    } else {
      node["reason"] = layer.reason;
    }
    if (layer.alone_sqnr_db != 0) node["alone_sqnr_db"] = layer.alone_sqnr_db;
    if (layer.equalization > 1) {
      node["equalized_with"] = layer.equalized_with;
      node["equalization"] = layer.equalization;
    }
    if (layer.weight_bytes > 0) {
      node["weight_bytes"] = layer.weight_bytes;
      node["quantized_weight_bytes"] = layer.quantized_weight_bytes;
    }
    list.push_back(std::move(node));
  }
  return list;
}

Json json_of(const Comparison& c) {
  Json node = {{"sqnr_db", c.fidelity.sqnr_db()},
               {"before_ms", c.before_ms},
               {"after_ms", c.after_ms},
               {"before_bytes", c.before_bytes},
               {"after_bytes", c.after_bytes}};
  if (c.fidelity.rows() > 0) node["agreement"] = c.fidelity.agreement();
  return node;
}

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

report::Cell cell(double value) { return {short_number(value), value}; }

// The page of --report.
std::string page_of(const QuantizeOptions& options, const Quantized& result,
                    const Comparison& comparison) {
  report::Page page("torchlet quantize");
  std::vector<std::pair<std::string, std::string>> facts = {
      {"model", options.model},
      {"file", human_bytes(comparison.before_bytes) + " before, " +
                   human_bytes(comparison.after_bytes) + " after"}};
  if (comparison.before_ms > 0) {
    facts.emplace_back("SQNR", short_number(comparison.fidelity.sqnr_db()) + " dB");
    facts.emplace_back("latency", short_number(comparison.before_ms) + " ms before, " +
                                      short_number(comparison.after_ms) + " ms after");
    if (comparison.fidelity.rows() > 0) {
      facts.emplace_back("largest output as before",
                         short_number(comparison.fidelity.agreement() * 100) + " %");
    }
  }
  page.facts(facts);
  report::Table table({{"#", true},
                       {"layer"},
                       {"operator"},
                       {"least", true},
                       {"largest", true},
                       {"scale", true},
                       {"zero point", true},
                       {"SQNR dB", true},
                       {"weight bytes", true},
                       {"stays float"}});
  std::vector<report::Point> points;
  for (const LayerReport& layer : result.layers) {
    table.add({cell(static_cast<double>(points.size())),
               {layer.path},
               {layer.op},
               cell(layer.low),
               cell(layer.high),
               cell(layer.scale),
               cell(static_cast<double>(layer.zero_point)),
               cell(layer.sqnr_db),
               cell(static_cast<double>(layer.quantized_weight_bytes)),
               {layer.reason}},
              !layer.quantized);
    points.push_back({layer.sqnr_db, layer.path + " " + layer.op, !layer.quantized});
  }
  if (comparison.before_ms > 0 && !result.layers.empty() && result.layers[0].scale > 0) {
    page.figure(report::line_plot({"layer", "SQNR dB", std::nullopt}, points),
                "SQNR along the network; layers that stay float are marked.");
  }
  page.table(table);
  page.heading("Values and the ranges that were chosen");
  for (const LayerReport& layer : result.layers) {
    if (!layer.quantized || layer.scale == 0) continue;
    report::Histogram histogram;
    histogram.low = layer.histogram_low;
    histogram.high = layer.histogram_high;
    histogram.counts.assign(layer.histogram.begin(), layer.histogram.end());
    const auto zero_point = static_cast<double>(layer.zero_point);
    histogram.marks = {-zero_point * layer.scale, (255 - zero_point) * layer.scale};
    page.figure(report::histogram_plot({"value", "count", std::nullopt}, histogram),
                layer.path + " " + layer.op);
  }
  return page.html();
}

void run_quantize(QuantizeOptions& options) {
  Options load_options;
  options.limits.apply(load_options);
  Module model = load(options.model, load_options);
  if (options.eval) model = prepare::working_copy(model, true);
  const std::string& method = options.quantization.method;
  const auto calls = calibration_calls(model, method, options.calibration, options.images);
  options.quantization.per_channel = !options.per_tensor;
  options.quantization.bias_correction = !options.no_bias_correction;
  if (options.half) options.quantization.mode = QuantizationMode::kHalf;
  Progress progress("quantizing");
  std::string stage;
  options.quantization.progress = [&](std::string_view what, double done) {
    if (stage != what) progress.stage(stage = what);
    progress.update(done);
  };
  const Quantized result = quantize(model, calls, options.quantization);
  options.output.save(result.module, options.model);
  const auto test = calibration_calls(model, method, options.test, options.images);
  const Comparison comparison = compare_models(model, result, options, test.empty() ? calls : test);
  if (!options.report.empty()) write_file(options.report, page_of(options, result, comparison));
  if (options.json) {
    const Json node = {{"layers", json_of(result.layers)}, {"model", json_of(comparison)}};
    std::printf("%s\n", json_text(node).c_str());
    return;
  }
  print_table(options, result.layers);
  print_inputs(options, result);
  print_comparison(comparison);
}

void add_image_options(CLI::App& command, ImageOptions& images) {
  command
      .add_option("--resize", images.resize,
                  "Shorter side of a picture before it is cropped; 0 keeps it")
      ->check(not_negative())
      ->capture_default_str();
  command.add_option("--crop", images.crop, "Side of the central square; 0 keeps all")
      ->check(not_negative())
      ->capture_default_str();
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
  add_image_options(*command, options->images);
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
          "another largest output, or the SQNR is at least this")
      ->type_name("1%|20dB");
  command
      ->add_option("--preserve", q.preserve,
                   "Methods that stay although the quantized one calls them")
      ->type_name("METHOD ...");
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
