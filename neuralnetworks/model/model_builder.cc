#include "neuralnetworks/model/model_builder.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <utility>

#include "base/error.h"
#include "neuralnetworks/model/operand_type.h"
#include "neuralnetworks/operations/operation.h"

namespace torchlet::nn {
namespace {

// A model is translated where it is used and not once, so both are bounded.
constexpr uint32_t kMaxDepth = 32;
constexpr uint64_t kMaxTotalOperations = 1'000'000;

constexpr uint32_t kNobody = UINT32_MAX;

std::string text_of(const Operation& operation) {
  const OperationDef* def = find_operation(operation.code);
  return def ? def->name : format("operation %d", operation.code);
}

bool is_given_by_operation(const Operand& operand) {
  return operand.lifetime == Lifetime::kTemporary || operand.lifetime == Lifetime::kOutput;
}

// For each operand, the operation that gives it.
std::vector<uint32_t> writers(const Model& model) {
  std::vector<uint32_t> writer(model.operands.size(), kNobody);
  for (uint32_t i = 0; i < model.operations.size(); ++i) {
    for (const uint32_t output : model.operations[i].outputs) {
      if (!is_given_by_operation(model.operands[output]) || writer[output] != kNobody) {
        fail(ErrorCode::kInvalidArgument,
             "%s, added as number %u, gives operand %u, which has a value already",
             text_of(model.operations[i]).c_str(), i, output);
      }
      writer[output] = i;
    }
  }
  for (uint32_t index = 0; index < model.operands.size(); ++index) {
    if (is_given_by_operation(model.operands[index]) && writer[index] == kNobody) {
      fail(ErrorCode::kInvalidArgument,
           "operand %u is no input, has no value, and no operation gives it", index);
    }
  }
  return writer;
}

// An order in which nothing is read before it is given: the one of addition as far as that is one.
std::vector<uint32_t> run_order(const Model& model) {
  const std::vector<uint32_t> writer = writers(model);
  std::vector<std::vector<uint32_t>> readers(model.operations.size());
  std::vector<size_t> waits_for(model.operations.size(), 0);
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t i = 0; i < model.operations.size(); ++i) {
    for (const uint32_t input : model.operations[i].inputs) {
      if (writer[input] == kNobody) continue;
      readers[writer[input]].push_back(i);
      ++waits_for[i];
    }
    if (waits_for[i] == 0) ready.push(i);
  }
  std::vector<uint32_t> order;
  while (!ready.empty()) {
    const uint32_t next = ready.top();
    ready.pop();
    order.push_back(next);
    for (const uint32_t reader : readers[next]) {
      if (--waits_for[reader] == 0) ready.push(reader);
    }
  }
  if (order.size() < model.operations.size()) {
    const auto stuck = std::ranges::find_if(waits_for, [](size_t count) { return count > 0; });
    const auto number = static_cast<size_t>(stuck - waits_for.begin());
    fail(ErrorCode::kInvalidArgument,
         "%s, added as number %zu, waits for an operation that waits for it",
         text_of(model.operations[number]).c_str(), number);
  }
  return order;
}

}  // namespace

Operand& ModelBuilder::operand(uint32_t index) {
  if (index >= model_.operands.size()) {
    fail(ErrorCode::kInvalidArgument, "there is no operand %d, only %zu", static_cast<int>(index),
         model_.operands.size());
  }
  return model_.operands[index];
}

Operand& ModelBuilder::constant(uint32_t index) {
  Operand& found = operand(index);
  if (found.lifetime == Lifetime::kInput || found.lifetime == Lifetime::kOutput) {
    fail(ErrorCode::kInvalidArgument, "operand %u is an input or output of the model", index);
  }
  return found;
}

void ModelBuilder::add_operand(const ANeuralNetworksOperandType& type) {
  model_.operands.push_back(make_operand(type));
}

