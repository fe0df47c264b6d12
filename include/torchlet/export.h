// What libtorchlet.so shows of itself; the rest of the library is compiled with
// -fvisibility=hidden.
#pragma once

#define TORCHLET_API __attribute__((visibility("default")))
