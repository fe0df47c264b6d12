#include "device/cpu/reference_step.h"

#include "base/selection.h"
#include "tensor/containers.h"
#include "tensor/result_place.h"

namespace torchlet::cpu {
namespace {

// A tensor of the plan, a list of these and others, or a value that is known.
struct StepArgument {
  TensorId tensor = kNoTensor;
  std::optional<std::vector<StepArgument>> items = {};
  Value known = {};
};

// The operator on tensors over the plan's memory. Unlike the kernels it may allocate its result.
class ReferenceStep : public Step {
 public:
  ReferenceStep(const Operator& op, std::vector<StepArgument> arguments, TensorId result)
      : op_(op), arguments_(std::move(arguments)), result_(writing(Operand::strided(result))) {
    for (const StepArgument& argument : arguments_) read_tensors(argument);
  }
  const char* kernel() const override { return op_.name.c_str(); }

  void run(const Memory& memory) const override {
    std::vector<Value> values;
    for (const StepArgument& argument : arguments_) values.push_back(value_of(argument, memory));
    const Tensor place = memory.handle(result_);
    Value result;
    // Others might keep what they make, or return it transposed.
    if (selection::kIsWhole && op_.facts->is_pointwise && !place.is_quantized()) {
      const ResultPlace here(place);
      op_.call(values, std::span(&result, 1));
    } else {
      op_.call(values, std::span(&result, 1));
    }
    if (!result.to_tensor().is_same(place)) place.copy_(result.to_tensor());
  }

 private:
  void read_tensors(const StepArgument& argument) {
    if (argument.tensor != kNoTensor) reading(Operand::strided(argument.tensor));
    if (!argument.items) return;
    for (const StepArgument& item : *argument.items) read_tensors(item);
  }

  static Value value_of(const StepArgument& argument, const Memory& memory) {
    if (argument.tensor != kNoTensor) {
      return Value(memory.handle(Operand::strided(argument.tensor)));
    }
    if (!argument.items) return argument.known;
    std::vector<Value> items;
    for (const StepArgument& item : *argument.items) items.push_back(value_of(item, memory));
    return Value::list(std::move(items));
  }

  const Operator& op_;
  std::vector<StepArgument> arguments_;
  Operand result_;
};

// Reference implementations know nothing of a plan's precision.
StepArgument step_argument(PlanBuilder& plan, const CallArgument& argument) {
  if (argument.is_known()) return {.known = argument.known()};
  if (argument.is_tensor()) return {.tensor = plan.in_float32(plan.tensor(argument))};
  std::vector<StepArgument> items;
  for (const CallArgument& item : argument.items()) items.push_back(step_argument(plan, item));
  return {.items = std::move(items)};
}

}  // namespace

void add_reference_step(PlanBuilder& plan, const Call& call, device::SpecialisedSegment& segment) {
  if (call.outputs.size() != 1 || !call.outputs[0].is_tensor()) {
    decline(call.kind().str() + " gives something else than a tensor");
  }
  std::vector<StepArgument> arguments;
  for (const CallArgument& argument : call.arguments) {
    arguments.push_back(step_argument(plan, argument));
  }
  const device::TensorDescription& result = segment.describe(call.outputs[0].id());
  if (result.quantizer && !result.quantizer->per_tensor()) {
    decline("a result that is quantized per channel");
  }
  const TensorId id = plan.new_contiguous(result.dtype, result.sizes, result.quantizer);
  plan.add_step<ReferenceStep>(*call.op, std::move(arguments), id);
  plan.define(call, id);
}

}  // namespace torchlet::cpu
