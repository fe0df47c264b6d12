// A model while an application builds it: what each call may add, and what makes it whole.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "neuralnetworks/model/model.h"

namespace torchlet::nn {

// A model that cannot change any more.
struct FinishedModel {
  std::shared_ptr<const Model> model;
  // For each of its operations, which are sorted: the how-manieth it was when it was added.
  std::vector<uint32_t> added_as;
  // Of models in models, and of operations with those of the models at each of their uses.
  uint32_t depth = 0;
  uint64_t total_operations = 0;
};

// What cannot be right is an Error kInvalidArgument, and changes nothing. For one thread at a time.
class ModelBuilder {
 public:
  void add_operand(const ANeuralNetworksOperandType& type);

  // Values up to MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES, and those that do not lie on a multiple of
  // their element's size, are copied; others stay where they are.
  void set_value(uint32_t index, std::span<const std::byte> value,
                 std::shared_ptr<const void> keep_alive);
  void omit_value(uint32_t index);
  void set_value(uint32_t index, const FinishedModel& value);
  void set_channel_scales(uint32_t index, uint32_t dim, std::span<const float> scales);

  void add_operation(int32_t code, std::span<const uint32_t> inputs,
                     std::span<const uint32_t> outputs);
  void identify_inputs_and_outputs(std::span<const uint32_t> inputs,
                                   std::span<const uint32_t> outputs);
  void relax_float32(bool allow) { model_.relaxed_float32 = allow; }

  // What was built; nothing can be added afterwards, whether it succeeds or not.
  FinishedModel finish();

 private:
  Operand& operand(uint32_t index);
  // One that may be given a value: no input or output.
  Operand& constant(uint32_t index);
  void check_operation(const Operation& operation) const;
  void check_operands() const;

  Model model_;
  uint32_t depth_ = 0;
  uint64_t inner_operations_ = 0;
};

// The `index`th operation of a finished model as a model of its own: its arguments that are no
// constants are inputs.
std::shared_ptr<const Model> single_operation(const Model& model, size_t index);

}  // namespace torchlet::nn
