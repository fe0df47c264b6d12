// Everything that a program needs to load and run PyTorch models.
#pragma once

#include <torchlet/export.h>
#include <torchlet/memory.h>
#include <torchlet/module.h>
#include <torchlet/options.h>
#include <torchlet/tensor.h>
#include <torchlet/threads.h>
#include <torchlet/value.h>

namespace torchlet {

// "0.1.0"
TORCHLET_API const char* version();

}  // namespace torchlet
