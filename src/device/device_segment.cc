#include "device/device_segment.h"

#include "base/memory_use.h"
#include "base/pages.h"
#include "base/selection.h"
#include "device/moved_bytes.h"
#include "device/parts.h"
#include "graph/event_sink.h"

namespace torchlet::device {

void DeviceSegment::run(const CompiledSegment& compiled, std::span<const Value> inputs,
                        std::span<Value> outputs) const {
  EventSink* sink = event_sink();
  if (!sink) return compiled.run(inputs, outputs);
  const double begin = event_clock();
  compiled.run(inputs, outputs);
  const double end = event_clock();
  sink->record({.kernel = kSegmentEvent,
                .node = &node_,
                .device = device_->name(),
                .begin = begin,
                .end = end,
                .bytes = bytes_of(inputs) + bytes_of(outputs)});
}

bool DeviceSegment::run(std::span<const Value> inputs, std::span<Value> outputs) {
  if (has_failed_.load(std::memory_order_relaxed) || !Signature::can_have(inputs)) return false;
  const auto compiled = compiled_.get(inputs, [&] { return compile(inputs); });
  if (!compiled) return false;
  try {
    run(*compiled, inputs, outputs);
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
  const int64_t packed_before =
      selection::kIsWhole ? noted_memory(MemoryUse::kPackedWeights) : 0;
  Compilation made;
  bool is_in_parts = false;  // and the log says so already
  try {
    auto specialised = specialise(node_, inputs);
    made = device_->compile(specialised);
    if (!made.refused.empty() && made.refused.size() < specialised.calls.size()) {
      made = compile_in_parts(specialised, *device_, made.refused, next_, *log_);
      is_in_parts = made.compiled != nullptr;
    }
    log_reference_calls(specialised, *device_, made, *log_);
  } catch (const Declined& declined) {
    made.refusal = declined.why;
  } catch (const Error& error) {
    // The program's own, which it finds again when it runs as written.
    if (is_limit(error.code())) throw;
    made.refusal = error.what();
  }
  // Not for a plan of another shape, of which there may be many.
  if constexpr (selection::kIsWhole) {
    if (noted_memory(MemoryUse::kPackedWeights) > packed_before) give_back_freed();
  }
  const double end = event_clock();
  if (EventSink* sink = event_sink()) {
    sink->record({.kernel = kCompileEvent,
                  .node = &node_,
                  .device = device_->name(),
                  .begin = begin,
                  .end = end});
  }
  if (!is_in_parts) log_->decide(node_, device_->name(), made.refusal, end - begin);
  return std::move(made.compiled);
}

}  // namespace torchlet::device
