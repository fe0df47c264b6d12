#include "profile/profiler.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "graph/graph.h"
#include "graph/module_path.h"

namespace torchlet::profile {
namespace {

// The path of the module that holds the operator, if its calls were inlined.
std::string place_of(const Node* node) {
  if (!node) return "";
  if (std::string path = inlined_module_path(*node); !path.empty()) return path;
  return node->range().empty() ? "" : node->range().where();
}

std::string shape_of(std::span<const int64_t> sizes) {
  std::string text;
  for (const int64_t size : sizes) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

double total(const Line& line) {
  return std::accumulate(line.seconds.begin(), line.seconds.end(), 0.0);
}

std::string speed(const Line& line, double seconds, double flops, const Peaks& peaks) {
  if (flops == 0 || seconds == 0) return "";
  const double limit = line.is_int8 ? peaks.int8 : peaks.float32;
  return format("%8.1f %4.0f%%", flops / seconds * 1e-9, 100 * flops / seconds / limit);
}

}  // namespace

void Profiler::record(const Event& event) {
  if (event.kernel == kSegmentEvent || event.kernel == kPartEvent)
    return;  // its steps are told, too
  Key key{event.node, event.kernel, shape_of(event.sizes)};
  const auto [at, is_new] = index_.try_emplace(std::move(key), lines_.size());
  if (is_new) {
    lines_.push_back({event.kernel,
                      event.device,
                      place_of(event.node),
                      at->first.shape,
                      event.flops,
                      event.is_int8,
                      {}});
  }
  records_.push_back({at->second, event.begin, event.end});
}

std::vector<Line> Profiler::lines() const {
  std::vector<Line> lines = lines_;
  for (const Record& r : records_) lines[r.line].seconds.push_back(r.end - r.begin);
  for (Line& line : lines) std::ranges::sort(line.seconds);
  return lines;
}

std::string Profiler::chrome_trace() const {
  const double start = records_.empty() ? 0 : records_.front().begin;
  nlohmann::json events = nlohmann::json::array();
  for (const Record& r : records_) {
    const Line& line = lines_[r.line];
    events.push_back(
        {{"name", line.kernel},
         {"cat", "kernel"},
         {"ph", "X"},
         {"ts", (r.begin - start) * 1e6},
         {"dur", (r.end - r.begin) * 1e6},
         {"pid", 0},
         {"tid", 0},
         {"args", {{"place", line.place}, {"shape", line.shape}, {"device", line.device}}}});
  }
  return nlohmann::json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string table(const std::vector<Line>& lines, size_t runs, const Peaks& peaks) {
  double all = 0;
  for (const Line& line : lines) all += total(line);
  const auto per_run = [&](double seconds) { return seconds / static_cast<double>(runs); };
  std::string text = format("%9s %6s %8s %5s  %-9s %-24s %-18s %s\n", "median us", "share",
                            "GFLOP/s", "peak", "device", "kernel", "result", "place");
  std::map<std::string, std::pair<double, size_t>> kernels;
  for (const Line& line : lines) {
    auto& [seconds, count] = kernels[line.kernel];
    seconds += total(line);
    count += line.seconds.size();
    text +=
        format("%9.1f %5.1f%% %14s  %-9s %-24s %-18s %s\n", line.median() * 1e6,
               100 * total(line) / all, speed(line, line.median(), line.flops, peaks).c_str(),
               line.device.c_str(), line.kernel.c_str(), line.shape.c_str(), line.place.c_str());
  }
  std::vector<std::pair<std::string, std::pair<double, size_t>>> sorted(kernels.begin(),
                                                                        kernels.end());
  std::ranges::sort(sorted, std::ranges::greater(), [](const auto& k) { return k.second.first; });
  text += format("\n%9s %6s %6s  %s\n", "mean us", "share", "calls", "kernel, each run");
  for (const auto& [kernel, sum] : sorted) {
    text += format("%9.1f %5.1f%% %6.0f  %s\n", per_run(sum.first) * 1e6, 100 * sum.first / all,
                   per_run(static_cast<double>(sum.second)), kernel.c_str());
  }
  return text;
}

}  // namespace torchlet::profile
