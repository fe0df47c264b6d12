// A random program: calls of operators over earlier values, branches and loops.
#pragma once

#include <torchlet/precision.h>
#include <torchlet/value.h>

#include <cstdint>
#include <string>
#include <vector>

namespace torchlet::random_graphs {

// A value of the program, by its place in Program::variables.
using ValueId = int32_t;

struct Variable {
  enum class Kind { kInput, kWeight, kComputed } kind = Kind::kComputed;
  std::string type = "Tensor";
  Tensor initial;  // of an input: in the first set of inputs; of a weight
};

struct Step;
struct Block {
  std::vector<Step> steps;
  ValueId result = 0;
};

struct Step {
  enum class Kind {
    kCall,
    kIf,   // reads[0] decides which of two blocks gives the only result
    kLoop  // reads[0] is where the only result begins, the block its next value
  } kind = Kind::kCall;
  // Of a call: an expression with $0, $1, ... for what it reads. Of a loop: how often, reads[1] as
  // $1.
  std::string text;
  std::vector<ValueId> reads, results;
  std::vector<Block> blocks;
  enum class Arithmetic {
    kRounds,
    kRoundsOperand,  // by so much of the operand, however small the result: gelu
    kExact,          // moves, chooses or counts: the same comes out of every correct device
    kOfShapes,       // does not look at elements
  } arithmetic = Arithmetic::kRounds;
  bool writes = false;  // a call that changes reads[0]
  double terms = 1;     // about how many products or summands make one element
};

struct Program {
  std::vector<Variable> variables;
  std::vector<Step> steps;
  std::vector<ValueId> outputs;  // tensors
  // Of all inputs, in the order of the variables. The module is run with one after the other.
  std::vector<std::vector<Tensor>> input_sets;
  Precision precision = Precision::kFloat32;
  int operator_threads = 1;  // set_num_threads()
  int callers = 1;           // threads that run the module at once

  double epsilon() const;  // about the last bit of what the precision computes in

  std::vector<ValueId> ids(Variable::Kind kind) const;
  std::string name(ValueId id) const;  // "x0", "self.w1", "v2"
  std::string source() const;          // of the class __torch__.M
  std::string text() const;            // for people: the source and what the inputs are
};

// The expression with what it reads in place of $0, $1, ...
std::string substituted(const std::string& text, const std::vector<std::string>& names);
// Calls visit(step) for each step, those in blocks included, before the blocks of a step.
template <typename Steps, typename Visit>
void for_each_step(Steps& steps, const Visit& visit) {
  for (auto& step : steps) {
    visit(step);
    for (auto& block : step.blocks) for_each_step(block.steps, visit);
  }
}
// All values that the step reads from outside, its blocks included.
std::vector<ValueId> all_reads(const Step& step);
// Those values that the step changes in place.
std::vector<ValueId> all_writes(const Step& step);

}  // namespace torchlet::random_graphs
