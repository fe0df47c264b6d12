// Pictures of what ran where, as SVG, for report/html.h. Texts are plain.
#pragma once

#include <string>
#include <vector>

namespace torchlet::cli::report {

// The colour of the i-th device, in both pictures.
const char* device_colour(size_t device);

struct GraphNode {
  std::string label, title;  // in the box; when the pointer is on it
  std::string note;          // beside it
  int device = -1;           // -1: it did not run
  int group = -1;            // nodes of one group follow each other; -1: none
  std::vector<size_t> inputs;
};
// Nodes in order, one below the other, with arcs from what gives to what reads. Groups have a bar
// and their name. What is beyond the first two thousand is left out, and the picture says so.
std::string graph_plot(const std::vector<GraphNode>& nodes, const std::vector<std::string>& groups);

struct Bar {
  enum class Kind { kSegment, kStep, kCopy, kConversion };
  Kind kind = Kind::kSegment;
  size_t device = 0;
  double begin = 0, end = 0;  // milliseconds
  std::string label, title;
};
// A lane for each device: segments above, what is inside of them below.
std::string timeline_plot(const std::vector<std::string>& devices, const std::vector<Bar>& bars);

}  // namespace torchlet::cli::report
