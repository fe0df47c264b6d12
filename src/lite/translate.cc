#include "lite/translate.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/selection.h"
#include "graph/prim_kinds.h"
#include "lite/add_casts.h"
#include "lite/disassembly.h"
#include "lite/infer_schema.h"
#include "lite/inlined_calls.h"
#include "lite/program.h"
#include "lite/state_machine.h"

namespace torchlet::lite {
namespace {

// Deeper code runs as a state machine.
constexpr int kMaxDepth = 200;

// What nobody reads is of any type.
void settle(SsaValue* value, const TypePtr& type) {
  if (!value->type()->is(TypeKind::kUnknown)) return;
  Node* node = value->node();
  if (node->kind() != prim::kUninitialized && node->kind() != prim::kIf) return;
  value->set_type(type);
  for (const Block* way : node->blocks()) settle(way->outputs()[value->index()], type);
}

// The type of what one of two ways gives.
TypePtr either(SsaValue* a, SsaValue* b) {
  settle(a, b->type());
  settle(b, a->type());
  const TypePtr both = unify(a->type(), b->type());
  if (both) return both;
  const bool is_known = !a->type()->is(TypeKind::kUnknown) && !b->type()->is(TypeKind::kUnknown);
  return is_known ? types::any() : types::unknown();
}

// Is it known what `None is None` and `None is not None` give? There, bytecode keeps the way that
// takes None for something else.
std::optional<bool> known_condition(const SsaValue* value) {
  const Node* node = value->node();
  if (!node->op() || node->inputs().size() != 2) return std::nullopt;
  for (const SsaValue* input : node->inputs()) {
    const Value* constant = script::Builder::constant_value(input);
    if (!constant || !constant->is_none()) return std::nullopt;
  }
  if (node->op()->schema.name == "aten::__is__") return true;
  if (node->op()->schema.name == "aten::__isnot__") return false;
  return std::nullopt;
}

// Control flow as If and Loop; throws Unstructured where it has no such form.
class StructuredTranslator {
 public:
  explicit StructuredTranslator(InstructionEmitter& emitter)
      : emitter_(emitter), builder_(emitter.builder()), state_(emitter.state()) {}

  void run() {
    const size_t last = emitter_.code().size() - 1;
    if (emitter_.code()[last].opcode != Opcode::kRet) throw Unstructured();
    sequence(0, last);
    emitter_.set_place(last);
    builder_.graph().block()->add_output(emitter_.pop());
  }

 private:
  // The state at the end of a block that was made on the side.
  struct Outcome {
    Block* block;
    std::vector<SsaValue*> stack;
    State::Changes registers;
  };

  Opcode opcode(size_t at) const { return emitter_.code()[at].opcode; }

  // [begin, end), which is entered at its begin and left at its end alone.
  void sequence(size_t begin, size_t end) {
    if (++depth_ > kMaxDepth) throw Unstructured();
    for (size_t at = begin; at < end;) {
      emitter_.set_place(at);
      switch (opcode(at)) {
        case Opcode::kJF:
          at = branch(at, end);
          break;
        case Opcode::kLoop:
          at = loop(at, end);
          break;
        case Opcode::kJmp:
        case Opcode::kRet:
          throw Unstructured();
        default:
          emitter_.emit(at++);
      }
    }
    --depth_;
  }

  // JF at `at`; returns what follows the blocks.
  size_t branch(size_t at, size_t end) {
    const size_t otherwise = emitter_.target(at);
    if (otherwise <= at || otherwise > end) throw Unstructured();
    size_t then_end = otherwise, after = otherwise;
    if (otherwise > at + 1 && opcode(otherwise - 1) == Opcode::kJmp) {
      then_end = otherwise - 1;
      after = emitter_.target(then_end);
      if (after < otherwise || after > end) throw Unstructured();
    }
    SsaValue* condition = emitter_.pop();
    if (const std::optional<bool> known = known_condition(condition)) {
      *known ? sequence(at + 1, then_end) : sequence(otherwise, after);
      return after;
    }
    Node* node = emitter_.add_node(prim::kIf, {condition});
    const Outcome yes = aside(node->add_block(), at + 1, then_end);
    const Outcome no = aside(node->add_block(), otherwise, after);
    emitter_.set_place(at);
    join(node, yes, no);
    return after;
  }

  // Runs the code into the block; the state stays as it is.
  Outcome aside(Block* block, size_t begin, size_t end) {
    const std::vector<SsaValue*> stack = state_.stack;
    const size_t mark = state_.mark();
    const script::Builder::InBlock in(builder_, block);
    sequence(begin, end);
    return {block, std::exchange(state_.stack, stack), state_.take_back(mark)};
  }

  void join(Node* node, const Outcome& yes, const Outcome& no) {
    if (yes.stack.size() != no.stack.size()) {
      emitter_.malformed("the stack differs between two ways that lead here");
    }
    state_.stack.resize(yes.stack.size());
    for (size_t i = 0; i < yes.stack.size(); ++i) {
      state_.stack[i] = joined(node, yes, yes.stack[i], no, no.stack[i]);
    }
    std::set<size_t> changed;
    for (const auto& [reg, value] : yes.registers) changed.insert(reg);
    for (const auto& [reg, value] : no.registers) changed.insert(reg);
    const auto held = [&](const Outcome& way, size_t reg) {
      const auto found = way.registers.find(reg);
      return found == way.registers.end() ? state_.at(reg) : found->second;
    };
    for (const size_t reg : changed) {
      state_.set(reg, joined(node, yes, held(yes, reg), no, held(no, reg)));
    }
  }

  static SsaValue* joined(Node* node, const Outcome& yes, SsaValue* a, const Outcome& no,
                          SsaValue* b) {
    if (a == b || !a || !b) return a == b ? a : nullptr;
    yes.block->add_output(a);
    no.block->add_output(b);
    return node->add_output(either(a, b));
  }

