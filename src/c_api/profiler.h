#pragma once

#include <optional>

namespace torchlet::c_api {

// A call of a method, for the timeline of the thread's innermost profiler.
class ProfiledCall {
 public:
  ProfiledCall();
  ~ProfiledCall();
  ProfiledCall(const ProfiledCall&) = delete;
  ProfiledCall& operator=(const ProfiledCall&) = delete;

 private:
  double begin_ = 0;
};

}  // namespace torchlet::c_api
