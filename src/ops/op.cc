#include "ops/op.h"

namespace torchlet::ops {
namespace {

const std::vector<Value>& list_items(const Value& v) {
  if (v.is_tuple()) return v.tuple_ref().items;
  if (!v.is_list())
    fail(ErrorCode::kInvalidArgument, format("expected a list, got %s", v.kind_name()));
  return v.list_ref().items;
}

}  // namespace

DType FromValue<DType>::get(const Value& v) {
  const int64_t number = v.to_int();
  TORCHLET_CHECK(number >= 0 && number < kNumDTypes, "%lld is not a dtype",
                 static_cast<long long>(number));
  return static_cast<DType>(number);
}

IntArray FromValue<IntArray>::get(const Value& v) {
  if (v.is_int()) return {v.raw_int()};
  IntArray result;
  for (const Value& item : list_items(v)) result.push_back(FromValue<int64_t>::get(item));
  return result;
}

std::vector<double> FromValue<std::vector<double>>::get(const Value& v) {
  std::vector<double> result;
  for (const Value& item : list_items(v)) result.push_back(FromValue<double>::get(item));
  return result;
}

std::vector<bool> FromValue<std::vector<bool>>::get(const Value& v) {
  std::vector<bool> result;
  for (const Value& item : list_items(v)) result.push_back(FromValue<bool>::get(item));
  return result;
}

Ref<List> FromValue<Ref<List>>::get(const Value& v) {
  if (!v.is_list())
    fail(ErrorCode::kInvalidArgument, format("expected a list, got %s", v.kind_name()));
  return Ref<List>(&v.list_ref());
}

Ref<Dict> FromValue<Ref<Dict>>::get(const Value& v) {
  if (!v.is_dict())
    fail(ErrorCode::kInvalidArgument, format("expected a dict, got %s", v.kind_name()));
  return Ref<Dict>(&v.dict_ref());
}

}  // namespace torchlet::ops
