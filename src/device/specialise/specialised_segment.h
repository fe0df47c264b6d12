// A segment for concrete inputs: a flat list of operators, everything that does not depend on the
// elements of tensors computed. What every device compiles.
#pragma once

#include <torchlet/value.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/specialise/call.h"
#include "device/specialise/description.h"
#include "device/specialise/recording.h"

namespace torchlet::device {

// Holds while the graph and the inputs that it was made for do.
class SpecialisedSegment {
 public:
  struct Tensor {
    // What gives it: output `index` of the value's node; an item of it if that is a list.
    const SsaValue* value;
    int item = -1;
    int producer = -1;       // its place in `calls`; -1 for inputs
    std::vector<int> users;  // places in `calls`, once for each use; calls.size() for each output
  };
  struct Output {
    CallArgument value;
    // Something outside may tell how it lies in memory, so it has to lie as in the program.
    bool is_viewed;
  };

  std::vector<CallArgument> inputs;  // as many as the segment has
  std::vector<Call> calls;           // in the order of the program; pure, each gives a tensor
  std::vector<Tensor> tensors;       // by ValueId
  std::vector<Output> outputs;

  // By what the operators tell of meta tensors, else by a run of the reference. Throws Error if an
  // operator does not take what it is given, and Declined.
  const TensorDescription& describe(ValueId id);
  // Has the reference run to describe tensors?
  bool was_recorded() const { return recording_.has_value(); }
  // The calls [begin, end) as a segment of its own: what they read of others is an input, what
  // others read of them an output that lies as in the program. Tensors keep their ids. It holds as
  // long as this one's graph and inputs do.
  SpecialisedSegment part(size_t begin, size_t end);
  // Null if only a run of the reference could tell.
  const TensorDescription* description_on_meta(ValueId id);
  // For who writes other calls that give the same outputs: a tensor that stands for this value;
  // what a call gives, described anew of what it reads, Declined if that cannot be told without a
  // run; and the calls. What calls before them gave stays described as it was.
  ValueId add_tensor(const SsaValue* value);
  void describe_again(const Call& call);
  void replace_calls(std::vector<Call> others);
  // What the value of an argument is, tensors as meta tensors.
  Value meta_value(const CallArgument& argument);

 private:
  friend class Specialiser;
  SpecialisedSegment(const Node& node, std::span<const Value> values)
      : node_(&node), values_(values) {}
  bool is_described(const CallArgument& argument) const;
  std::optional<std::vector<Value>> run_on_meta(const Call& call);
  bool describe_outputs(const Call& call);
  void describe_calls(size_t end);
  // Of the list that a call gives as this output.
  size_t list_length(const Call& call, size_t output);
  const Recording& recording();

  const Node* node_;
  std::span<const Value> values_;
  std::vector<std::optional<TensorDescription>> descriptions_;  // by ValueId
  size_t num_described_ = 0;                                    // of `calls`: those that were asked
  std::optional<Recording> recording_;
};

// Does it take items out of a list, or put those of lists together? Of lists of tensors that is
// done when a segment is specialised.
bool picks_items(const Node& node);

// Of a prim::Segment (device/partition.h) for these inputs, which Signature::can_have() accepts.
// Declined if a number is not known before the run; Error if an operator raises.
SpecialisedSegment specialise(const Node& segment, std::span<const Value> inputs);

}  // namespace torchlet::device
