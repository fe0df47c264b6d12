#include "shrinker.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "tensor/tensor_impl.h"

namespace torchlet::random_graphs {
namespace {

class Shrinker {
 public:
  Shrinker(Program program, Expressions& expressions, FunctionRef<bool(const Program&)> fails)
      : program_(std::move(program)), expressions_(expressions), fails_(fails) {}

  Program run() {
    simplify_calls();
    while (drop_outputs() || begin_later() || replace_steps() || unfold_blocks() ||
           bypass_steps()) {
    }
    drop_unused();
    return std::move(program_);
  }

 private:
  bool take_if_fails(Program candidate) {
    if (!is_finite(candidate) || !fails_(candidate)) return false;
    program_ = std::move(candidate);
    return true;
  }

  // Without a step before it, a root may become one of a negative number.
  bool is_finite(const Program& candidate) {
    for (const std::vector<Tensor>& set : candidate.input_sets) {
      Evaluator evaluator(candidate, expressions_, 1);
      try {
        evaluator.start(set);
        evaluator.run(candidate.steps);
      } catch (const Error&) {
        continue;
      }
      for (size_t i = 0; i < candidate.variables.size(); ++i) {
        const auto id = static_cast<ValueId>(i);
        if (!evaluator.is_defined(id)) continue;
        const Value& value = evaluator.state(id).value;
        if (!value.is_tensor() || !is_floating_point(value.tensor_impl()->dtype)) continue;
        if (!std::isfinite(largest(value.to_tensor()))) return false;
      }
    }
    return true;
  }

  // One set of inputs, one thread, float32.
  void simplify_calls() {
    for (size_t i = 0; i < program_.input_sets.size() && program_.input_sets.size() > 1; ++i) {
      Program candidate = program_;
      candidate.input_sets = {program_.input_sets[i]};
      take_if_fails(std::move(candidate));
    }
    Program candidate = program_;
    candidate.callers = 1;
    if (candidate.callers != program_.callers) take_if_fails(candidate);
    candidate = program_;
    candidate.operator_threads = 1;
    if (candidate.operator_threads != program_.operator_threads) take_if_fails(candidate);
    candidate = program_;
    candidate.precision = Precision::kFloat32;
    if (candidate.precision != program_.precision) take_if_fails(candidate);
  }

  bool drop_outputs() {
    for (size_t i = 0; i < program_.outputs.size() && program_.outputs.size() > 1; ++i) {
      Program candidate = program_;
      candidate.outputs.erase(candidate.outputs.begin() + static_cast<std::ptrdiff_t>(i));
      if (take_if_fails(std::move(candidate))) return true;
    }
    return false;
  }

  // Inputs in place of what the first steps compute: of as many steps as can be.
  bool begin_later() {
    for (size_t count = program_.steps.size(); count-- > 1;) {
      Program candidate = program_;
      candidate.steps.erase(candidate.steps.begin(),
                            candidate.steps.begin() + static_cast<std::ptrdiff_t>(count));
      if (define_missing(candidate, count, true) && take_if_fails(std::move(candidate)))
        return true;
    }
    return false;
  }

  // Inputs in place of what one step computes, or nothing if nobody reads it.
  bool replace_steps() {
    for (size_t i = program_.steps.size(); i-- > 0;) {
      Program candidate = program_;
      candidate.steps.erase(candidate.steps.begin() + static_cast<std::ptrdiff_t>(i));
      if (define_missing(candidate, i + 1, false) && take_if_fails(std::move(candidate)))
        return true;
    }
    return false;
  }

  // The steps of a branch or of a loop in place of it.
  bool unfold_blocks() {
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      for (size_t b = 0; b < program_.steps[i].blocks.size(); ++b) {
        Program candidate = program_;
        const Step step = candidate.steps[i];
        const auto at =
            candidate.steps.erase(candidate.steps.begin() + static_cast<std::ptrdiff_t>(i));
        const std::vector<Step>& inner = step.blocks[b].steps;
        candidate.steps.insert(at, inner.begin(), inner.end());
        if (step.kind == Step::Kind::kLoop)
          rename(candidate, step.results[0], step.reads[0], i, i + inner.size());
        rename(candidate, step.results[0], step.blocks[b].result, i, candidate.steps.size());
        if (take_if_fails(std::move(candidate))) return true;
      }
    }
    return false;
  }

  // What a step reads in place of what it computes.
  bool bypass_steps() {
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      const Step step = program_.steps[i];
      if (step.results.size() != 1) continue;
      for (const ValueId read : step.reads) {
        if (type(read) != type(step.results[0])) continue;
        Program candidate = program_;
        candidate.steps.erase(candidate.steps.begin() + static_cast<std::ptrdiff_t>(i));
        rename(candidate, step.results[0], read, i, candidate.steps.size());
        if (take_if_fails(std::move(candidate))) return true;
      }
    }
    return false;
  }

