// Collects what its thread runs while it lives: a table of operators and a trace of every event.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/event_sink.h"

namespace torchlet::profile {

// One line of the table: an operator of the program, or the step that stands for it.
struct Line {
  std::string kernel;
  std::string device;
  std::string place;  // "features.3.conv.1", else "mobilenet.py:57"
  std::string shape;  // "1x96x56x56"
  double flops = 0;   // of one call
  bool is_int8 = false;
  std::vector<double> seconds;  // of each call, sorted

  double median() const { return seconds[seconds.size() / 2]; }
};

class Profiler : public EventSink {
 public:
  void record(const Event& event) override;

  // In the order in which they ran first.
  std::vector<Line> lines() const;
  // All events in the format of chrome://tracing and ui.perfetto.dev ("Trace Event Format",
  // complete events).
  std::string chrome_trace() const;

 private:
  struct Key {
    const Node* node;
    std::string kernel, shape;
    auto operator<=>(const Key&) const = default;
  };
  struct Record {
    size_t line;
    double begin, end;
  };

  std::map<Key, size_t> index_;  // into lines_
  std::vector<Line> lines_;
  std::vector<Record> records_;
  EventScope scope_{this};
};

// What the processor can do at most: operations per second of all threads together.
struct Peaks {
  double float32, int8;
};

// The table as text, with each line's share of the time and, where operations are counted, of the
// peak for their kind. `runs` forwards were recorded.
std::string table(const std::vector<Line>& lines, size_t runs, const Peaks& peaks);

}  // namespace torchlet::profile
