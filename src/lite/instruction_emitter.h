// Turns plain instructions of bytecode into nodes: what lies on the stack and in registers while
// the code runs is followed as values of the graph.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "lite/bytecode.h"
#include "script/builder.h"
#include "script/upgraders.h"

namespace torchlet::lite {

class BytecodeProgram;

// The stack and the registers at a place of the code. Null: nothing that could be read there.
class State {
 public:
  explicit State(size_t num_registers) : registers_(num_registers) {}

  std::vector<SsaValue*> stack;

  size_t num_registers() const { return registers_.size(); }
  SsaValue* at(size_t reg) const { return registers_[reg]; }
  void set(size_t reg, SsaValue* value) {
    log_.emplace_back(reg, registers_[reg]);
    registers_[reg] = value;
  }

  // What became of the registers that were set since mark(), and puts back what they held.
  using Changes = std::unordered_map<size_t, SsaValue*>;
  size_t mark() const { return log_.size(); }
  Changes take_back(size_t mark);

 private:
  std::vector<SsaValue*> registers_;
  std::vector<std::pair<size_t, SsaValue*>> log_;  // (register, what it held before)
};

// Thrown where a value is asked for that is not known to be there: control flow has no structured
// form.
struct Unstructured {};

class InstructionEmitter {
 public:
  // `source`: a line for each instruction (disassemble).
  InstructionEmitter(const BytecodeFunction& function, BytecodeProgram& program, Graph& graph,
                     std::shared_ptr<const Source> source);

  State& state() { return state_; }
  script::Builder& builder() { return builder_; }
  const std::vector<Instruction>& code() const { return function_.instructions; }

  // The place that nodes and errors from now on come from.
  void set_place(size_t at);
  // The instruction at the place, which is no jump, LOOP or RET.
  void emit(size_t at);
  // Where a jump at the place leads. Error kFileFormat if it leaves the code.
  size_t target(size_t at) const;

  // A node whose inputs are taken for what its kind asks for: the types of bytecode are guesses.
  Node* add_node(Symbol kind, std::vector<SsaValue*> inputs);
  SsaValue* pop();
  // The last `count` of the stack, in order.
  std::vector<SsaValue*> pop_many(int64_t count);
  void push(SsaValue* value) { state_.stack.push_back(value); }
  [[noreturn]] void malformed(const std::string& what) const;

 private:
  template <typename T>
  const T& entry(const std::vector<T>& table, int64_t index, const char* what) const;
  const TypePtr& type(int64_t index) const;
  const TypePtr& type(int64_t index, TypeKind kind) const;
  size_t register_index(int64_t index) const;
  SsaValue* read(int64_t reg) const;

  void store_many(const Instruction& in);
  void get_attribute(int64_t slot);
  void set_attribute(int64_t slot);
  void call_interface(const Instruction& in);
  void list_unpack(int64_t count);
  void named_tuple(const Instruction& in);
  void tuple_index();
  void tuple_slice(const Instruction& in);
  void dict_index();
  void is_instance(const Instruction& in);
  void unchecked_cast();
  void to_list();
  void raise(int64_t num_arguments);
  int64_t arguments_of_raise() const;

  void call(const Instruction& in);
  bool call_kind(const OperatorName& name, std::optional<int64_t> given);
  void tuple_unpack();
  void call_missing(const OperatorName& name, std::optional<int64_t> given);
  const script::Upgrader* upgrader_of(const Operator& op) const;
  void call_upgrader(const script::Upgrader& old, std::optional<int64_t> given);
  void call_upgrader(int64_t index);
  // `count` arguments of the schema are on the stack, or all; those that are left out have
  // defaults.
  std::vector<SsaValue*> arguments(const Schema& schema, std::optional<int64_t> count);
  void call_operator(const Operator& op, std::vector<SsaValue*> inputs);
  // The operator of an instruction that PyTorch made of it: its first overload.
  void call_promoted(const char* name, int64_t given);

  const BytecodeFunction& function_;
  BytecodeProgram& program_;
  script::Builder builder_;
  State state_;
  size_t at_ = 0;
  std::vector<script::Span> spans_;  // of instructions in the source
};

}  // namespace torchlet::lite
