#include "tensor/type.h"

#include <gtest/gtest.h>
#include <torchlet/error.h>

#include "tensor/containers.h"

namespace torchlet {
namespace {

using types::boolean;
using types::complex;
using types::dict;
using types::floating;
using types::integer;
using types::list;
using types::none;
using types::number;
using types::optional;
using types::string;
using types::tensor;
using types::tuple;
using types::union_of;

std::shared_ptr<ClassType> class_type(const std::string& name) {
  return std::make_shared<ClassType>(TypeKind::kClass, name, false);
}

TEST(Type, Spelling) {
  EXPECT_EQ(dict(string(), list(tensor()))->str(), "Dict[str, List[Tensor]]");
  EXPECT_EQ(optional(integer())->str(), "Optional[int]");
  EXPECT_EQ(tuple({integer(), floating()})->str(), "Tuple[int, float]");
  EXPECT_EQ(tuple({})->str(), "Tuple[()]");
  EXPECT_EQ(union_of({integer(), string(), none()})->str(), "Union[int, str, NoneType]");
  EXPECT_EQ(types::future(tensor())->str(), "Future[Tensor]");
  EXPECT_EQ(class_type("__torch__.m.Net")->str(), "__torch__.m.Net");
  EXPECT_EQ(types::named_tuple("__torch__.P", {"x"}, {integer()})->str(), "__torch__.P");
  EXPECT_EQ(types::device()->str(), "Device");
}

TEST(Type, OptionalsAndUnionsAreFlat) {
  EXPECT_EQ(optional(optional(integer()))->str(), "Optional[int]");
  EXPECT_EQ(optional(none())->str(), "NoneType");
  EXPECT_EQ(union_of({integer(), none()})->str(), "Optional[int]");
  EXPECT_EQ(union_of({integer(), integer()})->str(), "int");
  EXPECT_EQ(union_of({union_of({integer(), string()}), optional(floating())})->str(),
            "Union[int, str, float, NoneType]");
  EXPECT_EQ(optional(union_of({integer(), string()}))->str(), "Union[int, str, NoneType]");
  EXPECT_TRUE(equal(union_of({integer(), string()}), union_of({string(), integer()})));
}

TEST(Type, EqualityIsStructuralAndByNameForClasses) {
  EXPECT_TRUE(equal(list(list(integer())), list(list(integer()))));
  EXPECT_FALSE(equal(list(integer()), list(floating())));
  EXPECT_FALSE(equal(tuple({integer()}), tuple({integer(), integer()})));
  EXPECT_TRUE(equal(class_type("A"), class_type("A")));
  EXPECT_FALSE(equal(class_type("A"), class_type("B")));
  EXPECT_FALSE(equal(types::named_tuple("P", {"x"}, {integer()}), tuple({integer()})));
}

struct Pair {
  TypePtr sub, super;
  bool expected;
};

// Asked of PyTorch's isSubtypeOf.
TEST(Type, Subtypes) {
  const Pair pairs[] = {
      {integer(), floating(), false},
      {integer(), number(), true},
      {boolean(), number(), false},
      {complex(), number(), true},
      {number(), integer(), false},
      {integer(), optional(integer()), true},
      {none(), optional(integer()), true},
      {optional(integer()), integer(), false},
      {optional(integer()), optional(number()), true},
      {list(integer()), list(number()), false},
      {list(integer()), list(optional(integer())), false},
      {list(integer()), types::simple(TypeKind::kAnyList), true},
      {tuple({integer(), integer()}), tuple({number(), integer()}), true},
      {tuple({integer()}), tuple({integer(), integer()}), false},
      {tuple({integer()}), types::simple(TypeKind::kAnyTuple), true},
      {integer(), union_of({integer(), string()}), true},
      {union_of({integer(), string()}), union_of({integer(), string(), none()}), true},
      {optional(integer()), union_of({integer(), string(), none()}), true},
      {union_of({integer(), string()}), integer(), false},
      {list(integer()), types::any(), true},
      {dict(string(), integer()), dict(string(), types::any()), false},
      {none(), types::any(), true},
      {types::any(), integer(), false},
      {tensor(), optional(tensor()), true},
      {types::unknown(), integer(), true},
      {integer(), types::unknown(), true},
  };
  for (const Pair& pair : pairs) {
    EXPECT_EQ(is_subtype(pair.sub, pair.super), pair.expected)
        << pair.sub->str() << " <: " << pair.super->str();
  }
}

TEST(Type, NamedTuplesAreTuplesButNotTheOtherWayRound) {
  const TypePtr named = types::named_tuple("__torch__.P", {"x", "y"}, {integer(), tensor()});
  const TypePtr plain = tuple({integer(), tensor()});
  EXPECT_TRUE(is_subtype(named, plain));
  EXPECT_FALSE(is_subtype(plain, named));
  EXPECT_FALSE(
      is_subtype(types::named_tuple("__torch__.Q", {"x", "y"}, {integer(), tensor()}), named));
}

// As the branches of a conditional expression are unified in TorchScript.
TEST(Type, Unify) {
  const auto unified = [](const TypePtr& a, const TypePtr& b) {
    const TypePtr type = unify(a, b);
    const TypePtr other = unify(b, a);
    EXPECT_EQ(type ? type->str() : "-", other ? other->str() : "-");
    return type ? type->str() : "-";
  };
  EXPECT_EQ(unified(integer(), integer()), "int");
  EXPECT_EQ(unified(integer(), none()), "Optional[int]");
  EXPECT_EQ(unified(none(), none()), "NoneType");
  EXPECT_EQ(unified(optional(integer()), integer()), "Optional[int]");
  EXPECT_EQ(unified(integer(), floating()), "-");
  EXPECT_EQ(unified(boolean(), integer()), "-");
  EXPECT_EQ(unified(string(), integer()), "-");
  EXPECT_EQ(unified(list(integer()), list(floating())), "-");
  EXPECT_EQ(unified(tuple({integer(), none()}), tuple({none(), integer()})),
            "Tuple[Optional[int], Optional[int]]");
  EXPECT_EQ(unified(tuple({optional(integer())}), tuple({integer()})), "Tuple[Optional[int]]");
  EXPECT_EQ(unified(tuple({integer()}), tuple({integer(), integer()})), "-");
  EXPECT_EQ(unified(types::unknown(), integer()), "int");
  EXPECT_EQ(unified(types::future(integer()), types::future(none())), "Future[Optional[int]]");
}

TEST(Type, FreeVariables) {
  EXPECT_TRUE(has_free_variables(*list(types::variable("t"))));
  EXPECT_FALSE(has_free_variables(*dict(string(), optional(tensor()))));
}

TEST(ClassType, AttributesConstantsAndSlots) {
  const auto type = class_type("__torch__.Net");
  EXPECT_EQ(type->add_attribute({"weight", tensor(), ClassType::AttributeKind::kParameter}), 0u);
  EXPECT_EQ(type->add_attribute({"training", boolean()}), 1u);
  EXPECT_EQ(type->add_attribute({"weight", tensor()}), 0u);
  EXPECT_EQ(type->attributes().size(), 2u);
  EXPECT_EQ(type->find_attribute("training"), 1u);
  EXPECT_EQ(type->find_attribute("bias"), std::nullopt);
  type->add_constant("size", 3);
  EXPECT_EQ(type->find_constant("size")->to_int(), 3);
  EXPECT_EQ(type->find_constant("weight"), nullptr);
  EXPECT_EQ(type->find_method("forward"), nullptr);
}

TEST(EnumType, KeepsItsMembersInOrder) {
  EnumType type("__torch__.Color", integer());
  type.add_member("RED", 1);
  type.add_member("BLUE", 0);
  ASSERT_EQ(type.members().size(), 2u);
  EXPECT_EQ(type.members()[1].first, "BLUE");
  EXPECT_EQ(type.as_enum(), &type);
  EXPECT_EQ(type.as_class(), nullptr);
}

TEST(Type, LargeTreesAreRefused) {
  const auto nested = [](int depth, auto&& wrap) {
    TypePtr type = types::integer();
    for (int i = 0; i < depth; ++i) type = wrap(type);
    return type;
  };
  const auto list = [](const TypePtr& t) { return types::list(t); };
  const auto pair = [](const TypePtr& t) { return types::tuple({t, t}); };
  EXPECT_EQ(nested(60, list)->str().size(), 60 * std::string("List[]").size() + 3);
  EXPECT_THROW(nested(100, list), Error);
  EXPECT_NO_THROW(nested(10, pair));
  EXPECT_THROW(nested(30, pair), Error);
}

}  // namespace
}  // namespace torchlet
