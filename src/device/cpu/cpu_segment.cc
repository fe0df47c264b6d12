#include "device/cpu/cpu_segment.h"

#include <string>

#include "graph/event_sink.h"

namespace torchlet::cpu {

bool CpuSegment::run(std::span<const Value> inputs, std::span<Value> outputs) {
  if (!device::Signature::can_have(inputs)) return false;
  const auto plan = plans_.get(inputs, [&] { return compile(inputs); });
  if (!plan) return false;
  plan->run(inputs, outputs, *arenas_);
  return true;
}

std::shared_ptr<const Plan> CpuSegment::compile(std::span<const Value> inputs) {
  const double begin = event_clock();
  std::string why;
  auto plan = PlanBuilder(node_, inputs, packed_, precision_).build(why);
  if (!plan && precision_ != Precision::kFloat32) {
    plan = PlanBuilder(node_, inputs, packed_).build(why);
  }
  if (EventSink* sink = event_sink()) {
    sink->record({kCompileEvent, &node_, {}, begin, event_clock(), 0, false});
  }
  return plan;
}

}  // namespace torchlet::cpu
