// One run of a program: the stack of frames and the loop over instructions.
#pragma once

#include <torchlet/error.h>

#include <memory>
#include <span>
#include <vector>

#include "interp/interpreter.h"

namespace torchlet::interp {

// Registers of the frames, in chunks that never move.
class RegisterStack {
 public:
  // `count` values, all None.
  Value* push(size_t count);
  // The latest push, with the same count; destroys what the values hold.
  void pop(size_t count);
  // Gives back what a deep run needed more than a usual one. Nothing is pushed.
  void trim();

 private:
  struct Chunk {
    std::unique_ptr<Value[]> values;
    size_t size = 0, used = 0;
  };
  std::vector<Chunk> chunks_;  // those after current_ are empty
  size_t current_ = 0;
};

class Machine {
 public:
  explicit Machine(const Interpreter& interpreter) : interpreter_(interpreter) {}
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine();

  // May be called again, also after an Error: the memory of frames and registers is used again.
  Value run(Function& function, const Code& code, std::span<Value> arguments);

 private:
  struct Frame {
    Function* function;
    const Code* code;
    const Instruction* next;
    Value* registers;
    Value* scratch;  // room for the inputs and outputs of one instruction
  };
  // What is to be done when something throws: leave a `with`, or complete a Future with the error.
  struct Handler {
    size_t depth;  // frames_.size() of its owner
    Value left;    // the object of a with, else None
    const Instruction* resume = nullptr;
    uint32_t future = kNoRegister;
  };

  void run_to_end();
  void execute();
  void reset();
  // Runs an instruction that is neither a jump nor a call nor an operator.
  void plain(const Instruction& in);
  std::span<Value> gather(const Instruction& in);
  Value take(Operand operand);
  void store(uint32_t reg, Value value);
  void store_all(const Instruction& in, std::span<Value> values);

  void call_operator(const Instruction& in);
  void run_segment(const Instruction& in);
  // The method of arguments[0] that the object's class has under this name.
  void call_method(const Instruction& in, std::string_view name, std::span<Value> arguments);
  void call_custom(const Instruction& in, std::string_view name, std::span<Value> arguments);
  void enter(Function& function, const Code& code, std::span<Value> arguments);
  void leave(const Instruction& in);
  void pop_frame();
  void loop_test(const Instruction& in);
  void get_attribute(const Instruction& in);
  void set_attribute(const Instruction& in);
  void exit_with(const Instruction& in);

  void add_context(Error& error) const;
  // After something was thrown: leaves frames until a handler resumes. False if there is none.
  bool resume(const Error& error);

  const Interpreter& interpreter_;
  RegisterStack stack_;
  size_t num_registers_ = 0;  // of all frames
  std::vector<Frame> frames_;
  std::vector<Handler> handlers_;
  Value result_;
};

}  // namespace torchlet::interp
