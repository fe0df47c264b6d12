#include "script/type_parser.h"

#include <gtest/gtest.h>
#include <torchlet/error.h>

namespace torchlet::script {
namespace {

TypePtr find_class(const std::string& name) {
  if (name != "__torch__.M") return nullptr;
  return std::make_shared<ClassType>(TypeKind::kClass, name, true);
}

// A lambda, because a FunctionRef borrows an object.
const auto kNamedTypes = [](const std::string& name) { return find_class(name); };

std::string parsed(const std::string& text) { return parse_type("t.py", text, kNamedTypes)->str(); }

std::string error_of(const std::string& text) {
  try {
    parse_type("t.py", text, kNamedTypes);
  } catch (const Error& error) {
    return error.message();
  }
  return "no error";
}

TEST(TypeParser, SpellsEveryTypeAsTorchScript) {
  for (const char* text : {"Tensor",
                           "int",
                           "float",
                           "complex",
                           "bool",
                           "str",
                           "Device",
                           "NoneType",
                           "Any",
                           "number",
                           "Generator",
                           "Storage",
                           "Stream",
                           "List[int]",
                           "Dict[str, List[Tensor]]",
                           "Optional[Tuple[Tensor, int]]",
                           "Tuple[()]",
                           "Tuple[int]",
                           "Future[Tensor]",
                           "RRef[Tensor]",
                           "Union[int, str, NoneType]",
                           "__torch__.M",
                           "List[__torch__.M]"}) {
    EXPECT_EQ(parsed(text), text);
  }
}

TEST(TypeParser, OtherSpellings) {
  EXPECT_EQ(parsed("None"), "NoneType");
  EXPECT_EQ(parsed("Scalar"), "number");
  EXPECT_EQ(parsed("torch.Tensor"), "Tensor");
  EXPECT_EQ(parsed("torch.LongTensor"), "Tensor");
  EXPECT_EQ(parsed("torch.device"), "Device");
  EXPECT_EQ(parsed("ScalarType"), "int");
  EXPECT_EQ(parsed("Final[float]"), "float");
  EXPECT_EQ(parsed("BroadcastingList2[int]"), "List[int]");
  EXPECT_EQ(parsed("torch.jit.Future[Tensor]"), "Future[Tensor]");
  EXPECT_EQ(parsed("Optional[Optional[int]]"), "Optional[int]");
  EXPECT_EQ(parsed("Union[int, NoneType]"), "Optional[int]");
}

TEST(TypeParser, Errors) {
  EXPECT_EQ(error_of("__torch__.N"), "t.py:1: there is no type '__torch__.N'");
  EXPECT_EQ(error_of("Dict[int]"), "t.py:1: the wrong number of types for Dict");
  EXPECT_EQ(error_of("Set[int]"), "t.py:1: there is no generic type 'Set'");
  EXPECT_EQ(error_of("1"), "t.py:1: this is no type");
  std::string deep;
  for (int i = 0; i < 20000; ++i) deep += "List[";
  EXPECT_EQ(error_of(deep), "t.py:1: a bracket is opened but never closed");
  EXPECT_EQ(error_of(deep + "int" + std::string(20000, ']')),
            "t.py:1: expressions are nested over 200 deep");
}

}  // namespace
}  // namespace torchlet::script
