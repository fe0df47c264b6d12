#include <gtest/gtest.h>
#include <torchlet/tensor.h>

#include <limits>

#include "tensor/result_place.h"
#include "tensor/scalar.h"
#include "tensor/tensor_impl.h"

namespace torchlet {
namespace {

using Ints = std::vector<int64_t>;

Ints ints(IntSpan span) { return {span.begin(), span.end()}; }

template <typename Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Tensor, AnUndefinedTensor) {
  const Tensor none;
  EXPECT_FALSE(none.defined());
  EXPECT_EQ(none.describe(), "None");
  EXPECT_TRUE(contains(error_of([&] { none.sizes(); }), "undefined tensor"));
}

TEST(Tensor, ShapeAndStrides) {
  const Tensor tensor = empty(Ints{2, 3, 4}, DType::kInt16);
  EXPECT_EQ(tensor.dim(), 3);
  EXPECT_EQ(tensor.numel(), 24);
  EXPECT_EQ(ints(tensor.strides()), (Ints{12, 4, 1}));
  EXPECT_EQ(tensor.size(-1), 4);
  EXPECT_EQ(tensor.stride(-3), 12);
  EXPECT_EQ(tensor.describe(), "[2, 3, 4] int16");
  EXPECT_EQ(error_of([&] { tensor.size(3); }),
            "Dimension out of range (expected to be in range of [-3, 2], but got 3)");
  const Tensor scalar = empty(Ints{}, DType::kFloat32);
  EXPECT_EQ(scalar.numel(), 1);
  EXPECT_EQ(error_of([&] { scalar.size(0); }),
            "Dimension specified as 0 but tensor has no dimensions");
}

TEST(Tensor, DataIsAlignedAndTyped) {
  const Tensor tensor = empty(Ints{5}, DType::kFloat32);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.raw_data()) % 64, 0u);
  EXPECT_EQ(tensor.data_ptr<void>(), tensor.raw_data());
  EXPECT_TRUE(contains(error_of([&] { tensor.data_ptr<double>(); }),
                       "data_ptr asked for float64 but the tensor holds float32"));
  const Tensor quantized = empty_quantized(Ints{3}, DType::kQInt8, per_tensor_quantizer(0.5, 3));
  EXPECT_EQ(static_cast<void*>(quantized.data_ptr<int8_t>()), quantized.raw_data());
}

TEST(Tensor, Items) {
  const Tensor tensor = empty(Ints{1, 1}, DType::kFloat32);
  *tensor.data_ptr<float>() = 2.5f;
  EXPECT_EQ(tensor.item<double>(), 2.5);
  EXPECT_EQ(tensor.item<int64_t>(), 2);
  EXPECT_TRUE(tensor.item<bool>());
  EXPECT_EQ(error_of([] {
              zeros(Ints{2, 3}, DType::kInt64).item<int>();
            }),
            "a Tensor with 6 elements cannot be converted to Scalar");
  *tensor.data_ptr<float>() = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(contains(error_of([&] { tensor.item<int64_t>(); }), "without overflow"));
  const Tensor quantized = empty_quantized(Ints{}, DType::kQUInt8, per_tensor_quantizer(0.5, 3));
  *quantized.data_ptr<uint8_t>() = 10;
  EXPECT_EQ(quantized.item<double>(), 3.5);
}

TEST(Tensor, SizesThatCannotBe) {
  const int64_t huge = int64_t{1} << 40;
  EXPECT_TRUE(contains(error_of([] {
                         empty(Ints{2, -1}, DType::kBool);
                       }),
                       "negative dimension -1"));
  EXPECT_TRUE(contains(error_of([&] { empty(Ints{huge, huge}, DType::kBool); }), "overflows"));
  EXPECT_TRUE(contains(error_of([&] {
                         empty(Ints{1 << 30, 1 << 30, 8}, DType::kFloat64);
                       }),
                       "overflow"));
  EXPECT_TRUE(
      contains(error_of([&] {
                 empty(Ints{1 << 30, 1 << 29}, DType::kFloat64);
               }),
               sizeof(size_t) == 8 ? "does not fit into" : "the bytes of a tensor overflow"));
  // No elements, so no memory; but strides that are numbers.
  EXPECT_EQ(empty(Ints{huge, 0, 5}, DType::kFloat64).numel(), 0);
  for (const Ints& sizes : {Ints{huge, 0, huge}, Ints{huge, huge, 0}, Ints{0, huge, huge}}) {
    EXPECT_TRUE(contains(error_of([&] { empty(sizes, DType::kFloat64); }), "overflows"));
  }
}

