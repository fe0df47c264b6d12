#include <gtest/gtest.h>

#include <limits>

#include "archive/pickle.h"
#include "archive/test_util.h"
#include "tensor/tensor_impl.h"

namespace torchlet::archive {
namespace {

using op::byte;
using op::global;
using op::hooks;
using op::integer;
using op::ints;
using op::pickle;
using op::real;
using op::storage;
using op::str;
using op::tensor;

// A key of a storage gives the same memory each time: what a test has put into storages_, or new.
class PickleTensorTest : public testing::Test {
 protected:
  Value body(const std::string& text) {
    const std::string bytes = pickle(text);
    return read_pickle(std::as_bytes(std::span(bytes)), bytes.size(), "data.pkl", factory_,
                       [this](std::string_view key, size_t nbytes) {
                         Ref<Storage>& made = storages_[std::string(key)];
                         if (!made) made = make_ref<Storage>(nbytes);
                         return made;
                       });
  }
  Tensor read(const std::string& text) { return body(text).to_tensor(); }

  void refused(const std::string& text, const std::string& part) {
    const std::string error = error_of([&] { body(text); });
    EXPECT_NE(error.find(part), std::string::npos) << "got: " << error;
    EXPECT_NE(error.find("of record 'data.pkl'"), std::string::npos) << "got: " << error;
  }

  static std::string qtensor(const std::string& stored, std::initializer_list<int32_t> sizes,
                             std::initializer_list<int32_t> strides, const std::string& quantizer) {
    return global("torch._utils", "_rebuild_qtensor") + "(" + stored + integer(0) + ints(sizes) +
           ints(strides) + quantizer + "\x89" + op::hooks() + "tR";
  }

