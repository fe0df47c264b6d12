#include "neuralnetworks/api/event.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

using namespace torchlet::nn;

namespace torchlet::nn {
namespace {

int duplicate(int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, 1); }

// Until `fd` can be read.
int wait_for(int fd) {
  pollfd waiting{fd, POLLIN, 0};
  while (poll(&waiting, 1, -1) < 0) {
    if (errno != EINTR && errno != EAGAIN) return ANEURALNETWORKS_OP_FAILED;
  }
  return waiting.revents & POLLIN ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_OP_FAILED;
}

}  // namespace

std::shared_ptr<EventObject> EventObject::of_execution(bool with_fence) {
  int fence = -1;
  if (with_fence) {
    // A read takes 1 away, so the fence stays signalled whoever reads from it.
    fence = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    if (fence < 0) {
      refuse(ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT, "no event: %s", std::strerror(errno));
    }
  }
  return std::shared_ptr<EventObject>(new EventObject(fence, false));
}

std::shared_ptr<EventObject> EventObject::of_fence(int fd) {
  // 0 is none on Android either.
  const int fence = fd > 0 ? duplicate(fd) : -1;
  if (fence < 0) refuse(ANEURALNETWORKS_BAD_DATA, "%d is no file descriptor of a fence", fd);
  return std::shared_ptr<EventObject>(new EventObject(fence, true));
}

EventObject::~EventObject() {
  if (fence_ >= 0) close(fence_);
}

void EventObject::signal(int code) noexcept {
  {
    const std::lock_guard lock(mutex_);
    code_ = code;
  }
  signalled_.notify_all();
  if (fence_ >= 0) eventfd_write(fence_, UINT64_MAX - 1);
}

int EventObject::wait() {
  if (is_foreign_) return wait_for(fence_);
  std::unique_lock lock(mutex_);
  signalled_.wait(lock, [&] { return code_.has_value(); });
  return *code_;
}

int EventObject::duplicate_fence() const {
  if (fence_ < 0) refuse(ANEURALNETWORKS_BAD_DATA, "the event has no fence");
  const int fd = duplicate(fence_);
  if (fd < 0) {
    refuse(ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT, "no descriptor: %s", std::strerror(errno));
  }
  return fd;
}

}  // namespace torchlet::nn

int ANeuralNetworksEvent_wait(ANeuralNetworksEvent* event) {
  return answer(__func__, [&] { return find<EventObject>(event)->wait(); });
}

void ANeuralNetworksEvent_free(ANeuralNetworksEvent* event) {
  const auto object = free_handle<EventObject>(__func__, event);
  if (object && object->is_of_execution()) answer(__func__, [&] { return object->wait(); });
}

int ANeuralNetworksEvent_createFromSyncFenceFd(int sync_fence_fd, ANeuralNetworksEvent** event) {
  return answer(__func__, [&] {
    require(event, "event");
    *event = nullptr;
    *event = make_handle(EventObject::of_fence(sync_fence_fd));
  });
}

int ANeuralNetworksEvent_getSyncFenceFd(const ANeuralNetworksEvent* event, int* sync_fence_fd) {
  return answer(__func__, [&] {
    require(sync_fence_fd, "sync_fence_fd");
    *sync_fence_fd = -1;
    *sync_fence_fd = find<EventObject>(event)->duplicate_fence();
  });
}
