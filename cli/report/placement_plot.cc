#include "cli/report/placement_plot.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "cli/report/html.h"
#include "cli/report/plot.h"

namespace torchlet::cli::report {
namespace {

constexpr char kCopyColour[] = "#d62728", kConversionColour[] = "#9467bd", kNotRun[] = "#bbb";

std::string rectangle(double x, double y, double width, double height, const char* colour,
                      const std::string& title) {
  return format("<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" rx=\"2\" fill=\"%s\">",
                x, y, width, height, colour) +
         "<title>" + escape(title) + "</title></rect>\n";
}

std::string text_at(double x, double y, const std::string& text, const char* attributes = "") {
  return format("<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes) + escape(text) + "</text>\n";
}

// About as many characters of eleven pixels' height as that width holds.
std::string cut_to(const std::string& text, double width) {
  const auto most = static_cast<size_t>(std::max(width / 6.2, 0.0));
  if (text.size() <= most) return text;
  return most < 3 ? "" : text.substr(0, most - 2) + "..";
}

std::string begin_svg(double width, double height) {
  return format(
      "<svg viewBox=\"0 0 %g %g\" width=\"%g\" height=\"%g\" xmlns=\"http://www.w3.org/2000/svg\" "
      "font-family=\"system-ui, sans-serif\" font-size=\"11\" fill=\"#555\">\n",
      width, height, width, height);
}

// ---- the graph ----

constexpr double kRow = 18, kGroupX = 8, kBoxX = 190, kBoxWidth = 220, kArcWidth = 90;
constexpr double kNoteX = kBoxX + kBoxWidth + kArcWidth + 20, kGraphWidth = 1100;

double row_of(size_t node) { return 6 + static_cast<double>(node) * kRow; }

// From node to node, at the right of the boxes if there are others between them.
std::string edge(size_t from, size_t to) {
  const double y0 = row_of(from) + kRow - 3, y1 = row_of(to);
  const double x = kBoxX + kBoxWidth;
  if (to == from + 1) {
    return format("<path d=\"M%g %gV%g\" stroke=\"#888\" fill=\"none\"/>\n", kBoxX + 14, y0, y1);
  }
  const double reach = std::min(kArcWidth, 14 * std::log2(static_cast<double>(to - from) + 1));
  return format(
      "<path d=\"M%g %.1fC%.1f %.1f %.1f %.1f %g %.1f\" stroke=\"#888\" fill=\"none\"/>\n", x,
      y0 - 6, x + reach * 1.3, y0, x + reach * 1.3, y1, x, y1 + 6);
}

}  // namespace

const char* device_colour(size_t device) {
  static constexpr std::array kColours = {"#4c78a8", "#f0953b", "#54a24b", "#8c8c8c",
                                          "#b279a2", "#76b7b2", "#9d755d"};
  return kColours[device % kColours.size()];
}

std::string graph_plot(const std::vector<GraphNode>& nodes,
                       const std::vector<std::string>& groups) {
  constexpr size_t kMost = 2000;
  const size_t count = std::min(nodes.size(), kMost);
  std::string svg = begin_svg(kGraphWidth, row_of(count) + (count < nodes.size() ? 2 : 1) * kRow);
  for (size_t i = 0; i < count; ++i) {
    for (const size_t input : nodes[i].inputs) {
      if (input < i) svg += edge(input, i);
    }
  }
  for (size_t i = 0; i < count; ++i) {
    const GraphNode& node = nodes[i];
    const char* colour =
        node.device < 0 ? kNotRun : device_colour(static_cast<size_t>(node.device));
    svg += rectangle(kBoxX, row_of(i), kBoxWidth, kRow - 3, colour, node.title);
    svg += text_at(kBoxX + 22, row_of(i) + 11, cut_to(node.label, kBoxWidth - 24), "fill=\"#fff\"");
    svg += text_at(kNoteX, row_of(i) + 11, cut_to(node.note, kGraphWidth - kNoteX));
    const bool begins = node.group >= 0 && (i == 0 || nodes[i - 1].group != node.group);
    if (!begins) continue;
    size_t end = i;
    while (end < count && nodes[end].group == node.group) ++end;
    svg += rectangle(kBoxX - 10, row_of(i), 4, row_of(end) - row_of(i) - 3, colour, "");
    svg += text_at(kGroupX, row_of(i) + 11,
                   cut_to(groups[static_cast<size_t>(node.group)], kBoxX - 24));
  }
  if (count < nodes.size()) {
    svg += text_at(kBoxX, row_of(count) + 11, format("%zu more operators", nodes.size() - count));
  }
  return svg + "</svg>\n";
}

std::string timeline_plot(const std::vector<std::string>& devices, const std::vector<Bar>& bars) {
  constexpr double kWidth = 1100, kLeft = 120, kRight = 14, kLane = 46, kTop = 8, kBottom = 40;
  double last = 0;
  for (const Bar& bar : bars) last = std::max(last, bar.end);
  if (last <= 0) last = 1;
  const double bottom = kTop + kLane * static_cast<double>(devices.size());
  const auto x = [&](double ms) { return kLeft + ms / last * (kWidth - kLeft - kRight); };
  std::string svg = begin_svg(kWidth, bottom + kBottom);
  for (size_t i = 0; i < devices.size(); ++i) {
    svg += text_at(4, kTop + kLane * static_cast<double>(i) + 16, cut_to(devices[i], kLeft - 8));
  }
  for (const double at : ticks(0, last, 10)) {
    svg += format("<path class=\"grid\" d=\"M%.1f %gV%g\" stroke=\"#e4e4e4\"/>\n", x(at), kTop,
                  bottom + 4);
    svg += text_at(x(at), bottom + 16, format("%g", at), "text-anchor=\"middle\"");
  }
  svg += text_at(kLeft, bottom + 32, "milliseconds");
  const auto legend = [&](double at, const char* colour, const char* what) {
    svg += rectangle(at, bottom + 23, 12, 10, colour, what) + text_at(at + 18, bottom + 32, what);
  };
  legend(kWidth - 240, kCopyColour, "copies");
  legend(kWidth - 150, kConversionColour, "conversions");
  for (const Bar& bar : bars) {
    const double width = std::max(x(bar.end) - x(bar.begin), 0.4);
    const double y = kTop + kLane * static_cast<double>(bar.device);
    if (bar.kind == Bar::Kind::kSegment) {
      svg += rectangle(x(bar.begin), y, width, 22, device_colour(bar.device), bar.title);
      svg += text_at(x(bar.begin) + 4, y + 15, cut_to(bar.label, width - 6),
                     "fill=\"#fff\" pointer-events=\"none\"");
      continue;
    }
    const char* colour = bar.kind == Bar::Kind::kCopy         ? kCopyColour
                         : bar.kind == Bar::Kind::kConversion ? kConversionColour
                                                              : device_colour(bar.device);
    // A little apart, so that steps can be told from each other, and paler than segments.
    svg += format("<g opacity=\"%s\">", bar.kind == Bar::Kind::kStep ? ".6" : "1") +
           rectangle(x(bar.begin), y + 25, std::max(width - 0.3, 0.3), 14, colour, bar.title) +
           "</g>";
  }
  return svg + "</svg>\n";
}

}  // namespace torchlet::cli::report
