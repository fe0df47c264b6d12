// Expected texts are those that str() gives in PyTorch 1.13's TorchScript.
#include "tensor/tensor_text.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tensor/containers.h"
#include "tensor/tensor_impl.h"

namespace torchlet {
namespace {

Tensor make(std::vector<double> elements, IntArray sizes, DType dtype = DType::kFloat32) {
  const Tensor tensor = empty(sizes, dtype);
  convert_elements(elements.data(), DType::kFloat64, 1, tensor.raw_data(), dtype, 1,
                   tensor.numel());
  return tensor;
}
std::string text_of(std::vector<double> elements, DType dtype = DType::kFloat32) {
  const auto count = static_cast<int64_t>(elements.size());
  return tensor_text(make(std::move(elements), {count}, dtype));
}

// 0, step, 2 * step, ... and `shift` more.
Tensor steps(IntArray sizes, double step, double shift = 0, DType dtype = DType::kFloat32) {
  std::vector<double> elements(static_cast<size_t>(checked_numel(sizes)));
  for (size_t i = 0; i < elements.size(); ++i) {
    elements[i] = static_cast<double>(i) * step + shift;
  }
  return make(std::move(elements), sizes, dtype);
}

TEST(TensorText, Scalars) {
  EXPECT_EQ(tensor_text(make({1.5}, {})), "1.5\n[ CPUFloatType{} ]");
  EXPECT_EQ(tensor_text(make({-0.0}, {})), "-0\n[ CPUFloatType{} ]");
  EXPECT_EQ(tensor_text(make({123456789}, {}, DType::kInt64)), "1.23457e+08\n[ CPULongType{} ]");
}

TEST(TensorText, OneNotationForAllNumbers) {
  EXPECT_EQ(text_of({1, -22, 333}, DType::kInt64), "   1\n -22\n 333\n[ CPULongType{3} ]");
  EXPECT_EQ(text_of({12345678901, -22}, DType::kInt64),
            " 1.2346e+10\n-2.2000e+01\n[ CPULongType{2} ]");
  EXPECT_EQ(text_of({1.5, -2, 30000}),
            "     1.5000\n    -2.0000\n 30000.0000\n[ CPUFloatType{3} ]");
  EXPECT_EQ(text_of({1.5e-6, 2e-6, 3.5e-3}),
            "0.001 *\n 0.0015\n 0.0020\n 3.5000\n[ CPUFloatType{3} ]");
  EXPECT_EQ(text_of({1e-8, 1}), " 1.0000e-08\n 1.0000e+00\n[ CPUFloatType{2} ]");
  EXPECT_EQ(text_of({1e-120, 1.5e10}, DType::kFloat64),
            " 1.0000e-120\n  1.5000e+10\n[ CPUDoubleType{2} ]");
}

TEST(TensorText, NegativeNumbersWidenNothingUnlessTheyComeFirst) {
  EXPECT_EQ(text_of({1.5, -30000}), " 1.5000\n-30000.0000\n[ CPUFloatType{2} ]");
  EXPECT_EQ(text_of({-22, -12345678901}, DType::kInt64), "-22\n-1.23457e+10\n[ CPULongType{2} ]");
  EXPECT_EQ(text_of({-12345678901, -22}, DType::kInt64),
            "-1.2346e+10\n-2.2000e+01\n[ CPULongType{2} ]");
}

TEST(TensorText, NumbersThatAreNone) {
  EXPECT_EQ(text_of({NAN, INFINITY, -INFINITY, 1}), "nan\ninf\n-inf\n 1\n[ CPUFloatType{4} ]");
  EXPECT_EQ(text_of({INFINITY, 0.5}), "    inf\n 0.5000\n[ CPUFloatType{2} ]");
  EXPECT_EQ(text_of({NAN, NAN}), "nan\nnan\n[ CPUFloatType{2} ]");
}

TEST(TensorText, NothingHasItsShape) {
  EXPECT_EQ(text_of({}), "[ CPUFloatType{0} ]");
  EXPECT_EQ(tensor_text(make({}, {2, 0, 3}, DType::kFloat16)), "[ CPUHalfType{2,0,3} ]");
}

TEST(TensorText, OtherTypes) {
  EXPECT_EQ(text_of({1, 0}, DType::kBool), " 1\n 0\n[ CPUBoolType{2} ]");
  const Tensor complex = empty(IntArray{2}, DType::kComplex64);
  complex.data_ptr<std::complex<float>>()[0] = {1, 2};
  complex.data_ptr<std::complex<float>>()[1] = {3.5, -1};
  EXPECT_EQ(tensor_text(complex), " 1.0000\n 3.5000\n[ CPUComplexFloatType{2} ]");
}

TEST(TensorText, Matrices) {
  EXPECT_EQ(tensor_text(steps({2, 3}, 1)), " 0  1  2\n 3  4  5\n[ CPUFloatType{2,3} ]");
  const Tensor turned = make_view(steps({3, 2}, 1), IntArray{2, 3}, IntArray{1, 2}, 0);
  EXPECT_EQ(tensor_text(turned), " 0  2  4\n 1  3  5\n[ CPUFloatType{2,3} ]");
  EXPECT_EQ(tensor_text(steps({1, 24}, 1.25)),
            "Columns 1 to 8  0.0000   1.2500   2.5000   3.7500   5.0000   6.2500   7.5000   8.7500"
            "\n\nColumns 9 to 16 10.0000  11.2500  12.5000  13.7500  15.0000  16.2500  17.5000  "
            "18.7500\n\nColumns 17 to 24 20.0000  21.2500  22.5000  23.7500  25.0000  26.2500  "
            "27.5000  28.7500\n[ CPUFloatType{1,24} ]");
}

TEST(TensorText, ManyMatrices) {
  EXPECT_EQ(tensor_text(steps({2, 2, 3}, 0.125)),
            "(1,.,.) = \n  0.0000  0.1250  0.2500\n  0.3750  0.5000  0.6250\n\n(2,.,.) = \n  "
            "0.7500  0.8750  1.0000\n  1.1250  1.2500  1.3750\n[ CPUFloatType{2,2,3} ]");
  EXPECT_EQ(tensor_text(steps({2, 2, 1, 2}, 1, 0, DType::kInt64)),
            "(1,1,.,.) = \n  0  1\n\n(2,1,.,.) = \n  4  5\n\n(1,2,.,.) = \n  2  3\n\n(2,2,.,.) = "
            "\n  6  7\n[ CPULongType{2,2,1,2} ]");
  EXPECT_EQ(tensor_text(make({123456.25, 223456.5, 123456.25, 223456.5}, {1, 2, 2})),
            "(1,.,.) = \n 1e+05 *\n  1.2346  2.2346\n   1.2346  2.2346\n[ CPUFloatType{1,2,2} ]");
  // The precision of a matrix stays for the whole numbers of the next.
  EXPECT_EQ(tensor_text(make({0.5, 1e7, 12345678, 1}, {2, 1, 2})),
            "(1,.,.) = \n  5.0000e-01  1.0000e+07\n\n(2,.,.) = \n 1.235e+07         1\n"
            "[ CPUFloatType{2,1,2} ]");
}

TEST(TensorText, Quantized) {
  const Tensor per_tensor = make({13, 28}, {2}, DType::kQUInt8);
  per_tensor.impl()->quantizer = per_tensor_quantizer(0.1, 3);
  EXPECT_EQ(tensor_text(per_tensor),
            " 1.0000\n 2.5000\n[ QuantizedCPUQUInt8Type{2}, qscheme: per_tensor_affine, scale: "
            "0.1000, zero_point: 3 ]");
  const Tensor per_channel = make({13, 23, 33, 16, 20, 24}, {2, 3}, DType::kQInt8);
  auto quantizer = std::make_shared<Quantizer>();
  quantizer->qscheme = QScheme::kPerChannelAffine;
  quantizer->scales = make({0.1, 0.25}, {2}, DType::kFloat64);
  quantizer->zero_points = make({3, 0}, {2}, DType::kInt64);
  per_channel.impl()->quantizer = quantizer;
  EXPECT_EQ(tensor_text(per_channel),
            " 1  2  3\n 4  5  6\n[ QuantizedCPUQInt8Type{2,3}, qscheme: per_channel_affine, "
            "scales:  0.1000\n 0.2500\n[ CPUDoubleType{2} ], zero_points:  3\n 0\n[ CPULongType{2} "
            "], axis: 0 ]");
}

TEST(TensorText, OfMoreThanThereIsMemoryIsAnError) {
  const Tensor huge = make_view(make({1}, {1}), IntArray{int64_t{1} << 60}, IntArray{0}, 0);
  EXPECT_THROW(tensor_text(huge), Error);
}

TEST(TensorText, StandsInTheTextOfContainers) {
  const Tensor x = make({1, 2}, {2});
  EXPECT_EQ(script_text(Value::tuple({Value::list({x, x}), 1.5})),
            "([ 1\n 2\n[ CPUFloatType{2} ],  1\n 2\n[ CPUFloatType{2} ]], 1.5)");
}

}  // namespace
}  // namespace torchlet
