// The threads that one operator may use. There is one pool per process; its threads sleep when
// there is no work, so an idle pool costs nothing.
#pragma once

namespace torchlet {

// How many threads an operator may use, the calling one included. 0 stands for all processors that
// the process may run on, which is also the default. Waits for a running operator; thread-safe.
void set_num_threads(int count);
int num_threads();

}  // namespace torchlet
