// Runs a program step by step with the reference operators, twice: as it is, and with everything
// that is rounded rounded otherwise. How far the two come apart is what rounding alone explains.
#pragma once

#include <memory>

#include "interp/interpreter.h"
#include "program.h"
#include "script/compilation_unit.h"

namespace torchlet::random_graphs {

// Functions of one expression each, compiled once.
class Expressions {
 public:
  // The expression's value (of several results a tuple). Error as the program would give.
  Value call(const std::string& text, const std::vector<std::string>& types,
             const std::vector<std::string>& results, std::vector<Value> arguments);

 private:
  static constexpr size_t kMost = 20000;
  std::unordered_map<std::string, std::unique_ptr<script::CompilationUnit>> units_;
  std::unique_ptr<interp::Interpreter> interpreter_;
};

struct State {
  Value value;
  Value rounded;         // the same after other roundings
  bool is_exact = true;  // no device may give other elements
};

class Evaluator {
 public:
  // `noise` seeds the roundings.
  Evaluator(const Program& program, Expressions& expressions, uint64_t noise);

  // Defines the inputs, as copies, and the weights.
  void start(const std::vector<Tensor>& inputs);
  void define(ValueId id, const Tensor& tensor);
  // `carried` is what `from` is, and rounded: what comes back in a loop may be.
  void carry(ValueId from, ValueId carried);
  // Error as the program would give it; what its writes changed stays changed.
  void run(const Step& step);
  void run(const std::vector<Step>& steps);

  const State& state(ValueId id) const { return states_.at(static_cast<size_t>(id)); }
  bool is_defined(ValueId id) const;
  // All values have memory of their own from now on, shared as before: what runs next does not
  // reach the evaluator that this one was copied from.
  void own_memory();
  // Values that share memory with this one, itself included.
  std::vector<ValueId> sharers(ValueId id) const;
  // What is rounded is wrong by so much of itself.
  double epsilon() const;

 private:
  State& at(ValueId id);
  void run_call(const Step& step);
  // `value` times 1 ± epsilon, in place; returns it.
  void round(const Tensor& value, double epsilon);
  // `value` ± `by`, in place.
  void shift(const Tensor& value, double by);
  double random_sign();

  const Program* program_;
  Expressions* expressions_;
  std::vector<State> states_;
  uint64_t noise_;
};

// A copy with the same strides, gaps included.
Tensor copy_with_strides(const Tensor& tensor);
// The largest |a|, NaN if one is; and the largest |a - b| of tensors of the same sizes, NaN if only
// one of the two is.
double largest(const Tensor& a);
double largest_difference(const Tensor& a, const Tensor& b);

}  // namespace torchlet::random_graphs
