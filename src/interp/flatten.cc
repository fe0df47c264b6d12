#include <algorithm>
#include <span>
#include <unordered_map>

#include "base/error.h"
#include "graph/prim_kinds.h"
#include "interp/code.h"
#include "tensor/containers.h"

namespace torchlet::interp {
namespace {

constexpr int kMaxDepth = 2000;  // nested blocks

Opcode plain_opcode(Symbol kind) {
  static const std::vector<std::pair<Symbol, Opcode>> kinds = {
      {prim::kGetAttr, Opcode::kGetAttr},
      {prim::kSetAttr, Opcode::kSetAttr},
      {prim::kModuleContainerIndex, Opcode::kModuleContainerIndex},
      {prim::kCreateObject, Opcode::kCreateObject},
      {prim::kListConstruct, Opcode::kListConstruct},
      {prim::kTupleConstruct, Opcode::kTupleConstruct},
      {prim::kDictConstruct, Opcode::kDictConstruct},
      {prim::kListUnpack, Opcode::kUnpack},
      {prim::kTupleUnpack, Opcode::kUnpack},
      {prim::kTupleIndex, Opcode::kTupleIndex},
      {prim::kIsInstance, Opcode::kIsInstance},
      {prim::kUncheckedCast, Opcode::kMove},
      {prim::kToList, Opcode::kToList},
      {prim::kEnumName, Opcode::kEnumName},
      {prim::kEnumValue, Opcode::kEnumValue},
      {prim::kEnter, Opcode::kEnter},
      {prim::kExit, Opcode::kExit},
      {prim::kRaiseException, Opcode::kRaise},
      {prim::kPrint, Opcode::kPrint},
      {prim::kCallFunction, Opcode::kCall},
      {prim::kCallMethod, Opcode::kCallMethod},
      {prim::kUnsupported, Opcode::kUnsupported},
  };
  for (const auto& [symbol, code] : kinds) {
    if (symbol == kind) return code;
  }
  fail(ErrorCode::kInternal, "the interpreter has no instruction for " + kind.str());
}

// Will nobody change this list or keep it? Then it need not be made anew each time.
bool only_read(const SsaValue* list) {
  const TypeKind element =
      list->type()->is(TypeKind::kList) ? list->type()->element(0)->kind() : TypeKind::kUnknown;
  if (element != TypeKind::kInt && element != TypeKind::kFloat && element != TypeKind::kBool) {
    return false;
  }
  return std::ranges::all_of(list->users(), [&](const Node* user) {
    if (!user->op() || user->op()->schema.is_vararg) return false;
    const auto& arguments = user->op()->schema.arguments;
    for (size_t i = 0; i < user->inputs().size(); ++i) {
      if (user->input(i) != list) continue;
      if (i >= arguments.size() || arguments[i].is_written || arguments[i].is_aliased) return false;
      const Type* type = arguments[i].type.get();
      if (type->is(TypeKind::kOptional)) type = type->element(0).get();
      // A generic t[] may belong to an operator that gives the list itself back.
      if (!type->is(TypeKind::kList) || !type->element(0)->is(element)) return false;
    }
    return true;
  });
}

class Flattener {
 public:
  explicit Flattener(const Graph& graph) : graph_(graph), values_(graph.num_values()) {}

  Code run() {
    const Block& block = *graph_.block();
    for (const SsaValue* input : block.inputs()) {
      code_.arguments.push_back(input->users().empty() ? kNoRegister : define(input));
    }
    find_last_uses(block);
    nodes(block);
    emit(Opcode::kReturn, block.return_node(), block.outputs(), {});
    code_.num_registers = num_registers_;
    return std::move(code_);
  }

 private:
  // What is known of a value, by its id.
  struct Place {
    uint32_t reg = kNoRegister;
    int32_t constant = -1;
    const Node* last_use = nullptr;  // the node of the defining block that reads it last
    bool used_inside = false;        // ... or a block of that node does
    size_t operand = 0;              // the last among those that are being read
  };

  Place& place(const SsaValue* value) { return values_[value->id()]; }

  uint32_t new_register() {
    if (free_.empty()) return num_registers_++;
    const uint32_t reg = free_.back();
    free_.pop_back();
    return reg;
  }
  uint32_t define(const SsaValue* value) { return place(value).reg = new_register(); }
  uint32_t define_if_used(const SsaValue* value) {
    return value->users().empty() ? kNoRegister : define(value);
  }
  void release(uint32_t reg) { free_.push_back(reg); }

  uint32_t constant(Value value) {
    code_.constants.push_back(std::move(value));
    return static_cast<uint32_t>(code_.constants.size() - 1);
  }

