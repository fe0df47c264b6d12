// The page of `torchlet explain --report`.
#include <algorithm>

#include "base/error.h"
#include "cli/explain.h"
#include "cli/report/html.h"
#include "cli/report/placement_plot.h"
#include "cli/text.h"

namespace torchlet::cli {
namespace {

using prepare::ExplainedSegment;
using prepare::Explanation;
using prepare::TimelineSpan;

// The devices that ran something, in a fixed order, by which they get colours.
std::vector<std::string> devices_that_ran(const Explanation& explanation) {
  std::vector<std::string> names;
  for (const device::UsedDevice& device : explanation.devices) names.push_back(device.name);
  std::rotate(names.begin(), names.end() - 1, names.end());  // the processor first
  for (const ExplainedSegment& segment : explanation.segments) {
    if (std::ranges::find(names, segment.device) == names.end()) names.push_back(segment.device);
  }
  return names;
}

size_t place_in(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<size_t>(std::ranges::find(names, name) - names.begin());
}

report::Cell ms_cell(double seconds) { return {format("%.3f", seconds * 1e3), seconds}; }

report::Cell count_cell(size_t count) {
  return {std::to_string(count), static_cast<double>(count)};
}

report::Table segments_table(const Explanation& explanation) {
  report::Table table({{"#", true},
                       {"device", false, true},
                       {"operators", true},
                       {"ms", true},
                       {"compute", true},
                       {"copies", true},
                       {"conversions", true},
                       {"on hardware", true},
                       {"cpu ms", true},
                       {"moved", true},
                       {"what"}});
  for (size_t i = 0; i < explanation.segments.size(); ++i) {
    const ExplainedSegment& segment = explanation.segments[i];
    const bool is_slower =
        segment.device != prepare::kCpu && segment.cpu > 0 && segment.time.median > segment.cpu;
    table.add({count_cell(i + 1),
               {segment.device},
               count_cell(segment.operators.size()),
               ms_cell(segment.time.median),
               ms_cell(segment.compute),
               ms_cell(segment.in.copies + segment.out.copies),
               ms_cell(segment.in.conversions + segment.out.conversions),
               segment.on_hardware > 0 ? ms_cell(segment.on_hardware) : report::Cell{""},
               ms_cell(segment.cpu),
               {human_bytes(segment.bytes), static_cast<double>(segment.bytes)},
               {segment_text(explanation, segment)}},
              is_slower);
  }
  return table;
}

report::Table refusals_table(const Explanation& explanation) {
  constexpr size_t kMostPlaces = 20;
  report::Table table(
      {{"device", false, true}, {"reason"}, {"operator"}, {"times", true}, {"places"}});
  for (const prepare::Refusal& refusal : explanation.refusals) {
    for (const auto& refused : refusal.refused) {
      table.add({{refusal.device},
                 {refusal.reason},
                 {(refused.is_segment ? "segment " : "") + refused.what},
                 count_cell(refused.places.size()),
                 {places_text(refused.places, kMostPlaces)}});
    }
  }
  return table;
}

std::string graph(const Explanation& explanation, const std::vector<std::string>& devices) {
  std::vector<report::GraphNode> nodes;
  for (const prepare::ExplainedOperator& op : explanation.operators) {
    nodes.push_back({op.name, op.name + "  " + op.place, op.place, -1, -1, op.inputs});
  }
  std::vector<std::string> groups;
  for (size_t i = 0; i < explanation.segments.size(); ++i) {
    const ExplainedSegment& segment = explanation.segments[i];
    groups.push_back(
        format("%zu  %s  %.3f ms", i + 1, segment.device.c_str(), segment.time.median * 1e3));
    for (const size_t op : segment.operators) {
      nodes[op].device = static_cast<int>(place_in(devices, segment.device));
      nodes[op].group = static_cast<int>(i);
    }
  }
  return report::graph_plot(nodes, groups);
}

std::string timeline(const Explanation& explanation, const std::vector<std::string>& devices) {
  using Kind = report::Bar::Kind;
  std::vector<report::Bar> bars;
  for (const TimelineSpan& span : explanation.timeline) {
    const size_t device = place_in(devices, span.device);
    if (device == devices.size()) continue;
    report::Bar bar;
    bar.kind = span.kind == TimelineSpan::Kind::kSegment      ? Kind::kSegment
               : span.kind == TimelineSpan::Kind::kCopy       ? Kind::kCopy
               : span.kind == TimelineSpan::Kind::kConversion ? Kind::kConversion
                                                              : Kind::kStep;
    bar.device = device;
    bar.begin = span.begin * 1e3;
    bar.end = span.end * 1e3;
    bar.label = span.what;
    bar.title = span.what + "  " + span.place + format("  %.3f ms", bar.end - bar.begin);
    bars.push_back(std::move(bar));
  }
  return report::timeline_plot(devices, bars);
}

}  // namespace

std::string explanation_page(const Explained& explained) {
  const Explanation& explanation = explained.explanation;
  const std::vector<std::string> devices = devices_that_ran(explanation);
  report::Page page("torchlet explain");
  std::vector<std::pair<std::string, std::string>> facts = {{"model", explained.model},
                                                            {"call", call_text(explained)},
                                                            {"devices", devices_text(explained)},
                                                            {"tuned", tuned_text(explained)},
                                                            {"compile", compile_text(explanation)},
                                                            {"time", time_text(explained)}};
  if (const std::string hardware = hardware_text(explanation); !hardware.empty()) {
    facts.emplace_back("hardware", hardware);
  }
  for (const device::DroppedDevice& device : explained.dropped) {
    facts.emplace_back("left out", device.name + ": " + device.reason);
  }
  page.facts(facts);
  page.heading("To gain");
  std::vector<std::string> advice;
  for (const prepare::Advice& one : explained.advice) advice.push_back(one.text);
  if (advice.empty()) advice.emplace_back("nothing was found");
  page.list(advice);
  page.heading("Segments");
  page.paragraph(
      "Medians of a run. Compute, copies and conversions add up to the time; cpu ms is what the "
      "processor takes for the same. What is slower than that is marked.");
  page.table(segments_table(explanation));
  page.heading("Timeline of a run");
  page.figure(timeline(explanation, devices),
              "segments above, below what is inside of them as far as the device tells; the "
              "pointer shows places and times");
  page.heading("Operators by device");
  page.legend(devices);
  page.scrolled_figure(
      graph(explanation, devices),
      "the program as it runs; lines lead from what gives a tensor to what reads it");
  if (!explanation.refusals.empty()) {
    page.heading("Refused");
    page.table(refusals_table(explanation));
  }
  return page.html();
}

}  // namespace torchlet::cli
