#include "lite/state_machine.h"

#include <limits>
#include <set>

#include "base/error.h"
#include "graph/operator.h"
#include "graph/prim_kinds.h"

namespace torchlet::lite {
namespace {

// Values that stretches carry, all of them together.
constexpr size_t kMostCarried = size_t{1} << 18;

}  // namespace

StateMachineTranslator::StateMachineTranslator(InstructionEmitter& emitter)
    : emitter_(emitter),
      builder_(emitter.builder()),
      nothing_(builder_.value(prim::kUninitialized, {}, types::unknown())) {}

void StateMachineTranslator::run() {
  const std::vector<SsaValue*> arguments = emitter_.state().stack;
  find_stretches();
  const size_t num_registers = emitter_.state().num_registers();
  if (stretches_.size() * num_registers > kMostCarried) {
    emitter_.malformed("the function has too many jumps and registers");
  }
  Node* loop = builder_.node(prim::kLoop, {builder_.integer(std::numeric_limits<int64_t>::max()),
                                           builder_.boolean(true), builder_.integer(0)});
  body_ = loop->add_block();
  body_->add_input(types::integer());
  SsaValue* number = body_->add_input(types::integer());
  for (size_t i = 0; i < num_registers; ++i) {
    body_->add_input(types::unknown());
    loop->add_input(nothing_);
  }
  dispatch(body_, 0, stretches_.size(), number);
  reach(0, arguments.size());
  slot(0);  // the result
  run_stretches();
  if (stretches_.size() * slots_.size() > kMostCarried) {
    emitter_.malformed("the function has too many jumps and a stack that is too deep");
  }
  for (size_t i = 0; i < slots_.size(); ++i) {
    loop->add_input(i < arguments.size() ? arguments[i] : nothing_);
  }
  const std::vector<SsaValue*> last = results(body_);
  for (size_t i = 0; i < last.size(); ++i) {
    body_->add_output(last[i]);
    if (i == 1) loop->add_output(types::integer());
    if (i > 1) loop->add_output(types::unknown());
  }
  builder_.graph().block()->add_output(loop->output(1 + num_registers));
}

void StateMachineTranslator::find_stretches() {
  const std::vector<Instruction>& code = emitter_.code();
  std::set<size_t> begins = {0};
  for (size_t at = 0; at < code.size(); ++at) {
    const Opcode opcode = code[at].opcode;
    const bool jumps = opcode == Opcode::kJF || opcode == Opcode::kJmp || opcode == Opcode::kLoop;
    emitter_.set_place(at);
    if (jumps) begins.insert(emitter_.target(at));
    if ((jumps || opcode == Opcode::kRet) && at + 1 < code.size()) begins.insert(at + 1);
  }
  for (const size_t begin : begins) {
    if (!stretches_.empty()) stretches_.back().end = begin;
    stretch_at_[begin] = stretches_.size();
    stretches_.push_back({begin, code.size()});
  }
}

// A tree of branches on the number; the leaves are the blocks of [first, last).
void StateMachineTranslator::dispatch(Block* block, size_t first, size_t last, SsaValue* number) {
  if (last - first == 1) {
    stretches_[first].block = block;
    leaves_[block] = first;
    return;
  }
  const script::Builder::InBlock in(builder_, block);
  const size_t middle = first + (last - first) / 2;
  SsaValue* below =
      call("aten::lt", "int", {number, builder_.integer(static_cast<int64_t>(middle))});
  Node* node = emitter_.add_node(prim::kIf, {below});
  dispatch(node->add_block(), first, middle, number);
  dispatch(node->add_block(), middle, last, number);
}

void StateMachineTranslator::run_stretches() {
  try {
    while (!open_.empty()) {
      Stretch& stretch = stretches_[open_.back()];
      open_.pop_back();
      run_stretch(stretch);
    }
  } catch (const Unstructured&) {
    emitter_.malformed("a register is read that holds nothing");
  }
}

void StateMachineTranslator::run_stretch(Stretch& stretch) {
  const script::Builder::InBlock in(builder_, stretch.block);
  State& state = emitter_.state();
  for (size_t i = 0; i < state.num_registers(); ++i) state.set(i, body_->inputs()[2 + i]);
  state.stack.clear();
  for (size_t i = 0; i < static_cast<size_t>(stretch.depth); ++i) emitter_.push(slot(i));

  const Exit exit = leave(stretch);
  if (!exit.stack.empty()) slot(exit.stack.size() - 1);
  stretch.outputs = {exit.again, exit.next};
  for (size_t i = 0; i < state.num_registers(); ++i) {
    stretch.outputs.push_back(state.at(i) ? state.at(i) : nothing_);
  }
  stretch.outputs.insert(stretch.outputs.end(), exit.stack.begin(), exit.stack.end());
}

// Runs the instructions up to the jump that ends the stretch.
StateMachineTranslator::Exit StateMachineTranslator::leave(const Stretch& stretch) {
  std::vector<SsaValue*>& stack = emitter_.state().stack;
  for (size_t at = stretch.begin; at < stretch.end; ++at) {
    emitter_.set_place(at);
    switch (emitter_.code()[at].opcode) {
      case Opcode::kJmp:
        return jump(emitter_.target(at));
      case Opcode::kJF: {
        SsaValue* condition = emitter_.pop();
        return jump_if(condition, {at + 1, stack}, {emitter_.target(at), stack});
      }
      case Opcode::kLoop:
        return turn(at);
      case Opcode::kRet:
        return {builder_.boolean(false), builder_.integer(0), {emitter_.pop()}};
      default:
        emitter_.emit(at);
    }
  }
  return jump(stretch.end);
}

StateMachineTranslator::Exit StateMachineTranslator::jump(size_t target) {
  const std::vector<SsaValue*>& stack = emitter_.state().stack;
  return {builder_.boolean(true), reach(target, stack.size()), stack};
}

StateMachineTranslator::Exit StateMachineTranslator::jump_if(SsaValue* condition, Way yes, Way no) {
  Exit exit{builder_.boolean(true), nullptr, {}};
  SsaValue *yes_number = reach(yes.target, yes.stack.size()),
           *no_number = reach(no.target, no.stack.size());
  Node* node = emitter_.add_node(prim::kIf, {condition});
  Block *yes_block = node->add_block(), *no_block = node->add_block();
  const auto either = [&](SsaValue* a, SsaValue* b, const TypePtr& type) {
    if (a == b) return a;
    yes_block->add_output(a);
    no_block->add_output(b);
    return node->add_output(type);
  };
  exit.next = either(yes_number, no_number, types::integer());
  for (size_t i = 0; i < std::max(yes.stack.size(), no.stack.size()); ++i) {
    exit.stack.push_back(either(i < yes.stack.size() ? yes.stack[i] : nothing_,
                                i < no.stack.size() ? no.stack[i] : nothing_, types::unknown()));
  }
  return exit;
}

// LOOP: the trip count goes up and lies on the stack for the body, or its three numbers go.
StateMachineTranslator::Exit StateMachineTranslator::turn(size_t at) {
  const std::vector<SsaValue*>& stack = emitter_.state().stack;
  const int64_t count = emitter_.code()[at].n + 1;
  if (count < 3 || count > static_cast<int64_t>(stack.size())) {
    emitter_.malformed("the stack holds too few values");
  }
  const size_t trip = stack.size() - static_cast<size_t>(count);
  SsaValue* more = call("aten::lt", "int", {stack[trip], stack[trip + 1]});
  SsaValue* again = call("aten::__and__", "bool", {more, stack[trip + 2]});
  std::vector<SsaValue*> inside = stack, outside = stack;
  inside[trip] = call("aten::add", "int", {stack[trip], builder_.integer(1)});
  inside[trip + 2] = stack[trip];
  outside.erase(outside.begin() + static_cast<ptrdiff_t>(trip),
                outside.begin() + static_cast<ptrdiff_t>(trip) + 3);
  return jump_if(again, {at + 1, std::move(inside)}, {emitter_.target(at), std::move(outside)});
}

// The number of the stretch at `target`, which begins with so deep a stack.
SsaValue* StateMachineTranslator::reach(size_t target, size_t depth) {
  const auto found = stretch_at_.find(target);
  if (found == stretch_at_.end()) emitter_.malformed("the code ends without RET");
  Stretch& stretch = stretches_[found->second];
  if (stretch.depth < 0) {
    stretch.depth = static_cast<int64_t>(depth);
    open_.push_back(found->second);
  } else if (stretch.depth != static_cast<int64_t>(depth)) {
    emitter_.malformed("the stack differs between two ways that lead there");
  }
  return builder_.integer(static_cast<int64_t>(found->second));
}

SsaValue* StateMachineTranslator::call(const char* name, const char* overload,
                                       std::vector<SsaValue*> inputs) {
  const Operator* op = find_operator(name, overload);
  if (!op)
    fail(ErrorCode::kUnsupported,
         "this libtorchlet was built without %s.%s, which the model's jumps need "
         "(TORCHLET_OPERATORS)",
         name, overload);
  Node* node = builder_.node(op->name, std::move(inputs));
  node->set_op(op);
  return node->add_output(op->schema.returns[0].type);
}

SsaValue* StateMachineTranslator::slot(size_t index) {
  while (slots_.size() <= index) slots_.push_back(body_->add_input(types::unknown()));
  return slots_[index];
}

// What the block of the tree gives: again, next, registers..., stack...
std::vector<SsaValue*> StateMachineTranslator::results(const Block* block) {
  const size_t count = 2 + emitter_.state().num_registers() + slots_.size();
  if (const auto leaf = leaves_.find(block); leaf != leaves_.end()) {
    std::vector<SsaValue*>& outputs = stretches_[leaf->second].outputs;
    if (outputs.empty()) outputs = {builder_.boolean(false), builder_.integer(0)};  // never reached
    outputs.resize(count, nothing_);
    return outputs;
  }
  Node* branch = block->last();
  for (Block* inner : branch->blocks()) {
    for (SsaValue* value : results(inner)) inner->add_output(value);
  }
  for (size_t i = 0; i < count; ++i) {
    branch->add_output(i == 0 ? types::boolean() : i == 1 ? types::integer() : types::unknown());
  }
  return branch->outputs();
}

}  // namespace torchlet::lite