  // For each value that the block defines: the last of the block's own nodes that needs it.
  void find_last_uses(const Block& block) {
    std::unordered_map<const Node*, size_t> order;
    for (const Node* node : block) order.emplace(node, order.size());
    order.emplace(block.return_node(), order.size());
    auto find = [&](const SsaValue* value) {
      Place& found = place(value);
      size_t last = 0;
      for (const Node* user : value->users()) {
        const Node* own = user;
        while (own->owner() != &block) own = own->owner()->owner();
        const size_t at = order.at(own);
        if (!found.last_use || at > last) {
          found.last_use = own;
          found.used_inside = false;
          last = at;
        }
        if (found.last_use == own && own != user) found.used_inside = true;
      }
      if (found.used_inside) dead_after_[found.last_use].push_back(value);
    };
    for (const SsaValue* value : block.inputs()) find(value);
    for (const Node* node : block) {
      for (const SsaValue* value : node->outputs()) find(value);
    }
  }

  void nodes(const Block& block) {
    if (++depth_ > kMaxDepth) {
      fail(ErrorCode::kUnsupported, "the program's blocks are nested too deeply");
    }
    for (const Node* n : block) {
      node(*n);
      drop_dead(*n);
    }
    --depth_;
  }

  // Drops the values that a block of this node was the last to use.
  void drop_dead(const Node& node) {
    const auto dead = dead_after_.find(&node);
    if (dead == dead_after_.end()) return;
    begin(Opcode::kDrop, &node);
    for (const SsaValue* value : dead->second) {
      const Place& p = place(value);
      if (p.constant >= 0) continue;
      code_.operands.push_back(Operand::moved(p.reg));
      release(p.reg);
    }
    finish({});
  }

  // Adds the operands; a register that nobody needs after `reader` is moved from and free.
  void read(const Node* reader, std::span<SsaValue* const> inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) place(inputs[i]).operand = i;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Place& p = place(inputs[i]);
      if (p.constant >= 0) {
        code_.operands.push_back(Operand::constant(static_cast<uint32_t>(p.constant)));
        continue;
      }
      if (p.last_use == reader && !p.used_inside && p.operand == i) {
        code_.operands.push_back(Operand::moved(p.reg));
        freed_.push_back(p.reg);
      } else {
        code_.operands.push_back(Operand::copied(p.reg));
      }
    }
  }

  Instruction& begin(Opcode opcode, const Node* node) {
    Instruction instruction{opcode};
    instruction.first_input = static_cast<uint32_t>(code_.operands.size());
    instruction.node = node;
    return code_.instructions.emplace_back(instruction);
  }

  void finish(std::span<const uint32_t> outputs) {
    Instruction& last = code_.instructions.back();
    last.num_inputs = static_cast<uint32_t>(code_.operands.size()) - last.first_input;
    last.first_output = static_cast<uint32_t>(code_.outputs.size());
    last.num_outputs = static_cast<uint32_t>(outputs.size());
    code_.outputs.insert(code_.outputs.end(), outputs.begin(), outputs.end());
    code_.num_scratch = std::max(code_.num_scratch, last.num_inputs + last.num_outputs);
  }

  void free_read() {
    for (const uint32_t reg : freed_) release(reg);
    freed_.clear();
  }

  // One instruction whose outputs already have their registers.
  size_t emit(Opcode opcode, const Node* node, std::span<SsaValue* const> inputs,
              std::span<const uint32_t> outputs) {
    begin(opcode, node);
    read(node, inputs);
    finish(outputs);
    free_read();
    return code_.instructions.size() - 1;
  }

  uint32_t here() const { return static_cast<uint32_t>(code_.instructions.size()); }

  void node(const Node& node) {
    if (node.kind() == prim::kConstant) {
      const Value& value = node.value_attribute("value");
      place(node.output()).constant = static_cast<int32_t>(constant(value));
    } else if (node.kind() == prim::kUninitialized) {
      place(node.output()).constant = static_cast<int32_t>(constant(Value()));
    } else if (node.kind() == prim::kIf) {
      branch(node);
    } else if (node.kind() == prim::kLoop) {
      loop(node);
    } else if (node.kind() == prim::kFork) {
      fork(node);
    } else if (node.kind() == prim::kSegment) {
      segment(node);
    } else if (node.kind() == prim::kListConstruct && constant_list(node)) {
      return;
    } else {
      plain(node);
    }
  }

  bool constant_list(const Node& node) {
    std::vector<Value> items;
    for (const SsaValue* input : node.inputs()) {
      if (place(input).constant < 0) return false;
      items.push_back(code_.constants[static_cast<size_t>(place(input).constant)]);
    }
    if (!only_read(node.output())) return false;
    const TypePtr element = node.output()->type()->element(0);
    place(node.output()).constant =
        static_cast<int32_t>(constant(make_list(element, std::move(items))));
    return true;
  }

  void plain(const Node& node) {
    Opcode opcode = node.op() ? Opcode::kOperator : plain_opcode(node.kind());
    Function* callee = nullptr;
    if (node.kind() == prim::kCallFunction ||
        (node.kind() == prim::kCallMethod && node.has_attribute("function"))) {
      opcode = Opcode::kCall;
      callee = node.function_attribute("function");
    }
    begin(opcode, &node).op = node.op();
    if (callee) {
      code_.instructions.back().target = static_cast<uint32_t>(code_.callees.size());
      code_.callees.emplace_back(callee);
    }
    if (opcode == Opcode::kGetAttr || opcode == Opcode::kSetAttr) {
      code_.instructions.back().target = attribute(node);
    }
    read(&node, node.inputs());
    if (node.op()) add_defaults(*node.op(), node.inputs().size());
    free_read();
    std::vector<uint32_t> outputs;
    for (const SsaValue* output : node.outputs()) outputs.push_back(define_if_used(output));
    finish(outputs);
  }

