#include <gtest/gtest.h>
#include <torchlet/dtype.h>

#include <bit>
#include <cmath>
#include <limits>

namespace torchlet {
namespace {

struct Rounding {
  uint32_t from;
  uint16_t half, bfloat16;
};

// As torch.tensor(x).to(torch.float16) and bfloat16.
constexpr Rounding kRoundings[] = {
    {0x3f802000, 0x3c01, 0x3f80},  // 1 + 2^-10
    {0x3f801000, 0x3c00, 0x3f80},  // 1 + 2^-11: a tie, to even
    {0x3f803000, 0x3c02, 0x3f80},  // 1 + 3 * 2^-11: a tie, to even
    {0x477fef00, 0x7bff, 0x4780},  // 65519
    {0x477ff000, 0x7c00, 0x4780},  // 65520, the first that rounds to infinity
    {0x322bcc77, 0x0000, 0x322c},  // 1e-8
    {0x33000000, 0x0000, 0x3300},  // 2^-25: a tie, to zero
    {0x330147ae, 0x0001, 0x3301},
    {0x33800000, 0x0001, 0x3380},  // 2^-24, the smallest subnormal half
    {0x33c00000, 0x0002, 0x33c0},  // 1.5 * 2^-24: a tie, to even
    {0x387fda40, 0x03ff, 0x3880},
    {0x387fc000, 0x03ff, 0x3880},  // the largest subnormal half
    {0x387fe000, 0x0400, 0x3880},  // rounds up to the smallest normal half
    {0x3dcccccd, 0x2e66, 0x3dcd},  // 0.1
    {0x80000000, 0x8000, 0x8000},  // -0
    {0x7f800000, 0x7c00, 0x7f80},  // infinity
    {0x7f7fffff, 0x7c00, 0x7f80},  // the largest float
    {0x40490fd0, 0x4248, 0x4049},  // 3.14159
    {0x45001000, 0x6800, 0x4500},  // 2049: a tie in half
    {0x45003000, 0x6802, 0x4500},  // 2051
    {0x3f808000, 0x3c04, 0x3f80},  // 1 + 2^-8: a tie in bfloat16
    {0x3f818000, 0x3c0c, 0x3f82},  // 1 + 3 * 2^-8: a tie in bfloat16
};

TEST(HalfTypes, RoundToNearestEven) {
  for (const Rounding& one : kRoundings) {
    const float value = std::bit_cast<float>(one.from);
    EXPECT_EQ(Half(value).bits, one.half) << value;
    EXPECT_EQ(BFloat16(value).bits, one.bfloat16) << value;
    EXPECT_EQ(Half(-value).bits, one.half ^ 0x8000) << -value;
    EXPECT_EQ(BFloat16(-value).bits, one.bfloat16 ^ 0x8000) << -value;
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(static_cast<float>(Half(nan))));
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(nan))));
  // A NaN whose payload lies in the low bits must not become infinity.
  const float low_nan = std::bit_cast<float>(0x7f800001u);
  EXPECT_TRUE(std::isnan(static_cast<float>(Half(low_nan))));
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(low_nan))));
}

TEST(HalfTypes, EveryValueSurvivesARoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    Half half;
    half.bits = static_cast<uint16_t>(bits);
    BFloat16 bfloat16;
    bfloat16.bits = static_cast<uint16_t>(bits);
    if (!std::isnan(static_cast<float>(half))) {
      ASSERT_EQ(Half(static_cast<float>(half)).bits, bits);
    }
    if (!std::isnan(static_cast<float>(bfloat16))) {
      ASSERT_EQ(BFloat16(static_cast<float>(bfloat16)).bits, bits);
    }
  }
}

TEST(DType, NamesSizesAndClasses) {
  EXPECT_EQ(dtype_name(DType::kFloat32), "float32");
  EXPECT_EQ(dtype_name(DType::kBFloat16), "bfloat16");
  EXPECT_EQ(dtype_name(DType::kQUInt8), "quint8");
  EXPECT_EQ(element_size(DType::kComplex128), 16u);
  EXPECT_EQ(element_size(DType::kComplex32), 4u);
  EXPECT_EQ(element_size(DType::kBool), 1u);
  EXPECT_TRUE(is_floating_point(DType::kFloat16));
  EXPECT_FALSE(is_floating_point(DType::kComplex64));
  EXPECT_TRUE(is_integral(DType::kBool, true));
  EXPECT_FALSE(is_integral(DType::kBool, false));
  EXPECT_FALSE(is_integral(DType::kQInt8, true));
  EXPECT_TRUE(is_quantized(DType::kQUInt4x2));
}

}  // namespace
}  // namespace torchlet
