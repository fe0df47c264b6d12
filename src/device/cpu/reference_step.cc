#include "device/cpu/reference_step.h"

#include "graph/prim_kinds.h"
#include "tensor/containers.h"

namespace torchlet::cpu {
namespace {

using Entry = PlanBuilder::Entry;

// The values of straight-line code, by definition.
class Evaluator {
 public:
  Evaluator(const Node& segment, std::span<const Value> inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) set(segment.input(i), inputs[i]);
    run(*segment.block(0));
  }
  Recording take() { return std::move(recording_); }

 private:
  struct Held {
    Value value;
    size_t uses;
  };

  void set(const SsaValue* value, Value held) {
    if (held.is_tensor()) {
      const TensorImpl& impl = *held.tensor_impl();
      recording_[value] = {impl.dtype, impl.sizes, impl.strides, impl.quantizer};
    }
    values_[value] = {std::move(held), value->users().size()};
  }

  // Intermediate results go with their last use.
  Value get(const SsaValue* value) {
    // Constants may lie outside of the segment.
    if (value->node()->kind() == prim::kConstant) return value->node()->value_attribute("value");
    Held& held = values_.at(value);
    if (--held.uses == 0) return std::move(held.value);
    return held.value;
  }

  void run(const Block& block) {
    for (const Node* node : block) {
      if (node->kind() == prim::kIf) {
        const Block& taken = *node->block(get(node->input(0)).to_bool() ? 0 : 1);
        run(taken);
        for (size_t i = 0; i < node->outputs().size(); ++i) {
          set(node->output(i), get(taken.outputs()[i]));
        }
      } else if (node->kind() != prim::kConstant) {
        run(*node);
      }
    }
  }

  void run(const Node& node) {
    std::vector<Value> arguments;
    for (const SsaValue* input : node.inputs()) arguments.push_back(get(input));
    std::vector<Value> results(node.outputs().size());
    if (node.op()) {
      const auto& parameters = node.op()->schema.arguments;
      for (size_t i = arguments.size(); i < parameters.size(); ++i) {
        arguments.push_back(parameters[i].default_value.value_or(Value()));
      }
      node.op()->call(arguments, results);
    } else if (node.kind() == prim::kListConstruct) {
      results[0] = make_list(node.output()->type()->element(0), std::move(arguments));
    } else if (node.kind() == prim::kTupleConstruct) {
      results[0] = Value::tuple(std::move(arguments));
    } else if (node.kind() == prim::kListUnpack || node.kind() == prim::kTupleUnpack) {
      results = arguments[0].to_list();
      if (results.size() != node.outputs().size()) decline("a list of another length");
    } else {
      decline(node.kind().str() + " in a segment");
    }
    for (size_t i = 0; i < results.size(); ++i) set(node.output(i), std::move(results[i]));
  }

  std::unordered_map<const SsaValue*, Held> values_;
  Recording recording_;
};

// The operator on tensors over the plan's memory. Unlike the kernels it allocates its result.
class ReferenceStep : public Step {
 public:
  ReferenceStep(const Operator& op, std::vector<Entry> arguments, TensorId result)
      : op_(op), arguments_(std::move(arguments)), result_(writing(Operand::strided(result))) {
    for (const Entry& argument : arguments_) read_tensors(argument);
  }
  const char* kernel() const override { return op_.name.c_str(); }

  void run(const Memory& memory) const override {
    std::vector<Value> values;
    for (const Entry& argument : arguments_) values.push_back(value_of(argument, memory));
    Value result;
    op_.call(values, std::span(&result, 1));
    memory.handle(result_).copy_(result.to_tensor());
  }

 private:
  void read_tensors(const Entry& entry) {
    if (entry.kind == Entry::Kind::kTensor) reading(Operand::strided(entry.tensor));
    for (const Entry& item : entry.list) read_tensors(item);
  }

  static Value value_of(const Entry& entry, const Memory& memory) {
    switch (entry.kind) {
      case Entry::Kind::kTensor:
        return Value(memory.handle(Operand::strided(entry.tensor)));
      case Entry::Kind::kList: {
        std::vector<Value> items;
        for (const Entry& item : entry.list) items.push_back(value_of(item, memory));
        return Value::list(std::move(items));
      }
      default:
        return entry.known;
    }
  }

  const Operator& op_;
  std::vector<Entry> arguments_;
  Operand result_;
};

// Reference implementations know nothing of a plan's precision.
void widen(PlanBuilder& plan, Entry& entry) {
  if (entry.kind == Entry::Kind::kTensor) entry.tensor = plan.in_float32(entry.tensor);
  for (Entry& item : entry.list) widen(plan, item);
}

}  // namespace

Recording record(const Node& segment, std::span<const Value> inputs) {
  return Evaluator(segment, inputs).take();
}

void add_reference_step(PlanBuilder& plan, const Node& node, const Recording& recording) {
  if (node.outputs().size() != 1 || !recording.contains(node.output())) {
    decline(node.kind().str() + " gives something else than a tensor");
  }
  std::vector<Entry> arguments;
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    arguments.push_back(plan.entry(node, i));
    widen(plan, arguments.back());
  }
  for (size_t i = node.inputs().size(); i < node.op()->schema.arguments.size(); ++i) {
    const auto& value = node.op()->schema.arguments[i].default_value;
    arguments.push_back({Entry::Kind::kKnown, value.value_or(Value()), kNoTensor, {}});
  }
  const TensorDescription& result = recording.at(node.output());
  if (result.quantizer && !result.quantizer->per_tensor()) {
    decline("a result that is quantized per channel");
  }
  const TensorId id = plan.new_contiguous(result.dtype, result.sizes, result.quantizer);
  plan.add_step<ReferenceStep>(*node.op(), std::move(arguments), id);
  plan.define(node, id);
}

}  // namespace torchlet::cpu
