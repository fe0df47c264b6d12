// A segment on the processor: a plan for each signature of its inputs, made when it first appears.
#pragma once

#include <memory>

#include "device/cpu/builder.h"
#include "device/specialise/signature_cache.h"
#include "graph/segment.h"

namespace torchlet::cpu {

class CpuSegment : public Segment {
 public:
  CpuSegment(const Node& node, std::shared_ptr<ArenaPool> arenas, Precision precision)
      : node_(node), arenas_(std::move(arenas)), precision_(precision) {}
  bool run(std::span<const Value> inputs, std::span<Value> outputs) override;

 private:
  std::shared_ptr<const Plan> compile(std::span<const Value> inputs);

  const Node& node_;
  std::shared_ptr<ArenaPool> arenas_;
  Precision precision_;
  PackedWeights packed_;
  device::SignatureCache<Plan> plans_;
};

}  // namespace torchlet::cpu
