// Expectations are PyTorch's answers after torch.manual_seed(5).
#include <limits>

#include "ops/core/testing.h"
#include "ops/random/random.h"

namespace torchlet::ops {
namespace {

Tensor seeded(const std::string& name, const Tensor& input, double p) {
  seed_random(5);
  return result_of(name, "", {input, p, true});
}

TEST(Dropout, IsTheInputItselfUnlessItTrains) {
  const Tensor x = make({1, 2, 3});
  EXPECT_TRUE(result_of("aten::dropout", "", {x, 0.5, false}).is_same(x));
  EXPECT_TRUE(result_of("aten::dropout_", "", {x, 0.5, false}).is_same(x));
  EXPECT_TRUE(result_of("aten::alpha_dropout", "", {x, 0.0, true}).is_same(x));
}

TEST(Dropout, DrawsAsPyTorchInTheOrderOfMemory) {
  const Tensor x = transpose(make({1, 2, 3, 4, 5, 6}, DType::kFloat32, {2, 3}), 0, 1);
  expect_tensor(seeded("aten::dropout", x, 0.25), {4.0 / 3, 16.0 / 3, 8.0 / 3, 20.0 / 3, 4, 0},
                DType::kFloat32, {3, 2});
}

TEST(Dropout, InPlaceChangesSelf) {
  const Tensor x = make({1, 2, 3, 4});
  EXPECT_TRUE(seeded("aten::dropout_", x, 0.5).is_same(x));
  expect_tensor(x, {0, 4, 6, 8});
}

TEST(Dropout, OfCertaintyMultipliesByZero) {
  expect_tensor(seeded("aten::dropout", make({1, std::numeric_limits<double>::infinity()}), 1),
                {0, std::nan("")});
}

TEST(FeatureDropout, DropsWholeChannels) {
  const Tensor x = make({1, 2, 3, 4, 5, 6, 7, 8}, DType::kFloat32, {2, 2, 2});
  expect_tensor(seeded("aten::feature_dropout", x, 0.5), {0, 0, 6, 8, 10, 12, 14, 16},
                DType::kFloat32, {2, 2, 2});
  EXPECT_THROW(seeded("aten::feature_dropout", make({1, 2}), 0.5), Error);
}

TEST(AlphaDropout, SaturatesWhatGoes) {
  expect_tensor(seeded("aten::alpha_dropout", make({1, 2, 3, 4}), 0.5),
                {-0.7791939, 2.552004, 3.438408, 4.324813});
  expect_tensor(
      seeded("aten::feature_alpha_dropout",
             make({1, 2, 3, 4, 5, 6, 7, 8}, DType::kFloat32, {2, 2, 2}), 0.5),
      {-0.7791939, -0.7791939, 3.438408, 4.324813, 5.211218, 6.097623, 6.984028, 7.870433},
      DType::kFloat32, {2, 2, 2});
}

TEST(Dropout, RefusesIntegers) { EXPECT_THROW(seeded("aten::dropout", ints({1, 2}), 0.5), Error); }

TEST(Dropout, RefusesWhatIsNoProbability) {
  try {
    seeded("aten::dropout", make({1, 2}), 1.5);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what())
                  .find("dropout probability has to be between 0 and 1, but got 1.5"),
              std::string::npos);
  }
}

TEST(ManualSeed, CountsInItsLowerHalf) {
  const Tensor x = make(std::vector<double>(32, 1));
  const std::vector<double> expected = elements_of(seeded("aten::dropout", x, 0.5));
  call_op("aten::manual_seed", "", {(int64_t{1} << 40) + 5});
  EXPECT_EQ(elements_of(result_of("aten::dropout", "", {x, 0.5, true})), expected);
  EXPECT_NE(elements_of(result_of("aten::dropout", "", {x, 0.5, true})), expected);
}

// Pieces of sixty-four times sixteen, what is left of them, and the last sixteen drawn again.
TEST(Normal, ManyNumbersAtOnce) {
  call_op("aten::manual_seed", "", {3});
  const std::vector<double> numbers =
      elements_of(result_of("aten::randn_like", "", {zeros(IntArray{2005}, DType::kFloat32)}));
  for (const auto& [place, number] :
       {std::pair(0, -0.076644), std::pair(8, -0.051681), std::pair(1023, 0.800642),
        std::pair(1024, 0.934833), std::pair(1988, 0.892216), std::pair(1989, -1.808244),
        std::pair(2004, 0.241038)}) {
    EXPECT_NEAR(numbers[static_cast<size_t>(place)], number, 2e-6) << place;
  }
}

}  // namespace
}  // namespace torchlet::ops