void ModelBuilder::set_value(uint32_t index, std::span<const std::byte> value,
                             std::shared_ptr<const void> keep_alive) {
  Operand& found = constant(index);
  const std::optional<size_t> nbytes = value_size(found.type, found.dims);
  if (!nbytes || found.type == ANEURALNETWORKS_MODEL) {
    fail(ErrorCode::kInvalidArgument, "operand %u cannot have a value: %s", index,
         found.type == ANEURALNETWORKS_MODEL ? "it is a model" : "not all of its sizes are known");
  }
  if (*nbytes != value.size()) {
    fail(ErrorCode::kInvalidArgument, "operand %u takes %zu bytes, not %zu", index, *nbytes,
         value.size());
  }
  const bool is_aligned = reinterpret_cast<uintptr_t>(value.data()) % element_size(found.type) == 0;
  if (value.size() <= ANEURALNETWORKS_MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES || !is_aligned) {
    auto copy = std::make_shared<std::vector<std::byte>>(value.begin(), value.end());
    value = *copy;
    keep_alive = std::move(copy);
  }
  found.lifetime = Lifetime::kConstant;
  found.value = value;
  found.keep_alive = std::move(keep_alive);
}

void ModelBuilder::omit_value(uint32_t index) {
  Operand& found = constant(index);
  found.lifetime = Lifetime::kOmitted;
  found.value = {};
  found.keep_alive = nullptr;
  found.model = nullptr;
}

void ModelBuilder::set_value(uint32_t index, const FinishedModel& value) {
  Operand& found = constant(index);
  if (found.type != ANEURALNETWORKS_MODEL) {
    fail(ErrorCode::kInvalidArgument, "operand %u is no model", index);
  }
  if (value.depth + 1 > kMaxDepth ||
      inner_operations_ + value.total_operations > kMaxTotalOperations) {
    fail(ErrorCode::kInvalidArgument,
         "models in models %u deep with %llu operations in all; %u and %llu are supported",
         value.depth + 1,
         static_cast<unsigned long long>(inner_operations_ + value.total_operations), kMaxDepth,
         static_cast<unsigned long long>(kMaxTotalOperations));
  }
  found.lifetime = Lifetime::kModel;
  found.model = value.model;
  depth_ = std::max(depth_, value.depth + 1);
  inner_operations_ += value.total_operations;
}

void ModelBuilder::set_channel_scales(uint32_t index, uint32_t dim, std::span<const float> scales) {
  Operand& found = operand(index);
  if (found.type != ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL) {
    fail(ErrorCode::kInvalidArgument, "operand %u is not quantized per channel", index);
  }
  if (dim >= found.dims.size() || scales.empty() ||
      (found.dims[dim] != 0 && found.dims[dim] != scales.size())) {
    fail(ErrorCode::kInvalidArgument,
         "operand %u of sizes %s is given %zu scales along dimension %u", index,
         dims_text(found.dims).c_str(), scales.size(), dim);
  }
  for (const float scale : scales) {
    if (!(scale > 0) || !std::isfinite(scale)) {
      fail(ErrorCode::kInvalidArgument, "operand %u is given the scale %g", index, scale);
    }
  }
  // Now the size is known, if it was not.
  found.dims[dim] = static_cast<uint32_t>(scales.size());
  found.channel_scales = ChannelScales{dim, {scales.begin(), scales.end()}};
}

void ModelBuilder::check_operation(const Operation& operation) const {
  const OperationDef* def = find_operation(operation.code);
  if (!def) fail(ErrorCode::kInvalidArgument, "there is no operation %d", operation.code);
  if (!find_signature(*def, model_, operation)) {
    std::string types;
    for (const uint32_t index : operation.inputs) {
      const Operand& input = model_.operands[index];
      types += format("%s%d%s", types.empty() ? "" : ", ", input.type,
                      input.lifetime == Lifetime::kOmitted ? " omitted" : "");
    }
    fail(ErrorCode::kInvalidArgument, "%s does not take operands of types %s", def->name,
         types.c_str());
  }
}

