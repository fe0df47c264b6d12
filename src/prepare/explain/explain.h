// Where the time of a method goes on given devices, and why.
#pragma once

#include <torchlet/module.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "device/placement_choice.h"
#include "prepare/placed.h"

namespace torchlet::prepare {

struct ExplainOptions {
  std::string method = "forward";
  // In order; the processor last.
  std::vector<std::string> devices;
  // Segments that their devices leave to those after them, as of device::partition().
  std::set<std::string, std::less<>> left;
  double seconds = 3;  // for all runs; each is made a few times however long that takes
  std::function<void(const std::string& stage, double done)> progress;
};

// One that gives a tensor, in the program as it runs.
struct ExplainedOperator {
  std::string name, place;     // "aten::conv2d", "model.py:57, in features.3"
  std::vector<size_t> inputs;  // operators that give what it reads, among all
};

// Seconds of one run.
struct Moved {
  double copies = 0, conversions = 0;
  size_t bytes = 0;
  double seconds() const { return copies + conversions; }
};

// A run of operators that one device ran as a whole: a segment, a part of one that devices share,
// or operators outside of segments, which the reference runs.
struct ExplainedSegment {
  std::string device;
  std::vector<size_t> operators;  // among all
  bool is_part = false;
  size_t runs = 1;        // in a run of the method
  size_t compiled = 0;    // how often, for the calls that were made
  double compiling = 0;   // seconds, all together; of a part it is the segment's first part's
  device::RunTimes time;  // of all its runs in a run of the method: seconds
  // Of the run with the median time, which is the sum of them and of `compute`.
  Moved in, out;
  double compute = 0;
  double on_hardware = 0, in_driver = 0;  // of `compute`, by the driver's word; 0 if it has none
  size_t bytes = 0;                       // that tensors hold which go in and come out
  double cpu = 0;                         // median of the same operators on the processor

  double moved() const { return in.seconds() + out.seconds(); }
};

// The operators, or segments, that a device refused for one reason.
struct Refusal {
  std::string device, reason;
  struct Refused {
    std::string what;  // "aten::hardswish"; of a segment the first operator and the last
    bool is_segment = false;
    std::vector<std::string> places;
  };
  std::vector<Refused> refused;
};

// What happened when, in one run: for pictures.
struct TimelineSpan {
  enum class Kind { kSegment, kCopy, kConversion, kStep };
  Kind kind;
  std::string device;
  std::string what, place;
  double begin = 0, end = 0;  // seconds from the beginning of the run
};

struct Explanation {
  KnownCall call;
  int threads = 0;
  std::vector<device::UsedDevice> devices;
  device::RunTimes whole, cpu;  // the method there, and on the processor alone, without a listener
  std::vector<ExplainedOperator> operators;
  std::vector<ExplainedSegment> segments;  // in the order in which they ran first
  std::vector<Refusal> refusals;
  std::vector<TimelineSpan> timeline;
};

// Calls the method of copies of the module, first with all of `calls`, then measures with the first
// of them. Runs on the devices, with the devices switched off, and on the processor alone take
// turns.
Explanation explain(const Module& module, const std::vector<std::vector<Value>>& calls,
                    const ExplainOptions& options);

}  // namespace torchlet::prepare
