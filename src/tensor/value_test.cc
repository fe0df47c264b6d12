#include <gtest/gtest.h>
#include <torchlet/value.h>

#include "tensor/containers.h"
#include "tensor/scalar.h"
#include "tensor/tensor_impl.h"

namespace torchlet {
namespace {

template <typename Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Value, KindsAndConversions) {
  EXPECT_TRUE(Value().is_none());
  EXPECT_EQ(Value(7).to_int(), 7);
  EXPECT_EQ(Value(true).to_int(), 1);
  EXPECT_EQ(Value(7).to_double(), 7.0);
  EXPECT_EQ(Value(0.5).to_complex(), std::complex<double>(0.5, 0));
  EXPECT_EQ(Value("text").to_string(), "text");
  EXPECT_EQ(Value::device("cuda:0").to_string(), "cuda:0");
  EXPECT_TRUE(Value(Tensor()).is_none());
  EXPECT_TRUE(Value(Scalar(2.5)).is_float());
  EXPECT_TRUE(Value(Scalar(true)).is_bool());
  EXPECT_EQ(Value(2).to_scalar().dtype(), DType::kInt64);
  EXPECT_EQ(error_of([] { Value("a").to_int(); }), "expected an int, got a str");
  EXPECT_EQ(error_of([] { Value(0.5).to_int(); }), "expected an int, got a float");
  EXPECT_EQ(error_of([] { Value(1).to_bool(); }), "expected a bool, got an int");
  EXPECT_EQ(error_of([] { Value().to_tensor(); }), "expected a Tensor, got None");
  EXPECT_EQ(error_of([] { Value(1).to_list(); }), "expected a list, got an int");
}

TEST(Value, CopiesShareContainers) {
  const Value list = Value::list({1, 2});
  const Value same = list;
  same.list_ref().items.push_back(3);
  EXPECT_EQ(list.to_list().size(), 3u);
  EXPECT_TRUE(list.is_same(same));
  EXPECT_FALSE(list.is_same(Value::list({1, 2, 3})));
  EXPECT_EQ(list.list_ref().use_count(), 2u);
}

TEST(Value, MovedFromIsNoneAndAssignmentReleases) {
  Value list = Value::list({1});
  const Value keep = list;
  Value moved = std::move(list);
  EXPECT_TRUE(list.is_none());  // NOLINT(bugprone-use-after-move): that is the test
  EXPECT_EQ(keep.list_ref().use_count(), 2u);
  moved = 5;
  EXPECT_EQ(keep.list_ref().use_count(), 1u);
  moved = moved;  // NOLINT(clang-diagnostic-self-assign-overloaded)
  EXPECT_EQ(moved.to_int(), 5);
}

TEST(Value, TensorLists) {
  const Tensor tensor = zeros(std::vector<int64_t>{2}, DType::kFloat32);
  const auto tensors = Value::tuple({tensor, Value()}).to_tensor_list();
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_TRUE(tensors[0].is_same(tensor));
  EXPECT_FALSE(tensors[1].defined());
  EXPECT_NE(error_of([] { Value::list({1}).to_tensor_list(); }), "");
}

TEST(Value, DynamicTypes) {
  EXPECT_EQ(type_of(Value::list({1.5}))->str(), "List[float]");
  EXPECT_EQ(type_of(Value::list({}))->str(), "List[Tensor]");
  EXPECT_EQ(type_of(Value::dict({{"a", 1}}))->str(), "Dict[str, int]");
  EXPECT_EQ(type_of(Value::tuple({1, "a", Value()}))->str(), "Tuple[int, str, NoneType]");
  EXPECT_EQ(type_of(std::complex<double>(1, 2))->str(), "complex");
}

TEST(Value, Instances) {
  EXPECT_TRUE(is_instance(1, *types::integer()));
  EXPECT_FALSE(is_instance(true, *types::integer()));
  EXPECT_FALSE(is_instance(1, *types::floating()));
  EXPECT_TRUE(is_instance(true, *types::number()));
  EXPECT_TRUE(is_instance(Value(), *types::optional(types::integer())));
  EXPECT_TRUE(is_instance("a", *types::union_of({types::integer(), types::string()})));
  EXPECT_TRUE(is_instance(Value::list({1}), *types::list(types::integer())));
  EXPECT_FALSE(is_instance(Value::list({1}), *types::list(types::number())));
  EXPECT_TRUE(is_instance(Value::tuple({1, Value()}),
                          *types::tuple({types::integer(), types::optional(types::tensor())})));
}

TEST(Value, EqualityIsPythons) {
  EXPECT_TRUE(values_equal(1, 1.0));
  EXPECT_TRUE(values_equal(true, 1));
  EXPECT_TRUE(values_equal(std::complex<double>(2, 0), 2));
  EXPECT_FALSE(values_equal(1, "1"));
  EXPECT_FALSE(values_equal("cpu", Value::device("cpu")));
  EXPECT_TRUE(values_equal(Value::list({1, "a"}), Value::list({1, "a"})));
  EXPECT_FALSE(values_equal(Value::list({1}), Value::tuple({1})));
  EXPECT_FALSE(values_equal(Value::list({1}), Value::list({1, 2})));
  EXPECT_TRUE(values_equal(Value::dict({{"a", 1}, {"b", 2}}), Value::dict({{"b", 2}, {"a", 1}})));
  EXPECT_FALSE(values_equal(Value::dict({{"a", 1}}), Value::dict({{"a", 2}})));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(values_equal(nan, nan));
}

std::string keys(const Dict& dict) {
  std::string text;
  for (const auto& [key, value] : dict.items()) text += key.to_string();
  return text;
}

TEST(Dict, KeepsTheOrderOfInsertion) {
  Dict dict(types::string(), types::integer());
  for (const char* key : {"c", "a", "b"}) dict.set(key, 1);
  dict.set("a", 2);  // keeps its place
  EXPECT_EQ(keys(dict), "cab");
  EXPECT_EQ(dict.find("a")->to_int(), 2);
  EXPECT_TRUE(dict.erase("c"));
  EXPECT_FALSE(dict.erase("c"));
  dict.set("c", 3);  // comes last now
  EXPECT_EQ(keys(dict), "abc");
  EXPECT_EQ(dict.size(), 3u);
  dict.clear();
  EXPECT_EQ(dict.find("a"), nullptr);
}

TEST(Dict, SurvivesManyErasures) {
  Dict dict(types::integer(), types::integer());
  for (int round = 0; round < 1000; ++round) {
    dict.set(round, round);
    if (round >= 3) {
      EXPECT_TRUE(dict.erase(round - 3));
    }
  }
  const auto items = dict.items();
  ASSERT_EQ(items.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(items[static_cast<size_t>(i)].first.to_int(), 997 + i);
    EXPECT_EQ(dict.find(997 + i)->to_int(), 997 + i);
  }
}

TEST(Dict, Keys) {
  Dict dict(types::any(), types::integer());
  const Tensor tensor = zeros(std::vector<int64_t>{}, DType::kFloat32);
  dict.set(0.0, 1);
  dict.set(std::complex<double>(1, 2), 2);
  dict.set(tensor, 3);
  dict.set(std::string("a\0b", 3), 4);
  EXPECT_EQ(dict.find(-0.0)->to_int(), 1);
  EXPECT_EQ(dict.find(std::complex<double>(1, 2))->to_int(), 2);
  EXPECT_EQ(dict.find(tensor)->to_int(), 3);
  EXPECT_EQ(dict.find(zeros(std::vector<int64_t>{}, DType::kFloat32)), nullptr);  // by identity
  EXPECT_EQ(dict.find("a"), nullptr);
  EXPECT_EQ(error_of([&] { dict.set(Value::list({}), 1); }), "unhashable dict key: a list");
}

TEST(Object, AttributesByName) {
  const auto type = std::make_shared<ClassType>(TypeKind::kClass, "__torch__.Net", true);
  type->add_attribute({"scale", types::floating()});
  Object object(type);
  object.set_attribute("scale", 0.5);
  EXPECT_EQ(object.attribute("scale").to_double(), 0.5);
  // A class that is compiled lazily may gain attributes.
  type->add_attribute({"late", types::integer()});
  EXPECT_TRUE(object.attribute("late").is_none());
  object.set_attribute("late", 1);
  EXPECT_EQ(object.attribute("late").to_int(), 1);
  EXPECT_EQ(error_of([&] { object.attribute("lost"); }),
            "'__torch__.Net' object has no attribute 'lost'");
}

TEST(Text, IsPythonsRepr) {
  EXPECT_EQ(to_text(Value::list({1, 2.5, true})), "[1, 2.5, True]");
  EXPECT_EQ(to_text(Value::tuple({Value()})), "(None,)");
  EXPECT_EQ(to_text(Value::dict({{"a", "it's"}})), "{'a': \"it's\"}");
  EXPECT_EQ(to_text(std::complex<double>(1, -2.5)), "(1-2.5j)");
  EXPECT_EQ(float_text(1e16), "1e+16");
  EXPECT_EQ(float_text(9999999999999998), "9999999999999998.0");
  EXPECT_EQ(float_text(123456.789), "123456.789");
  EXPECT_EQ(float_text(-1.5e-300), "-1.5e-300");
  EXPECT_EQ(float_text(-0.0), "-0.0");
  EXPECT_EQ(float_text(0.0001), "0.0001");
  EXPECT_EQ(float_text(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(float_text(5e-324), "5e-324");
  EXPECT_EQ(float_text(1.7976931348623157e308), "1.7976931348623157e+308");
  EXPECT_EQ(float_text(0x1p-1017), "7.120236347223045e-307");
  EXPECT_EQ(float_text(1e-5), "1e-05");
  EXPECT_EQ(float_text(0.1), "0.1");
  EXPECT_EQ(float_text(100), "100.0");
  EXPECT_EQ(quoted("a\n\x01'\""), "'a\\n\\x01\\'\"'");
}

// A program can say that a value is of another type than it is.
TEST(Value, WhatIsSharedIsReadAsWhatItIs) {
  const Value number(int64_t{0x4141414141414141}), text("text"), list = Value::list({1});
  for (const Value& value : {Value(), number, Value(1.5), Value(true)}) {
    EXPECT_THROW(value.list_ref(), Error);
    EXPECT_THROW(value.tuple_ref(), Error);
    EXPECT_THROW(value.dict_ref(), Error);
    EXPECT_THROW(value.object_ref(), Error);
    EXPECT_THROW(value.custom_ref(), Error);
    EXPECT_THROW(value.enum_ref(), Error);
    EXPECT_THROW(value.future_ref(), Error);
    EXPECT_THROW(value.tensor_impl(), Error);
  }
  EXPECT_THROW(text.list_ref(), Error);
  EXPECT_THROW(list.tuple_ref(), Error);
  EXPECT_EQ(list.list_ref().items.size(), 1u);
}

}  // namespace
}  // namespace torchlet
