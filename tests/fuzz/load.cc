#include <torchlet/preprocess.h>
#include <torchlet/torchlet.h>

#include "tests/fuzz/targets.h"

namespace torchlet::fuzz {

int fuzz_load(std::span<const std::byte> input) {
  return expect_good_end([&] {
    const Module module = load(input, {.allow_unsupported = true,
                                       .print = [](auto) {},
                                       .memory_limit = kMemoryLimit,
                                       .time_limit = kTimeLimit});
    for (const Method& method : module.methods()) {
      method.schema();
      method.graph();
    }
    module.named_parameters();
    module.named_buffers();
    module.deepcopy();
    labels_of(module);
    preprocess_of(module);
  });
}

}  // namespace torchlet::fuzz
