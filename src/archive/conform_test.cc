#include <gtest/gtest.h>

#include "archive/reader.h"
#include "archive/test_util.h"

namespace torchlet::archive {
namespace {

Value untyped_list(std::vector<Value> items) { return make_list(types::any(), std::move(items)); }

std::string conform_error(const Value& value, const TypePtr& type) {
  return error_of([&] { conform(value, type); });
}

TEST(Conform, GivesContainersTheirTypes) {
  const auto dict = make_ref<Dict>(types::any(), types::any());
  dict->set("a", untyped_list({1, 2}));
  const TypePtr type = types::dict(types::string(), types::list(types::integer()));
  conform(Value(dict), type);
  EXPECT_EQ(type_of(Value(dict))->str(), "Dict[str, List[int]]");
  EXPECT_EQ(type_of(*dict->find("a"))->str(), "List[int]");
}

TEST(Conform, NamesTuples) {
  const Value point = Value::tuple({1, untyped_list({})});
  const TypePtr type = types::named_tuple("__torch__.Point", {"x", "tags"},
                                          {types::integer(), types::list(types::string())});
  conform(point, types::optional(type));
  EXPECT_EQ(type_of(point)->str(), "__torch__.Point");
  EXPECT_EQ(point.to_tuple()[1].list_ref().element_type->str(), "str");
}

TEST(Conform, AcceptsNoneForOptional) {
  EXPECT_EQ(conform_error(Value(), types::optional(types::tensor())), "");
  EXPECT_EQ(conform_error(Value(), types::tensor()), "expected Tensor, got None");
}

TEST(Conform, RefusesWhatDoesNotFit) {
  EXPECT_EQ(conform_error(1, types::floating()), "expected float, got an int");
  EXPECT_EQ(conform_error(1, types::list(types::integer())), "expected List[int], got an int");
  EXPECT_EQ(conform_error(untyped_list({1, "a"}), types::list(types::integer())),
            "expected int, got a str");
  EXPECT_EQ(conform_error(Value::tuple({1}), types::tuple({types::integer(), types::integer()})),
            "expected Tuple[int, int], got a tuple");
  const auto dict = make_ref<Dict>(types::any(), types::any());
  dict->set(1, 2);
  EXPECT_EQ(conform_error(Value(dict), types::dict(types::string(), types::integer())),
            "expected str, got an int");
}

TEST(Conform, IsLinearInSharedContainers) {
  // 60 lists, each holding the one below it twice: 2^60 paths.
  Value value = untyped_list({});
  TypePtr type = types::list(types::integer());
  for (int i = 0; i < 60; ++i) {
    value = untyped_list({value, value});
    type = types::list(type);
  }
  EXPECT_EQ(conform_error(value, type), "");
  EXPECT_EQ(value.list_ref().element_type.get(), type->element(0).get());
}

}  // namespace
}  // namespace torchlet::archive
