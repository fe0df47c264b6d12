#include <gtest/gtest.h>

#include "base/error.h"
#include "tensor/containers.h"

// A program can nest values as deep as it likes; walking them must not end in the thread's stack.
namespace torchlet {
namespace {

constexpr int kDeep = 1'000'000;

Value nested_list(int depth) {
  Value value = make_list(types::any(), {});
  for (int i = 0; i < depth; ++i) value = make_list(types::any(), {value});
  return value;
}

TEST(Depth, DeepContainersAreDestroyedWithoutRecursion) {
  Value list = nested_list(kDeep);
  list = Value();
  Value tuple;
  for (int i = 0; i < kDeep; ++i) tuple = Value(make_ref<Tuple>(std::vector<Value>{tuple}));
  tuple = Value();
  Value last;
  for (int i = 0; i < kDeep; ++i) {
    auto dict = make_ref<Dict>(types::integer(), types::any());
    dict->set(1, std::move(last));
    last = Value(std::move(dict));
  }
  last = Value();
}

TEST(Depth, ALinkedListOfObjectsIsDestroyedWithoutRecursion) {
  auto node = std::make_shared<ClassType>(TypeKind::kClass, "__torch__.Node", false);
  node->add_attribute({"next", types::any()});
  Value first;
  for (int i = 0; i < kDeep; ++i) {
    auto object = make_ref<Object>(node);
    object->slots[0] = std::move(first);
    first = Value(std::move(object));
  }
  const Ref<Object> second(&first.object_ref().slots[0].object_ref());
  first = Value();
  EXPECT_EQ(second->use_count(), 1u);  // what is still held elsewhere stays
  EXPECT_TRUE(second->slots[0].is_object());
}

TEST(Depth, OtherWalksGiveUp) {
  const Value shallow = nested_list(kMaxValueDepth - 2), deep = nested_list(kMaxValueDepth + 1);
  EXPECT_EQ(to_text(shallow).size(), 2u * (kMaxValueDepth - 1));
  EXPECT_TRUE(values_equal(shallow, nested_list(kMaxValueDepth - 2)));
  EXPECT_THROW(to_text(deep), Error);
  EXPECT_THROW(script_text(deep), Error);
  EXPECT_THROW(values_equal(deep, nested_list(kMaxValueDepth + 1)), Error);
  EXPECT_EQ(to_text(make_list(types::any(), {1})), "[1]");  // the guard is back at its start
}

// 40 levels of the same value twice would be 2^40 steps.
template <typename Pair>
Value doubled(Value value, const Pair& pair) {
  for (int i = 0; i < 40; ++i) value = pair(value);
  return value;
}

TEST(Depth, WalksOfWhatIsSharedOverAndOverGiveUp) {
  const auto tuple = [](const Value& item) { return Value::tuple({item, item}); };
  const auto list = [](const Value& item) { return make_list(types::any(), {item, item}); };
  for (const Value& value : {doubled(Value(1), tuple), doubled(Value(1), list)}) {
    EXPECT_THROW(to_text(value), Error);
    EXPECT_THROW(script_text(value), Error);
  }
  EXPECT_THROW(values_equal(doubled(Value(1), list), doubled(Value(1), list)), Error);
  EXPECT_THROW(Dict(types::any(), types::any()).find(doubled(Value(1), tuple)), Error);
  EXPECT_THROW(type_of(doubled(Value(1), tuple)), Error);
  EXPECT_FALSE(is_instance(doubled(Value(1), tuple), *types::list(types::any())));
}

}  // namespace
}  // namespace torchlet
