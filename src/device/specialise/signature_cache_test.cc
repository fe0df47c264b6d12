#include "device/specialise/signature_cache.h"

#include <gtest/gtest.h>

#include <future>
#include <limits>
#include <thread>

#include "base/error.h"
#include "ops/core/common.h"
#include "ops/core/testing.h"

namespace torchlet::device {
namespace {

using Cache = SignatureCache<int>;

std::vector<Value> of_size(int64_t size) { return {Value(empty(IntArray{size}, DType::kFloat32))}; }
auto giving(int number) {
  return [number] { return std::make_shared<const int>(number); };
}
std::shared_ptr<const int> not_made() {
  ADD_FAILURE() << "made again";
  return nullptr;
}

TEST(Signature, IsOfKindsAndNumbers) {
  const Tensor x = ops::ramp({2, 3});
  const Signature signature(std::vector<Value>{x, 2, 0.0, Value(), "a", Value::list({1, 2})});
  const auto matches = [&](std::vector<Value> inputs) { return signature.matches(inputs); };
  EXPECT_TRUE(matches({ops::ramp({2, 3}), 2, 0.0, Value(), "a", Value::list({1, 2})}));
  EXPECT_FALSE(matches({ops::ramp({3, 2}), 2, 0.0, Value(), "a", Value::list({1, 2})}));
  EXPECT_FALSE(matches(
      {ops::transpose(ops::ramp({3, 2}), 0, 1), 2, 0.0, Value(), "a", Value::list({1, 2})}));
  EXPECT_FALSE(matches({x.to(DType::kFloat64), 2, 0.0, Value(), "a", Value::list({1, 2})}));
  EXPECT_FALSE(matches({x, 3, 0.0, Value(), "a", Value::list({1, 2})}));
  EXPECT_FALSE(matches({x, 2, -0.0, Value(), "a", Value::list({1, 2})}));
  EXPECT_FALSE(matches({x, 2, 0.0, x, "a", Value::list({1, 2})}));
  EXPECT_FALSE(matches({x, 2, 0.0, Value(), "b", Value::list({1, 2})}));
  EXPECT_FALSE(matches({x, 2, 0.0, Value(), "a", Value::list({1, 3})}));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(Signature(std::vector<Value>{nan}).matches(std::vector<Value>{nan}));
}

TEST(Signature, TuplesAndListsOfListsCountByTheirItems) {
  const auto lists = [](int64_t last) {
    const auto type = types::list(types::integer());
    return make_list(type, {Value::list({1, 2}), Value::list({last})});
  };
  const Value tuple = Value::tuple({1, Value::list({2})});
  const std::vector<Value> inputs = {lists(3), tuple};
  ASSERT_TRUE(Signature::can_have(inputs));
  const Signature signature(inputs);
  const auto matches = [&](const Value& list, const Value& other) {
    return signature.matches(std::vector<Value>{list, other});
  };
  EXPECT_TRUE(matches(lists(3), Value::tuple({1, Value::list({2})})));
  EXPECT_FALSE(matches(lists(4), tuple));
  EXPECT_FALSE(matches(lists(3), Value::tuple({1, Value::list({3})})));
  EXPECT_FALSE(matches(lists(3), Value::tuple({1})));
  EXPECT_FALSE(matches(lists(3), Value::list({1, Value::list({2})})));
  inputs[0].list_ref().items[1].list_ref().items[0] = 5;  // later
  EXPECT_TRUE(matches(lists(3), tuple));
  // 30 levels of the same list twice.
  Value deep = Value::list({1});
  for (int i = 0; i < 30; ++i) deep = Value::list({deep, deep});
  EXPECT_FALSE(Signature::can_have(std::vector<Value>{deep}));
}

TEST(SignatureCache, MakesEachOnce) {
  Cache cache;
  EXPECT_EQ(*cache.get(of_size(1), giving(1)), 1);
  EXPECT_EQ(*cache.get(of_size(2), giving(2)), 2);
  EXPECT_EQ(*cache.get(of_size(1), not_made), 1);
  EXPECT_EQ(*cache.get(of_size(2), not_made), 2);
}

TEST(SignatureCache, KnowsForWhatThereIsNothing) {
  Cache cache;
  EXPECT_FALSE(cache.get(of_size(1), [] { return std::shared_ptr<const int>(); }));
  EXPECT_FALSE(cache.get(of_size(1), not_made));
}

TEST(SignatureCache, LaterOnesAreMadeTheSecondTimeAndThoseThatNobodyAskedForGo) {
  Cache cache;
  const auto size = [](size_t i) { return of_size(static_cast<int64_t>(i)); };
  for (size_t i = 0; i < Cache::kEager; ++i) EXPECT_TRUE(cache.get(size(i), giving(1)));
  for (size_t i = Cache::kEager; i <= Cache::kMost; ++i) {
    EXPECT_FALSE(cache.get(size(i), not_made));
    EXPECT_TRUE(cache.get(size(i), giving(1)));
  }
  EXPECT_FALSE(cache.get(size(0), not_made));  // as if it was new; now size(1) is gone
  EXPECT_TRUE(cache.get(size(2), not_made));
  EXPECT_FALSE(cache.get(size(1), not_made));  // in the place of size(3)
  EXPECT_TRUE(cache.get(size(2), not_made));
  EXPECT_FALSE(cache.get(size(3), not_made));
}

TEST(SignatureCache, AnErrorReachesWhoMakesItAlone) {
  Cache cache;
  const auto failing = []() -> std::shared_ptr<const int> {
    throw Error(ErrorCode::kTimeLimit, "no time");
  };
  EXPECT_THROW(cache.get(of_size(1), failing), Error);
  EXPECT_EQ(*cache.get(of_size(1), giving(3)), 3);
}

TEST(SignatureCache, OneThatIsBeingMadeHoldsUpNoOther) {
  Cache cache;
  std::promise<void> begun, go_on;
  std::future<void> may_go_on = go_on.get_future();
  std::thread slow([&] {
    cache.get(of_size(1), [&] {
      begun.set_value();
      may_go_on.wait();
      return std::make_shared<const int>(1);
    });
  });
  begun.get_future().wait();
  EXPECT_EQ(*cache.get(of_size(2), giving(2)), 2);
  EXPECT_EQ(*cache.get(of_size(2), not_made), 2);
  std::thread same([&] { EXPECT_EQ(*cache.get(of_size(1), not_made), 1); });
  go_on.set_value();
  slow.join();
  same.join();
}

}  // namespace
}  // namespace torchlet::device