  const std::string& type(ValueId id) const {
    return program_.variables[static_cast<size_t>(id)].type;
  }

  // In the steps from `begin` to `end` and in the outputs.
  static void rename(Program& program, ValueId from, ValueId to, size_t begin, size_t end) {
    const auto replace = [&](ValueId& id) {
      if (id == from) id = to;
    };
    std::vector<Step> steps(program.steps.begin() + static_cast<std::ptrdiff_t>(begin),
                            program.steps.begin() + static_cast<std::ptrdiff_t>(end));
    for_each_step(steps, [&](Step& step) {
      std::ranges::for_each(step.reads, replace);
      for (Block& block : step.blocks) replace(block.result);
    });
    std::ranges::move(steps, program.steps.begin() + static_cast<std::ptrdiff_t>(begin));
    if (end == program.steps.size()) std::ranges::for_each(program.outputs, replace);
  }

  // What the candidate reads and no step of it computes becomes an input that holds what is there
  // after the first `count` steps of the program, and so do the inputs if these steps are gone.
  // False if that cannot be.
  bool define_missing(Program& candidate, size_t count, bool steps_are_gone) {
    std::unordered_set<ValueId> made;
    std::vector<ValueId> missing;
    const auto need = [&](ValueId id) {
      const Variable& variable = candidate.variables[static_cast<size_t>(id)];
      if (variable.kind != Variable::Kind::kComputed || made.contains(id)) return;
      if (std::ranges::find(missing, id) == missing.end()) missing.push_back(id);
    };
    for (const Step& step : candidate.steps) {
      std::ranges::for_each(all_reads(step), need);
      made.insert(step.results.begin(), step.results.end());
    }
    std::ranges::for_each(candidate.outputs, need);
    std::vector<std::vector<Tensor>> held;
    const std::vector<ValueId> inputs = program_.ids(Variable::Kind::kInput);
    for (const std::vector<Tensor>& set : program_.input_sets) {
      Evaluator evaluator(program_, expressions_, 1);
      try {
        evaluator.start(set);
        for (size_t i = 0; i < count; ++i) evaluator.run(program_.steps[i]);
      } catch (const Error&) {
        return false;
      }
      std::vector<Tensor>& tensors = held.emplace_back();
      for (size_t i = 0; i < candidate.variables.size(); ++i) {
        const auto id = static_cast<ValueId>(i);
        const auto input = std::ranges::find(inputs, id);
        const bool is_new = std::ranges::find(missing, id) != missing.end();
        if (!is_new && input == inputs.end()) continue;
        if (!is_new && !steps_are_gone) {
          tensors.push_back(set[static_cast<size_t>(input - inputs.begin())]);
          continue;
        }
        if (!evaluator.is_defined(id) || !evaluator.state(id).value.is_tensor()) return false;
        tensors.push_back(copy_with_strides(evaluator.state(id).value.to_tensor()));
      }
    }
    for (const ValueId id : missing) {
      candidate.variables[static_cast<size_t>(id)].kind = Variable::Kind::kInput;
    }
    candidate.input_sets = std::move(held);
    return true;
  }

  // Inputs and weights that no step reads.
  void drop_unused() {
    std::unordered_set<ValueId> used(program_.outputs.begin(), program_.outputs.end());
    for (const Step& step : program_.steps) {
      for (const ValueId id : all_reads(step)) used.insert(id);
    }
    Program candidate = program_;
    const std::vector<ValueId> inputs = program_.ids(Variable::Kind::kInput);
    for (size_t i = inputs.size(); i-- > 0;) {
      if (used.contains(inputs[i])) continue;
      candidate.variables[static_cast<size_t>(inputs[i])].kind = Variable::Kind::kComputed;
      for (auto& set : candidate.input_sets)
        set.erase(set.begin() + static_cast<std::ptrdiff_t>(i));
    }
    for (const ValueId id : program_.ids(Variable::Kind::kWeight)) {
      if (!used.contains(id)) {
        candidate.variables[static_cast<size_t>(id)].kind = Variable::Kind::kComputed;
      }
    }
    take_if_fails(std::move(candidate));
  }

  Program program_;
  Expressions& expressions_;
  FunctionRef<bool(const Program&)> fails_;
};

}  // namespace

Program shrunk(Program program, Expressions& expressions, FunctionRef<bool(const Program&)> fails) {
  return Shrinker(std::move(program), expressions, fails).run();
}

}  // namespace torchlet::random_graphs
