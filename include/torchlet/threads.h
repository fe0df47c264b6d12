// The threads that one operator may use. There is one pool per process; its threads sleep when
// there is no work, so an idle pool costs nothing.
#pragma once

#include <torchlet/export.h>

namespace torchlet {

// How many threads an operator may use, the calling one included, 256 at most. 0 stands for all
// processors that the process may run on, which is also the default. Waits for a running operator;
// thread-safe.
TORCHLET_API void set_num_threads(int count);
TORCHLET_API int num_threads();

// The application's own threads, to be used in place of the pool's.
class Executor {
 public:
  virtual ~Executor() = default;

  // How many tasks can run at once, the calling thread included; thread-safe, cheap.
  virtual int thread_count() const = 0;

  // Calls task(context, index) once for every index in [0, count), count <= thread_count(), on any
  // threads and in any order, and returns when all calls have returned. Tasks throw nothing and
  // never wait for each other, so they may also run one after the other.
  virtual void run(int count, void (*task)(void* context, int index), void* context) = 0;
};

// To be called while no model runs. `executor` must live until it is replaced; nullptr brings the
// pool back.
TORCHLET_API void set_executor(Executor* executor);

}  // namespace torchlet