void ModelBuilder::add_operation(int32_t code, std::span<const uint32_t> inputs,
                                 std::span<const uint32_t> outputs) {
  for (const uint32_t index : inputs) operand(index);
  for (const uint32_t index : outputs) operand(index);
  Operation made{code, {inputs.begin(), inputs.end()}, {outputs.begin(), outputs.end()}};
  check_operation(made);
  model_.operations.push_back(std::move(made));
}

void ModelBuilder::identify_inputs_and_outputs(std::span<const uint32_t> inputs,
                                               std::span<const uint32_t> outputs) {
  std::vector<uint32_t> all(inputs.begin(), inputs.end());
  all.insert(all.end(), outputs.begin(), outputs.end());
  for (const uint32_t index : all) {
    const Operand& found = operand(index);
    if (found.lifetime != Lifetime::kTemporary || found.type == ANEURALNETWORKS_MODEL) {
      fail(ErrorCode::kInvalidArgument,
           "operand %u cannot be an input or output: it is one already, or a constant", index);
    }
  }
  std::ranges::sort(all);
  const auto twice = std::ranges::adjacent_find(all);
  if (twice != all.end()) {
    fail(ErrorCode::kInvalidArgument, "operand %u is an input or output twice", *twice);
  }
  if (!model_.inputs.empty() || !model_.outputs.empty()) {
    fail(ErrorCode::kInvalidArgument, "the inputs and outputs are identified already");
  }
  for (const uint32_t index : inputs) model_.operands[index].lifetime = Lifetime::kInput;
  for (const uint32_t index : outputs) model_.operands[index].lifetime = Lifetime::kOutput;
  model_.inputs.assign(inputs.begin(), inputs.end());
  model_.outputs.assign(outputs.begin(), outputs.end());
}

void ModelBuilder::check_operands() const {
  if (model_.operations.empty() || model_.inputs.empty() || model_.outputs.empty()) {
    fail(ErrorCode::kInvalidArgument, "the model has %s",
         model_.operations.empty() ? "no operations" : "no inputs or no outputs");
  }
  for (uint32_t index = 0; index < model_.operands.size(); ++index) {
    const Operand& found = model_.operands[index];
    if (found.type == ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL && !found.channel_scales) {
      fail(ErrorCode::kInvalidArgument, "operand %u has no scales of its channels", index);
    }
  }
}

FinishedModel ModelBuilder::finish() {
  check_operands();
  FinishedModel finished;
  finished.added_as = run_order(model_);
  // Values may have been set, or omitted, after the operation was added.
  for (const Operation& operation : model_.operations) check_operation(operation);
  std::vector<Operation> sorted;
  for (const uint32_t number : finished.added_as) {
    sorted.push_back(std::move(model_.operations[number]));
  }
  model_.operations = std::move(sorted);
  finished.depth = depth_;
  finished.total_operations = inner_operations_ + model_.operations.size();
  finished.model = std::make_shared<const Model>(std::move(model_));
  return finished;
}

std::shared_ptr<const Model> single_operation(const Model& model, size_t index) {
  auto single = std::make_shared<Model>();
  single->relaxed_float32 = model.relaxed_float32;
  Operation operation = model.operations[index];
  std::map<uint32_t, uint32_t> renumbered;
  const auto renumber = [&](std::vector<uint32_t>& operands, Lifetime lifetime,
                            std::vector<uint32_t>& boundary) {
    for (uint32_t& operand : operands) {
      const auto [found, is_new] =
          renumbered.emplace(operand, static_cast<uint32_t>(single->operands.size()));
      operand = found->second;
      if (!is_new) continue;
      Operand copy = model.operands[found->first];
      if (copy.lifetime == Lifetime::kInput || is_given_by_operation(copy)) {
        copy.lifetime = lifetime;
        boundary.push_back(operand);
      }
      single->operands.push_back(std::move(copy));
    }
  };
  renumber(operation.inputs, Lifetime::kInput, single->inputs);
  renumber(operation.outputs, Lifetime::kOutput, single->outputs);
  single->operations.push_back(std::move(operation));
  return single;
}

}  // namespace torchlet::nn
