// ANeuralNetworksEvent: the end of an execution, or a file descriptor that can be read some day.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>

#include "neuralnetworks/api/handles.h"

namespace torchlet::nn {

class EventObject {
 public:
  using Handle = ANeuralNetworksEvent;
  static constexpr const char* kName = "event";

  // Of an execution, signalled by signal(); with a descriptor that can then be read, if asked for.
  // RESOURCE_EXHAUSTED_TRANSIENT if there are too many descriptors.
  static std::shared_ptr<EventObject> of_execution(bool with_fence);
  // Of a sync fence of somebody else, which is duplicated. BAD_DATA if it is no descriptor.
  static std::shared_ptr<EventObject> of_fence(int fd);
  ~EventObject();
  EventObject(const EventObject&) = delete;
  EventObject& operator=(const EventObject&) = delete;

  bool is_of_execution() const { return !is_foreign_; }
  // Once. `code` is what the execution ended with.
  void signal(int code) noexcept;
  // Until it is signalled; the ResultCode. Any number of threads may wait.
  int wait();
  // A new descriptor; BAD_DATA if the event has none.
  int duplicate_fence() const;

 private:
  EventObject(int fence, bool is_foreign) : fence_(fence), is_foreign_(is_foreign) {}

  const int fence_;  // -1: none
  const bool is_foreign_;
  std::mutex mutex_;
  std::condition_variable signalled_;
  std::optional<int> code_;
};

}  // namespace torchlet::nn