TEST(Tensor, ViewsStayInsideTheirStorage) {
  const Tensor base = empty(Ints{6}, DType::kFloat32);
  const std::string outside = "reaches outside its storage of 24 bytes";
  const auto view_error = [&](Ints sizes, Ints strides, int64_t offset) {
    return error_of([&] { make_view(base, sizes, strides, offset); });
  };
  EXPECT_EQ(view_error({2, 3}, {3, 1}, 0), "");
  EXPECT_EQ(view_error({6}, {0}, 5), "");
  EXPECT_EQ(view_error({0}, {1}, 6), "");
  EXPECT_EQ(view_error({1}, {1000}, 5), "");  // the stride of a dimension of one is never used
  EXPECT_TRUE(contains(view_error({6}, {1}, 1), outside));
  EXPECT_TRUE(contains(view_error({2, 3}, {4, 1}, 0), outside));
  EXPECT_TRUE(contains(view_error({1}, {1}, -1), outside));
  EXPECT_TRUE(contains(view_error({1}, {1}, std::numeric_limits<int64_t>::max()), "overflow"));
  EXPECT_TRUE(contains(view_error({2}, {-1}, 1), "negative or overflow"));
  const int64_t big = int64_t{1} << 62;
  EXPECT_TRUE(contains(view_error({3}, {big}, 0), "negative or overflow"));
  EXPECT_TRUE(contains(view_error({2, 2}, {big, big}, 0), "negative or overflow"));
  EXPECT_TRUE(
      contains(view_error({2}, {std::numeric_limits<int64_t>::max()}, 0), "negative or overflow"));
  EXPECT_TRUE(contains(view_error({2, 2}, {1}, 0), "2 sizes but 1 strides"));
}

TEST(Tensor, FromBlobUsesTheCallersMemory) {
  float data[6] = {0, 1, 2, 3, 4, 5};
  int deleted = 0;
  {
    Tensor view;
    {
      const Tensor tensor = from_blob(data, Ints{3, 2}, DType::kFloat32, Ints{1, 3},
                                      [&](void* pointer) { deleted += pointer == data; });
      view = make_view(tensor, Ints{2}, Ints{1}, 4);
    }
    EXPECT_EQ(deleted, 0);
    EXPECT_EQ(view.data_ptr<float>(), data + 4);
  }
  EXPECT_EQ(deleted, 1);
  EXPECT_TRUE(
      contains(error_of([&] { from_blob(data, Ints{2}, DType::kFloat32, Ints{-1}); }), "negative"));
  const int64_t big = int64_t{1} << 62;
  EXPECT_TRUE(contains(error_of([&] { from_blob(data, Ints{4}, DType::kFloat32, Ints{big}); }),
                       "overflow"));
}

struct FormatCase {
  Ints sizes, strides;
  bool contiguous, channels_last;
  MemoryFormat suggested;
};

// Asked of PyTorch 1.13; the suggested format is the one of avg_pool2d's result.
TEST(MemoryFormat, AsPyTorchSeesThem) {
  constexpr MemoryFormat kNchw = MemoryFormat::kContiguous, kNhwc = MemoryFormat::kChannelsLast;
  const FormatCase cases[] = {
      {{2, 3, 4, 4}, {48, 16, 4, 1}, true, false, kNchw},
      {{2, 3, 4, 4}, {48, 1, 12, 3}, false, true, kNhwc},
      {{2, 3, 4, 4}, {96, 1, 24, 6}, false, false, kNhwc},  // half the channels of 6
      {{2, 1, 4, 4}, {16, 1, 4, 1}, true, true, kNhwc},
      {{2, 1, 4, 4}, {16, 16, 4, 1}, true, true, kNchw},
      {{2, 3, 1, 1}, {3, 1, 3, 3}, true, true, kNhwc},
      {{2, 3, 1, 1}, {3, 1, 1, 1}, true, true, kNchw},
      {{2, 3, 4, 4}, {48, 16, 1, 4}, false, false, kNchw},
      {{2, 2, 4, 4}, {0, 1, 8, 2}, false, false, kNchw},
      {{0, 3, 4, 4}, {48, 16, 4, 1}, true, false, kNchw},
      {{0, 3, 4, 4}, {48, 1, 12, 3}, true, true, kNchw},
      {{2, 3, 4}, {12, 4, 1}, true, false, kNchw},
  };
  for (const FormatCase& one : cases) {
    const Tensor tensor = empty_strided(one.sizes, one.strides, DType::kFloat32);
    EXPECT_EQ(tensor.is_contiguous(), one.contiguous) << tensor.describe();
    EXPECT_EQ(tensor.is_contiguous(kNhwc), one.channels_last) << tensor.describe();
    EXPECT_EQ(tensor.suggest_memory_format(), one.suggested) << tensor.describe();
  }
  const Tensor video = empty(Ints{2, 3, 4, 5, 6}, DType::kFloat32, MemoryFormat::kChannelsLast3d);
  EXPECT_EQ(ints(video.strides()), (Ints{360, 1, 90, 18, 3}));
  EXPECT_EQ(video.suggest_memory_format(), MemoryFormat::kChannelsLast3d);
}

TEST(MemoryFormat, StridesOfEmptyTensors) {
  EXPECT_EQ(ints(strides_for(Ints{2, 0, 4, 4}, MemoryFormat::kContiguous)), (Ints{16, 16, 4, 1}));
  EXPECT_EQ(ints(strides_for(Ints{2, 0, 4, 4}, MemoryFormat::kChannelsLast)), (Ints{0, 1, 0, 0}));
  EXPECT_EQ(ints(strides_for(Ints{2, 3, 0, 0}, MemoryFormat::kChannelsLast)), (Ints{0, 1, 0, 3}));
  EXPECT_TRUE(contains(error_of([] {
                         strides_for(Ints{2, 3}, MemoryFormat::kChannelsLast);
                       }),
                       "required rank 4 tensor to use channels_last format"));
}

