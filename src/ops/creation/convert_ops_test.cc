#include <gtest/gtest.h>

#include <algorithm>

#include "ops/core/testing.h"
#include "ops/engines/quantize.h"
#include "ops/shape/shape.h"
#include "tensor/tensor_impl.h"

namespace torchlet::ops {
namespace {

Tensor contiguous_by_operator(const Tensor& x, MemoryFormat format) {
  return result_of("aten::contiguous", "", {x, static_cast<int64_t>(format)});
}

// The same strides and elements as by copying one element after the other.
void expect_as_by_elements(const Tensor& x, MemoryFormat format) {
  const Tensor copy = contiguous_by_operator(x, format), want = x.contiguous(format);
  ASSERT_EQ(copy.dtype(), want.dtype());
  EXPECT_TRUE(std::ranges::equal(copy.sizes(), want.sizes()));
  EXPECT_TRUE(std::ranges::equal(copy.strides(), want.strides()));
  EXPECT_EQ(copy.impl()->quantizer, want.impl()->quantizer);
  if (want.numel() == 0) return;
  const size_t nbytes = static_cast<size_t>(want.numel()) * element_size(want.dtype());
  EXPECT_EQ(std::memcmp(copy.impl()->data(), want.impl()->data(), nbytes), 0) << x.describe();
}

Tensor image(DType dtype) {
  Tensor x = empty(std::vector<int64_t>{2, 3, 5, 4}, DType::kFloat32);
  for (int64_t i = 0; i < x.numel(); ++i) x.data_ptr<float>()[i] = static_cast<float>(i);
  return x.to(dtype);
}

TEST(Copy, GivesBackWhatNeedsNoChange) {
  const Tensor x = image(DType::kFloat32), half = image(DType::kFloat16);
  EXPECT_TRUE(result_of("aten::copy", "", {half.to(DType::kFloat32), x}).is_same(x));
  EXPECT_EQ(result_of("aten::copy", "", {half, x}).dtype(), DType::kFloat16);
  const Tensor spread = result_of("aten::copy", "", {x, ramp({4})});
  EXPECT_TRUE(std::ranges::equal(spread.sizes(), x.sizes()));
  EXPECT_EQ(spread.data_ptr<float>()[119], ramp({4}).data_ptr<float>()[3]);
}

TEST(Contiguous, CopiesWhateverLiesInAnotherOrder) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kUInt8, DType::kInt64,
                            DType::kBool, DType::kComplex128}) {
    const Tensor x = image(dtype);
    expect_as_by_elements(x, MemoryFormat::kChannelsLast);
    const std::vector<int64_t> sizes(x.sizes().begin(), x.sizes().end());
    const std::vector<int64_t> s(x.strides().begin(), x.strides().end());
    for (const MemoryFormat format : {MemoryFormat::kContiguous, MemoryFormat::kChannelsLast}) {
      const auto view = [&](std::vector<int64_t> view_sizes, std::vector<int64_t> strides,
                            int64_t offset) {
        expect_as_by_elements(make_view(x, view_sizes, strides, offset), format);
      };
      view({2, 5, 4, 3}, {s[0], s[2], s[3], s[1]}, 0);      // permuted
      view({2, 3, 2, 2}, {s[0], s[1], 2 * s[2], s[3]}, 5);  // a part
      view({4, 3, 5, 4}, {0, s[1], s[2], s[3]}, 0);         // expanded
      view({0, 5, 4, 3}, {s[0], s[2], s[3], s[1]}, 0);
    }
  }
}

TEST(Contiguous, KeepsHowATensorIsQuantized) {
  const Tensor x = quantize(image(DType::kFloat32), DType::kQUInt8, per_tensor_quantizer(0.5, 3));
  expect_as_by_elements(x, MemoryFormat::kChannelsLast);
}

TEST(Contiguous, GivesBackWhatLiesRight) {
  const Tensor x = image(DType::kFloat32);
  EXPECT_EQ(contiguous_by_operator(x, MemoryFormat::kContiguous).impl(), x.impl());
}

TEST(Contiguous, TakesManyDimensions) {
  const Tensor x = image(DType::kFloat32);
  std::vector<int64_t> sizes(10, 1), strides(10, 1);
  sizes[2] = 4, strides[2] = 1, sizes[8] = 5, strides[8] = 4;
  expect_as_by_elements(make_view(x, sizes, strides, 0), MemoryFormat::kContiguous);
}

}  // namespace
}  // namespace torchlet::ops
