#include "cli/quantization_results.h"

#include <algorithm>
#include <cstdio>

#include "cli/report/html.h"
#include "cli/report/plot.h"
#include "cli/text.h"

namespace torchlet::cli {
namespace {

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

bool has_times(const std::vector<LayerReport>& layers) {
  const auto ran = [](const LayerReport& layer) { return layer.float_time.least_ms > 0; };
  return std::ranges::any_of(layers, ran);
}

// The fastest run of the layer in microseconds; a dash if the time is with another row's.
void print_times(const LayerReport& layer) {
  if (layer.timed_with) {
    std::printf("%9s %9s ", "-", "-");
  } else {
    std::printf("%9.1f %9.1f ", layer.float_time.least_ms * 1e3,
                layer.quantized_time.least_ms * 1e3);
  }
}

void print_layer(const LayerReport& layer, bool with_times) {
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
  if (with_times) print_times(layer);
  std::printf("%10s%s", bytes.c_str(), layer.gains_no_time() ? "  no gain" : "");
  if (layer.equalization > 1) {
    std::printf("  equalised with %s, by up to %.0f", layer.equalized_with.c_str(),
                layer.equalization);
  }
  std::printf("\n");
}

void print_table(QuantizationMode mode, const std::vector<LayerReport>& layers) {
  std::printf("%-28s %-15s ", "layer", "operator");
  if (mode != QuantizationMode::kDynamic && mode != QuantizationMode::kHalf) {
    std::printf("%10s %10s %11s %4s %8s ", "least", "largest", "scale", "zero", "SQNR dB");
  }
  const bool with_times = has_times(layers);
  if (with_times) std::printf("%9s %9s ", "float us", "int8 us");
  std::printf("%10s\n", "weights");
  for (const LayerReport& layer : layers) print_layer(layer, with_times);
}

void print_inputs(const QuantizationOptions& options, const Quantized& result) {
  const bool is_full = options.mode == QuantizationMode::kFull;
  const std::string method = is_full ? options.method : "core";
  for (size_t i = 0; i < result.inputs.size(); ++i) {
    std::printf("%s takes argument %zu as quint8 of scale %.9g, zero point %lld\n", method.c_str(),
                i, result.inputs[i].scale, static_cast<long long>(result.inputs[i].zero_point));
  }
}

// Of five classes or fewer each is among the first five.
bool has_top5(const quant::Accuracy& accuracy) { return accuracy.classes() > 5; }

void print_comparison(const QuantizationComparison& c) {
  std::printf("file     %s -> %s\n", human_bytes(c.before_bytes).c_str(),
              human_bytes(c.after_bytes).c_str());
  if (c.before.least_ms == 0) return;
  std::printf("SQNR     %.2f dB\n", c.fidelity.sqnr_db());
  if (c.fidelity.rows() > 0) {
    std::printf("top 1    %.2f %% as the float model, of %zu\n", c.fidelity.agreement() * 100,
                c.fidelity.rows());
  }
  const quant::Accuracy &before = c.fidelity.exact_accuracy(), &after = c.fidelity.accuracy();
  if (before.rows() > 0) {
    std::printf("accuracy top 1 %.2f %% -> %.2f %%", before.top1() * 100, after.top1() * 100);
    if (has_top5(before)) {
      std::printf(", top 5 %.2f %% -> %.2f %%", before.top5() * 100, after.top5() * 100);
    }
    std::printf(", of %zu with labels\n", before.rows());
  }
  std::printf("latency  %s ms -> %s ms%s\n", short_number(c.before.least_ms).c_str(),
              short_number(c.after.least_ms).c_str(),
              c.after.least_ms < c.before.least_ms ? "" : ": quantizing gains no time here");
}

// What becomes of the whole model if they are left float.
std::string advice(const SlowLayers& slow) {
  const std::string skipped = short_number(slow.skipped.least_ms) + " ms";
  const std::string quantized = short_number(slow.quantized.least_ms) + " ms";
  if (slow.are_all) {
    return "these are all that were quantized: float all takes " + skipped + ", not " + quantized;
  }
  if (slow.gains_by_skipping()) {
    return "keep them float, by --skip and these names: then all takes " + skipped + ", not " +
           quantized;
  }
  return "float they would be no gain, either, for the conversions: all would take " + skipped +
         ", not " + quantized;
}

Json json_of(const RunTime& time) {
  return {{"least_ms", time.least_ms}, {"median_ms", time.median_ms}};
}

Json json_of(const std::vector<LayerReport>& layers) {
  const bool with_times = has_times(layers);
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
    if (with_times) {
      node["float_time"] = json_of(layer.float_time);
      node["quantized_time"] = json_of(layer.quantized_time);
      if (layer.timed_with) node["timed_with"] = *layer.timed_with;
    }
    list.push_back(std::move(node));
  }
  return list;
}

Json json_of(const QuantizationComparison& c) {
  Json node = {{"sqnr_db", c.fidelity.sqnr_db()},      {"before_ms", c.before.least_ms},
               {"after_ms", c.after.least_ms},         {"before_median_ms", c.before.median_ms},
               {"after_median_ms", c.after.median_ms}, {"before_bytes", c.before_bytes},
               {"after_bytes", c.after_bytes}};
  if (c.fidelity.rows() > 0) node["agreement"] = c.fidelity.agreement();
  const quant::Accuracy &before = c.fidelity.exact_accuracy(), &after = c.fidelity.accuracy();
  if (before.rows() > 0) {
    node["labels"] = before.rows();
    node["before_top1"] = before.top1();
    node["after_top1"] = after.top1();
    if (has_top5(before)) {
      node["before_top5"] = before.top5();
      node["after_top5"] = after.top5();
    }
  }
  return node;
}

report::Cell cell(double value) { return {short_number(value), value}; }

using Facts = std::vector<std::pair<std::string, std::string>>;

Facts facts_of(const std::string& model, const Quantized& result,
               const QuantizationComparison& comparison) {
  Facts facts = {{"model", model},
                 {"file", human_bytes(comparison.before_bytes) + " before, " +
                              human_bytes(comparison.after_bytes) + " after"}};
  if (comparison.before.least_ms == 0) return facts;
  const auto both = [](double before, double after, const std::string& unit) {
    return short_number(before) + unit + " before, " + short_number(after) + unit + " after";
  };
  facts.emplace_back("SQNR", short_number(comparison.fidelity.sqnr_db()) + " dB");
  facts.emplace_back(
      "latency", both(comparison.before.least_ms, comparison.after.least_ms, " ms") + "; median " +
                     both(comparison.before.median_ms, comparison.after.median_ms, " ms"));
  if (comparison.fidelity.rows() > 0) {
    facts.emplace_back("largest output as before",
                       short_number(comparison.fidelity.agreement() * 100) + " %");
  }
  const quant::Accuracy& before = comparison.fidelity.exact_accuracy();
  const quant::Accuracy& after = comparison.fidelity.accuracy();
  if (before.rows() > 0) {
    facts.emplace_back("right, of " + std::to_string(before.rows()) + " with labels",
                       both(before.top1() * 100, after.top1() * 100, " %"));
    if (has_top5(before)) {
      facts.emplace_back("right class among the first five",
                         both(before.top5() * 100, after.top5() * 100, " %"));
    }
  }
  if (result.slow) {
    facts.emplace_back("no faster quantized", joined(result.slow->paths, " "));
    facts.emplace_back("for these", advice(*result.slow));
  }
  return facts;
}

std::string speed_plot(const std::vector<LayerReport>& layers) {
  std::vector<report::Point> points;
  for (const LayerReport& layer : layers) {
    if (!layer.quantized || layer.timed_with || layer.quantized_time.least_ms == 0) continue;
    points.push_back({layer.float_time.least_ms / layer.quantized_time.least_ms,
                      layer.path + " " + layer.op, layer.gains_no_time()});
  }
  return report::line_plot({"layer", "times as fast", 1.0}, points);
}

report::Table table_of(const std::vector<LayerReport>& layers) {
  const bool with_times = has_times(layers);
  std::vector<report::Column> columns = {{"#", true}, {"layer"}, {"operator"}};
  for (const char* title : {"least", "largest", "scale", "zero point", "SQNR dB", "weight bytes"}) {
    columns.push_back({title, true});
  }
  if (with_times) {
    for (const char* title : {"float us", "median", "int8 us", "median"}) {
      columns.push_back({title, true});
    }
  }
  columns.push_back({"note"});
  report::Table table(std::move(columns));
  for (size_t i = 0; i < layers.size(); ++i) {
    const LayerReport& layer = layers[i];
    std::vector<report::Cell> cells = {cell(static_cast<double>(i)),
                                       {layer.path},
                                       {layer.op},
                                       cell(layer.low),
                                       cell(layer.high),
                                       cell(layer.scale),
                                       cell(static_cast<double>(layer.zero_point)),
                                       cell(layer.sqnr_db),
                                       cell(static_cast<double>(layer.quantized_weight_bytes))};
    for (const RunTime& time : {layer.float_time, layer.quantized_time}) {
      if (!with_times) break;
      for (const double ms : {time.least_ms, time.median_ms}) {
        cells.push_back(layer.timed_with ? report::Cell{"with " + std::to_string(*layer.timed_with)}
                                         : cell(ms * 1e3));
      }
    }
    cells.push_back({!layer.quantized        ? "stays float: " + layer.reason
                     : layer.gains_no_time() ? "no gain"
                                             : ""});
    table.add(std::move(cells), !layer.quantized);
  }
  return table;
}

}  // namespace

