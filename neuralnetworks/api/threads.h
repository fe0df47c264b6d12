// How many threads an operation may use: torchlet_nnapi.h.
#pragma once

namespace torchlet::nn {

// Does what TORCHLET_NNAPI_THREADS says, the first time that it is called in the process. To be
// called before anything is computed. Thread-safe.
void use_threads_of_environment();

}  // namespace torchlet::nn
