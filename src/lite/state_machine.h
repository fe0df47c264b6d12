// Code whose jumps have no structured form, as a loop over the stretches between jumps: each turn
// runs the one whose number is carried, with all registers and the stack.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "lite/instruction_emitter.h"

namespace torchlet::lite {

class StateMachineTranslator {
 public:
  explicit StateMachineTranslator(InstructionEmitter& emitter);
  void run();

 private:
  // A stretch that begins at a target of a jump, behind a jump, or at the start.
  struct Stretch {
    size_t begin, end;
    int64_t depth = -1;  // of the stack at its begin; -1: nothing that was seen leads there
    Block* block = nullptr;
    std::vector<SsaValue*> outputs = {};  // again, next, registers..., stack...
  };
  // How a stretch ends: does the loop go on, with which stretch, and with what on the stack.
  struct Exit {
    SsaValue *again, *next;
    std::vector<SsaValue*> stack;
  };
  struct Way {
    size_t target;
    std::vector<SsaValue*> stack;
  };

  void find_stretches();
  void dispatch(Block* block, size_t first, size_t last, SsaValue* number);
  void run_stretches();
  void run_stretch(Stretch& stretch);
  Exit leave(const Stretch& stretch);
  Exit jump(size_t target);
  Exit jump_if(SsaValue* condition, Way yes, Way no);
  Exit turn(size_t at);
  SsaValue* reach(size_t target, size_t depth);
  SsaValue* call(const char* name, const char* overload, std::vector<SsaValue*> inputs);
  SsaValue* slot(size_t index);
  std::vector<SsaValue*> results(const Block* block);

  InstructionEmitter& emitter_;
  script::Builder& builder_;
  SsaValue* nothing_;  // what is not set yet
  std::vector<Stretch> stretches_;
  std::map<size_t, size_t> stretch_at_;  // by the begin
  std::unordered_map<const Block*, size_t> leaves_;
  std::vector<size_t> open_;
  Block* body_ = nullptr;
  std::vector<SsaValue*> slots_;  // the stack at the begin of a turn, as the loop carries it
};

}  // namespace torchlet::lite
