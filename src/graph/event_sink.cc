#include "graph/event_sink.h"

#include <chrono>

namespace torchlet {

double event_clock() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace torchlet