// Asked of torch.empty_like.
TEST(EmptyLike, KeepsDenseStridesAndTheOrderOfOthers) {
  const struct {
    Ints sizes, strides, expected;
  } cases[] = {
      {{3, 4}, {1, 0}, {4, 1}},
      {{2, 3, 4}, {0, 1, 0}, {12, 4, 1}},
      {{2, 3, 4, 3}, {60, 20, 5, 2}, {36, 12, 3, 1}},
      {{2, 2, 5, 3}, {60, 10, 1, 20}, {30, 5, 1, 10}},
      {{2, 2, 4, 5}, {60, 1, 15, 3}, {40, 1, 10, 2}},
      {{5, 3}, {1, 10}, {1, 5}},
      {{4, 1}, {6, 1}, {1, 1}},
      {{2, 3}, {1, 1}, {1, 2}},
      {{3, 2, 2}, {2, 2, 1}, {4, 2, 1}},
      {{5, 2, 3}, {1, 5, 0}, {3, 15, 1}},
      {{2, 3, 4}, {1, 0, 2}, {1, 2, 6}},
      {{2, 3}, {1, 2}, {1, 2}},
      {{2, 3, 4, 4}, {48, 1, 12, 3}, {48, 1, 12, 3}},
  };
  for (const auto& one : cases) {
    const Tensor like = empty_strided(one.sizes, one.strides, DType::kFloat32);
    EXPECT_EQ(ints(empty_like(like).strides()), one.expected) << like.describe();
  }
}

TEST(EmptyLike, KeepsTheQuantizerWithTheType) {
  const Tensor quantized = empty_quantized(Ints{3}, DType::kQInt8, per_tensor_quantizer(0.5, 3));
  EXPECT_EQ(empty_like(quantized).q_scale(), 0.5);
  EXPECT_EQ(empty_like(quantized).q_zero_point(), 3);
  EXPECT_EQ(empty_like(quantized, DType::kFloat32).impl()->quantizer, nullptr);
  EXPECT_TRUE(contains(error_of([&] { quantized.to(DType::kFloat32); }), "dequantize"));
  EXPECT_TRUE(contains(error_of([&] { quantized.q_per_channel_axis(); }), "per-channel"));
  EXPECT_TRUE(contains(error_of([] { zeros(Ints{1}, DType::kFloat32).q_scale(); }),
                       "expected a quantized tensor, got [1] float32"));
}

TEST(Storage, ResizeKeepsTheCommonPrefix) {
  Storage storage(8);
  std::fill(storage.data(), storage.data() + 8, std::byte{7});
  storage.resize(1000);
  EXPECT_EQ(storage.nbytes(), 1000u);
  EXPECT_EQ(storage.data()[7], std::byte{7});
  storage.resize(4);
  EXPECT_EQ(storage.data()[3], std::byte{7});
  storage.resize(0);
  EXPECT_EQ(storage.nbytes(), 0u);
}

TEST(Scalar, Conversions) {
  EXPECT_EQ(Scalar(2.9).to_int(), 2);
  EXPECT_EQ(Scalar(true).to_double(), 1);
  EXPECT_EQ(Scalar(std::complex<double>(2, 0)).to_double(), 2);
  EXPECT_NE(error_of([] { Scalar(std::complex<double>(2, 1)).to_double(); }), "");
  EXPECT_NE(error_of([] { Scalar(1e30).to_int(); }), "");
  EXPECT_NE(error_of([] { Scalar(int64_t{1} << 40).to<int>(); }), "");
  EXPECT_EQ(Scalar(true).dtype(), DType::kBool);
  EXPECT_EQ(Scalar(1).dtype(), DType::kInt64);
  EXPECT_EQ(scalar_of(zeros(Ints{}, DType::kBool)).dtype(), DType::kBool);
  EXPECT_EQ(scalar_of(zeros(Ints{}, DType::kInt8)).dtype(), DType::kInt64);
  EXPECT_EQ(scalar_of(zeros(Ints{}, DType::kFloat16)).dtype(), DType::kFloat64);
}

TEST(ResultPlace, IsWhatIsMadeAsItIs) {
  const IntArray sizes{2, 3};
  const Tensor place = empty(sizes, DType::kInt64);
  {
    const ResultPlace here(place);
    EXPECT_FALSE(empty(IntArray{3, 2}, DType::kInt64).is_same(place));
    EXPECT_FALSE(empty(sizes, DType::kFloat64).is_same(place));
    EXPECT_FALSE(empty_strided(sizes, IntArray{1, 2}, DType::kInt64).is_same(place));
    EXPECT_TRUE(empty_like(place).is_same(place));
    EXPECT_FALSE(empty(sizes, DType::kInt64).is_same(place));  // once
  }
  { const ResultPlace here(place); }
  EXPECT_FALSE(empty(sizes, DType::kInt64).is_same(place));
}

}  // namespace
}  // namespace torchlet
