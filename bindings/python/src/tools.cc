// What prepares and measures models, as torchlet/_tools/ calls it. Reports come as tuples in the
// order of the fields of the classes there.
#include <torchlet/bundle.h>
#include <torchlet/compare.h>
#include <torchlet/nnapi.h>
#include <torchlet/optimize.h>
#include <torchlet/quantize.h>

#include <map>

#include "base/error.h"
#include "graph/operator.h"
#include "prepare/training_mode.h"
#include "profile/profiler.h"
#include "python.h"
#include "quant/fidelity.h"
#include "quant/interface.h"

namespace torchlet::python {
namespace {

template <typename T>
T choice(const char* option, const std::string& name, const std::map<std::string, T>& choices) {
  if (const auto found = choices.find(name); found != choices.end()) return found->second;
  std::string known;
  for (const auto& [word, value] : choices) known += (known.empty() ? "" : ", ") + word;
  fail(ErrorCode::kInvalidArgument,
       std::string(option) + " is one of " + known + ", not '" + name + "'");
}

nb::tuple texts(const std::vector<std::string>& words) {
  nb::list list;
  for (const std::string& word : words) list.append(text(word));
  return nb::tuple(list);
}

template <typename Range, typename F>
nb::list rows(const Range& range, F&& row) {
  nb::list list;
  for (const auto& item : range) list.append(row(item));
  return list;
}

// ---- optimize ----

nb::list proofs_of(const std::vector<OptimizeReport::Proof>& proofs) {
  return rows(proofs, [](const OptimizeReport::Proof& p) {
    return nb::make_tuple(text(p.method), text(p.device), p.calls, p.error, p.max_abs, p.sqnr);
  });
}

nb::tuple optimize_model(const PyModule& model, const nb::list& calls,
                         const std::vector<std::string>& passes,
                         const std::vector<std::string>& skip, bool for_mobile,
                         const std::vector<std::string>& preserve, bool eval, double tolerance,
                         bool prove) {
  OptimizeOptions options;
  options.passes = passes;
  options.skip = skip;
  options.for_mobile = for_mobile;
  options.preserve = preserve;
  options.eval = eval;
  options.tolerance = tolerance;
  options.prove = prove;
  for (const nb::handle call : calls) {
    options.calls.push_back({cast_to<std::string>(call[0], "method"), to_values(call[1])});
  }
  const OptimizedModule result = unlocked([&] { return optimize(model.module, options); });
  const OptimizeReport& r = result.report;
  const nb::list ran = rows(r.passes, [](const OptimizeReport::Pass& p) {
    return nb::make_tuple(text(p.name), p.nodes_added, p.nodes_removed, texts(p.notes));
  });
  return nb::make_tuple(PyModule{result.module, model.cancel}, texts(r.methods), r.nodes_before,
                        r.nodes_after, ran, proofs_of(r.proofs));
}

// ---- quantize ----

const std::map<std::string, QuantizationMode> kModes = {{"core", QuantizationMode::kCore},
                                                        {"full", QuantizationMode::kFull},
                                                        {"inside", QuantizationMode::kInside},
                                                        {"dynamic", QuantizationMode::kDynamic}};
const std::map<std::string, RangeMethod> kRanges = {
    {"min-max", RangeMethod::kMinMax},        {"moving-average", RangeMethod::kMovingAverage},
    {"histogram", RangeMethod::kHistogram},   {"l2", RangeMethod::kL2},
    {"percentile", RangeMethod::kPercentile}, {"entropy", RangeMethod::kEntropy}};

using Labels = std::vector<std::vector<int64_t>>;

QuantizationOptions quantization_options(const nb::dict& o) {
  QuantizationOptions q;
  const auto get = [&](const char* name, auto& value) {
    value = cast_to<std::decay_t<decltype(value)>>(o[name], name);
  };
  get("method", q.method);
  q.mode = choice("mode", cast_to<std::string>(o["mode"], "mode"), kModes);
  q.range = choice("range", cast_to<std::string>(o["range"], "range"), kRanges);
  const bool half = choice<bool>("weights", cast_to<std::string>(o["weights"], "weights"),
                                 {{"int8", false}, {"fp16", true}});
  if (half) q.mode = QuantizationMode::kHalf;
  get("per_channel", q.per_channel);
  get("reduce_range", q.reduce_range);
  get("bias_correction", q.bias_correction);
  get("equalize", q.equalize);
  get("skip", q.skip);
  get("only", q.only);
  get("least_agreement", q.least_agreement);
  get("least_sqnr_db", q.least_sqnr_db);
  get("most_top1_drop", q.most_top1_drop);
  get("labels", q.labels);
  get("measure_times", q.measure_times);
  get("preserve", q.preserve);
  return q;
}

std::vector<std::vector<Value>> calls_of(const nb::list& calls) {
  std::vector<std::vector<Value>> result;
  for (const nb::handle call : calls) result.push_back(to_values(call));
  return result;
}

nb::tuple layer_row(const LayerReport& l) {
  return nb::make_tuple(text(l.path), text(l.op), l.quantized, text(l.reason), l.low, l.high,
                        l.scale, l.zero_point, l.sqnr_db, l.alone_sqnr_db, l.weight_bytes,
                        l.quantized_weight_bytes, l.float_time.median_ms,
                        l.quantized_time.median_ms, l.gains_no_time());
}

// Of the answers to the calls: SQNR, agreement, and with labels how often each model is right.
nb::tuple fidelity_of(const Module& exact, const Quantized& result, const QuantizationOptions& q,
                      const std::vector<std::vector<Value>>& calls, const Labels& labels) {
  quant::Fidelity fidelity;
  unlocked([&] {
    const Method a = exact.get_method(q.method), b = result.module.get_method(q.method);
    for (size_t i = 0; i < calls.size(); ++i) {
      const bool is_full = q.mode == QuantizationMode::kFull;
      const Value answer =
          b(is_full ? quant::quantized_arguments(calls[i], result.inputs) : calls[i]);
      fidelity.add(a(calls[i]), answer,
                   labels.empty() ? std::span<const int64_t>() : std::span(labels.at(i)));
    }
  });
  const auto part = [](const quant::Accuracy& accuracy) {
    return accuracy.rows() > 0 ? nb::object(nb::float_(accuracy.top1())) : nb::none();
  };
  return nb::make_tuple(
      fidelity.sqnr_db(),
      fidelity.rows() > 0 ? nb::object(nb::float_(fidelity.agreement())) : nb::none(),
      part(fidelity.exact_accuracy()), part(fidelity.accuracy()));
}

nb::tuple quantize_model(const PyModule& model, const nb::list& calibration, const nb::list& test,
                         const Labels& test_labels, bool eval, const nb::dict& options) {
  const QuantizationOptions q = quantization_options(options);
  const auto calls = calls_of(calibration);
  const Module exact =
      eval ? unlocked([&] { return prepare::working_copy(model.module, true); }) : model.module;
  const Quantized result = unlocked([&] { return quantize(exact, calls, q); });
  const nb::list inputs = rows(result.inputs, [](const InputQuantization& i) {
    return nb::make_tuple(i.scale, i.zero_point);
  });
  const auto compared = test.size() > 0 ? calls_of(test) : calls;
  const Labels& labels = test.size() > 0 ? test_labels : q.labels;
  return nb::make_tuple(PyModule{result.module, model.cancel}, inputs,
                        rows(result.layers, layer_row),
                        fidelity_of(exact, result, q, compared, labels));
}

// ---- bundle ----

PyModule bundle_model(const PyModule& model, const std::string& method, const nb::list& calls) {
  std::vector<BundledCall> bundled;
  for (const nb::handle call : calls) {
    BundledCall& one = bundled.emplace_back();
    for (const nb::handle argument : call[0]) {
      if (nb::isinstance<RandomTensor>(argument)) {
        one.arguments.emplace_back(nb::cast<RandomTensor&>(argument));
      } else {
        one.arguments.emplace_back(to_value(argument));
      }
    }
    one.info = cast_to<std::string>(call[1], "info");
  }
  return PyModule{unlocked([&] { return bundle(model.module, method, bundled); }), model.cancel};
}

DType dtype_of(const std::string& name) {
  const auto dtype = dtype_of_name(name);
  if (dtype && !is_quantized(*dtype)) return *dtype;
  fail(ErrorCode::kInvalidArgument, "there is no dtype '" + name + "'");
}

// As the command's --shape fills a tensor: Knuth's MMIX generator.
nb::object random_tensor(const std::vector<int64_t>& sizes, const std::string& name) {
  const DType dtype = dtype_of(name);
  const Tensor values = empty(sizes, DType::kFloat64);
  uint64_t state = 1;
  for (int64_t i = 0; i < values.numel(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double uniform = static_cast<double>(state >> 11) * 0x1p-53;
    values.data_ptr<double>()[i] = dtype == DType::kBool       ? (uniform < 0.5 ? 0 : 1)
                                   : is_integral(dtype, false) ? static_cast<int>(uniform * 10)
                                                               : uniform;
  }
  return from_tensor(values.to(dtype));
}

// ---- compare ----

nb::tuple difference_row(const Difference& d) {
  return nb::make_tuple(d.sqnr, d.max_abs, d.largest);
}

nb::tuple compare_models(const PyModule& a, const PyModule& b, const nb::list& inputs,
                         const std::string& method, double rtol, double atol,
                         std::optional<double> min_sqnr, bool every_operator, size_t memory) {
  CompareOptions options;
  options.method = method;
  options.rtol = rtol;
  options.atol = atol;
  options.min_sqnr = min_sqnr;
  options.every_operator = every_operator;
  options.memory = memory;
  const std::vector<Value> arguments = to_values(inputs);
  const Comparison c = unlocked([&] { return compare(a.module, b.module, arguments, options); });
  const nb::list outputs = rows(c.outputs, [](const ComparedOutput& o) {
    return nb::make_tuple(text(o.name), text(o.a), text(o.b), difference_row(o.difference),
                          o.within);
  });
  const nb::list nodes = rows(c.nodes, [](const ComparedNode& n) {
    return nb::make_tuple(text(n.operator_a), text(n.operator_b), text(n.module_path),
                          text(n.place_a), text(n.place_b), text(n.calls), text(n.tensor_a),
                          text(n.tensor_b), n.times, difference_row(n.difference), n.within,
                          n.inputs);
  });
  const auto unmatched = [](const UnmatchedNode& n) {
    return nb::make_tuple(text(n.op), text(n.module_path), text(n.place), text(n.tensor));
  };
  return nb::make_tuple(c.within, outputs, nodes,
                        c.first_divergence ? nb::object(nb::int_(*c.first_divergence)) : nb::none(),
                        rows(c.only_a, unmatched), rows(c.only_b, unmatched));
}

// ---- NNAPI ----

nb::tuple to_nnapi_model(const PyModule& model, const nb::list& inputs, const std::string& method,
                         bool nhwc, const std::string& preference, bool relax_fp16,
                         int feature_level, size_t min_operators, bool fixed_shapes, bool any_batch,
                         bool eval, double tolerance, bool prove) {
  NnapiOptions options;
  options.method = method;
  options.inputs = to_values(inputs);
  options.nhwc = nhwc;
  options.preference = choice<NnapiPreference>("preference", preference,
                                               {{"low-power", NnapiPreference::kLowPower},
                                                {"fast", NnapiPreference::kFastSingleAnswer},
                                                {"sustained", NnapiPreference::kSustainedSpeed}});
  options.relax_fp16 = relax_fp16;
  options.feature_level = feature_level;
  options.min_operators = min_operators;
  options.fixed_shapes = fixed_shapes;
  options.any_batch = any_batch;
  options.eval = eval;
  options.tolerance = tolerance;
  options.prove = prove;
  const NnapiModule result = unlocked([&] { return to_nnapi(model.module, options); });
  const NnapiReport& r = result.report;
  const nb::list parts = rows(r.parts, [](const NnapiReport::Part& p) {
    return nb::make_tuple(text(p.what), text(p.place), p.operators, p.operations,
                          text(p.one_batch));
  });
  const nb::list stays = rows(r.stays, [](const NnapiReport::Stays& s) {
    return nb::make_tuple(text(s.what), text(s.place), text(s.module), text(s.reason));
  });
  return nb::make_tuple(PyModule{result.module, model.cancel}, parts, stays, r.operators(),
                        r.operators_in_parts(), proofs_of(r.proofs), text(r.not_proved));
}

// ---- bench ----

// Seconds: of compiling, of the first run without that, and of each of the others.
nb::tuple time_method(const Method& method, const nb::list& inputs, int warmup, int iterations,
                      double seconds) {
  const std::vector<Value> arguments = to_values(inputs);
  double compile = 0, first = 0;
  std::vector<double> steady;
  unlocked([&] {
    {
      profile::Profiler profiler;
      const double start = event_clock();
      method(arguments);
      first = event_clock() - start;
      for (const profile::Line& line : profiler.lines()) {
        if (line.kernel != kCompileEvent) continue;
        for (const double one : line.seconds) compile += one;
      }
      first -= compile;
    }
    for (int i = 0; i < warmup; ++i) method(arguments);
    const double begin = event_clock();
    while (steady.empty() || (iterations > 0 ? steady.size() < static_cast<size_t>(iterations)
                                             : event_clock() - begin < seconds)) {
      const double start = event_clock();
      method(arguments);
      steady.push_back(event_clock() - start);
    }
  });
  return nb::make_tuple(compile, first, steady);
}

nb::list operators_here() {
  return rows(unlocked([] { return all_operators(); }), [](const Operator* op) {
    return nb::make_tuple(text(op->schema.full_name()), text(op->schema.str()));
  });
}

}  // namespace

void bind_tools(nb::module_& m) {
  nb::class_<RandomTensor>(
      m, "RandomTensor",
      "Stands for a tensor of pseudo-random numbers in bundle(): the file keeps the seed alone.")
      .def(
          "__init__",
          [](RandomTensor* self, const std::vector<int64_t>& shape, const std::string& dtype,
             int64_t seed) {
            new (self) RandomTensor{shape, dtype_of(dtype), seed};
          },
          nb::arg("shape"), nb::arg("dtype") = "float32", nb::arg("seed") = 1);
  m.def("random_tensor", random_tensor);
  m.def("optimize", optimize_model);
  m.def("optimize_passes", [] {
    return rows(optimize_passes(), [](const PassInfo& p) {
      return nb::make_tuple(text(p.name), text(p.summary), p.is_default, p.for_mobile);
    });
  });
  m.def("quantize", quantize_model);
  m.def("bundle", bundle_model);
  m.def("unbundle", [](const PyModule& model) {
    return PyModule{unlocked([&] { return unbundle(model.module); }), model.cancel};
  });
  m.def("compare", compare_models, nb::arg("a"), nb::arg("b"), nb::arg("inputs"), nb::arg("method"),
        nb::arg("rtol"), nb::arg("atol"), nb::arg("min_sqnr").none(), nb::arg("every_operator"),
        nb::arg("memory"));
  m.def("to_nnapi", to_nnapi_model);
  m.def("time_method", time_method);
  m.def("operators", operators_here);
}

}  // namespace torchlet::python
