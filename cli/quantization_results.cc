#include "cli/quantization_results.h"

#include <cstdio>

#include "cli/report/html.h"
#include "cli/report/plot.h"
#include "cli/text.h"

namespace torchlet::cli {
namespace {

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
  std::printf("%10s\n", bytes.c_str());
}

void print_table(QuantizationMode mode, const std::vector<LayerReport>& layers) {
  std::printf("%-28s %-15s ", "layer", "operator");
  if (mode != QuantizationMode::kDynamic && mode != QuantizationMode::kHalf) {
    std::printf("%10s %10s %11s %4s %8s ", "least", "largest", "scale", "zero", "SQNR dB");
  }
  std::printf("%10s\n", "weights");
  for (const LayerReport& layer : layers) print_layer(layer);
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
  if (c.before_ms == 0) return;
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
    if (layer.weight_bytes > 0) {
      node["weight_bytes"] = layer.weight_bytes;
      node["quantized_weight_bytes"] = layer.quantized_weight_bytes;
    }
    list.push_back(std::move(node));
  }
  return list;
}

Json json_of(const QuantizationComparison& c) {
  Json node = {{"sqnr_db", c.fidelity.sqnr_db()},
               {"before_ms", c.before_ms},
               {"after_ms", c.after_ms},
               {"before_bytes", c.before_bytes},
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

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

report::Cell cell(double value) { return {short_number(value), value}; }

}  // namespace

void print_quantization(const QuantizationOptions& options, const Quantized& result,
                        const QuantizationComparison& comparison) {
  print_table(options.mode, result.layers);
  print_inputs(options, result);
  print_comparison(comparison);
}

Json json_of_quantization(const Quantized& result, const QuantizationComparison& comparison) {
  return {{"layers", json_of(result.layers)}, {"model", json_of(comparison)}};
}

std::string page_of_quantization(const std::string& model, const Quantized& result,
                                 const QuantizationComparison& comparison) {
  report::Page page("torchlet quantize");
  std::vector<std::pair<std::string, std::string>> facts = {
      {"model", model},
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
  const quant::Accuracy& before = comparison.fidelity.exact_accuracy();
  const quant::Accuracy& after = comparison.fidelity.accuracy();
  const auto percent = [](double a, double b) {
    return short_number(a * 100) + " % before, " + short_number(b * 100) + " % after";
  };
  if (before.rows() > 0) {
    facts.emplace_back("right, of " + std::to_string(before.rows()) + " with labels",
                       percent(before.top1(), after.top1()));
    if (has_top5(before)) {
      facts.emplace_back("right class among the first five", percent(before.top5(), after.top5()));
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

}  // namespace torchlet::cli
