#include "lite/instruction_emitter.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

#include "base/error.h"
#include "graph/operator.h"
#include "graph/prim_kinds.h"
#include "lite/program.h"
#include "script/overload.h"
#include "tensor/containers.h"

namespace torchlet::lite {
namespace {

// The class of an object, or of what is not None of an Optional one.
const ClassType* class_of(const Type& type) {
  return type.is(TypeKind::kOptional) ? class_of(*type.element(0)) : type.as_class();
}

TypePtr element_type(const Type& list) {
  return list.is(TypeKind::kList) ? list.element(0) : types::unknown();
}

std::vector<TypePtr> types_of(const std::vector<SsaValue*>& values) {
  std::vector<TypePtr> types;
  for (const SsaValue* value : values) types.push_back(value->type());
  return types;
}

bool is_out(const Argument& argument) { return argument.keyword_only && argument.is_written; }

}  // namespace

State::Changes State::take_back(size_t mark) {
  Changes changes;
  while (log_.size() > mark) {
    const auto [reg, before] = log_.back();
    changes.try_emplace(reg, registers_[reg]);
    registers_[reg] = before;
    log_.pop_back();
  }
  return changes;
}

InstructionEmitter::InstructionEmitter(const BytecodeFunction& function, BytecodeProgram& program,
                                       Graph& graph, std::shared_ptr<const Source> source)
    : function_(function),
      program_(program),
      builder_(program.unit(), graph, source),
      state_(static_cast<size_t>(function.register_size) + 1) {
  uint32_t begin = 0;
  while (begin < source->text.size()) {
    const auto end = static_cast<uint32_t>(source->text.find('\n', begin));
    spans_.push_back({begin, end});
    begin = end + 1;
  }
}

void InstructionEmitter::malformed(const std::string& what) const {
  script::fail_at(*builder_.source(), spans_[at_], "the bytecode is malformed: " + what);
}

void InstructionEmitter::set_place(size_t at) {
  at_ = at;
  builder_.set_span(spans_[at]);
}

size_t InstructionEmitter::target(size_t at) const {
  const int64_t offset = code()[at].x;
  const auto from = static_cast<int64_t>(at), size = static_cast<int64_t>(code().size());
  if (offset < -from || offset >= size - from) malformed("the jump leaves the code");
  return static_cast<size_t>(from + offset);
}

// ---- stack, registers and tables ----

Node* InstructionEmitter::add_node(Symbol kind, std::vector<SsaValue*> inputs) {
  const std::vector<Argument>& formal = prim::schema_of(kind).arguments;
  for (size_t i = 0; i < std::min(inputs.size(), formal.size()); ++i) {
    if (prim::fits(*inputs[i]->type(), *formal[i].type)) continue;
    inputs[i] = builder_.value(prim::kUncheckedCast, {inputs[i]}, formal[i].type);
  }
  return builder_.node(kind, std::move(inputs));
}

SsaValue* InstructionEmitter::pop() { return pop_many(1)[0]; }

std::vector<SsaValue*> InstructionEmitter::pop_many(int64_t count) {
  std::vector<SsaValue*>& stack = state_.stack;
  if (count < 0 || count > static_cast<int64_t>(stack.size())) {
    malformed("the stack holds too few values");
  }
  std::vector<SsaValue*> values(stack.end() - count, stack.end());
  stack.resize(stack.size() - values.size());
  if (std::ranges::count(values, nullptr)) throw Unstructured();
  return values;
}

template <typename T>
const T& InstructionEmitter::entry(const std::vector<T>& table, int64_t index,
                                   const char* what) const {
  if (index < 0 || index >= static_cast<int64_t>(table.size())) {
    malformed("there is no " + std::string(what) + " " + std::to_string(index));
  }
  return table[static_cast<size_t>(index)];
}

const TypePtr& InstructionEmitter::type(int64_t index) const {
  return entry(function_.types, index, "type");
}

const TypePtr& InstructionEmitter::type(int64_t index, TypeKind kind) const {
  const TypePtr& found = type(index);
  if (!found->is(kind)) malformed("the type " + std::to_string(index) + " is of another kind");
  return found;
}

size_t InstructionEmitter::register_index(int64_t index) const {
  if (index < 1 || index >= static_cast<int64_t>(state_.num_registers())) {
    malformed("there is no register " + std::to_string(index));
  }
  return static_cast<size_t>(index);
}

SsaValue* InstructionEmitter::read(int64_t reg) const {
  SsaValue* value = state_.at(register_index(reg));
  if (!value) throw Unstructured();
  return value;
}

// ---- instructions ----

void InstructionEmitter::emit(size_t at) {
  set_place(at);
  const Instruction& in = code()[at];
  switch (in.opcode) {
    case Opcode::kOp:
    case Opcode::kOpN:
      return call(in);
    case Opcode::kLoad:
      return push(read(in.x));
    case Opcode::kMove:
      push(read(in.x));
      return state_.set(register_index(in.x), nullptr);
    case Opcode::kStore:
      return state_.set(register_index(in.x), pop());
    case Opcode::kStoreN:
      return store_many(in);
    case Opcode::kDrop:
      pop();
      return;
    case Opcode::kDropR:
      return state_.set(register_index(in.x), nullptr);
    case Opcode::kLoadC:
      return push(builder_.constant(entry(function_.constants, in.x, "constant")));
    case Opcode::kInterfaceCall:
      return call_interface(in);
    case Opcode::kCall:
      return call_upgrader(in.x);
    case Opcode::kGetAttr:
      return get_attribute(in.x);
    case Opcode::kSetAttr:
      return set_attribute(in.x);
    case Opcode::kListUnpack:
      return list_unpack(in.x);
    case Opcode::kTupleConstruct: {
      std::vector<SsaValue*> items = pop_many(in.x);
      TypePtr tuple = types::tuple(types_of(items));
      return push(builder_.value(prim::kTupleConstruct, std::move(items), std::move(tuple)));
    }
    case Opcode::kNamedTupleConstruct:
      return named_tuple(in);
    case Opcode::kListConstruct:
      return push(
          builder_.value(prim::kListConstruct, pop_many(in.n), type(in.x, TypeKind::kList)));
    case Opcode::kDictConstruct:
      if (in.n % 2 != 0) malformed("a key has no value");
      return push(
          builder_.value(prim::kDictConstruct, pop_many(in.n), type(in.x, TypeKind::kDict)));
    case Opcode::kCreateObject:
      return push(builder_.value(prim::kCreateObject, {}, type(in.x, TypeKind::kClass)));
    case Opcode::kIsInstance:
      return is_instance(in);
    case Opcode::kTupleSlice:
      return tuple_slice(in);
    case Opcode::kTupleIndex:
      return tuple_index();
    case Opcode::kDictIndex:
      return dict_index();
    case Opcode::kUncheckedCast:
      return unchecked_cast();
    case Opcode::kRaiseException:
      return raise(2);
    case Opcode::kToList:
      return to_list();
    case Opcode::kUnInitialized:
      return push(builder_.value(prim::kUninitialized, {}, types::unknown()));
    case Opcode::kWait:
      return call_promoted("aten::wait", 1);
    case Opcode::kIs:
      return call_promoted("aten::__is__", 2);
    case Opcode::kIsNot:
      return call_promoted("aten::__isnot__", 2);
    case Opcode::kNot:
      return call_promoted("aten::__not__", 1);
    case Opcode::kFormat:
      return call_promoted("aten::format", in.x);
    case Opcode::kDevice:
      return call_promoted("prim::device", 1);
    case Opcode::kDType:
      return call_promoted("prim::dtype", 1);
    case Opcode::kDim:
      return call_promoted("aten::dim", 1);
    case Opcode::kNumToTensor:
      return call_promoted("prim::NumToTensor", 1);
    case Opcode::kIsCuda:
      return call_promoted("prim::is_cuda", 1);
    case Opcode::kWarn:
      return call_promoted("aten::warn", 2);
    default:
      malformed("this instruction does not occur in files of the Lite Interpreter");
  }
}

void InstructionEmitter::store_many(const Instruction& in) {
  const std::vector<SsaValue*> values = pop_many(in.n);
  for (size_t i = 0; i < values.size(); ++i) {
    state_.set(register_index(in.x + static_cast<int64_t>(i)), values[i]);
  }
}

// ---- objects ----

void InstructionEmitter::get_attribute(int64_t slot) {
  SsaValue* object = pop();
  const ClassType* holder = class_of(*object->type());
  if (!holder) malformed("the class of the object is not known");
  const ClassType::Attribute& attribute = program_.attribute(*holder, slot);
  Node* node = builder_.node(prim::kGetAttr, {object});
  node->set_attribute("name", attribute.name);
  push(node->add_output(attribute.type));
}

void InstructionEmitter::set_attribute(int64_t slot) {
  const std::vector<SsaValue*> given = pop_many(2);
  const ClassType* holder = class_of(*given[0]->type());
  if (!holder) malformed("the class of the object is not known");
  const std::string& name = program_.attribute(*holder, slot).name;
  program_.widen_attribute(*holder, slot, given[1]->type());
  builder_.node(prim::kSetAttr, given)->set_attribute("name", name);
}

void InstructionEmitter::call_interface(const Instruction& in) {
  const Value& name = entry(function_.constants, in.x, "constant");
  if (!name.is_string()) malformed("the method's name is no str");
  if (in.n < 1) malformed("a method is called without its object");
  std::vector<SsaValue*> inputs = pop_many(in.n);
  Node* node = builder_.node(prim::kCallMethod, std::move(inputs));
  node->set_attribute("name", name.to_string());
  push(node->add_output(types::unknown()));
}

// ---- containers ----

void InstructionEmitter::list_unpack(int64_t count) {
  SsaValue* list = pop();
  if (count < 0 || count > kMaxStack) malformed("a count is out of range");
  Node* node = builder_.node(prim::kListUnpack, {list});
  for (int64_t i = 0; i < count; ++i) push(node->add_output(element_type(*list->type())));
}

void InstructionEmitter::named_tuple(const Instruction& in) {
  const TypePtr& tuple = type(in.x, TypeKind::kTuple);
  if (static_cast<int64_t>(tuple->elements().size()) != in.n) {
    malformed("a NamedTuple has other fields");
  }
  push(builder_.value(prim::kTupleConstruct, pop_many(in.n), tuple));
}

void InstructionEmitter::tuple_index() {
  const std::vector<SsaValue*> given = pop_many(2);
  const Value* index = script::Builder::constant_value(given[1]);
  const Type& tuple = *given[0]->type();
  TypePtr item = types::unknown();
  if (index && index->is_int() && tuple.is(TypeKind::kTuple)) {
    const auto size = static_cast<int64_t>(tuple.elements().size());
    const int64_t i = index->to_int() < 0 ? index->to_int() + size : index->to_int();
    if (i >= 0 && i < size) item = tuple.element(static_cast<size_t>(i));
  }
  push(add_node(prim::kTupleIndex, given)->add_output(std::move(item)));
}

void InstructionEmitter::tuple_slice(const Instruction& in) {
  if (in.n < 0 || in.n > kMaxStack) malformed("a count is out of range");
  SsaValue* tuple = pop();
  for (int64_t i = 0; i < in.n; ++i) {
    push(tuple);
    push(builder_.integer(in.x + i));
    tuple_index();
  }
  std::vector<SsaValue*> items = pop_many(in.n);
  TypePtr type = types::tuple(types_of(items));
  push(builder_.value(prim::kTupleConstruct, std::move(items), std::move(type)));
}

void InstructionEmitter::dict_index() {
  // The overloads differ in the type of the key alone.
  const SsaValue* key = state_.stack.empty() ? nullptr : state_.stack.back();
  for (const Operator* op : find_operators(Symbol("aten::__getitem__"))) {
    const std::vector<Argument>& formal = op->schema.arguments;
    if (!op->schema.overload.starts_with("Dict") || !key) continue;
    if (is_subtype(*key->type(), *formal[1].type)) return call_operator(*op, pop_many(2));
  }
  malformed("the dict has no keys of such a type");
}

void InstructionEmitter::is_instance(const Instruction& in) {
  std::vector<TypePtr> candidates;
  for (int64_t i = 0; i < in.n; ++i) candidates.push_back(type(in.x + i));
  Node* node = builder_.node(prim::kIsInstance, {pop()});
  node->set_attribute("types", types::tuple(std::move(candidates)));
  push(node->add_output(types::boolean()));
}

// The instruction does not say to what; that the value is not None is what it is mostly for.
void InstructionEmitter::unchecked_cast() {
  SsaValue* value = pop();
  if (!value->type()->is(TypeKind::kOptional)) return push(value);
  push(builder_.value(prim::kUncheckedCast, {value}, value->type()->element(0)));
}

// (tensor, dimensions, kind of the elements): toList in
// torch/csrc/jit/mobile/promoted_prim_ops.cpp.
void InstructionEmitter::to_list() {
  const std::vector<SsaValue*> given = pop_many(3);
  const Value* depth = script::Builder::constant_value(given[1]);
  const Value* kind = script::Builder::constant_value(given[2]);
  if (!depth || !depth->is_int() || !kind || !kind->is_int()) {
    malformed("the type of the list is not known");
  }
  const TypePtr elements[] = {types::integer(), types::floating(), types::boolean(),
                              types::complex()};
  if (kind->to_int() < 0 || kind->to_int() > 3 || depth->to_int() < 0 || depth->to_int() > 64) {
    malformed("there is no such list");
  }
  TypePtr type = elements[kind->to_int()];
  for (int64_t i = 0; i < depth->to_int(); ++i) type = types::list(std::move(type));
  push(add_node(prim::kToList, {given[0]})->add_output(std::move(type)));
}

// (message, class), of which old files give the message alone.
void InstructionEmitter::raise(int64_t num_arguments) {
  std::vector<SsaValue*> given = pop_many(num_arguments);
  if (given.size() == 1) given.push_back(builder_.none());
  add_node(prim::kRaiseException, std::move(given));
}

// Files count the message alone, whether they give a class or not. That is None, or the name of a
// Python class.
int64_t InstructionEmitter::arguments_of_raise() const {
  const std::vector<SsaValue*>& stack = state_.stack;
  const Value* last =
      stack.empty() || !stack.back() ? nullptr : script::Builder::constant_value(stack.back());
  if (!last || stack.size() < 2) return 1;
  const bool is_class =
      last->is_none() || (last->is_string() && last->to_string().find(' ') == std::string::npos &&
                          last->to_string().find('.') != std::string::npos);
  return is_class ? 2 : 1;
}

// ---- operators ----

void InstructionEmitter::call(const Instruction& in) {
  const OperatorName& name = entry(function_.operators, in.x, "operator");
  const std::optional<int64_t> given = in.opcode == Opcode::kOpN ? in.n : name.num_args;
  if (call_kind(name, given)) return;
  const Operator* op = find_operator(name.name, name.overload);
  if (!op) return call_missing(name, given);
  if (op->schema.is_vararg) {
    return call_operator(*op, pop_many(given.value_or(0)));
  }
  if (const script::Upgrader* old = upgrader_of(*op)) return call_upgrader(*old, given);
  call_operator(*op, arguments(op->schema, given));
}

const script::Upgrader* InstructionEmitter::upgrader_of(const Operator& op) const {
  return script::find_upgrader(op.schema, program_.unit().program().operator_version);
}

void InstructionEmitter::call_upgrader(const script::Upgrader& old, std::optional<int64_t> given) {
  const Schema& schema = old.old_schema();
  Node* node = builder_.node(prim::kCallFunction, arguments(schema, given));
  node->set_attribute("function", old.function());
  push(node->add_output(schema.returns.at(0).type));
}

// A file that was loaded and saved again has calls of PyTorch's upgraders in place of operators. It
// numbers them by a list that differs between releases, but is always sorted by their names
// (torch/csrc/jit/mobile/upgrader_mobile.cpp), and the operators still stand in the table.
void InstructionEmitter::call_upgrader(int64_t index) {
  std::set<int64_t> indices, in_use;
  for (const Instruction& in : code()) {
    if (in.opcode == Opcode::kCall) indices.insert(in.x);
    if (in.opcode == Opcode::kOp) in_use.insert(in.x);
  }
  std::map<std::string_view, const script::Upgrader*> upgraders;
  for (size_t i = 0; i < function_.operators.size(); ++i) {
    const OperatorName& name = function_.operators[i];
    const Operator* op = find_operator(name.name, name.overload);
    const script::Upgrader* old = op ? upgrader_of(*op) : nullptr;
    if (old && !in_use.contains(static_cast<int64_t>(i))) upgraders.emplace(old->body_name, old);
  }
  if (upgraders.size() != indices.size()) malformed("a function is called that the file lacks");
  const auto place = std::distance(indices.begin(), indices.find(index));
  call_upgrader(*std::next(upgraders.begin(), place)->second, std::nullopt);
}

std::vector<SsaValue*> InstructionEmitter::arguments(const Schema& schema,
                                                     std::optional<int64_t> count) {
  const auto declared = static_cast<int64_t>(schema.arguments.size());
  const int64_t given = count.value_or(declared);
  const int64_t outs = std::ranges::count_if(schema.arguments, is_out);
  if (given < outs || given > declared) {
    malformed(schema.full_name() + " does not take " + std::to_string(given) + " arguments");
  }
  // out= arguments come last, and those that are left out before them.
  std::vector<SsaValue*> inputs = pop_many(given);
  std::vector<SsaValue*> defaults;
  for (int64_t i = given - outs; i < declared - outs; ++i) {
    const Argument& formal = schema.arguments[static_cast<size_t>(i)];
    if (!formal.default_value) {
      malformed(schema.full_name() + " needs the argument '" + formal.name + "'");
    }
    const Value& value = *formal.default_value;
    defaults.push_back(value.is_none() ? builder_.constant(value, formal.type)
                                       : builder_.constant(value));
  }
  inputs.insert(inputs.end() - outs, defaults.begin(), defaults.end());
  return inputs;
}

void InstructionEmitter::call_operator(const Operator& op, std::vector<SsaValue*> inputs) {
  const std::vector<TypePtr> results = script::return_types(op.schema, types_of(inputs));
  Node* node = builder_.node(op.name, std::move(inputs));
  node->set_op(&op);
  for (const TypePtr& type : results) push(node->add_output(type));
}

void InstructionEmitter::call_promoted(const char* name, int64_t given) {
  const std::span<const Operator* const> found = find_operators(Symbol(name));
  if (found.empty()) {
    fail(ErrorCode::kUnsupported,
         "this libtorchlet was built without %s, which the model calls (TORCHLET_OPERATORS)", name);
  }
  const Operator& op = *found[0];
  std::vector<SsaValue*> inputs = pop_many(given);
  if (!op.schema.is_vararg && inputs.size() != op.schema.arguments.size()) {
    malformed("the wrong number of arguments");
  }
  call_operator(op, std::move(inputs));
}

// Some names are kinds of nodes here, and were operators before PyTorch gave them instructions.
bool InstructionEmitter::call_kind(const OperatorName& name, std::optional<int64_t> given) {
  const Symbol kind(name.name);
  if (kind == prim::kTupleUnpack) {
    tuple_unpack();
  } else if (kind == prim::kTupleIndex) {
    tuple_index();
  } else if (kind == prim::kUncheckedCast) {
    unchecked_cast();
  } else if (kind == prim::kToList) {
    to_list();
  } else if (kind == prim::kUninitialized) {
    push(builder_.value(kind, {}, types::unknown()));
  } else if (kind == prim::kRaiseException) {
    raise(given == 2 ? 2 : arguments_of_raise());
  } else if (kind == prim::kModuleContainerIndex) {
    push(add_node(kind, pop_many(2))->add_output(types::unknown()));
  } else if (kind == prim::kPrint) {
    builder_.node(kind, pop_many(given.value_or(0)));
  } else if (kind == prim::kEnumName || kind == prim::kEnumValue) {
    const TypePtr type = kind == prim::kEnumName ? types::string() : types::unknown();
    push(add_node(kind, {pop()})->add_output(type));
  } else {
    return false;
  }
  return true;
}

// How many values it gives follows from the type of the tuple, or else from the STOREN behind it.
void InstructionEmitter::tuple_unpack() {
  SsaValue* tuple = pop();
  std::vector<TypePtr> items;
  if (tuple->type()->is(TypeKind::kTuple)) {
    items = tuple->type()->elements();
  } else {
    const Instruction* next = at_ + 1 < code().size() ? &code()[at_ + 1] : nullptr;
    const int64_t count = next && next->opcode == Opcode::kStoreN ? next->n : 1;
    if (count < 0 || count > kMaxStack) malformed("a count is out of range");
    items.assign(static_cast<size_t>(count), types::unknown());
  }
  Node* node = builder_.node(prim::kTupleUnpack, {tuple});
  for (const TypePtr& type : items) push(node->add_output(type));
}

void InstructionEmitter::call_missing(const OperatorName& name, std::optional<int64_t> given) {
  if (!given) {
    fail(
        ErrorCode::kUnsupported,
        "the model uses the operator " + name.name.substr(0, 100) + "." +
            name.overload.substr(0, 100) +
            ", which Torchlet does not have, and its bytecode is too old to tell how it is called");
  }
  Node* node = builder_.node(prim::kUnsupported, pop_many(*given));
  node->set_attribute("name", name.name);
  node->set_attribute("reason", "there is no overload '" + name.overload + "'");
  push(node->add_output(types::unknown()));
}

}  // namespace torchlet::lite
