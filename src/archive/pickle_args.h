// Typed access to the arguments that a pickle passes.
#pragma once

#include <torchlet/value.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "tensor/containers.h"
#include "tensor/tensor_impl.h"

namespace torchlet::archive {

// The items of a tuple of arguments. Every access is checked; `what` completes the message
// "<function>: expected <what>, got a str".
class PickleArgs {
 public:
  PickleArgs(std::string function, const Value& tuple, size_t min_count, size_t max_count)
      : function_(std::move(function)), items_(tuple_items(tuple)) {
    if (items_.size() < min_count || items_.size() > max_count) {
      refuse(format("%zu to %zu arguments", min_count, max_count),
             format("%zu", items_.size()).c_str());
    }
  }

  size_t size() const { return items_.size(); }
  const Value& operator[](size_t i) const { return items_[i]; }

  int64_t integer(size_t i, const char* what) const {
    if (!items_[i].is_int()) refuse(what, items_[i].kind_name());
    return items_[i].raw_int();
  }
  bool boolean(size_t i, const char* what) const {
    if (!items_[i].is_bool()) refuse(what, items_[i].kind_name());
    return items_[i].to_bool();
  }
  double number(size_t i, const char* what) const {
    if (!items_[i].is_float() && !items_[i].is_int()) refuse(what, items_[i].kind_name());
    return items_[i].to_double();
  }
  const std::string& string(size_t i, const char* what) const {
    if (!items_[i].is_string()) refuse(what, items_[i].kind_name());
    return items_[i].to_string();
  }
  Tensor tensor(size_t i, const char* what) const {
    if (!items_[i].is_tensor()) refuse(what, items_[i].kind_name());
    return items_[i].to_tensor();
  }
  IntArray integers(size_t i, const char* what) const {
    if (!items_[i].is_tuple()) refuse(what, items_[i].kind_name());
    IntArray result;
    for (const Value& item : items_[i].tuple_ref().items) {
      if (!item.is_int()) refuse(what, item.kind_name());
      result.push_back(item.raw_int());
    }
    return result;
  }

  [[noreturn]] void refuse(const std::string& expected, const char* got) const {
    fail(ErrorCode::kFileFormat,
         function_ + ": expected " + expected + ", got " + std::string(got));
  }

 private:
  const std::vector<Value>& tuple_items(const Value& tuple) const {
    if (!tuple.is_tuple()) refuse("a tuple of arguments", tuple.kind_name());
    return tuple.tuple_ref().items;
  }

  std::string function_;
  const std::vector<Value>& items_;
};

}  // namespace torchlet::archive