  void add_defaults(const Operator& op, size_t given) {
    if (op.schema.is_vararg) return;
    for (size_t i = given; i < op.schema.arguments.size(); ++i) {
      const auto& value = op.schema.arguments[i].default_value;
      code_.operands.push_back(Operand::constant(constant(value ? *value : Value())));
    }
  }

  uint32_t attribute(const Node& node) {
    const std::string& name = node.string_attribute("name");
    const ClassType* type = node.input(0)->type()->as_class();
    const auto slot = type ? type->find_attribute(name) : std::nullopt;
    code_.attributes.push_back({&name, slot ? type : nullptr, slot.value_or(0)});
    return static_cast<uint32_t>(code_.attributes.size() - 1);
  }

  void branch(const Node& node) {
    const size_t test = emit(Opcode::kJumpIfFalse, &node, node.inputs(), {});
    std::vector<uint32_t> outputs;
    for (const SsaValue* output : node.outputs()) outputs.push_back(define_if_used(output));
    branch_block(*node.block(0), outputs);
    const size_t jump = emit(Opcode::kJump, &node, {}, {});
    code_.instructions[test].target = here();
    branch_block(*node.block(1), outputs);
    code_.instructions[jump].target = here();
  }

  void branch_block(const Block& block, std::span<const uint32_t> outputs) {
    find_last_uses(block);
    nodes(block);
    if (!outputs.empty()) emit(Opcode::kMove, block.return_node(), block.outputs(), outputs);
  }

  void loop(const Node& node) {
    const Block& body = *node.block(0);
    // Registers of the loop: trip, most, again, carried...
    const uint32_t trip = new_register(), most = new_register(), again = new_register();
    std::vector<uint32_t> state = {trip, most, again};
    for (size_t i = 1; i < body.inputs().size(); ++i) state.push_back(define(body.inputs()[i]));

    begin(Opcode::kMove, &node);
    code_.operands.push_back(Operand::constant(constant(Value(int64_t{0}))));
    read(&node, node.inputs());
    finish(state);
    free_read();

    const uint32_t test = here();
    const uint32_t parameter = define_if_used(body.inputs()[0]);
    emit(Opcode::kLoopTest, &node, {}, std::vector<uint32_t>{trip, most, again, parameter});
    find_last_uses(body);
    nodes(body);
    emit(Opcode::kMove, body.return_node(), body.outputs(), std::span(state).subspan(2));
    code_.instructions[emit(Opcode::kJump, &node, {}, {})].target = test;
    code_.instructions[test].target = here();

    std::vector<uint32_t> outputs;
    for (const SsaValue* output : node.outputs()) outputs.push_back(define_if_used(output));
    begin(Opcode::kMove, &node);
    for (const uint32_t reg : std::span(state).subspan(3)) {
      code_.operands.push_back(Operand::moved(reg));
    }
    finish(outputs);
    free_loop(body, state);
  }

  void free_loop(const Block& body, std::span<const uint32_t> state) {
    // A carried value whose last use was in the body has given its register back there.
    for (size_t i = 0; i < state.size(); ++i) {
      const bool freed_inside = i >= 3 && !body.inputs()[i - 2]->users().empty();
      if (!freed_inside) release(state[i]);
    }
  }

  void fork(const Node& node) {
    std::vector<uint32_t> future = {new_register()};
    const size_t start = emit(Opcode::kForkBegin, &node, {}, future);
    const Block& body = *node.block(0);
    find_last_uses(body);
    nodes(body);
    emit(Opcode::kForkEnd, body.return_node(), body.outputs(), future);
    code_.instructions[start].target = here();
    if (node.output()->users().empty()) {
      release(future[0]);
    } else {
      place(node.output()).reg = future[0];
    }
  }

  // The segment, and its block for inputs that it does not take.
  void segment(const Node& node) {
    std::vector<uint32_t> outputs;
    for (const SsaValue* output : node.outputs()) outputs.push_back(define_if_used(output));
    const size_t start = emit(Opcode::kSegment, &node, node.inputs(), outputs);
    branch_block(*node.block(0), outputs);
    code_.instructions[start].target = here();
  }

  const Graph& graph_;
  Code code_;
  std::vector<Place> values_;
  std::vector<uint32_t> free_, freed_;
  uint32_t num_registers_ = 0;
  int depth_ = 0;
  std::unordered_map<const Node*, std::vector<const SsaValue*>> dead_after_;
};

}  // namespace

Code flatten(const Graph& graph) { return Flattener(graph).run(); }

}  // namespace torchlet::interp
