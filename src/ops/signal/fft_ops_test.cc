#include "ops/core/testing.h"

// Expected numbers are PyTorch 1.13's.
namespace torchlet::ops {
namespace {

constexpr DType kF32 = DType::kFloat32, kF64 = DType::kFloat64;
constexpr double kRoot3 = 1.7320508075688772;

// Pairs of real and imaginary parts; `sizes` without the last dimension of the pairs.
Tensor complex(std::vector<double> pairs, IntArray sizes = {-1}) {
  sizes.push_back(2);
  return result_of("aten::view_as_complex", "", {make(std::move(pairs), kF32, sizes)});
}
void expect_complex(const Tensor& actual, std::vector<double> pairs, IntArray sizes) {
  sizes.push_back(2);
  expect_tensor(result_of("aten::view_as_real", "", {actual}), std::move(pairs), kF32, sizes);
}
Value none() { return Value(); }

TEST(FftOps, ComplexTransforms) {
  expect_complex(result_of("aten::fft_fft", "", {make({1, 2, 3})}),
                 {6, 0, -1.5, kRoot3 / 2, -1.5, -kRoot3 / 2}, {3});
  expect_complex(result_of("aten::fft_fft", "", {ints({1, 2, 3}), 4}), {6, 0, -2, -2, 2, 0, -2, 2},
                 {4});
  expect_complex(result_of("aten::fft_ifft", "", {complex({6, 0, 0, 0, 0, 1})}),
                 {2, 1.0 / 3, 2 + kRoot3 / 6, -1.0 / 6, 2 - kRoot3 / 6, -1.0 / 6}, {3});
  expect_complex(result_of("aten::fft_fft", "", {make({1, 2, 3, 4}), none(), -1, "ortho"}),
                 {5, 0, -1, 1, -1, 0, -1, -1}, {4});
  expect_complex(result_of("aten::fft_fft", "", {make({1, 0}, DType::kBool)}), {1, 0, 1, 0}, {2});
  expect_complex(result_of("aten::_fft_c2c", "", {complex({0, 1, 2, 0}), int_list({0}), 2, true}),
                 {1, 0.5, -1, 0.5}, {2});
  EXPECT_EQ(result_of("aten::fft_fft", "", {make({1}, kF64)}).dtype(), DType::kComplex128);
}

TEST(FftOps, RealTransforms) {
  expect_complex(result_of("aten::fft_rfft", "", {make({1, 2, 3, 4})}), {10, 0, -2, 2, -2, 0}, {3});
  expect_complex(result_of("aten::fft_rfft", "", {make({1, 2, 3, 4, 5}), 3}),
                 {6, 0, -1.5, kRoot3 / 2}, {2});
  // The imaginary parts of the first and the middle value do not count.
  const Tensor half = complex({10, 5, -2, 2, -2, 1});
  expect_tensor(result_of("aten::fft_irfft", "", {half}), {1, 2, 3, 4});
  expect_tensor(result_of("aten::fft_irfft", "", {complex({10, 0, -2, 2, -2, 0}), 5}),
                {0.4, 1.639154792, 1.929771781, 2.870228291, 3.160845280});
  const Tensor odd = complex({1, 0, 0, 2, 3, 0});
  expect_tensor(result_of("aten::fft_hfft", "", {odd}), {4, 2, 4, -6});
  expect_tensor(result_of("aten::fft_hfft", "", {odd, 3, -1, "forward"}),
                {0.333333343, 1.488034010, -0.821367204});
  expect_complex(result_of("aten::fft_ihfft", "", {make({1, 2, 3, 4})}),
                 {2.5, 0, -0.5, -0.5, -0.5, 0}, {3});
  expect_complex(result_of("aten::_fft_r2c", "", {make({1, 2, 3}), int_list({0}), 0, false}),
                 {6, 0, -1.5, kRoot3 / 2, -1.5, -kRoot3 / 2}, {3});
  expect_tensor(result_of("aten::_fft_c2r", "", {complex({1, 0, 0, 2}), int_list({0}), 0, 3}),
                {1, 1 - 2 * kRoot3, 1 + 2 * kRoot3});
  // Of more than it needs it reads the first.
  const Tensor more = transpose(complex({1, 0, 5, 0, 0, 2, 0, 1, 9, 9, 9, 9}, {3, 2}), 0, 1);
  const Tensor lines = result_of("aten::_fft_c2r", "", {more, int_list({1}), 0, 3});
  expect_tensor(select(lines, 0, 0), {1, 1 - 2 * kRoot3, 1 + 2 * kRoot3});
}

// Floats are transformed in tiles of lines, doubles line by line at their ends.
TEST(FftOps, ManyRealLinesAreThoseOfDoubles) {
  for (const int64_t count : {1, 31, 32, 33, 70, 96}) {
    for (const int64_t n : {5, 16, 50}) {
      const Tensor x = empty(IntArray{count, n}, DType::kFloat32);
      for (int64_t i = 0; i < x.numel(); ++i) {
        x.data_ptr<float>()[i] = static_cast<float>(i * 7919 % 1013) / 512 - 1;
      }
      for (const int64_t dim : {0, 1}) {
        const auto spectrum = [&](const Tensor& signal) {
          return result_of("aten::view_as_real", "",
                           {result_of("aten::fft_rfft", "", {signal, Value(), dim, Value()})})
              .to(DType::kFloat64)
              .contiguous();
        };
        const Tensor got = spectrum(x), want = spectrum(x.to(DType::kFloat64));
        ASSERT_EQ(IntArray(got.sizes()), IntArray(want.sizes()));
        for (int64_t i = 0; i < want.numel(); ++i) {
          ASSERT_NEAR(got.data_ptr<double>()[i], want.data_ptr<double>()[i], 1e-4)
              << count << " x " << n << " along " << dim << " at " << i;
        }
      }
    }
  }
}

TEST(FftOps, SeveralDimensions) {
  const Tensor x = make({1, 2, 3, 4}, kF32, {2, 2});
  expect_complex(result_of("aten::fft_fft2", "", {x}), {10, 0, -2, 0, -4, 0, 0, 0}, {2, 2});
  expect_complex(result_of("aten::fft_fftn", "", {x, int_list({2}), int_list({0})}),
                 {4, 0, 6, 0, -2, 0, -2, 0}, {2, 2});
  expect_complex(result_of("aten::fft_fftn", "", {x, int_list({3})}),
                 {3, 0, 0, -kRoot3, 0, kRoot3, 7, 0, 1, -2 * kRoot3, 1, 2 * kRoot3}, {2, 3});
  const Tensor y = make({1, 2, 3, 4, 5, 6}, kF32, {2, 3});
  const Tensor spectrum = result_of("aten::fft_rfft2", "", {y});
  expect_complex(spectrum, {21, 0, -3, kRoot3, -9, 0, 0, 0}, {2, 2});
  expect_tensor(result_of("aten::fft_irfft2", "", {spectrum, int_list({2, 3})}), {1, 2, 3, 4, 5, 6},
                kF32, {2, 3});
  expect_tensor(result_of("aten::fft_hfft2", "", {complex({1, 0, 0, 2, 3, 0, 4, 0}, {2, 2})}),
                {8, 0, -6, 2}, kF32, {2, 2});
  expect_complex(result_of("aten::fft_ihfft2", "", {x}), {2.5, 0, -0.5, 0, -1, 0, 0, 0}, {2, 2});
  // A strided input.
  expect_complex(result_of("aten::fft_fft", "", {transpose(x, 0, 1), none(), 0}),
                 {3, 0, 7, 0, -1, 0, -1, 0}, {2, 2});
}

TEST(FftOps, Errors) {
  const Tensor x = make({1, 2, 3, 4}, kF32, {2, 2});
  EXPECT_THROW(call_op("aten::fft_fft", "", {make({1}, kF32, {})}), Error);
  EXPECT_THROW(call_op("aten::fft_fft", "", {make({})}), Error);
  EXPECT_THROW(call_op("aten::fft_fft", "", {x, 0}), Error);
  EXPECT_THROW(call_op("aten::fft_fft", "", {x, none(), -1, "x"}), Error);
  EXPECT_THROW(call_op("aten::fft_fft", "", {make({1}, DType::kFloat16)}), Error);
  EXPECT_THROW(call_op("aten::fft_rfft", "", {complex({0, 1})}), Error);
  EXPECT_THROW(call_op("aten::fft_fftn", "", {x, none(), int_list({0, 0})}), Error);
  EXPECT_THROW(call_op("aten::fft_fftn", "", {x, int_list({2}), int_list({0, 1})}), Error);
  EXPECT_THROW(call_op("aten::fft_rfftn", "", {make({1}, kF32, {})}), Error);
  expect_complex(result_of("aten::fft_fft", "", {empty(IntArray{0, 3}, kF32)}), {}, {0, 3});
}

TEST(FftOps, ShiftsAndFrequencies) {
  expect_tensor(result_of("aten::fft_fftshift", "", {make({0, 1, 2, 3, 4})}), {3, 4, 0, 1, 2});
  expect_tensor(result_of("aten::fft_ifftshift", "", {make({0, 1, 2, 3, 4})}), {2, 3, 4, 0, 1});
  expect_tensor(
      result_of("aten::fft_fftshift", "", {make({0, 1, 2, 3}, kF32, {2, 2}), int_list({1})}),
      {1, 0, 3, 2}, kF32, {2, 2});
  expect_tensor(result_of("aten::fft_fftfreq", "", {5, 0.5}), {0, 0.4, 0.8, -0.8, -0.4});
  expect_tensor(result_of("aten::fft_fftfreq", "", {4}), {0, 0.25, -0.5, -0.25});
  expect_tensor(result_of("aten::fft_rfftfreq", "", {5}), {0, 0.2, 0.4});
}

TEST(FftOps, ShortTimeTransforms) {
  const Tensor x = make({1, 2, 3, 4});
  expect_complex(result_of("aten::stft", "", {x, 2, 1, none(), none(), false, none(), true}),
                 {3, 0, 5, 0, 7, 0, -1, 0, -1, 0, -1, 0}, {2, 3});
  const Tensor centred =
      result_of("aten::stft", "center", {x, 4, 2, none(), make({0, 1, 1, 0}), true, "reflect"});
  expect_tensor(centred, {3, 0, 5, 0, 7, 0, -1, -2, -3, -2, -3, -4, -1, 0, 1, 0, -1, 0}, kF32,
                {3, 3, 2});
  expect_complex(
      result_of("aten::stft", "center", {x, 4, 2, 2, none(), true, "reflect", true, none(), true}),
      {1.5, 0, 2.5, 0, 3.5, 0, -0.5, -1, -1.5, -1, -1.5, -2, -0.5, 0, 0.5, 0, -0.5, 0}, {3, 3});
  EXPECT_THROW(call_op("aten::stft", "", {make({1, 2}), 4, 2}), Error);
}

// As many as fill a tile and not, beside each other, apart and overlapping.
TEST(FftOps, FramesAreReadWhereTheyLie) {
  const Tensor signal = ramp({2, 400});
  for (const int64_t hop : {1, 3, 0}) {
    for (const int64_t count : {1, 31, 32, 70}) {
      const Tensor frames = make_view(signal, IntArray{2, count, 6}, IntArray{400, hop, 1}, 0);
      const Tensor got = result_of("aten::fft_rfft", "", {frames}, 0);
      const Tensor expected = result_of("aten::fft_rfft", "", {frames.contiguous()}, 0);
      const Tensor x = result_of("aten::view_as_real", "", {got});
      const Tensor y = result_of("aten::view_as_real", "", {expected});
      ASSERT_TRUE(std::ranges::equal(x.sizes(), IntArray{2, count, 4, 2}));
      for (int64_t i = 0; i < x.numel(); ++i) {
        ASSERT_NEAR(x.data_ptr<float>()[i], y.data_ptr<float>()[i], 1e-5) << hop << " " << count;
      }
    }
  }
}

TEST(FftOps, InverseShortTimeTransform) {
  const Tensor x = make({1, 2, 3, 4, 5, 6}), window = make({0.5, 1, 1, 0.5});
  const Tensor spectrum = result_of(
      "aten::stft", "center", {x, 4, 2, none(), window, true, "reflect", false, none(), true});
  expect_tensor(result_of("aten::istft", "", {spectrum, 4, 2, none(), window}), {1, 2, 3, 4, 5, 6});
  // What the frames still hold of the padding, past the natural end.
  expect_tensor(
      result_of("aten::istft", "", {spectrum, 4, 2, none(), window, true, false, none(), 8}),
      {1, 2, 3, 4, 5, 6, 5, 4});
}

}  // namespace
}  // namespace torchlet::ops
