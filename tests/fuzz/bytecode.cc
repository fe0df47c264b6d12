#include "lite/bytecode.h"

#include "base/error.h"
#include "lite/testing.h"
#include "tensor/storage.h"
#include "tests/fuzz/targets.h"

namespace torchlet::fuzz {
namespace {

lite::Bytecode read(std::span<const std::byte> input, archive::ObjectFactory& factory) {
  const Value pickled = archive::read_pickle(
      input, input.size(), "bytecode.pkl", factory, [](std::string_view, size_t nbytes) {
        if (nbytes > 4096) fail(ErrorCode::kFileFormat, "a storage is too large");
        return make_ref<Storage>(nbytes);
      });
  return lite::parse_bytecode(pickled,
                              [&](const std::string& text) { return factory.parse_type(text); });
}

}  // namespace

int fuzz_bytecode(std::span<const std::byte> input) {
  expect_good_end([&] {
    ClassType net(TypeKind::kClass, "__torch__.Net", true);  // of every method
    net.add_attribute({"weight", types::tensor()});
    lite::BareObjects objects;
    lite::verify(read(input, objects),
                 {[&](const std::string&) { return &net; },
                  [](const std::string& name) { return name.starts_with("custom::"); }});
  });
  return expect_good_end([&] {
    lite::BareObjects objects;
    objects.program().add_functions(read(input, objects));
    objects.program().finish();
  });
}

}  // namespace torchlet::fuzz