  TestFactory factory_;
  std::unordered_map<std::string, Ref<Storage>> storages_;
};

const char* const kFloats = "FloatStorage";

TEST_F(PickleTensorTest, AViewOfAStorage) {
  const Tensor view = read(tensor(storage(kFloats, "0", 6), 1, {2, 2}, {1, 2}));
  EXPECT_EQ(view.describe(), "[2, 2] float32");
  EXPECT_EQ(view.storage_offset(), 1);
  EXPECT_EQ(view.strides()[0], 1);
  EXPECT_EQ(view.strides()[1], 2);
  EXPECT_EQ(view.impl()->storage->nbytes(), 24u);
  EXPECT_FALSE(view.impl()->requires_grad);
}

TEST_F(PickleTensorTest, TensorsWithOneKeyShareMemory) {
  const auto items = body("(" + tensor(storage(kFloats, "0", 6), 0, {6}, {1}) +
                          tensor(storage(kFloats, "0", 6), 2, {3}, {1}) +
                          tensor(storage(kFloats, "1", 6), 0, {6}, {1}) + "t")
                         .to_tensor_list();
  EXPECT_EQ(items[0].data_ptr<float>() + 2, items[1].data_ptr<float>());
  EXPECT_NE(items[0].raw_data(), items[2].raw_data());
}

TEST_F(PickleTensorTest, EveryStorageType) {
  const std::pair<const char*, DType> types[] = {
      {"ByteStorage", DType::kUInt8},
      {"CharStorage", DType::kInt8},
      {"ShortStorage", DType::kInt16},
      {"IntStorage", DType::kInt32},
      {"LongStorage", DType::kInt64},
      {"HalfStorage", DType::kFloat16},
      {"BFloat16Storage", DType::kBFloat16},
      {"FloatStorage", DType::kFloat32},
      {"DoubleStorage", DType::kFloat64},
      {"BoolStorage", DType::kBool},
      {"ComplexHalfStorage", DType::kComplex32},
      {"ComplexFloatStorage", DType::kComplex64},
      {"ComplexDoubleStorage", DType::kComplex128},
  };
  for (const auto& [name, dtype] : types) {
    const Tensor made = read(tensor(storage(name, name, 3), 0, {3}, {1}));
    EXPECT_EQ(made.dtype(), dtype);
    EXPECT_EQ(made.impl()->storage->nbytes(), 3 * element_size(dtype));
  }
}

TEST_F(PickleTensorTest, RequiresGradParametersAndSubclasses) {
  const std::string floats = storage(kFloats, "0", 2);
  const Tensor grad = read(global("torch._utils", "_rebuild_tensor_v2") + "(" + floats + byte(0) +
                           ints({2}) + ints({1}) + "\x88" + hooks() + "tR");
  EXPECT_TRUE(grad.impl()->requires_grad);
  const Tensor parameter = read(global("torch._utils", "_rebuild_parameter") + "(" +
                                tensor(floats, 0, {2}, {1}) + "\x88" + hooks() + "tR");
  EXPECT_EQ(parameter.numel(), 2);
  const Tensor subclass = read(global("torch._tensor", "_rebuild_from_type_v2") + "(" +
                               global("torch._utils", "_rebuild_tensor_v2") +
                               global("torch.nn.parameter", "Parameter") + "(" + floats + byte(0) +
                               ints({2}) + ints({1}) + "\x89" + hooks() + "t}tR");
  EXPECT_EQ(subclass.numel(), 2);
}

TEST_F(PickleTensorTest, ScalarsAndEmptyTensors) {
  EXPECT_EQ(read(tensor(storage(kFloats, "0", 1), 0, {}, {})).dim(), 0);
  const Tensor none = read(tensor(storage(kFloats, "1", 0), 0, {0, 4}, {4, 1}));
  EXPECT_EQ(none.numel(), 0);
  EXPECT_EQ(none.size(1), 4);
}

TEST_F(PickleTensorTest, AnExpandedTensorReachesOnlyItsStorage) {
  const Tensor expanded = read(tensor(storage(kFloats, "0", 1), 0, {1000, 1000}, {0, 0}));
  EXPECT_EQ(expanded.numel(), 1'000'000);
}

TEST_F(PickleTensorTest, ViewsOutsideTheirStorage) {
  const std::string floats = storage(kFloats, "0", 6);
  const std::string outside = "reaches outside its storage of 24 bytes (storage '0')";
  refused(tensor(floats, 1, {3, 2}, {1, 3}), outside);
  refused(tensor(floats, -1, {3, 2}, {1, 3}), outside);
  refused(tensor(floats, 0, {7}, {1}), outside);
  refused(tensor(floats, 0, {2}, {6}), outside);
  refused(tensor(floats, 0, {-2, 3}, {1, 1}), "negative dimension -2");
  refused(tensor(floats, 0, {3, 2}, {1, -3}), "strides are negative");
  refused(tensor(floats, 0, {3, 2}, {1}), "2 sizes but 1 strides");
  const int32_t huge = std::numeric_limits<int32_t>::max();
  refused(tensor(floats, 0, {huge, huge, huge}, {0, 0, 0}), "overflow");
  refused(tensor(floats, 0, {huge, huge}, {0, 0}), "overflow");  // 2^62 elements of 4 bytes
  refused(tensor(floats, 0, {huge, huge, huge}, {huge, huge, huge}), "overflow");
}

TEST_F(PickleTensorTest, RankIsLimited) {
  const auto of_rank = [&](int rank) {
    std::string ones = "(";
    for (int i = 0; i < rank; ++i) ones += byte(1);
    ones += "t";
    return global("torch._utils", "_rebuild_tensor_v2") + "(" + storage(kFloats, "0", 1) + byte(0) +
           ones + ones + "\x89" + hooks() + "tR";
  };
  EXPECT_EQ(read(of_rank(64)).dim(), 64);
  refused(of_rank(65), "a tensor of 65 dimensions");
}

TEST_F(PickleTensorTest, WrongArguments) {
  const std::string rebuild = global("torch._utils", "_rebuild_tensor_v2");
  refused(rebuild + byte(1) + "\x85R", "expected 4 to 7 arguments, got 1");
  refused(rebuild + "(NNNNNNtR", "expected a storage, got None");
  refused(rebuild + "(" + storage(kFloats, "0", 1) + str("0") + ints({}) + ints({}) + "tR",
          "expected the offset into the storage, got a str");
  refused(
      rebuild + "(" + storage(kFloats, "0", 1) + byte(0) + "(" + real(1) + "t" + ints({1}) + "tR",
      "expected a tuple of sizes, got a float");
  refused(global("torch._tensor", "_rebuild_from_type_v2") + "(" + byte(1) + byte(2) + ")}tR",
          "expected a function");
}

TEST_F(PickleTensorTest, WrongPersistentIds) {
  refused("NQ", "persistent id: expected a tuple of arguments");
  refused(")Q", "expected 5 to 6 arguments, got 0");
  refused("(" + str("module") + global("torch", kFloats) + str("0") + str("cpu") + byte(1) + "tQ",
          "expected ('storage'");
  refused("(" + str("storage") + str(kFloats) + str("0") + str("cpu") + byte(1) + "tQ",
          "expected ('storage'");
  refused("(" + str("storage") + global("torch", kFloats) + byte(0) + str("cpu") + byte(1) + "tQ",
          "expected the key of a storage");
  refused(storage(kFloats, "0", -1), "a storage of -1 elements");
  const std::string huge = "\x8a" + little_endian(8, 1) + little_endian(uint64_t{1} << 62, 8);
  refused("(" + str("storage") + global("torch", kFloats) + str("0") + str("cpu") + huge + "tQ",
          "a storage of 4611686018427387904 elements");
}

TEST_F(PickleTensorTest, PerTensorQuantized) {
  const std::string affine = "(" + global("torch", "per_tensor_affine") + real(0.5) + byte(3) + "t";
  for (const auto& [name, dtype] : {std::pair("QUInt8Storage", DType::kQUInt8),
                                    {"QInt8Storage", DType::kQInt8},
                                    {"QInt32Storage", DType::kQInt32}}) {
    const Tensor made = read(qtensor(storage(name, name, 6), {2, 3}, {3, 1}, affine));
    EXPECT_EQ(made.dtype(), dtype);
    EXPECT_EQ(made.qscheme(), QScheme::kPerTensorAffine);
    EXPECT_EQ(made.q_scale(), 0.5);
    EXPECT_EQ(made.q_zero_point(), 3);
  }
}

TEST_F(PickleTensorTest, PerChannelQuantized) {
  const auto per_channel = [](const std::string& scheme, const std::string& scales,
                              const std::string& zero_points, int axis) {
    return "(" + global("torch", scheme) + scales + zero_points + byte(axis) + "t";
  };
  const std::string scales = tensor(storage("DoubleStorage", "s", 2), 0, {2}, {1});
  const std::string zeros = tensor(storage("LongStorage", "z", 2), 0, {2}, {1});
  const std::string weights = storage("QInt8Storage", "w", 6);
  storages_["s"] = make_ref<Storage>(16);
  storages_["z"] = make_ref<Storage>(16);
  auto* scale = reinterpret_cast<double*>(storages_["s"]->data());
  auto* zero = reinterpret_cast<int64_t*>(storages_["z"]->data());
  scale[0] = 0.25, scale[1] = 4, zero[0] = -128, zero[1] = 127;

  const Tensor made =
      read(qtensor(weights, {2, 3}, {3, 1}, per_channel("per_channel_affine", scales, zeros, 0)));
  EXPECT_EQ(made.qscheme(), QScheme::kPerChannelAffine);
  EXPECT_EQ(made.q_per_channel_axis(), 0);
  EXPECT_EQ(made.q_per_channel_scales().data_ptr<double>()[1], 4);
  EXPECT_EQ(made.q_per_channel_zero_points().data_ptr<int64_t>()[0], -128);

  const std::string floats = tensor(storage("FloatStorage", "f", 2), 0, {2}, {1});
  const Tensor embedding =
      read(qtensor(storage("QUInt8Storage", "e", 6), {2, 3}, {3, 1},
                   per_channel("per_channel_affine_float_qparams", floats, floats, 0)));
  EXPECT_EQ(embedding.qscheme(), QScheme::kPerChannelAffineFloatQParams);
  EXPECT_EQ(embedding.q_per_channel_zero_points().dtype(), DType::kFloat32);

  const std::string what = "the quantizer of a tensor [2, 3] qint8";
  refused(qtensor(weights, {2, 3}, {3, 1}, per_channel("per_channel_affine", scales, zeros, 1)),
          what);
  refused(qtensor(weights, {2, 3}, {3, 1}, per_channel("per_channel_affine", scales, zeros, 2)),
          what);
  zero[1] = 128;
  refused(qtensor(weights, {2, 3}, {3, 1}, per_channel("per_channel_affine", scales, zeros, 0)),
          "zero point 128 is outside the range of qint8");
  const std::string expanded = tensor(storage("DoubleStorage", "s", 2), 0, {1 << 30}, {0});
  refused(qtensor(weights, {2, 3}, {3, 1}, per_channel("per_channel_affine", expanded, zeros, 0)),
          "larger than its storage");
}

TEST_F(PickleTensorTest, WrongQuantizers) {
  const std::string weights = storage("QUInt8Storage", "w", 6);
  const auto affine = [](const std::string& scale, const std::string& zero_point) {
    return "(" + global("torch", "per_tensor_affine") + scale + zero_point + "t";
  };
  refused(qtensor(weights, {6}, {1}, affine(real(1), integer(256))), "zero point 256 is outside");
  refused(qtensor(weights, {6}, {1}, affine(real(1), integer(-1))), "zero point -1 is outside");
  refused(qtensor(weights, {6}, {1}, affine(real(INFINITY), byte(0))), "is not finite");
  refused(qtensor(weights, {6}, {1}, affine(str("1"), byte(0))), "expected a scale, got a str");
  refused(qtensor(weights, {6}, {1}, "(NNNt"), "expected a qscheme");
  refused(qtensor(weights, {6}, {1}, "(" + global("torch", "per_channel_affine") + "NNt"),
          "expected scales, zero points and an axis");
  refused(qtensor(storage(kFloats, "f", 6), {6}, {1}, affine(real(1), byte(0))),
          "expected a storage of a quantized type");
  refused(tensor(weights, 0, {6}, {1}), "expected a storage that is not quantized");
}

TEST_F(PickleTensorTest, SparseTensors) {
  storages_["i"] = make_ref<Storage>(4 * sizeof(int64_t));
  auto* index = reinterpret_cast<int64_t*>(storages_["i"]->data());
  index[0] = 0, index[1] = 1, index[2] = 2, index[3] = 0;
  const std::string indices = tensor(storage("LongStorage", "i", 4), 0, {2, 2}, {2, 1});
  const std::string values = tensor(storage(kFloats, "v", 2), 0, {2}, {1});
  const auto sparse = [&](int layout, const std::string& sizes) {
    return global("torch._utils", "_rebuild_sparse_tensor") + "(" + byte(layout) + sizes + "\x89" +
           indices + values + hooks() + "tR";
  };
  const Tensor made = read(sparse(1, ints({2, 3})));
  EXPECT_EQ(made.describe(), "[2, 3] float32");
  ASSERT_TRUE(made.impl()->sparse);
  EXPECT_EQ(made.impl()->sparse->indices.data_ptr<int64_t>()[2], 2);
  EXPECT_FALSE(made.impl()->sparse->coalesced);
  refused(sparse(1, ints({2, 2})), "do not fit its size");  // column 2 of 2
  refused(sparse(1, ints({2})), "do not fit its size");
  refused(sparse(4, ints({2, 3})), "another layout than COO");
  refused(sparse(2, ints({2, 3})), "expected a tensor of column indices");
  index[0] = -1;
  refused(sparse(1, ints({2, 3})), "do not fit its size");
}

TEST_F(PickleTensorTest, SparseMatricesOfCompressedRows) {
  storages_["i"] = make_ref<Storage>(7 * sizeof(int64_t));
  auto* numbers = reinterpret_cast<int64_t*>(storages_["i"]->data());
  // Rows begin at values 0, 1, 1 and end at 3; columns 2; none; 0, 1.
  const std::vector<int64_t> fine = {0, 1, 1, 3, 2, 0, 1};
  const auto set = [&](size_t at, int64_t value) {
    std::ranges::copy(fine, numbers);
    numbers[at] = value;
  };
  const auto csr = [&](const std::string& sizes, int32_t columns = 3) {
    return global("torch._utils", "_rebuild_sparse_tensor") + "(" + byte(2) + sizes + "\x89" +
           tensor(storage("LongStorage", "i", 7), 0, {4}, {1}) +
           tensor(storage("LongStorage", "i", 7), 4, {columns}, {1}) +
           tensor(storage(kFloats, "v", 3), 0, {3}, {1}) + hooks() + "tR";
  };
  set(0, 0);
  const Tensor made = read(csr(ints({3, 4})));
  EXPECT_EQ(made.describe(), "[3, 4] float32");
  const SparseParts& parts = *made.impl()->sparse;
  EXPECT_EQ(parts.layout, Layout::kSparseCsr);
  EXPECT_TRUE(parts.coalesced);
  const std::vector<int64_t> expected = {0, 2, 2, 2, 0, 1};
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), parts.indices.data_ptr<int64_t>()));
  const char* const unfit = "do not fit its size";
  refused(csr(ints({2, 4})), unfit);
  refused(csr(ints({3, 2})), unfit);
  refused(csr(ints({3, 4}), 2), unfit);
  refused(csr(ints({3, 4, 1})), "other than two dimensions");
  for (const auto& [at, value] : {std::pair<size_t, int64_t>{0, 1},
                                  {1, -1},
                                  {1, 4},
                                  {2, 0},
                                  {3, 2},
                                  {4, 4},
                                  {4, -1},
                                  {5, 1},
                                  {6, int64_t{1} << 62}}) {
    SCOPED_TRACE(at);
    set(at, value);
    refused(csr(ints({3, 4})), unfit);
  }
}

}  // namespace
}  // namespace torchlet::archive
