// Work for the one pool of threads that the process has.
#pragma once

#include <torchlet/threads.h>

#include <cstdint>

#include "base/function_ref.h"

namespace torchlet {

// Calls body(begin, end) for disjoint ranges that cover [0, n), possibly at once on several
// threads. Every range but the last holds a multiple of `grain` indices (grain >= 1), so `grain` is
// both the least worthwhile amount of work and an alignment of the borders. Returns when all ranges
// are done.
//
// The first exception that a body throws is rethrown here; ranges that had not started are then
// skipped. A call from inside a body runs inline, and so does a call made while another application
// thread has the pool: nobody waits for somebody else's work.
void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t begin, int64_t end)> body);

}  // namespace torchlet
