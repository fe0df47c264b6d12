#include "device/device_segment.h"

#include "graph/event_sink.h"

namespace torchlet::device {

bool DeviceSegment::run(std::span<const Value> inputs, std::span<Value> outputs) {
  if (!Signature::can_have(inputs)) return false;
  for (;;) {
    const auto placed = placed_.get(inputs, [&] { return compile(inputs); });
    if (!placed) return false;
    try {
      placed->compiled->run(inputs, outputs);
      return true;
    } catch (const DeviceFailure& failure) {
      for (Value& output : outputs) output = Value();
      log_->decide(node_, devices_[placed->device]->name(), "failed: " + failure.why, 0);
      failed_[placed->device] = true;
      placed_.clear();
    }
  }
}

std::shared_ptr<const DeviceSegment::Placed> DeviceSegment::compile(std::span<const Value> inputs) {
  const double begin = event_clock();
  std::string why;
  auto specialised = specialise(node_, inputs, why);
  if (!specialised) {
    log_->decide(node_, kReferenceDevice, why, event_clock() - begin);
    return nullptr;
  }
  for (size_t i = 0; i < devices_.size(); ++i) {
    if (failed_[i]) continue;
    Device& device = *devices_[i];
    const double start = i == 0 ? begin : event_clock();
    auto [compiled, refusal] = device.compile(*specialised);
    const double end = event_clock();
    if (EventSink* sink = event_sink()) {
      sink->record({.kernel = kCompileEvent,
                    .node = &node_,
                    .device = device.name(),
                    .begin = start,
                    .end = end});
    }
    log_->decide(node_, device.name(), refusal, end - start);
    if (compiled) return std::make_shared<Placed>(Placed{std::move(compiled), i});
  }
  return nullptr;
}

}  // namespace torchlet::device