void print_quantization(const QuantizationOptions& options, const Quantized& result,
                        const QuantizationComparison& comparison) {
  print_table(options.mode, result.layers);
  print_inputs(options, result);
  print_comparison(comparison);
  if (result.slow) {
    std::printf("no gain  %s\n         %s\n", joined(result.slow->paths, " ").c_str(),
                advice(*result.slow).c_str());
  }
}

Json json_of_quantization(const Quantized& result, const QuantizationComparison& comparison) {
  Json node = {{"layers", json_of(result.layers)}, {"model", json_of(comparison)}};
  if (const auto& slow = result.slow) {
    node["no_gain"] = {{"layers", slow->paths},
                       {"quantized_time", json_of(slow->quantized)},
                       {"skipped_time", json_of(slow->skipped)},
                       {"skip", !slow->are_all && slow->gains_by_skipping()}};
  }
  return node;
}

std::string page_of_quantization(const std::string& model, const Quantized& result,
                                 const QuantizationComparison& comparison) {
  report::Page page("torchlet quantize");
  page.facts(facts_of(model, result, comparison));
  std::vector<report::Point> points;
  for (const LayerReport& layer : result.layers) {
    points.push_back({layer.sqnr_db, layer.path + " " + layer.op, !layer.quantized});
  }
  if (comparison.before.least_ms > 0 && !result.layers.empty() && result.layers[0].scale > 0) {
    page.figure(report::line_plot({"layer", "SQNR dB", std::nullopt}, points),
                "SQNR along the network; layers that stay float are marked.");
  }
  if (has_times(result.layers)) {
    page.figure(speed_plot(result.layers),
                "How many times as fast a layer is quantized; nothing is gained below the line.");
  }
  page.table(table_of(result.layers));
  if (has_times(result.layers)) {
    page.paragraph(
        "Times are the fastest and the median of the runs; int8 counts the conversions that a "
        "layer needs. What runs in one step with a layer before it has its time there.");
  }
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

}  // namespace torchlet::cli
