#include "lite/flatbuffer.h"

#include <cstring>

#include "lite/testing.h"
#include "tensor/storage.h"
#include "tests/fuzz/targets.h"

namespace torchlet::fuzz {

int fuzz_flatbuffer(std::span<const std::byte> input) {
  return expect_good_end([&] {
    const auto copy = std::make_shared<Storage>(input.size());
    if (!input.empty()) std::memcpy(copy->data(), input.data(), input.size());
    lite::FlatbufferReader reader({copy->data(), input.size()}, copy);
    reader.extra_files();
    reader.sources();
    lite::BareObjects objects;
    objects.program().add_functions(reader.read_bytecode(objects));
    reader.read_constants(objects);
    reader.read_module(objects);
    objects.program().finish();
  });
}

}  // namespace torchlet::fuzz
