#include "lite/bytecode.h"

#include "archive/pickle.h"
#include "base/error.h"
#include "lite/program.h"
#include "tensor/storage.h"
#include "tests/fuzz/targets.h"

namespace torchlet::fuzz {
namespace {

// A model without source and tensors, whose classes are known by their names.
class Model final : public archive::ObjectFactory {
 public:
  Model() {
    unit_.set_class_finder([this](const std::string& name) { return program_.find_class(name); });
  }

  TypePtr parse_type(std::string_view text) override {
    return unit_.parse_type("bytecode.pkl", std::string(text));
  }
  lite::Bytecode read(std::span<const std::byte> input) {
    const Value pickled = archive::read_pickle(
        input, input.size(), "bytecode.pkl", *this, [](std::string_view, size_t nbytes) {
          if (nbytes > 4096) fail(ErrorCode::kFileFormat, "a storage is too large");
          return make_ref<Storage>(nbytes);
        });
    return lite::parse_bytecode(pickled, [&](const std::string& text) { return parse_type(text); });
  }
  lite::BytecodeProgram& program() { return program_; }

 private:
  script::CompilationUnit unit_{
      script::Program{.find_source = [](const std::string&) { return nullptr; }, .constants = {}}};
  lite::BytecodeProgram program_{unit_};
};

}  // namespace

int fuzz_bytecode(std::span<const std::byte> input) {
  expect_good_end([&] {
    ClassType net(TypeKind::kClass, "__torch__.Net", true);  // of every method
    net.add_attribute({"weight", types::tensor()});
    lite::verify(Model().read(input),
                 {[&](const std::string&) { return &net; },
                  [](const std::string& name) { return name.starts_with("custom::"); }});
  });
  return expect_good_end([&] {
    Model model;
    model.program().add_functions(model.read(input));
    model.program().finish();
  });
}

}  // namespace torchlet::fuzz
