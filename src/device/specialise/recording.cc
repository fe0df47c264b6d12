#include "device/specialise/recording.h"

#include "device/specialise/call.h"
#include "graph/prim_kinds.h"
#include "tensor/containers.h"

namespace torchlet::device {
namespace {

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
      recording_[value] = {describe(held.to_tensor())};
    } else if (held.is_list()) {
      for (const Value& item : held.list_ref().items) {
        if (item.is_tensor()) recording_[value].push_back(describe(item.to_tensor()));
      }
    }
    const size_t uses = value->users().size();
    if (uses > 0) values_[value] = {std::move(held), uses};
  }

  Value get(const SsaValue* value) {
    // Constants may lie outside of the segment.
    if (value->node()->kind() == prim::kConstant) return value->node()->value_attribute("value");
    Held& held = values_.at(value);
    if (loops_ > 0 || --held.uses > 0) return held.value;
    Value last = std::move(held.value);
    values_.erase(value);
    return last;
  }

  // Each use counts once, however often the loop runs: all of them when the outermost has ended.
  void loop(const Node& node) {
    const Block& body = *node.block(0);
    std::vector<Value> state;  // most, again, carried...
    for (const SsaValue* input : node.inputs()) state.push_back(get(input));
    ++loops_;
    for (int64_t trip = 0; trip < state[0].to_int() && state[1].to_bool(); ++trip) {
      set(body.inputs()[0], Value(trip));
      for (size_t i = 2; i < state.size(); ++i) set(body.inputs()[i - 1], state[i]);
      run(body);
      for (size_t i = 1; i < state.size(); ++i) state[i] = get(body.outputs()[i - 1]);
    }
    if (--loops_ == 0) forget(body);
    for (size_t i = 2; i < state.size(); ++i) set(node.output(i - 2), state[i]);
  }

  // What a branch that is not taken would have used.
  void forget(const Block& block) {
    const auto forget_inputs = [&](const Node& node) {
      for (const SsaValue* input : node.inputs()) {
        if (values_.contains(input)) get(input);
      }
    };
    for (const Node* node : block) {
      forget_inputs(*node);
      for (const Block* inner : node->blocks()) forget(*inner);
    }
    forget_inputs(*block.return_node());
  }

  void run(const Block& block) {
    for (const Node* node : block) {
      if (node->kind() == prim::kIf) {
        const size_t taken = get(node->input(0)).to_bool() ? 0 : 1;
        forget(*node->block(1 - taken));
        run(*node->block(taken));
        for (size_t i = 0; i < node->outputs().size(); ++i) {
          set(node->output(i), get(node->block(taken)->outputs()[i]));
        }
      } else if (node->kind() == prim::kLoop) {
        loop(*node);
      } else if (node->kind() == prim::kSegment) {
        run(*node->block(0));
        for (const SsaValue* input : node->inputs()) get(input);
        for (size_t i = 0; i < node->outputs().size(); ++i) {
          set(node->output(i), get(node->block(0)->outputs()[i]));
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
    } else if (node.kind() != prim::kUninitialized) {
      decline(node.kind().str() + " in a segment");
    }
    arguments.clear();
    for (size_t i = 0; i < results.size(); ++i) set(node.output(i), std::move(results[i]));
  }

  std::unordered_map<const SsaValue*, Held> values_;
  int loops_ = 0;  // around what runs
  Recording recording_;
};

}  // namespace

Recording record(const Node& segment, std::span<const Value> inputs) {
  return Evaluator(segment, inputs).take();
}

}  // namespace torchlet::device
