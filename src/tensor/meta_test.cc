#include "tensor/meta.h"

#include <gtest/gtest.h>

#include "tensor/scalar.h"

namespace torchlet {
namespace {

TEST(Meta, TensorsOfAScopeHaveNoMemory) {
  Tensor made;
  {
    const MetaScope scope;
    made = zeros(IntArray{1 << 10, 1 << 18}, DType::kFloat32);
    const MetaScope inner;
    // What no memory could hold is no answer.
    EXPECT_THROW(zeros(IntArray{1 << 30, 1 << 30}, DType::kFloat32), Error);
  }
  EXPECT_TRUE(is_meta(made));
  EXPECT_EQ(IntArray(made.strides()), (IntArray{1 << 18, 1}));
  EXPECT_FALSE(is_meta(zeros(IntArray{2}, DType::kFloat32)));
}

TEST(Meta, CopiesAndConversionsTellWhatTheyWouldGive) {
  const Tensor real = zeros(IntArray{2, 3, 4, 5}, DType::kFloat32);
  const Tensor meta = meta_like(real);
  const MetaScope scope;
  const Tensor last = meta.contiguous(MemoryFormat::kChannelsLast).to(DType::kInt64);
  EXPECT_TRUE(is_meta(last));
  EXPECT_EQ(last.dtype(), DType::kInt64);
  EXPECT_EQ(IntArray(last.strides()), (IntArray{60, 1, 15, 3}));
}

TEST(Meta, ElementsAreAnError) {
  const Tensor number = meta_like(scalar_tensor(Scalar(3), DType::kInt64));
  EXPECT_THROW(number.item<int64_t>(), Error);
}

}  // namespace
}  // namespace torchlet
