// Collects what its thread runs while it lives: a table of operators and a timeline of every event.
#pragma once

#include <map>
#include <span>
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
  // A call of the program, for the timeline.
  void record_call(double begin, double end);

  // In the order in which they ran first; without those that stand for others (segments, parts).
  std::vector<Line> lines() const;

 private:
  friend class Timeline;
  // What events of one kind have in common.
  struct Subject {
    Line line;
    const char* category;                // "kernel", "segment", "copy", ...
    std::string name;                    // on the timeline
    std::string op;                      // "aten::conv2d"
    std::string where;                   // "mobilenet.py:57"
    std::vector<std::string> operators;  // "aten::conv2d  features.3.conv.1", of a whole
  };
  struct Record {
    size_t subject;
    double begin, end;
    size_t bytes;
    double on_hardware, in_driver;
  };
  struct Key {
    const Node* node;
    std::string kernel, shape, device;
    auto operator<=>(const Key&) const = default;
  };

  static Subject subject_of(const Event& event, std::string shape);

  std::map<Key, size_t> index_;  // into subjects_
  std::vector<Subject> subjects_;
  std::vector<Record> records_;
  std::vector<std::pair<double, double>> calls_;
  EventScope scope_{this};
};

// What these heard, one after the other, for ui.perfetto.dev and chrome://tracing ("Trace Event
// Format"): a lane for calls and compilations of the program, and one for each device with its
// segments, what is inside of them, and its compilations. Of a device that does not show its
// operators, its runs name them. What drivers tell of their hardware has a lane beside the
// device's: how long it ran is theirs, and it is drawn at the end of the run.
std::string chrome_trace(std::span<const Profiler* const> profilers);

// What the processor can do at most: operations per second of all threads together.
struct Peaks {
  double float32, int8;
};

// The table as text, with each line's share of the time and, where operations are counted, of the
// peak for their kind. `runs` forwards were recorded.
std::string table(const std::vector<Line>& lines, size_t runs, const Peaks& peaks);

}  // namespace torchlet::profile
