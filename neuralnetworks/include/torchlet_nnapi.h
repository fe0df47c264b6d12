// What Torchlet's libneuralnetworks.so has beyond Android's. A program that runs on both looks
// these functions up by dlsym.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

// How many threads one operation may use, the calling one included: 1 to 256; 0 stands for all
// processors that the process may run on, which is also the default. Counts before the environment
// variable TORCHLET_NNAPI_THREADS. Waits for an operation that is computed, unless nothing changes.
// Any thread may call it at any time.
void torchlet_nnapi_set_num_threads(uint32_t count);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