  // LOOP at `at`: (trip, most, condition, carried...) are on the stack; returns what follows the
  // body.
  size_t loop(size_t at, size_t end) {
    const size_t after = emitter_.target(at);
    if (after <= at + 1 || after > end || opcode(after - 1) != Opcode::kJmp) throw Unstructured();
    if (emitter_.target(after - 1) != at) throw Unstructured();
    const std::vector<SsaValue*> carried = emitter_.pop_many(emitter_.code()[at].n - 2);
    const std::vector<SsaValue*> control = emitter_.pop_many(3);
    const Value* trip = script::Builder::constant_value(control[0]);
    if (!trip || !trip->is_int() || trip->to_int() != 0) throw Unstructured();

    std::vector<SsaValue*> inputs = {control[1], control[2]};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    Node* node = emitter_.add_node(prim::kLoop, std::move(inputs));
    Block* body = node->add_block();
    const std::vector<SsaValue*> outside = state_.stack;
    enter(body, carried);
    const Outcome turn = aside(body, at + 1, after - 1);
    emitter_.set_place(at);
    state_.stack = outside;
    close(node, turn);
    return after;
  }

  // Under the counter and the carried values the body finds the two numbers that it may not touch.
  void enter(Block* body, const std::vector<SsaValue*>& carried) {
    state_.stack.insert(state_.stack.end(), 2, nullptr);
    emitter_.push(body->add_input(types::integer()));
    for (const SsaValue* value : carried) emitter_.push(body->add_input(value->type()));
  }

  // The outcome of one turn is what the next one begins with.
  void close(Node* node, const Outcome& turn) {
    const size_t below = state_.stack.size() + 2, given = node->block(0)->inputs().size();
    if (turn.stack.size() != below + given) {
      emitter_.malformed("the stack differs between two turns of the loop");
    }
    if (!std::equal(state_.stack.begin(), state_.stack.end(), turn.stack.begin())) {
      throw Unstructured();
    }
    for (const auto& [reg, value] : turn.registers) {
      if (state_.at(reg) && state_.at(reg) != value) throw Unstructured();
    }
    for (size_t i = 0; i < given; ++i) {
      SsaValue* value = turn.stack[below + i];
      if (!value) throw Unstructured();
      turn.block->add_output(value);
      if (i == 0) continue;  // the condition
      SsaValue* parameter = turn.block->inputs()[i];
      parameter->set_type(either(parameter, value));
      emitter_.push(node->add_output(parameter->type()));
    }
  }

  InstructionEmitter& emitter_;
  script::Builder& builder_;
  State& state_;
  int depth_ = 0;
};

// Values that no run reads have the types of their uses, and go if they have none.
void finish_uninitialized(Block& block) {
  for (Node *node = block.first(), *next; node; node = next) {
    next = node->next();
    for (Block* inner : node->blocks()) finish_uninitialized(*inner);
    if (node->kind() != prim::kUninitialized) continue;
    if (node->output()->users().empty()) {
      node->destroy();
    } else if (node->output()->type()->is(TypeKind::kUnknown)) {
      node->output()->set_type(type_of_uses(*node->output()));
    }
  }
}

// The arguments are on the stack when the code begins.
void add_arguments(InstructionEmitter& emitter, const Schema& schema) {
  for (const Argument& argument : schema.arguments) {
    emitter.push(emitter.builder().graph().block()->add_input(argument.type, argument.name));
  }
}

template <typename Translator>
std::unique_ptr<Graph> translate_by(const BytecodeFunction& function, const Schema& schema,
                                    BytecodeProgram& program,
                                    const std::shared_ptr<const Source>& source) {
  auto graph = std::make_unique<Graph>();
  InstructionEmitter emitter(function, program, *graph, source);
  add_arguments(emitter, schema);
  Translator(emitter).run();
  emitter.builder().drop_unused_constants();
  finish_uninitialized(*graph->block());
  add_casts(*graph, schema);
  if (selection::kHasPlaces && program.debug())
    add_inlined_calls(*graph, function, *source, program);
  graph->verify();
  return graph;
}

}  // namespace

Schema schema_of(const BytecodeFunction& function, const TypePtr& self_type) {
  Schema schema;
  if (function.schema) {
    schema = *function.schema;
    if (schema.returns.size() != 1) {
      fail(ErrorCode::kFileFormat, "the bytecode is malformed: " + function.name.substr(0, 200) +
                                       " gives " + std::to_string(schema.returns.size()) +
                                       " results and not one");
    }
  } else {
    // The first instruction takes the arguments from the stack.
    const Instruction& first = function.instructions[0];
    const int64_t count = first.opcode == Opcode::kStoreN ? first.n : 1;
    for (int64_t i = 0; i < std::clamp<int64_t>(count, 1, kMaxStack); ++i) {
      Argument& argument = schema.arguments.emplace_back();
      argument.name = i == 0 ? "self" : "argument_" + std::to_string(i);
      argument.type = types::unknown();
    }
    schema.returns.emplace_back().type = types::unknown();
  }
  schema.name = function.name.substr(function.name.rfind('.') + 1);
  if (self_type && !schema.arguments.empty()) schema.arguments[0].type = self_type;
  return schema;
}

std::unique_ptr<Graph> translate(const BytecodeFunction& function, const Schema& schema,
                                 BytecodeProgram& program) {
  const std::shared_ptr<const Source> source = disassemble(function, program.debug());
  try {
    return translate_by<StructuredTranslator>(function, schema, program, source);
  } catch (const Unstructured&) {
    return translate_by<StateMachineTranslator>(function, schema, program, source);
  }
}

}  // namespace torchlet::lite
