#include "tensor/npy.h"

#include "tests/fuzz/targets.h"

namespace torchlet::fuzz {

int fuzz_npy(std::span<const std::byte> input) {
  return expect_good_end([&] {
    const Tensor tensor = read_npy(input);
    std::string written;
    append_npy(tensor, written);
    const Tensor again = read_npy(std::as_bytes(std::span(written)));
    std::string rewritten;
    append_npy(again, rewritten);
    expect(written == rewritten, "an array that was written is read as the same array");
    read_npy(input, DType::kBFloat16);
  });
}

}  // namespace torchlet::fuzz
