// What runs parts of a model: the interface behind which the processor, NNAPI and the GPU stand.
//
// The partition asks a device which operators it takes and cuts out regions of them. A region is
// specialised for the inputs at hand (device/specialise), and the device compiles that, or says why
// not; then what the next devices take of the region is theirs, and the rest runs as it was
// written.
#pragma once

#include <torchlet/value.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/specialise/specialised_segment.h"
#include "graph/graph.h"

namespace torchlet::device {

// Thrown by a segment that cannot go on although the program is right: memory of the device that
// is used up, a driver that fails. The segment then runs on the next device, and the failed one is
// not asked again for it.
struct DeviceFailure {
  std::string why;
};

// What a device has made of a specialised segment. Any number of threads may run it at once.
class CompiledSegment {
 public:
  virtual ~CompiledSegment() = default;
  // Computes the outputs, as fresh tensors, of inputs with the signature that it was made for.
  // Throws Error for what the program does wrong, limits included, and DeviceFailure.
  virtual void run(std::span<const Value> inputs, std::span<Value> outputs) const = 0;
};

struct RefusedCall {
  size_t call;  // its place in SpecialisedSegment::calls
  std::string why;
};

struct Compilation {
  std::shared_ptr<const CompiledSegment> compiled;  // null if the device does not take the segment
  std::string refusal;                              // why not
  // The calls that it is because of, if it is because of some: the device may take the rest.
  std::vector<RefusedCall> refused = {};
  // The calls of a compiled segment that call the reference implementation, and why.
  std::vector<RefusedCall> by_reference = {};
};

// What a segment must be worth.
struct EntryCost {
  // A segment of fewer operators that compute tensors does not pay for entering and leaving the
  // device.
  size_t least_operators = 1;
};

// One for a loaded model: its memory and its packed weights serve all segments of the model.
// Thread-safe.
class Device {
 public:
  virtual ~Device() = default;
  // As users choose it (device/registry.h). Lives as long as the process.
  virtual const char* name() const = 0;
  // Of its driver, as one line: what was measured on the device holds while that is the same.
  virtual std::string version() const { return ""; }
  // Why this operator cannot run here, whatever the shapes; empty if it can. Only asked of pure
  // nodes (passes/analysis/effects.h) that call operators.
  virtual std::string refusal(const Node& node) const = 0;
  virtual EntryCost entry_cost() const { return {}; }
  // Holds nothing of `segment` afterwards. Declined and Error, but for limits, are refusals too.
  virtual Compilation compile(SpecialisedSegment& segment) = 0;
};

}  // namespace torchlet::device
