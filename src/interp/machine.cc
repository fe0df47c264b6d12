#include "interp/machine.h"

#include <algorithm>
#include <new>

#include "base/error.h"
#include "base/limits.h"
#include "graph/event_sink.h"
#include "graph/module_path.h"
#include "graph/operator.h"
#include "graph/prim_kinds.h"
#include "graph/segment.h"
#include "interp/values.h"
#include "tensor/containers.h"
#include "tensor/tensor_impl.h"

namespace torchlet::interp {

Value* RegisterStack::push(size_t count) {
  constexpr size_t kChunk = 512;
  while (current_ < chunks_.size() && chunks_[current_].size - chunks_[current_].used < count) {
    ++current_;
  }
  if (current_ == chunks_.size()) {
    const size_t size = std::max(count, kChunk);
    chunks_.push_back({std::make_unique<Value[]>(size), size, 0});
  }
  Chunk& chunk = chunks_[current_];
  chunk.used += count;
  return chunk.values.get() + (chunk.used - count);
}

void RegisterStack::pop(size_t count) {
  // Chunks that were too small for a later push were skipped, so the latest is the last in use.
  while (current_ > 0 && chunks_[current_].used < std::max<size_t>(count, 1)) --current_;
  Chunk& chunk = chunks_[current_];
  chunk.used -= count;
  for (size_t i = 0; i < count; ++i) chunk.values[chunk.used + i] = Value();
}

void RegisterStack::trim() {
  constexpr size_t kKept = 4;
  if (chunks_.size() > kKept) chunks_.resize(kKept);
  current_ = 0;
}

Machine::~Machine() { reset(); }

void Machine::reset() {
  while (!frames_.empty()) pop_frame();
  handlers_.clear();
  result_ = Value();
  stack_.trim();
}

Value Machine::run(Function& function, const Code& code, std::span<Value> arguments) {
  enter(function, code, arguments);
  try {
    run_to_end();
  } catch (...) {
    reset();
    throw;
  }
  Value result = std::move(result_);
  reset();
  return result;
}

void Machine::run_to_end() {
  for (;;) {
    try {
      return execute();
    } catch (Error& error) {
      add_context(error);
      if (is_limit(error.code()) || !resume(error)) throw;
    } catch (const std::bad_alloc&) {
      Error error(ErrorCode::kOutOfMemory, "the program needs more memory than there is");
      add_context(error);
      if (!resume(error)) throw error;
    } catch (const std::exception& other) {  // std::length_error of a container and the like
      Error error(ErrorCode::kRuntime, other.what());
      add_context(error);
      if (!resume(error)) throw error;
    }
  }
}

void Machine::execute() {
  while (!frames_.empty()) {
    poll();
    Frame& frame = frames_.back();
    const Instruction& in = *frame.next++;
    switch (in.code) {
      case Opcode::kOperator:
        call_operator(in);
        break;
      case Opcode::kJump:
        frame.next = frame.code->instructions.data() + in.target;
        break;
      case Opcode::kJumpIfFalse:
        if (!take(frame.code->operands[in.first_input]).to_bool()) {
          frame.next = frame.code->instructions.data() + in.target;
        }
        break;
      case Opcode::kLoopTest:
        loop_test(in);
        break;
      case Opcode::kReturn:
        leave(in);
        break;
      case Opcode::kCall: {
        const Callee& callee = frame.code->callees[in.target];
        const Code* code = callee.code.load(std::memory_order_acquire);
        if (!code) {
          code = &interpreter_.code(*callee.function);
          callee.code.store(code, std::memory_order_release);
        }
        enter(*callee.function, *code, gather(in));
        break;
      }
      case Opcode::kCallMethod:
        call_method(in, in.node->string_attribute("name"), gather(in));
        break;
      case Opcode::kEnter: {
        const std::span<Value> object = gather(in);
        handlers_.push_back({frames_.size(), object[0]});
        call_method(in, "__enter__", object);
        break;
      }
      case Opcode::kExit:
        exit_with(in);
        break;
      case Opcode::kForkBegin:
        handlers_.push_back({frames_.size(), Value(), frame.code->instructions.data() + in.target,
                             frame.code->outputs[in.first_output]});
        break;
      case Opcode::kForkEnd: {
        handlers_.pop_back();
        auto future = make_ref<Future>();
        future->result = take(frame.code->operands[in.first_input]);
        store(frame.code->outputs[in.first_output], Value(std::move(future)));
        break;
      }
      case Opcode::kSegment:
        run_segment(in);
        break;
      default:
        plain(in);
    }
  }
}

namespace {

[[noreturn]] void unsupported(const Node& node) {
  fail(ErrorCode::kUnsupported, "the operator " + node.string_attribute("name") +
                                    " is not supported: " + node.string_attribute("reason") +
                                    " (`torchlet inspect` lists all that is missing)");
}

Value create_object(const TypePtr& type) {
  if (!type->is(TypeKind::kClass)) {
    fail(ErrorCode::kUnsupported, "cannot make an object of type %s", type->str().c_str());
  }
  // A C++ class whose objects need no state before __init__ makes one of None.
  if (const CustomClass* custom = find_custom_class(type->name()))
    return custom->set_state(Value());
  return Value(make_ref<Object>(std::static_pointer_cast<const ClassType>(type)));
}

const EnumValue& enum_of(const Value& value) {
  TORCHLET_CHECK(value.is_enum(), "expected an enum, got %s", value.kind_name());
  return value.enum_ref();
}

}  // namespace

void Machine::plain(const Instruction& in) {
  const Code& code = *frames_.back().code;
  switch (in.code) {
    case Opcode::kMove:
      store_all(in, gather(in));
      return;
    case Opcode::kDrop:
      for (Value& value : gather(in)) value = Value();
      return;
    case Opcode::kGetAttr:
      return get_attribute(in);
    case Opcode::kSetAttr:
      return set_attribute(in);
    default:
      break;
  }
  const std::span<Value> values = gather(in);
  const TypePtr* type = in.num_outputs ? &in.node->outputs()[0]->type() : nullptr;
  Value result;
  switch (in.code) {
    case Opcode::kUnsupported:
      unsupported(*in.node);
    case Opcode::kModuleContainerIndex:
      result = contained_module(values[0], values[1]);
      break;
    case Opcode::kCreateObject:
      result = create_object(*type);
      break;
    case Opcode::kListConstruct: {
      const TypePtr& element = (*type)->is(TypeKind::kList) ? (*type)->element(0) : types::any();
      result = make_list(element, std::vector<Value>(std::make_move_iterator(values.begin()),
                                                     std::make_move_iterator(values.end())));
      break;
    }
    case Opcode::kTupleConstruct:
      result = make_tuple(*type, values);
      break;
    case Opcode::kDictConstruct:
      result = make_dict(*type, values);
      break;
    case Opcode::kUnpack: {
      const std::span<const Value> items = unpacked(values[0], in.num_outputs);
      for (size_t i = 0; i < items.size(); ++i) store(code.outputs[in.first_output + i], items[i]);
      values[0] = Value();
      return;
    }
    case Opcode::kTupleIndex:
      result = tuple_item(values[0], values[1].to_int());
      break;
    case Opcode::kIsInstance: {
      const auto& candidates = in.node->type_attribute("types")->elements();
      result = std::ranges::any_of(candidates,
                                   [&](const TypePtr& t) { return is_instance(values[0], *t); });
      break;
    }
    case Opcode::kToList:
      result = tensor_to_list(values[0].to_tensor(), *type);
      break;
    case Opcode::kEnumName:
      result = enum_of(values[0]).name;
      break;
    case Opcode::kEnumValue:
      result = enum_of(values[0]).value;
      break;
    case Opcode::kRaise:
      raise(values[0], values.size() > 1 ? values[1] : Value());
    case Opcode::kPrint:
      interpreter_.print(printed(values));
      break;
    default:
      TORCHLET_ASSERT(false);
  }
  for (Value& value : values) value = Value();
  if (in.num_outputs) store(code.outputs[in.first_output], std::move(result));
}

// ---- registers ----

Value Machine::take(Operand operand) {
  const Frame& frame = frames_.back();
  if (operand.is_constant()) return frame.code->constants[operand.index()];
  Value& reg = frame.registers[operand.index()];
  return operand.is_moved() ? std::move(reg) : reg;
}

std::span<Value> Machine::gather(const Instruction& in) {
  const Frame& frame = frames_.back();
  for (uint32_t i = 0; i < in.num_inputs; ++i) {
    frame.scratch[i] = take(frame.code->operands[in.first_input + i]);
  }
  return {frame.scratch, in.num_inputs};
}

void Machine::store(uint32_t reg, Value value) {
  if (reg != kNoRegister) frames_.back().registers[reg] = std::move(value);
}

void Machine::store_all(const Instruction& in, std::span<Value> values) {
  const uint32_t* outputs = frames_.back().code->outputs.data() + in.first_output;
  for (uint32_t i = 0; i < in.num_outputs; ++i) {
    store(outputs[i], std::exchange(values[i], Value()));
  }
}

// ---- calls ----

void Machine::call_operator(const Instruction& in) {
  const std::span<Value> arguments = gather(in);
  const std::span<Value> results(arguments.data() + in.num_inputs, in.num_outputs);
  if (EventSink* sink = event_sink()) {
    const double begin = event_clock();
    in.op->call(arguments, results);
    const bool is_tensor = !results.empty() && results[0].is_tensor();
    sink->record({.kernel = in.op->name.c_str(),
                  .node = in.node,
                  .sizes = is_tensor ? IntSpan(results[0].tensor_impl()->sizes) : IntSpan(),
                  .begin = begin,
                  .end = event_clock()});
  } else {
    in.op->call(arguments, results);
  }
  for (Value& argument : arguments) argument = Value();
  store_all(in, results);
}

void Machine::run_segment(const Instruction& in) {
  const std::span<Value> inputs = gather(in);
  const std::span<Value> outputs(inputs.data() + in.num_inputs, in.num_outputs);
  const bool ran = in.node->segment()->run(inputs, outputs);
  for (Value& input : inputs) input = Value();
  if (!ran) return;
  store_all(in, outputs);
  Frame& frame = frames_.back();
  frame.next = frame.code->instructions.data() + in.target;
}

void Machine::enter(Function& function, const Code& code, std::span<Value> arguments) {
  if (frames_.size() >= kMaxCallDepth) {
    throw Error(ErrorCode::kRuntime, format("more than %zu calls within calls", kMaxCallDepth))
        .set_python_class("builtins.RecursionError");
  }
  if (arguments.size() != code.arguments.size()) {
    fail(ErrorCode::kInvalidArgument, "%s takes %zu arguments, got %zu",
         function.qualified_name().c_str(), code.arguments.size(), arguments.size());
  }
  // Far above what programs hold; a hostile one has many registers and calls itself.
  constexpr size_t kMaxRegisters = 2'000'000;
  const size_t count = code.num_registers + code.num_scratch;
  if (num_registers_ + count > kMaxRegisters) {
    throw Error(ErrorCode::kRuntime,
                format("calls within calls hold over %zu values", kMaxRegisters))
        .set_python_class("builtins.RecursionError");
  }
  num_registers_ += count;
  Value* registers = stack_.push(count);
  for (size_t i = 0; i < arguments.size(); ++i) {
    Value argument = std::exchange(arguments[i], Value());
    if (code.arguments[i] != kNoRegister) registers[code.arguments[i]] = std::move(argument);
  }
  frames_.push_back(
      {&function, &code, code.instructions.data(), registers, registers + code.num_registers});
}

void Machine::pop_frame() {
  while (!handlers_.empty() && handlers_.back().depth == frames_.size()) handlers_.pop_back();
  const Code& code = *frames_.back().code;
  frames_.pop_back();
  num_registers_ -= code.num_registers + code.num_scratch;
  stack_.pop(code.num_registers + code.num_scratch);
}

void Machine::leave(const Instruction& in) {
  TORCHLET_ASSERT(in.num_inputs <= 1);
  Value result;
  if (in.num_inputs) result = take(frames_.back().code->operands[in.first_input]);
  pop_frame();
  if (frames_.empty()) {
    result_ = std::move(result);
    return;
  }
  const Frame& caller = frames_.back();
  const Instruction& call = caller.next[-1];
  if (call.num_outputs) store(caller.code->outputs[call.first_output], std::move(result));
}

namespace {

// The arguments with the defaults of those that were left out.
std::vector<Value> completed(std::span<Value> given, const Schema& schema) {
  std::vector<Value> all(std::make_move_iterator(given.begin()),
                         std::make_move_iterator(given.end()));
  for (size_t i = all.size(); i < schema.arguments.size(); ++i) {
    const Argument& argument = schema.arguments[i];
    if (!argument.default_value) {
      fail(ErrorCode::kInvalidArgument, "%s() is missing its argument '%s'", schema.name.c_str(),
           argument.name.c_str());
    }
    all.push_back(*argument.default_value);
  }
  return all;
}

}  // namespace

void Machine::call_method(const Instruction& in, std::string_view name,
                          std::span<Value> arguments) {
  const Value& self = arguments[0];
  if (self.is_custom()) return call_custom(in, name, arguments);
  Function* method = self.is_object() ? self.object_ref().type->find_method(name) : nullptr;
  if (!method) {
    fail(ErrorCode::kNotFound, "%s has no method '%s'",
         self.is_object() ? self.object_ref().type->name().c_str() : self.kind_name(),
         std::string(name).c_str());
  }
  const Code& code = interpreter_.code(*method);
  if (arguments.size() >= code.arguments.size()) return enter(*method, code, arguments);
  std::vector<Value> all = completed(arguments, method->schema());
  enter(*method, code, all);
}

void Machine::call_custom(const Instruction& in, std::string_view name,
                          std::span<Value> arguments) {
  const std::string class_name(arguments[0].custom_ref().class_name());
  const CustomClass* found = find_custom_class(class_name);
  const std::span<const CustomMethod> methods =
      found ? std::span(found->methods) : std::span<const CustomMethod>();
  for (const CustomMethod& method : methods) {
    if (method.schema.name != name) continue;
    const Operator op{Symbol(class_name + "::" + std::string(name)), method.schema, method.fn,
                      nullptr, method.typed};
    std::vector<Value> all = completed(arguments, method.schema);
    std::vector<Value> results(method.schema.returns.size());
    op.call(all, results);
    if (in.num_outputs == 0) return;
    const uint32_t output = frames_.back().code->outputs[in.first_output];
    if (results.size() > 1) {
      store(output, Value::tuple(std::move(results)));
    } else {
      store(output, results.empty() ? Value() : std::move(results[0]));
    }
    return;
  }
  fail(ErrorCode::kUnsupported, "Torchlet does not have the method '%s' of %s",
       std::string(name).c_str(), class_name.c_str());
}

// ---- control flow and objects ----

void Machine::loop_test(const Instruction& in) {
  Frame& frame = frames_.back();
  const uint32_t* state = frame.code->outputs.data() + in.first_output;
  const int64_t trip = frame.registers[state[0]].raw_int();
  if (trip >= frame.registers[state[1]].to_int() || !frame.registers[state[2]].to_bool()) {
    frame.next = frame.code->instructions.data() + in.target;
    return;
  }
  store(state[3], Value(trip));
  frame.registers[state[0]] = Value(trip + 1);
}

namespace {

Object& object_of(const Value& value, const std::string& attribute) {
  if (!value.is_object()) {
    fail(ErrorCode::kRuntime, "%s has no attribute '%s'", value.kind_name(), attribute.c_str());
  }
  return value.object_ref();
}

}  // namespace

void Machine::get_attribute(const Instruction& in) {
  const Code& code = *frames_.back().code;
  const AttributeSlot& attribute = code.attributes[in.target];
  const Value holder = take(code.operands[in.first_input]);
  const Object& object = object_of(holder, *attribute.name);
  // A file may hold an object of another class than its program says, so the class is compared.
  const bool known = object.type.get() == attribute.type && attribute.slot < object.slots.size();
  store(code.outputs[in.first_output],
        known ? object.slots[attribute.slot] : object.attribute(*attribute.name));
}

void Machine::set_attribute(const Instruction& in) {
  const Code& code = *frames_.back().code;
  const std::string& name = *code.attributes[in.target].name;
  const Value holder = take(code.operands[in.first_input]);
  object_of(holder, name).set_attribute(name, take(code.operands[in.first_input + 1]));
}

void Machine::exit_with(const Instruction& in) {
  Value arguments[4] = {take(frames_.back().code->operands[in.first_input])};
  handlers_.pop_back();
  call_method(in, "__exit__", arguments);
}

// ---- errors ----

bool Machine::resume(const Error& error) {
  while (!handlers_.empty()) {
    Handler handler = std::move(handlers_.back());
    handlers_.pop_back();
    while (frames_.size() > handler.depth) pop_frame();
    if (handler.resume) {
      auto future = make_ref<Future>();
      future->error = std::make_shared<const Error>(error);
      store(handler.future, Value(std::move(future)));
      frames_.back().next = handler.resume;
      return true;
    }
    try {
      interpreter_.run_method(handler.left, "__exit__", {Value(), Value(), Value()});
    } catch (const Error&) {
      // The first error is the one to tell.
    }
  }
  return false;
}

namespace {

// The calls that led to the node and were inlined, the outermost first.
std::vector<const InlinedCall*> inlined_calls(const Node* node) {
  std::vector<const InlinedCall*> calls;
  const InlinedCall* call = node ? node->inlined_call().get() : nullptr;
  for (; call; call = call->caller.get()) calls.push_back(call);
  std::ranges::reverse(calls);
  return calls;
}

}  // namespace

void Machine::add_context(Error& error) const {
  constexpr size_t kShown = 12;  // of the innermost frames, and as many of the outermost
  std::vector<std::string> places;
  std::string path;
  // A frame, or one that would be there if its call had not been inlined.
  auto add_place = [&](const SourceRange& range, const Function& function, const char* op) {
    std::string place = "in " + (range.empty() ? function.qualified_name() : range.where());
    if (!path.empty()) place += ", in " + path;
    if (op) place += format(" (%s)", op);
    places.push_back(std::move(place));
  };
  auto go_down = [&](const std::string& step) {
    if (!step.empty()) path += path.empty() ? step : "." + step;
  };
  for (const Frame& frame : frames_) {
    const Node* node =
        frame.next == frame.code->instructions.data() ? nullptr : frame.next[-1].node;
    const Function* function = frame.function;
    for (const InlinedCall* call : inlined_calls(node)) {
      add_place(call->range, *function, nullptr);
      go_down(call->module_path);
      function = call->callee;
    }
    const bool innermost = &frame == &frames_.back();
    add_place(node ? node->range() : SourceRange(), *function,
              innermost && node && node->op() ? node->kind().c_str() : nullptr);
    if (node && node->kind() == prim::kCallMethod) go_down(module_path(*node));
  }
  for (size_t i = places.size(); i-- > 0;) {
    const size_t from_inside = places.size() - 1 - i;
    if (from_inside == kShown && i > kShown) {
      error.add_context(format("... %zu more calls", i - kShown));
      i = kShown;
      continue;
    }
    error.add_context(std::move(places[i]));
  }
}

}  // namespace torchlet::interp
