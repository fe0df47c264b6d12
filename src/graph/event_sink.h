// Where those who run operators report what ran, while somebody listens.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

namespace torchlet {

class Node;

// The program as it was written, operator by operator: where everything runs that no device takes.
inline constexpr char kReferenceDevice[] = "reference";

// One operator, or one step of a plan that stands for several. The pointers and the sizes hold
// during the call only, the node as long as the model, the device's name for good.
struct Event {
  const char* kernel;          // "conv_nhwc_f32"; "aten::cat" if it was the reference
  const Node* node = nullptr;  // what it computed, the last operator if there are several
  const char* device = kReferenceDevice;
  std::span<const int64_t> sizes = {};  // of its result; empty if that is no tensor
  double begin = 0, end = 0;            // seconds of a steady clock
  double flops = 0;                     // 0 if they are not counted
  bool is_int8 = false;                 // flops are operations on bytes
  size_t bytes = 0;                     // that were moved, of copies, conversions and segments
  // What a device or a part computed as a whole, in the order of the program.
  std::span<const Node* const> operators = {};
  // As the driver of a device tells it: of the computing alone, and with what is around it in the
  // driver. 0 if it does not.
  double on_hardware = 0, in_driver = 0;
};

class EventSink {
 public:
  virtual ~EventSink() = default;
  // From the thread that listens.
  virtual void record(const Event& event) = 0;
};

namespace internal {
inline constinit thread_local EventSink* event_sink = nullptr;
}

// Who listens to what this thread runs; null unless a profile is being taken.
inline EventSink* event_sink() { return internal::event_sink; }

// Until its end, `sink` hears what this thread runs, and nobody else does. Scopes nest.
class EventScope {
 public:
  explicit EventScope(EventSink* sink) : before_(std::exchange(internal::event_sink, sink)) {}
  ~EventScope() { internal::event_sink = before_; }
  EventScope(const EventScope&) = delete;
  EventScope& operator=(const EventScope&) = delete;

 private:
  EventSink* before_;
};

// The kernel's name in events of preparing a method or a segment for its first run.
inline constexpr char kCompileEvent[] = "compile";

// In events of a whole segment, recorded after those of what is inside: `node` is the prim::Segment
// and `bytes` what its tensors hold that go in and come out.
inline constexpr char kSegmentEvent[] = "segment";
// In events of a part of a segment that several devices share, recorded after those of what is
// inside and before the segment's: `operators` are the part's, `node` the last of them, and
// `device` runs it.
inline constexpr char kPartEvent[] = "part";
// In events of a device that moves tensors to its memory or from there, and of one that changes
// their layout or dtype for itself. Both are inside of a segment.
inline constexpr char kCopyEvent[] = "copy";
inline constexpr char kConvertEvent[] = "convert";

// Seconds of the clock of events.
double event_clock();

}  // namespace torchlet
