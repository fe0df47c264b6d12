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
      recording_[value] = {impl.dtype, impl.sizes, impl.quantizer};
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
  explicit ReferenceStep(const Operator& op) : op_(op) {}
  const char* kernel() const override { return op_.name.c_str(); }

  void run(const Memory& memory) const override {
    std::vector<Value> values;
    for (const Entry& argument : arguments) values.push_back(value_of(argument, memory));
    Value result;
    op_.call(values, std::span(&result, 1));
    memory.handle(writes).copy_(result.to_tensor());
  }

  std::vector<Entry> arguments;

 private:
  static Value value_of(const Entry& entry, const Memory& memory) {
    switch (entry.kind) {
      case Entry::Kind::kTensor:
        return Value(memory.handle(entry.tensor));
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
};

// Reference implementations know nothing of a plan's precision.
void widen(PlanBuilder& plan, Entry& entry) {
  if (entry.kind == Entry::Kind::kTensor) entry.tensor = plan.in_float32(entry.tensor);
  for (Entry& item : entry.list) widen(plan, item);
}

void add_reads(const Entry& entry, SmallVector<TensorId, 6>& reads) {
  if (entry.kind == Entry::Kind::kTensor) reads.push_back(entry.tensor);
  for (const Entry& item : entry.list) add_reads(item, reads);
}

}  // namespace

Recording record(const Node& segment, std::span<const Value> inputs) {
  return Evaluator(segment, inputs).take();
}

void add_reference_step(PlanBuilder& plan, const Node& node, const Recording& recording) {
  if (node.outputs().size() != 1 || !recording.contains(node.output())) {
    decline(node.kind().str() + " gives something else than a tensor");
  }
  auto step = std::make_unique<ReferenceStep>(*node.op());
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    step->arguments.push_back(plan.entry(node, i));
    widen(plan, step->arguments.back());
    add_reads(step->arguments.back(), step->reads);
  }
  for (size_t i = node.inputs().size(); i < node.op()->schema.arguments.size(); ++i) {
    const auto& value = node.op()->schema.arguments[i].default_value;
    step->arguments.push_back({Entry::Kind::kKnown, value.value_or(Value()), kNoTensor, {}});
  }
  const TensorDescription& result = recording.at(node.output());
  if (result.quantizer && !result.quantizer->per_tensor()) {
    decline("a result that is quantized per channel");
  }
  step->writes = plan.new_contiguous(result.dtype, result.sizes, result.quantizer);
  const TensorId id = step->writes;
  plan.add(std::move(step));
  plan.define(node, id);
}

}  // namespace torchlet::cpu
