#include "c_api/profiler.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "c_api/handles.h"
#include "kernels/peak/peak_flops.h"
#include "profile/profiler.h"

using namespace torchlet;
using namespace torchlet::c_api;

struct torchlet_profiler {
  torchlet_profiler();

  profile::Profiler profiler;
  torchlet_profiler* const outer;
  size_t calls = 0;
  bool is_freed = false;
};

namespace {
// The profiler of this thread that listens, which knows those around it.
thread_local torchlet_profiler* innermost = nullptr;

bool is_of_this_thread(const torchlet_profiler* profiler) {
  const torchlet_profiler* at = innermost;
  while (at && at != profiler) at = at->outer;
  return at != nullptr;
}
}  // namespace

torchlet_profiler::torchlet_profiler() : outer(std::exchange(innermost, this)) {}

namespace torchlet::c_api {

ProfiledCall::ProfiledCall() {
  if (selection::kHasReports && innermost) begin_ = event_clock();
}

ProfiledCall::~ProfiledCall() {
  if (!selection::kHasReports || !innermost) return;
  try {
    innermost->profiler.record_call(begin_, event_clock());
    ++innermost->calls;
  } catch (const std::bad_alloc&) {
    // The timeline lacks the call, which counts for more than its record.
  }
}

}  // namespace torchlet::c_api

torchlet_status torchlet_profiler_new(torchlet_profiler** profiler) {
  return guarded(kReports, [&] {
    torchlet_profiler*& result = given(profiler, "profiler");
    result = new torchlet_profiler;
  });
}

void torchlet_profiler_free(torchlet_profiler* profiler) {
  if (!selection::kHasReports || !profiler) return;
  // Another thread may be in the middle of it: better that it stays than that it is gone.
  if (!is_of_this_thread(profiler)) return;
  profiler->is_freed = true;
  while (innermost && innermost->is_freed) {
    torchlet_profiler* const outer = innermost->outer;
    delete innermost;
    innermost = outer;
  }
}

torchlet_status torchlet_profiler_table(const torchlet_profiler* profiler, char** text) {
  return guarded(kReports, [&] {
    char*& result = given(text, "text");
    const torchlet_profiler& own = given(profiler, "profiler");
    const std::vector<profile::Line> lines = own.profiler.lines();
    const double threads = torchlet_num_threads();
    const profile::Peaks peaks{kernels::measure_peak_flops() * threads,
                               kernels::measure_peak_int8() * threads};
    result = new_text(profile::table(lines, std::max<size_t>(own.calls, 1), peaks));
  });
}

torchlet_status torchlet_profiler_trace(const torchlet_profiler* profiler, char** json) {
  return guarded(kReports, [&] {
    char*& result = given(json, "json");
    const std::array<const profile::Profiler*, 1> all = {&given(profiler, "profiler").profiler};
    result = new_text(profile::chrome_trace(all));
  });
}
