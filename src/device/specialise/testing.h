// For tests: the only segment of a method for given inputs, and a short form of it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "device/partition.h"
#include "device/specialise/specialised_segment.h"
#include "graph/prim_kinds.h"
#include "ops/core/testing.h"
#include "passes/testing.h"

namespace torchlet::device {

using passes::module_class;
using passes::Program;

// The only segment of a method that begins "def forward(self, x: Tensor".
class Specialised {
 public:
  Specialised(const std::string& rest, std::vector<Value> inputs)
      : program_(
            module_class("M", {"w : Tensor"}, "  def forward(self: __torch__.M, x: Tensor" + rest)),
        inputs_(std::move(inputs)) {
    optimized_ = Program::optimized(program_.object("M", {{"w", ops::ramp({4, 3})}}));
    const std::shared_ptr<Device> device = cpu::make_cpu_device();
    partition(*optimized_.graph, {&device, 1}, std::make_shared<PlacementLog>());
    for (const Node* node : *optimized_.graph->block()) {
      if (node->kind() == prim::kSegment) segment_ = node;
    }
  }

  SpecialisedSegment run() const { return specialise(*segment_, inputs_); }
  std::string refusal() const {
    try {
      run();
    } catch (const Declined& declined) {
      return declined.why;
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  }

 private:
  Program program_;
  passes::Optimized optimized_;
  std::vector<Value> inputs_;
  const Node* segment_ = nullptr;
};

// "relu(%0) add(%1 %0 1)": tensors by their numbers, known values as text, lists in brackets.
inline std::string text(const CallArgument& argument) {
  if (argument.is_tensor()) return "%" + std::to_string(argument.id());
  if (argument.is_known()) {
    return argument.known().is_tensor() ? "tensor" : to_text(argument.known());
  }
  std::string items;
  for (const CallArgument& item : argument.items()) {
    items += (items.empty() ? "" : " ") + text(item);
  }
  return "[" + items + "]";
}
inline std::string text(const SpecialisedSegment& segment) {
  std::string all;
  for (const Call& call : segment.calls) {
    all += std::string(call.kind().name()) + "(";
    for (const CallArgument& argument : call.arguments) {
      all += (all.ends_with('(') ? "" : " ") + text(argument);
    }
    all += ") ";
  }
  for (const auto& output : segment.outputs) all += "-> " + text(output.value);
  return all;
}

}  // namespace torchlet::device
