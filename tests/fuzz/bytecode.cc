#include "lite/bytecode.h"

#include "archive/pickle.h"
#include "base/error.h"
#include "script/compilation_unit.h"
#include "tensor/storage.h"
#include "tests/fuzz/targets.h"

namespace torchlet::fuzz {
namespace {

// Reads types as a model without classes of its own does, and has no tensors.
class Factory final : public archive::ObjectFactory {
 public:
  TypePtr parse_type(std::string_view text) override {
    return unit_.parse_type("bytecode.pkl", std::string(text));
  }

 private:
  script::CompilationUnit unit_{
      script::Program{.find_source = [](const std::string&) { return nullptr; }, .constants = {}}};
};

}  // namespace

int fuzz_bytecode(std::span<const std::byte> input) {
  return expect_good_end([&] {
    Factory factory;
    const Value pickled = archive::read_pickle(
        input, input.size(), "bytecode.pkl", factory, [](std::string_view, size_t nbytes) {
          if (nbytes > 4096) fail(ErrorCode::kFileFormat, "a storage is too large");
          return make_ref<Storage>(nbytes);
        });
    const lite::Bytecode bytecode = lite::parse_bytecode(
        pickled, [&](const std::string& text) { return factory.parse_type(text); });
    ClassType net(TypeKind::kClass, "__torch__.Net", true);  // of every method
    net.add_attribute({"weight", types::tensor()});
    lite::verify(bytecode, {[&](const std::string&) { return &net; },
                            [](const std::string& name) { return name.starts_with("custom::"); }});
  });
}

}  // namespace torchlet::fuzz
