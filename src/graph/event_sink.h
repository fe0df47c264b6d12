// Where those who run operators report what ran, while somebody listens.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

namespace torchlet {

class Node;

// One operator, or one step of a plan that stands for several. The pointers and the sizes hold
// during the call only, the node as long as the model.
struct Event {
  const char* kernel;              // "conv_nhwc_f32"; "aten::cat" if it was the reference
  const Node* node;                // what it computed, the last operator if there are several
  std::span<const int64_t> sizes;  // of its result; empty if that is no tensor
  double begin, end;               // seconds of a steady clock
  double flops;                    // 0 if they are not counted
  bool is_int8;                    // flops are operations on bytes
};

class EventSink {
 public:
  virtual ~EventSink() = default;
  // From any thread.
  virtual void record(const Event& event) = 0;
};

namespace internal {
inline std::atomic<EventSink*> event_sink{nullptr};
}

// Null unless a profile is being taken: asking costs as much as reading a variable.
inline EventSink* event_sink() { return internal::event_sink.load(std::memory_order_acquire); }
// One for the process; null to stop. The sink must live until no model runs any more.
inline void set_event_sink(EventSink* sink) {
  internal::event_sink.store(sink, std::memory_order_release);
}

// The kernel's name in events of preparing a method or a segment for its first run.
inline constexpr char kCompileEvent[] = "compile";

// Seconds of the clock of events.
double event_clock();

}  // namespace torchlet
