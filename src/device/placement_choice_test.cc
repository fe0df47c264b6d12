#include "device/placement_choice.h"

#include <gtest/gtest.h>
#include <torchlet/error.h>

namespace torchlet::device {
namespace {

std::vector<Value> call() {
  return {Value(zeros(IntArray{1, 3}, DType::kFloat32)), Value(int64_t{5}),
          Value::list({Value(zeros(IntArray{2}, DType::kInt64))})};
}

PlacementChoice choice() {
  PlacementChoice choice;
  choice.method = "__torch__.M.forward";
  choice.signature = CallSignature(call());
  choice.threads = 2;
  choice.devices = {{"gpu", "driver 7"}, {"cpu", ""}};
  choice.left = {"gpu 0123 0"};
  choice.cpu = {0.002, 0.003};
  choice.chosen = {0.001, 0.0015};
  choice.dropped = {{"npu", "1", "it crashed"}};
  return choice;
}

TEST(CallSignature, IsOfDTypesSizesAndValues) {
  const CallSignature signature(call());
  EXPECT_TRUE(signature.matches(call()));
  std::vector<Value> other = call();
  other[0] = Value(zeros(IntArray{1, 4}, DType::kFloat32));
  EXPECT_FALSE(signature.matches(other));
  other = call();
  other[0] = Value(zeros(IntArray{1, 3}, DType::kFloat64));
  EXPECT_FALSE(signature.matches(other));
  other = call();
  other[1] = Value(int64_t{6});
  EXPECT_FALSE(signature.matches(other));
  other = call();
  other[2] = Value::list({Value(zeros(IntArray{3}, DType::kInt64))});
  EXPECT_FALSE(signature.matches(other));
  other.pop_back();
  EXPECT_FALSE(signature.matches(other));
}

TEST(KeptPlacements, AreReadAsTheyWereWritten) {
  KeptPlacements kept;
  kept.torchlet = "1.2.3";
  kept.model_hash = 0xfedcba9876543210;
  kept.add(choice());
  const KeptPlacements read = parse_placements(to_json(kept));
  EXPECT_EQ(read.torchlet, "1.2.3");
  EXPECT_EQ(read.model_hash, kept.model_hash);
  ASSERT_EQ(read.choices.size(), 1u);
  const PlacementChoice& one = read.choices[0];
  EXPECT_TRUE(one.is_for("__torch__.M.forward", call(), 2));
  EXPECT_FALSE(one.is_for("__torch__.M.forward", call(), 1));
  EXPECT_FALSE(one.is_for("__torch__.N.forward", call(), 2));
  ASSERT_EQ(one.devices.size(), 2u);
  EXPECT_EQ(one.devices[0].name, "gpu");
  EXPECT_EQ(one.devices[0].version, "driver 7");
  EXPECT_TRUE(one.left.contains("gpu 0123 0"));
  EXPECT_DOUBLE_EQ(one.cpu.median, 0.003);
  EXPECT_DOUBLE_EQ(one.chosen.min, 0.001);
  ASSERT_EQ(one.dropped.size(), 1u);
  EXPECT_EQ(one.dropped[0].reason, "it crashed");
  EXPECT_EQ(to_json(read), to_json(kept));
}

TEST(KeptPlacements, OneForEachMethodSignatureAndNumberOfThreads) {
  KeptPlacements kept;
  kept.add(choice());
  PlacementChoice other = choice();
  other.devices = {{"cpu", ""}};
  kept.add(other);
  ASSERT_EQ(kept.choices.size(), 1u);
  EXPECT_EQ(kept.choices[0].devices.size(), 1u);
  other.threads = 1;
  kept.add(other);
  EXPECT_EQ(kept.choices.size(), 2u);
}

TEST(PlacementFile, StandsBesideTheModel) {
  EXPECT_EQ(placement_file_of("a/model.pt"), "a/model.pt.placement.json");
  EXPECT_TRUE(read_placements("no/such/file.json").choices.empty());
}

}  // namespace
}  // namespace torchlet::device
