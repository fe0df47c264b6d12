#include "device/device_segment.h"

#include "graph/event_sink.h"

namespace torchlet::device {

bool DeviceSegment::run(std::span<const Value> inputs, std::span<Value> outputs) {
  if (has_failed_.load(std::memory_order_relaxed) || !Signature::can_have(inputs)) return false;
  const auto compiled = compiled_.get(inputs, [&] { return compile(inputs); });
  if (!compiled) return false;
  try {
    compiled->run(inputs, outputs);
    return true;
  } catch (const DeviceFailure& failure) {
    for (Value& output : outputs) output = Value();
    log_->decide(node_, device_->name(), "it failed: " + failure.why, 0);
    has_failed_ = true;
    compiled_.clear();
    return false;
  }
}

std::shared_ptr<const CompiledSegment> DeviceSegment::compile(std::span<const Value> inputs) {
  const double begin = event_clock();
  Compilation made;
  try {
    auto specialised = specialise(node_, inputs);
    made = device_->compile(specialised);
  } catch (const Declined& declined) {
    made.refusal = declined.why;
  } catch (const Error& error) {
    // The program's own, which it finds again when it runs as written.
    if (is_limit(error.code())) throw;
    made.refusal = error.what();
  }
  const double end = event_clock();
  if (EventSink* sink = event_sink()) {
    sink->record({.kernel = kCompileEvent,
                  .node = &node_,
                  .device = device_->name(),
                  .begin = begin,
                  .end = end});
  }
  log_->decide(node_, device_->name(), made.refusal, end - begin);
  return std::move(made.compiled);
}

}  // namespace torchlet::device
