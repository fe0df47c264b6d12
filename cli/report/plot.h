// Plots as SVG, for report/html.h. Titles and labels are plain text.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace torchlet::cli::report {

// Round numbers in the range, about `parts` of them: multiples of 1, 2 or 5 times a power of ten.
std::vector<double> ticks(double low, double high, int parts);

struct Axes {
  std::string x, y;  // what they show, with the unit
  // A line across, such as the least that is wanted.
  std::optional<double> level;
};

struct Point {
  double y = 0;       // not finite: drawn at the edge
  std::string label;  // shown when the pointer is on it
  bool is_marked = false;
};
// Values in order, joined by a line.
std::string line_plot(const Axes& axes, const std::vector<Point>& points);

// A histogram: `counts` of equal bins from `low` to `high`, with marks at values (the range that
// was chosen, say), of which those outside are left out.
struct Histogram {
  double low = 0, high = 1;
  std::vector<double> counts;
  std::vector<double> marks;
};
std::string histogram_plot(const Axes& axes, const Histogram& histogram);

}  // namespace torchlet::cli::report
