// Which device runs each segment of a model fastest, with all that its being there causes.
#pragma once

#include <torchlet/module.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/placement_choice.h"
#include "prepare/placed.h"

namespace torchlet::prepare {

struct TuneOptions {
  std::string method = "forward";
  // Names, without "cpu", of those that are tried, each in each order of each choice of them; at
  // most three. After them comes the processor.
  std::vector<std::string> devices;
  // For the runs of all placements together; each runs a few times however long that takes.
  double seconds = 10;
  // What differs more from what the processor gives is wrong.
  double min_sqnr = 30;
  std::function<void(const std::string& stage, double done)> progress;
};

// A segment on its device, and what comes after the device in its place. Seconds of one run.
struct SegmentTimes {
  std::string key;  // of device::partition()
  std::string device;
  std::string what, place;  // "aten::conv2d to aten::relu", "model.py:57, in features.3"
  size_t operators = 0;
  device::RunTimes here, elsewhere;
  double copies = 0, conversions = 0;  // of `here`'s median: those that the device tells of
  size_t bytes = 0;                    // that go in and come out
};

// An order of devices, tried.
struct TriedPlacement {
  std::vector<std::string> devices;
  std::set<std::string, std::less<>> left;
  device::RunTimes times;
  AnswerDifference difference;
};

struct Tuning {
  device::PlacementChoice choice;
  std::vector<TriedPlacement> tried;  // the processor alone first
  size_t chosen = 0;                  // of `tried`
  std::vector<SegmentTimes> segments;
};

// Error kInvalidArgument if these names cannot be TuneOptions::devices.
void check_devices(const std::vector<std::string>& devices);

// Does the model run on that device, before the processor, and right? Runs it a few times, and
// throws Error if not. What may crash or hang does so here: to be called in a process of its own.
AnswerDifference try_device(const Module& module, const std::vector<Value>& inputs,
                            const std::string& device, const TuneOptions& options);

// The times of the segments of devices[level], in turns with what comes after it; the devices
// before it are switched off. `left` as of device::partition().
std::vector<SegmentTimes> time_segments(const Module& module, const std::vector<Value>& inputs,
                                        const std::vector<std::string>& devices,
                                        const std::set<std::string, std::less<>>& left,
                                        size_t level, const TuneOptions& options);

// Measures, and chooses the placement with the lowest median whose answers are right. One that is
// not at least two per cent faster than the processor alone, by minimum and by median, or than a
// choice of fewer devices, is not chosen. The module is not run: copies of it are.
Tuning tune(const Module& module, const std::vector<Value>& inputs, const TuneOptions& options);

}  // namespace torchlet::prepare
