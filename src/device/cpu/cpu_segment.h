// A segment on the processor: a plan for each signature of its inputs, made when it first appears.
#pragma once

#include <memory>
#include <shared_mutex>
#include <vector>

#include "device/cpu/builder.h"
#include "graph/segment.h"

namespace torchlet::cpu {

// What a plan is made for: of tensors their dtype, sizes, strides and quantization, of everything
// else the value.
class Signature {
 public:
  explicit Signature(std::span<const Value> inputs);
  bool matches(std::span<const Value> inputs) const;
  // Sparse or nested tensors, objects: no plan.
  static bool can_have(std::span<const Value> inputs);

 private:
  struct Input {
    DType dtype{};
    IntArray sizes, strides;
    std::shared_ptr<const Quantizer> quantizer;
    Value value;
    bool is_tensor = false;
  };
  std::vector<Input> inputs_;
};

class CpuSegment : public Segment {
 public:
  CpuSegment(const Node& node, std::shared_ptr<ArenaPool> arenas, Precision precision)
      : node_(node), arenas_(std::move(arenas)), precision_(precision) {}
  bool run(std::span<const Value> inputs, std::span<Value> outputs) override;

 private:
  // Plans kept, most recently made last. A model whose shapes change with every call would
  // compile all the time, so later signatures must appear twice before they get a plan.
  static constexpr size_t kMaxPlans = 16, kEagerPlans = 4;
  struct Compiled {
    Signature signature;
    std::shared_ptr<const Plan> plan;  // null: these inputs have none, or not yet
    bool tried = false;
  };

  std::shared_ptr<const Plan> find(std::span<const Value> inputs);
  std::shared_ptr<const Plan> compile(std::span<const Value> inputs);

  const Node& node_;
  std::shared_ptr<ArenaPool> arenas_;
  Precision precision_;
  PackedWeights packed_;
  std::shared_mutex mutex_;
  std::vector<Compiled> plans_;
};

}  // namespace torchlet::cpu
