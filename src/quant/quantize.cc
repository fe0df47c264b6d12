#include <torchlet/bundle.h>
#include <torchlet/bundled_inputs.h>
#include <torchlet/quantize.h>

#include <algorithm>
#include <cmath>

#include "api/loaded_model.h"
#include "base/error.h"
#include "graph/clone.h"
#include "ops/engines/quantize.h"
#include "prepare/training_mode.h"
#include "quant/calibration.h"
#include "quant/choices.h"
#include "quant/dynamic.h"
#include "quant/equalize.h"
#include "quant/interface.h"
#include "quant/layer_times.h"
#include "quant/layers.h"
#include "quant/probe.h"
#include "quant/program.h"
#include "quant/rewrite.h"
#include "quant/sensitivity.h"
#include "quant/slow_layers.h"
#include "quant/stubs.h"

namespace torchlet {
namespace {

using namespace quant;

// Power of a signal and of its error.
struct Powers {
  double signal = 0, error = 0;
  // Only what lies within the useful part counts.
  void add(const Tensor& exact, const Tensor& other, const Useful& useful) {
    const Tensor a = exact.contiguous(), b = other.contiguous();
    const float *x = a.data_ptr<float>(), *y = b.data_ptr<float>();
    for (int64_t i = 0; i < a.numel(); ++i) {
      const auto value = static_cast<double>(std::clamp(x[i], useful.low, useful.high));
      const double difference =
          value - static_cast<double>(std::clamp(y[i], useful.low, useful.high));
      signal += value * value;
      error += difference * difference;
    }
  }
  double decibels() const {
    constexpr double kMost = 200;
    if (error == 0) return kMost;
    return std::clamp(10 * std::log10(signal / error), -kMost, kMost);
  }
};

// The SQNR of each layer that gives one of `quantized`, values of `graph`.
std::vector<double> measure(const Program& program, std::unique_ptr<Graph> graph,
                            const std::vector<SsaValue*>& quantized,
                            std::span<const std::vector<Value>> calls,
                            const std::function<void(double)>& progress) {
  ProbedGraph exact(clone_graph(*program.graph), *program.method, program.self);
  const std::vector<Layer> layers = find_layers(exact.graph());
  ProbedGraph other(std::move(graph), *program.method, program.self);
  for (size_t i = 0; i < layers.size(); ++i) {
    if (!quantized[i]) continue;
    exact.add_probe(i, layers[i].last(), {layers[i].output()});
    other.add_probe(i, quantized[i]->node(), {quantized[i]});
  }
  std::vector<Powers> powers(layers.size());
  std::vector<Useful> useful;
  for (const Layer& layer : find_layers(*program.graph)) {
    useful.push_back(useful_part(*layer.output()));
  }
  for (size_t call = 0; call < calls.size(); ++call) {
    progress(static_cast<double>(call) / static_cast<double>(calls.size()));
    std::vector<Tensor> values(layers.size());
    exact.run(calls[call],
              [&](size_t i, std::span<const Value> shown) { values[i] = shown[0].to_tensor(); });
    other.run(calls[call], [&](size_t i, std::span<const Value> shown) {
      if (!values[i].defined()) return;
      powers[i].add(values[i], ops::dequantize(shown[0].to_tensor()), useful[i]);
    });
  }
  std::vector<double> decibels;
  for (const Powers& power : powers) decibels.push_back(power.decibels());
  return decibels;
}

void fill_histogram(const Histogram& histogram, LayerReport& report) {
  report.histogram_low = static_cast<double>(histogram.range().low);
  report.histogram_high = static_cast<double>(histogram.range().high);
  const size_t each = Histogram::kBins / report.histogram.size();
  for (size_t bin = 0; bin < Histogram::kBins; ++bin) {
    report.histogram[bin / each] += histogram.counts()[bin];
  }
}

void fill_sizes(const Layer& layer, const LayerChoice& choice, LayerReport& report) {
  if (layer.kind != LayerKind::kConv && layer.kind != LayerKind::kLinear) return;
  const auto weights = static_cast<size_t>(weights_of(layer).weight.numel());
  report.weight_bytes = weights * sizeof(float);
  report.quantized_weight_bytes = choice.quantize ? weights : report.weight_bytes;
}

std::vector<LayerReport> report(const std::vector<Layer>& layers,
                                const std::vector<LayerChoice>& choices,
                                const std::vector<std::string>& reasons,
                                const Calibration& calibration,
                                const std::vector<double>& decibels) {
  std::vector<LayerReport> reports;
  for (size_t i = 0; i < layers.size(); ++i) {
    LayerReport& r = reports.emplace_back();
    r.path = layers[i].path;
    r.op = layers[i].op + (layers[i].relu ? "_relu" : "");
    r.quantized = choices[i].quantize;
    r.reason = reasons[i];
    const Observer& seen = calibration.observer(layers[i].output());
    r.low = static_cast<double>(seen.range().low);
    r.high = static_cast<double>(seen.range().high);
    fill_histogram(seen.histogram(), r);
    fill_sizes(layers[i], choices[i], r);
    if (!r.quantized) continue;
    r.scale = choices[i].output.scale;
    r.zero_point = choices[i].output.zero_point;
    r.sqnr_db = decibels[i];
  }
  return reports;
}

}  // namespace

namespace {

// Of the calls, those on which layers are compared: the classes may come one after the other.
std::vector<size_t> evenly(size_t calls) {
  constexpr size_t kMost = 64;
  const size_t count = std::min(calls, kMost);
  std::vector<size_t> some;
  for (size_t i = 0; i < count; ++i) some.push_back(i * calls / count);
  return some;
}

// Takes layers from those that are wanted until the answers are as good as the options ask.
void leave_the_worst(const Program& program, const std::vector<Layer>& layers,
                     const std::vector<LayerChoice>& choices,
                     std::span<const std::vector<Value>> calls, const QuantizationOptions& options,
                     const std::function<void(double)>& progress, std::vector<bool>& wanted,
                     std::vector<std::string>& reasons, std::vector<double>& alone) {
  const std::vector<size_t> some_calls = evenly(calls.size());
  const auto nobody = [](size_t, std::span<const Value>) {};
  ProbedGraph exact(clone_graph(*program.graph), *program.method, program.self);
  std::vector<Value> answers;
  for (const size_t i : some_calls) answers.push_back(exact.run(calls[i], nobody));
  const Evaluate evaluate = [&](const std::vector<bool>& quantized) {
    std::unique_ptr<Graph> graph = clone_graph(*program.graph);
    const std::vector<LayerChoice> some = restricted(*program.graph, layers, choices, quantized);
    rewrite(*graph, find_layers(*graph), some);
    ProbedGraph other(std::move(graph), *program.method, program.self);
    Fidelity fidelity;
    for (size_t i = 0; i < some_calls.size(); ++i) {
      const size_t call = some_calls[i];
      const std::span<const int64_t> labels =
          options.labels.empty() ? std::span<const int64_t>() : options.labels[call];
      fidelity.add(answers[i], other.run(calls[call], nobody), labels);
    }
    return fidelity;
  };
  const Target target{options.least_agreement.value_or(0), options.least_sqnr_db.value_or(-1000),
                      options.most_top1_drop.value_or(1)};
  std::vector<bool> compared;  // the others are quantized where these let it pay
  for (const Layer& layer : layers) {
    compared.push_back(layer.kind == LayerKind::kConv || layer.kind == LayerKind::kLinear);
  }
  Sweep found = sweep(wanted, compared, target, evaluate, progress);
  for (size_t i = 0; i < layers.size(); ++i) {
    if (wanted[i] && !found.wanted[i]) reasons[i] = "costs too much accuracy";
  }
  wanted = std::move(found.wanted);
  alone = std::move(found.alone_db);
}

// The model with the interface that the mode wants.
Quantized finish(const Program& program, std::unique_ptr<Graph> graph,
                 const QuantizationOptions& options) {
  const auto inputs_of = [](const Interface& interface) {
    std::vector<InputQuantization> inputs;
    for (const QParams& params : interface.inputs) {
      inputs.push_back({params.scale, params.zero_point});
    }
    return inputs;
  };
  if (options.mode == QuantizationMode::kFull) {
    const Interface interface = take_quantized(*graph);
    if (!interface.objection.empty()) {
      fail(ErrorCode::kUnsupported, "mode full needs quantized tensors at both ends: " +
                                        interface.objection + "; use mode core or inside");
    }
    return {with_method(program, std::move(graph), options.preserve), inputs_of(interface), {}, {}};
  }
  if (options.mode == QuantizationMode::kCore && can_have_core(program)) {
    const Interface interface = take_quantized(*graph);
    if (interface.objection.empty()) {
      const std::string wrapper = wrapper_of(*graph, program.name, kCoreMethod, interface);
      return {with_method(program, std::move(graph), options.preserve, wrapper),
              inputs_of(interface),
              {},
              {}};
    }
  }
  return {with_method(program, std::move(graph), options.preserve), {}, {}, {}};
}

// The result, whose method takes quantized tensors: so do the calls for it that the model carries.
Module with_quantized_calls(const Module& model, const Quantized& result,
                            const std::string& method) {
  for (const auto& [name, info] : bundled_methods(model)) {
    if (name != method) continue;
    std::vector<BundledCall> calls;
    for (const std::vector<Value>& call : bundled_inputs(model, method)) {
      BundledCall& bundled = calls.emplace_back();
      for (Value& argument : quantized_arguments(call, result.inputs)) {
        bundled.arguments.emplace_back(std::move(argument));
      }
      if (calls.size() <= info.size()) bundled.info = info[calls.size() - 1];
    }
    if (!calls.empty()) return bundle(result.module, method, calls);
  }
  return result.module;
}

// How long the layers take that the result reports.
void add_times(const Program& program, BothForms forms, const RewrittenWithout& rewritten,
               std::span<const Value> call, const std::function<void(double)>& progress,
               Quantized& result) {
  const std::vector<LayerTime> times = measure_layers(program, std::move(forms), call, progress);
  for (size_t i = 0; i < times.size(); ++i) {
    result.layers[i].float_time = times[i].real;
    result.layers[i].quantized_time = times[i].quantized;
    if (times[i].group != i) result.layers[i].timed_with = times[i].group;
  }
  result.slow = find_slow_layers(program, result.layers, rewritten, call);
}

// Of kDynamic.
BothForms both_forms(const Program& program, const QuantizationOptions& options) {
  BothForms forms{clone_graph(*program.graph), clone_graph(*program.graph), {}, {}, {}, {}};
  remove_stubs(*forms.real);
  remove_stubs(*forms.quantized);
  forms.real_before = nodes_of(*forms.real);
  forms.before = nodes_of(*forms.quantized);
  forms.real_nodes = dynamic_layers(*forms.real);
  quantize_dynamically(*forms.quantized, options, &forms.quantized_nodes);
  return forms;
}

Quantized quantize_weights(const Program& program, std::span<const std::vector<Value>> calls,
                           const QuantizationOptions& options) {
  std::unique_ptr<Graph> graph = clone_graph(*program.graph);
  remove_stubs(*graph);  // these are about activations
  std::vector<LayerReport> layers = options.mode == QuantizationMode::kDynamic
                                        ? quantize_dynamically(*graph, options)
                                        : halve_weights(*graph, options);
  if (std::ranges::none_of(layers, &LayerReport::quantized)) {
    fail(ErrorCode::kUnsupported, "there is nothing to quantize in " + options.method);
  }
  graph->verify();
  Quantized result{
      with_method(program, std::move(graph), options.preserve), {}, std::move(layers), {}};
  if (!options.measure_times || calls.empty() || options.mode != QuantizationMode::kDynamic) {
    return result;
  }
  const auto without = [&](const std::vector<std::string>& skip) {
    QuantizationOptions fewer = options;
    fewer.skip.insert(fewer.skip.end(), skip.begin(), skip.end());
    std::unique_ptr<Graph> some = clone_graph(*program.graph);
    remove_stubs(*some);
    quantize_dynamically(*some, fewer);
    return some;
  };
  const auto progress = [&](double done) {
    if (options.progress) options.progress("timing layers", done);
  };
  add_times(program, both_forms(program, options), without, calls[0], progress, result);
  return result;
}

}  // namespace

Quantized quantize(const Module& module, std::span<const std::vector<Value>> calibration,
                   const QuantizationOptions& options) {
  const Module model = options.eval ? prepare::working_copy(module, true) : module;
  if (options.mode == QuantizationMode::kDynamic || options.mode == QuantizationMode::kHalf) {
    const Program program(model, options.method);
    const LimitScope scope = LoadedModel::of(model).program->limits->scope();
    return quantize_weights(program, calibration, options);
  }
  if (calibration.empty()) {
    fail(ErrorCode::kInvalidArgument,
         "quantization needs calibration inputs: the arguments of some calls of " + options.method);
  }
  const bool has_labels = options.labels.size() == calibration.size();
  if (!has_labels && (options.most_top1_drop || !options.labels.empty())) {
    fail(ErrorCode::kInvalidArgument, format("there are labels of %zu calls, calibration has %zu",
                                             options.labels.size(), calibration.size()));
  }
  Program program(model, options.method);
  const LimitScope scope = LoadedModel::of(model).program->limits->scope();
  const auto progress = [&](const char* what) {
    return [&options, what](double done) {
      if (options.progress) options.progress(what, done);
    };
  };
  const std::vector<Layer> layers = find_layers(*program.graph);
  std::vector<Equalized> equalized;
  if (options.equalize) {
    std::vector<bool> may_change;
    for (const std::string& reason : objections(layers, nullptr, options)) {
      may_change.push_back(reason.empty());
    }
    equalized = equalize(program, layers, may_change, options.per_channel, calibration,
                         progress("equalising"));
  }
  const Calibration seen(*program.graph, layers, *program.method, program.self, calibration,
                         progress("calibrating"));
  std::vector<std::string> reasons = objections(layers, &seen, options);
  const std::vector<LayerChoice> all = choose(layers, seen, options, reasons);
  std::vector<bool> wanted;
  for (const LayerChoice& choice : all) wanted.push_back(choice.quantize);
  std::vector<double> alone(layers.size(), 0);
  if (options.least_agreement || options.least_sqnr_db || options.most_top1_drop) {
    leave_the_worst(program, layers, all, calibration, options, progress("comparing layers"),
                    wanted, reasons, alone);
  }
  const std::vector<LayerChoice> choices = restricted(*program.graph, layers, all, wanted);
  for (size_t i = 0; i < layers.size(); ++i) {
    if (wanted[i] && !choices[i].quantize) reasons[i] = "no quantized layer before or behind it";
  }
  if (std::ranges::none_of(choices, &LayerChoice::quantize)) {
    const bool was_something = std::ranges::any_of(all, &LayerChoice::quantize);
    fail(ErrorCode::kUnsupported, was_something
                                      ? "no layer can be quantized within the drop that is allowed"
                                      : "there is nothing to quantize in " + options.method);
  }

  std::unique_ptr<Graph> graph = clone_graph(*program.graph);
  const std::vector<SsaValue*> quantized = rewrite(*graph, find_layers(*graph), choices);
  graph->verify();
  // Its values have other places after copying, so the probes go into the graph itself.
  std::unique_ptr<Graph> result = clone_graph(*graph);
  const std::vector<double> decibels =
      measure(program, std::move(graph), quantized, calibration, progress("measuring"));
  Quantized quantized_model = finish(program, std::move(result), options);
  if (options.mode == QuantizationMode::kFull) {
    quantized_model.module = with_quantized_calls(model, quantized_model, options.method);
  }
  quantized_model.layers = report(layers, choices, reasons, seen, decibels);
  for (size_t i = 0; i < layers.size(); ++i) quantized_model.layers[i].alone_sqnr_db = alone[i];
  if (options.measure_times) {
    const auto without = [&](const std::vector<std::string>& skip) {
      QuantizationOptions names;
      names.skip = skip;
      std::vector<bool> rest = wanted;
      for (size_t i = 0; i < layers.size(); ++i) {
        rest[i] = rest[i] && objection_by_name(layers[i].path, layers[i].op, names).empty();
      }
      std::unique_ptr<Graph> some = clone_graph(*program.graph);
      rewrite(*some, find_layers(*some), restricted(*program.graph, layers, all, rest));
      return some;
    };
    add_times(program, both_forms(program, choices), without, calibration[0],
              progress("timing layers"), quantized_model);
  }
  for (const Equalized& pair : equalized) {
    quantized_model.layers[pair.first].equalized_with = layers[pair.second].path;
    quantized_model.layers[pair.first].equalization = pair.most;
  }
  return quantized_model;
}

}  // namespace torchlet
