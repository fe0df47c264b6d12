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

// The operator on tensors over the plan's memory, for one of its outputs. Unlike the kernels it may
// allocate its results.
class ReferenceStep : public Step {
 public:
  ReferenceStep(const Operator& op, std::vector<StepArgument> arguments, size_t output,
                TensorId result)
      : op_(op),
        arguments_(std::move(arguments)),
        output_(output),
        result_(writing(Operand::strided(result))) {
    for (const StepArgument& argument : arguments_) read_tensors(argument);
  }
  const char* kernel() const override { return op_.name.c_str(); }

  void run(const Memory& memory) const override {
    std::vector<Value> values;
    for (const StepArgument& argument : arguments_) values.push_back(value_of(argument, memory));
    const Tensor place = memory.handle(result_);
    std::vector<Value> results(op_.schema.returns.size());
    // Others might keep what they make, or return it transposed.
    if (selection::kIsWhole && op_.facts->is_pointwise && !place.is_quantized()) {
      const ResultPlace here(place);
      op_.call(values, results);
    } else {
      op_.call(values, results);
    }
    const Tensor& result = results[output_].to_tensor();
    if (!result.is_same(place)) place.copy_(result);
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
  size_t output_;
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
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    const CallArgument& output = call.outputs[i];
    if (!output.is_tensor()) decline(call.kind().str() + " gives something else than tensors");
    if (plan.users(output.id()).empty()) continue;
    std::vector<StepArgument> arguments;
    for (const CallArgument& argument : call.arguments) {
      arguments.push_back(step_argument(plan, argument));
    }
    const device::TensorDescription& result = segment.describe(output.id());
    if (result.quantizer && !result.quantizer->per_tensor()) {
      decline("a result that is quantized per channel");
    }
    const TensorId id = plan.new_contiguous(result.dtype, result.sizes, result.quantizer);
    plan.add_step<ReferenceStep>(*call.op, std::move(arguments), i, id);
    plan.define(output, id);
  }
}

}  // namespace torchlet::cpu
