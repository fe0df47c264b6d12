// What the interpreter runs: a Graph flattened once into instructions over a file of registers.
//
// A value lives in one register from its definition to its last use, which moves it out, so that a
// tensor's memory is free for the next operator; registers are used again as soon as they are free.
// Constants are no instructions: an operand names them directly.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "graph/function.h"
#include "graph/graph.h"

namespace torchlet::interp {

enum class Opcode : uint8_t {
  kMove,         // outputs = inputs, all at once
  kDrop,         // the inputs are moved out and gone
  kOperator,     // outputs = op(inputs)
  kUnsupported,  // throws: there is no such operator
  kJump,         // to target
  kJumpIfFalse,  // to target unless inputs[0]
  kLoopTest,     // outputs: trip, most, again, then the block's trip parameter (or kNoRegister)
  kReturn,       // gives inputs to the caller
  kCall,         // outputs = callee(inputs)
  kCallMethod,   // outputs = inputs[0].name(inputs[1:]), looked up in the object
  kForkBegin,    // what is raised until kForkEnd goes into a Future, outputs[0]; then on to target
  kForkEnd,      // outputs[0] = Future(inputs[0])
  kSegment,      // outputs = segment(inputs), then on to target; if it refuses, just goes on
  kGetAttr,
  kSetAttr,
  kModuleContainerIndex,
  kCreateObject,
  kListConstruct,
  kTupleConstruct,
  kDictConstruct,
  kUnpack,  // of a list or a tuple
  kTupleIndex,
  kIsInstance,
  kToList,
  kEnumName,
  kEnumValue,
  kEnter,  // outputs[0] = inputs[0].__enter__(), and the object will be left when something throws
  kExit,   // inputs[0].__exit__(None, None, None)
  kRaise,
  kPrint,
};

inline constexpr uint32_t kNoRegister = ~uint32_t{0};

// An index into the constants or the registers; the last use of a register moves.
class Operand {
 public:
  static Operand constant(uint32_t index) { return Operand(index | kConstant); }
  static Operand copied(uint32_t reg) { return Operand(reg); }
  static Operand moved(uint32_t reg) { return Operand(reg | kMoved); }
  bool is_constant() const { return bits_ & kConstant; }
  bool is_moved() const { return bits_ & kMoved; }
  uint32_t index() const { return bits_ & ~(kConstant | kMoved); }

 private:
  static constexpr uint32_t kConstant = 1u << 31, kMoved = 1u << 30;
  explicit Operand(uint32_t bits) : bits_(bits) {}
  uint32_t bits_;
};

struct Instruction {
  Opcode code;
  uint32_t first_input = 0, num_inputs = 0;    // in Code::operands
  uint32_t first_output = 0, num_outputs = 0;  // in Code::outputs
  uint32_t target = 0;  // of a jump: an instruction; else an index into attributes or callees
  const Operator* op = nullptr;  // kOperator
  const Node* node = nullptr;    // where it comes from
};

// An attribute by name, with its place in the class that the compiler saw.
struct AttributeSlot {
  const std::string* name;
  const ClassType* type;  // null if not known before it runs
  size_t slot;
};

struct Code;

// A function that is known before it runs; its code is made when it is first called.
struct Callee {
  explicit Callee(Function* f) : function(f) {}
  Function* function;
  mutable std::atomic<const Code*> code{nullptr};
};

struct Code {
  std::vector<Instruction> instructions;
  std::vector<Operand> operands;
  std::vector<uint32_t> outputs;  // registers, or kNoRegister where nobody reads the result
  std::vector<Value> constants;
  std::vector<AttributeSlot> attributes;
  std::deque<Callee> callees;
  std::vector<uint32_t> arguments;  // the register of each graph input, or kNoRegister
  uint32_t num_registers = 0;
  uint32_t num_scratch = 0;  // the most inputs and outputs that one instruction has
};

// The graph must stay as it is for as long as the code is used.
Code flatten(const Graph& graph);

}  // namespace torchlet::interp
