// Builds an NNAPI model of a specialised segment: lowers its calls one by one.
//
// A tensor of four dimensions may be held as NNAPI's images are, [n, h, w, c] of the program's
// [n, c, h, w]. Lowerings ask for operands in the layout that their operation reads; what is not
// there yet is transposed, once, and inputs and constants are so from the start. What an operation
// cannot mean is declined, with the reason.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/device.h"
#include "device/specialise/specialised_segment.h"
#include "nnapi/model.h"

namespace torchlet::nnapi {

using device::Arg;
using device::Call;
using device::CallArgument;
using device::decline;
using device::Declined;
using device::TensorDescription;
using device::ValueId;

// In which order an operand has the dimensions of the tensor.
enum class Layout : uint8_t { kPlain, kNhwc };

struct Held {
  OperandId id;
  Layout layout;
};

// A tensor of the program as it lies in the memory of an operand.
struct Binding {
  DType dtype;
  IntArray sizes, strides;
  std::shared_ptr<const Quantizer> quantizer;
};

// A segment as a model, and what becomes of its inputs and outputs.
struct LoweredSegment {
  struct Input {
    size_t index;  // among the segment's
    Binding binding;
  };
  struct Output {
    enum class From : uint8_t { kKnown, kInput, kOutput } from;
    Value known;
    size_t index = 0;  // among the model's inputs or outputs
    Binding binding;
    TensorDescription result;  // what the program expects
    bool is_viewed = false;    // it has to lie as `result` says
  };
  Model model;
  std::vector<size_t> calls;                 // by Model::operations: the segment's, for which it is
  std::vector<Input> inputs;                 // by Model::inputs
  std::vector<Output> outputs;               // by the segment's outputs
  std::vector<device::RefusedCall> refused;  // if any are, the rest counts for nothing
};

// What a model may be made of.
struct ModelLimits {
  int64_t feature_level;
  // False: inputs and outputs have the order of the program's dimensions.
  bool nhwc_borders = true;
  // Tensors that are the same in each run may be outputs of the segment,
  // LoweredSegment::Output::known.
  bool known_outputs = false;
};

class ModelBuilder {
 public:
  ModelBuilder(device::SpecialisedSegment& segment, int64_t feature_level)
      : ModelBuilder(segment, ModelLimits{feature_level}) {}
  ModelBuilder(device::SpecialisedSegment& segment, const ModelLimits& limits)
      : segment_(segment), limits_(limits) {}

  // Declined if not even the calls that NNAPI can do can be a model.
  LoweredSegment build();

  // ---- what a lowering reads ----

  int64_t level() const { return limits_.feature_level; }
  // Declined, naming `what`, if the level is less.
  void require_level(int64_t level, const char* what) const;

  // Of a tensor, known or not; Declined for anything else.
  TensorDescription describe(const CallArgument& argument);
  TensorDescription describe(const Call& call, Arg arg) { return describe(call.argument(arg)); }
  TensorDescription result(const Call& call) { return describe(call.outputs[0]); }

  // The operand of a tensor in a layout; kNhwc is Declined but for four dimensions.
  OperandId operand(const CallArgument& argument, Layout layout);
  OperandId operand(const Call& call, Arg arg, Layout layout) {
    return operand(call.argument(arg), layout);
  }
  // In the layout that is there.
  Held held(const CallArgument& argument);
  Held held(const Call& call, Arg arg) { return held(call.argument(arg)); }
  // One whose elements have the program's order, whatever its sizes are.
  OperandId in_order(const CallArgument& argument);
  Layout layout_at_hand(const CallArgument& argument);

  // ---- what a lowering writes ----

  OperandId scalar(int32_t value);
  OperandId scalar(float value);
  OperandId scalar(bool value);
  // A tensor of one dimension, or of those sizes.
  OperandId ints(const std::vector<int32_t>& values, std::vector<uint32_t> sizes = {});
  // A known tensor, its dimensions in that order.
  OperandId constant(const Tensor& tensor, Layout layout = Layout::kPlain);
  OperandId constant(float value);      // a tensor of one element
  OperandId constant(Operand operand);  // that has a value
  // Of an operand for such a tensor; Declined if NNAPI has none.
  Operand type(const TensorDescription& description, Layout layout) const;

  // The operand that an operation gives.
  OperandId add(int32_t code, std::vector<OperandId> inputs, Operand output);
  void add(int32_t code, std::vector<OperandId> inputs, std::vector<OperandId> outputs);
  OperandId new_operand(Operand operand);
  const Operand& info(OperandId id) const { return model_.operands[id]; }
  // The operation gives what `call` does. `activation` is the place of its fused activation among
  // the inputs, if it has one.
  void add_result(const Call& call, int32_t code, std::vector<OperandId> inputs, Layout layout,
                  int activation = -1);
  void define(const Call& call, Held result) { define(call.outputs[0], result); }
  void define(const CallArgument& output, Held result);
  // The same elements in order with other sizes.
  OperandId reshaped(OperandId id, const std::vector<uint32_t>& sizes);
  // Operand dimension i of the result is dimension order[i].
  OperandId transposed(OperandId id, const std::vector<int32_t>& order);

  // A tensor [n, groups, c, h, w] that is no operand, as NNAPI has at most four dimensions: the
  // channels of an image apart, with the two dimensions of channels swapped or not.
  struct SplitChannels {
    CallArgument image;
    int64_t groups;
    bool is_swapped;
  };
  void define_split(const Call& call, SplitChannels channels);
  const SplitChannels* split_channels(const CallArgument& argument) const;

  // Makes an activation (FuseCode) part of the operation that gives an argument, for nobody but
  // `call`. False if that cannot be.
  [[nodiscard]] bool fuse(const Call& call, Arg arg, int32_t activation);

 private:
  struct Fusable {
    size_t operation;
    size_t place;
  };
  using Layouts = std::array<std::optional<OperandId>, 2>;

  Layouts& layouts(ValueId id) { return layouts_[static_cast<size_t>(id)]; }
  OperandId input(ValueId id, Layout layout);
  Binding binding(const TensorDescription& description, OperandId id, Layout layout) const;
  void lower(size_t place);
  void add_outputs();
  LoweredSegment::Output output(size_t index);

  device::SpecialisedSegment& segment_;
  const ModelLimits limits_;
  LoweredSegment lowered_;
  Model& model_ = lowered_.model;
  bool has_images_ = false;       // some call reads them
  std::vector<Layouts> layouts_;  // by ValueId
  std::vector<bool> is_refused_;  // by ValueId: given by a refused call
  std::unordered_map<OperandId, Fusable> fusable_;
  std::unordered_map<ValueId, SplitChannels> split_channels_;
  std::unordered_map<OperandId, size_t> places_;  // of inputs and outputs of the model
  std::unordered_map<const TensorImpl*, std::array<std::optional<OperandId>, 2>> constants_;
  std::vector<Tensor> kept_;  // that constants_ points to
};

// Where a dimension of the program is in an operand.
int32_t axis_in(Layout layout, int64_t dim);
// The sizes of an operand for a tensor: of one without dimensions, [1].
std::vector<uint32_t> operand_sizes(IntSpan sizes, Layout layout);
int32_t to_int32(int64_t value);  // Declined if it is not

}  // namespace torchlet::nnapi
