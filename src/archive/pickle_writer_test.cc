#include "archive/pickle_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "archive/test_util.h"

namespace torchlet::archive {
namespace {

Value no_state(const Value&) { fail(ErrorCode::kInternal, "there is no __getstate__ here"); }

// Written and read again.
Value round(const Value& value) {
  StorageTable storages;
  PickleWriter writer(no_state, storages);
  const std::string bytes = writer.write(value);
  TestFactory factory;
  return read_pickle(std::as_bytes(std::span(bytes)), bytes.size(), "data.pkl", factory,
                     [&](std::string_view key, size_t) {
                       return storages.storages().at(std::stoul(std::string(key)));
                     });
}

TEST(PickleWriter, PlainValuesComeBack) {
  constexpr int64_t kInts[] = {0,
                               255,
                               256,
                               65535,
                               65536,
                               -1,
                               -2147483648LL,
                               2147483648LL,
                               std::numeric_limits<int64_t>::min(),
                               std::numeric_limits<int64_t>::max()};
  for (const int64_t i : kInts) EXPECT_EQ(round(i).to_int(), i);
  for (const double d : {0.1, -0.0, 1e300, std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(round(d).raw_int(), Value(d).raw_int());
  }
  EXPECT_TRUE(round(Value()).is_none());
  EXPECT_TRUE(round(true).to_bool());
  EXPECT_EQ(round("a\n\xc3\xa9").to_string(), "a\n\xc3\xa9");
  EXPECT_EQ(round(std::complex<double>(1, -2)).to_complex(), std::complex<double>(1, -2));
  EXPECT_EQ(round(Value::device("cuda:0")).to_string(), "cuda:0");
}

TEST(PickleWriter, ContainersKeepTheirTypes) {
  EXPECT_TRUE(round(make_int_list({})).list_ref().element_type->is(TypeKind::kInt));
  const Value strings = round(make_list(types::string(), {"a", "b", "a"}));
  EXPECT_TRUE(strings.list_ref().element_type->is(TypeKind::kString));
  EXPECT_EQ(strings.list_ref().items[2].to_string(), "a");
  const Value dict = round(Value::dict({{"b", 1.5}, {"a", 2.5}}));
  EXPECT_TRUE(dict.dict_ref().value_type->is(TypeKind::kFloat));
  EXPECT_EQ(dict.dict_ref().items()[0].first.to_string(), "b");
  for (int n = 0; n < 6; ++n) {
    const Value tuple = Value::tuple(std::vector<Value>(static_cast<size_t>(n), Value(7)));
    EXPECT_EQ(to_text(round(tuple)), to_text(tuple));
  }
}

TEST(PickleWriter, WhatIsSharedStaysShared) {
  const Value list = make_int_list(IntArray{1, 2});
  const Value pair = round(Value::tuple({list, list}));
  EXPECT_TRUE(pair.to_tuple()[0].is_same(pair.to_tuple()[1]));

  const Tensor whole = zeros(IntArray{4, 2}, DType::kFloat32);
  const Tensor part =
      make_tensor(whole.impl()->storage, DType::kFloat32, IntArray{2}, IntArray{4}, 1);
  const std::vector<Value> tensors = round(Value::tuple({whole, part, whole})).to_tuple();
  EXPECT_TRUE(tensors[0].is_same(tensors[2]));
  EXPECT_EQ(tensors[0].to_tensor().impl()->storage, tensors[1].to_tensor().impl()->storage);
  EXPECT_EQ(tensors[1].to_tensor().impl()->storage_offset, 1);
  EXPECT_EQ(tensors[1].to_tensor().impl()->strides[0], 4);
}

TEST(PickleWriter, TensorsKeepWhatTheyAre) {
  const Tensor x = zeros(IntArray{2, 3}, DType::kQInt8);
  auto quantizer = std::make_shared<Quantizer>();
  quantizer->qscheme = QScheme::kPerChannelAffine;
  quantizer->scales = zeros(IntArray{3}, DType::kFloat64);
  quantizer->zero_points = zeros(IntArray{3}, DType::kInt64);
  quantizer->axis = 1;
  x.impl()->quantizer = quantizer;
  x.impl()->requires_grad = true;
  const Tensor back = round(x).to_tensor();
  EXPECT_EQ(back.dtype(), DType::kQInt8);
  EXPECT_EQ(back.impl()->quantizer->axis, 1);
  EXPECT_EQ(back.impl()->quantizer->scales.numel(), 3);
  EXPECT_TRUE(back.impl()->requires_grad);

  for (const Layout layout : {Layout::kSparse, Layout::kSparseCsr}) {
    const Tensor indices = zeros(IntArray{2, 2}, DType::kInt64);
    indices.data_ptr<int64_t>()[1] = 2;  // (0, 0) and (2, 0)
    auto impl = make_ref<TensorImpl>();
    impl->sizes = {3, 2};
    impl->strides = {2, 1};
    impl->update_numel();
    impl->sparse = std::make_shared<const SparseParts>(
        SparseParts{indices, zeros(IntArray{2}, DType::kFloat32), true, layout});
    const Tensor sparse = round(Tensor(impl)).to_tensor();
    ASSERT_TRUE(sparse.impl()->sparse);
    EXPECT_EQ(sparse.impl()->sparse->layout, layout);
    EXPECT_EQ(sparse.impl()->sparse->indices.data_ptr<int64_t>()[1], 2);
  }
}

TEST(PickleWriter, ObjectsAreWrittenByTheirAttributesOrTheirState) {
  auto type = std::make_shared<ClassType>(TypeKind::kClass, "__torch__.Net", true);
  type->add_attribute({"n", types::integer()});
  auto object = make_ref<Object>(type);
  object->set_attribute("n", 3);
  EXPECT_EQ(round(Value(object)).object_ref().attribute("n").to_int(), 3);
  EXPECT_EQ(round(Value(object)).object_ref().type->name(), "__torch__.Net");
}

TEST(PickleWriter, RefusesWhatHasNoEnd) {
  Value list = make_list(types::any(), {});
  list.list_ref().items.push_back(list);
  EXPECT_NE(error_of([&] { round(list); }), "");
  list.list_ref().items.clear();
  EXPECT_NE(error_of([] { round(Value::generator()); }).find("cannot be written"),
            std::string::npos);
}

}  // namespace
}  // namespace torchlet::archive
