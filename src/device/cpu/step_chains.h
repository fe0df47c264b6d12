#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "device/cpu/plan.h"

namespace torchlet::cpu {

// Of the steps of a plan as they are when this is made: which follow each other with nobody else to
// see what is between. For what makes one step of several; a step that became part of another is
// null until remove_fused().
class StepChains {
 public:
  explicit StepChains(Plan& plan) : plan_(plan), buffers_(plan.buffers.size()) {
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      const Step& step = *plan.steps[i];
      for (const Operand& read : step.reads()) {
        Accesses& at = buffers_[buffer(read)];
        ++at.count;
        at.reader = static_cast<int>(i);
      }
      Accesses& at = buffers_[buffer(step.writes())];
      ++at.count;
      at.writer = static_cast<int>(i);
    }
  }

 protected:
  // The place of the step that writes all of this, no more and no less, if nobody but one reader
  // ever sees it; else -1.
  int only_writer(Operand operand) const {
    const Accesses* at = between_two(operand);
    return at && step(at->writer).writes().id() == operand.id() ? at->writer : -1;
  }
  // The place of the step that reads it, if nobody but one writer ever touches it; else -1.
  int only_reader(Operand operand) const {
    const Accesses* at = between_two(operand);
    return at ? at->reader : -1;
  }
  // Does a step after `first` and before `last` write to the memory of this?
  bool is_written_between(Operand operand, int first, int last) const {
    const auto begin = plan_.steps.begin();
    return std::any_of(begin + first + 1, begin + last, [&](const auto& step) {
      return step && buffer(step->writes()) == buffer(operand);
    });
  }

  // Null if there is no place or another kind of step.
  template <typename S>
  S* at(int place) const {
    return place < 0 ? nullptr : dynamic_cast<S*>(plan_.steps[static_cast<size_t>(place)].get());
  }
  void remove_fused() {
    std::erase_if(plan_.steps, [](const auto& step) { return !step; });
  }

  Plan& plan_;

 private:
  struct Accesses {
    int count = 0;
    int writer = -1, reader = -1;  // the last ones
  };

  const Step& step(int place) const { return *plan_.steps[static_cast<size_t>(place)]; }
  size_t buffer(Operand operand) const {
    return static_cast<size_t>(plan_.tensors[static_cast<size_t>(operand.id())].buffer);
  }
  const Accesses* between_two(Operand operand) const {
    const size_t b = buffer(operand);
    const Accesses& at = buffers_[b];
    const bool is_between = plan_.buffers[b].kind == Buffer::Kind::kArena && at.count == 2 &&
                            at.writer >= 0 && at.reader >= 0;
    return is_between ? &at : nullptr;
  }

  std::vector<Accesses> buffers_;
};

}  // namespace torchlet::cpu
