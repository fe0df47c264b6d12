// How an operator is declared: once, in the file of its family.
//
//   TORCHLET_OP(sin, "aten::sin(Tensor self) -> Tensor", [](const Tensor& self) { ... });
//   TORCHLET_OP_VARIANTS(add_Tensor, inplace() | out("out"),
//                        "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) ->
//                        Tensor", add);
//
// and one line in op_list.inc: TORCHLET_OP_ENTRY(sin). The schema gives names, arity, defaults and
// overload; the C++ function takes the same arguments in the same order, as
//
//   Tensor              const Tensor&           (Tensor? as well: undefined for None)
//   Tensor[], Tensor?[] const std::vector<Tensor>&
//   int, float, bool    int64_t, double, bool   (std::optional<...> for int?, ...)
//   Scalar              const Scalar&           (std::optional<Scalar>)
//   int[], int[2]       const IntArray&         (std::optional<IntArray>)
//   float[], bool[]     const std::vector<double>&, const std::vector<bool>&
//   str                 const std::string&      (std::optional<std::string>)
//   ScalarType          DType                   (std::optional<DType>)
//   MemoryFormat        MemoryFormat            (std::optional<MemoryFormat>)
//   t[], Dict(..)       const Ref<List>&, const Ref<Dict>&
//   anything            const Value&
//
// and returns Tensor, Value, int64_t, double, bool, std::string, Scalar, IntArray,
// std::vector<Tensor>, void, or a std::tuple of these for several returns. Views return views, as
// PyTorch's do.
//
// One declaration can stand for several overloads: with per_type("int float int_float") every `$`
// of the schema becomes the word, `$1` and `$2` the parts around its underscore (both the word
// itself if it has none) and
// `$r` the wider of the two, so that "aten::mul.$($1 a, $2 b) -> $r" is mul.int, mul.float and
// mul.int_float.
//
// Derived variants: inplace() adds aten::add_.Tensor, which computes the same, checks that shape
// and dtype fit and writes the result into self (inplace("Scalar")
// names its overload where that differs); inplace_view() adds aten::squeeze_, which turns
// self itself into the view; copied() adds aten::permute_copy, which returns a copy instead of a
// view; functional(), of an operator declared in its in-place form aten::index_copy_, adds
// aten::index_copy, which works on a clone of self (out() then belongs to that one);
// out("dim_max(max, max_values)") adds the overload "dim_max" whose keyword arguments receive the
// results ("out(out)" may be written "out"). Declare them only if PyTorch has them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "graph/operator.h"
#include "tensor/containers.h"
#include "tensor/scalar.h"
#include "tensor/tensor_impl.h"

namespace torchlet::ops {

struct Variants {
  bool has_inplace = false;
  const char* inplace_overload = nullptr;  // the functional operator's own if null
  bool has_inplace_view = false;
  bool has_copied = false;
  bool has_functional = false;
  const char* out_overloads = nullptr;
  const char* types = nullptr;
  constexpr Variants operator|(Variants other) const {
    return {has_inplace || other.has_inplace,
            inplace_overload ? inplace_overload : other.inplace_overload,
            has_inplace_view || other.has_inplace_view,
            has_copied || other.has_copied,
            has_functional || other.has_functional,
            out_overloads ? out_overloads : other.out_overloads,
            types ? types : other.types};
  }
};
constexpr Variants inplace(const char* overload = nullptr) {
  return {.has_inplace = true, .inplace_overload = overload};
}
constexpr Variants inplace_view() { return {.has_inplace_view = true}; }
constexpr Variants copied() { return {.has_copied = true}; }
constexpr Variants functional() { return {.has_functional = true}; }
constexpr Variants out(const char* overload) { return {.out_overloads = overload}; }
constexpr Variants per_type(const char* words) { return {.types = words}; }

struct OpDef {
  const char* schema;
  OperatorFn fn;
  int arity;  // of the C++ function; -1 if it takes the arguments as they come
  Variants variants;
};

// Value -> C++ argument.
template <typename T>
struct FromValue;
template <>
struct FromValue<Tensor> {
  static Tensor get(const Value& v) { return v.is_none() ? Tensor() : v.to_tensor(); }
};
template <>
struct FromValue<Value> {
  static const Value& get(const Value& v) { return v; }
};
template <>
struct FromValue<int64_t> {
  static int64_t get(const Value& v) { return v.is_tensor() ? v.to_scalar().to_int() : v.to_int(); }
};
template <>
struct FromValue<double> {
  static double get(const Value& v) {
    return v.is_tensor() ? v.to_scalar().to_double() : v.to_double();
  }
};
template <>
struct FromValue<bool> {
  static bool get(const Value& v) { return v.is_int() ? v.raw_int() != 0 : v.to_bool(); }
};
template <>
struct FromValue<Scalar> {
  static Scalar get(const Value& v) { return v.to_scalar(); }
};
template <>
struct FromValue<std::string> {
  static const std::string& get(const Value& v) { return v.to_string(); }
};
template <>
struct FromValue<std::complex<double>> {
  static std::complex<double> get(const Value& v) { return v.to_complex(); }
};
template <>
struct FromValue<DType> {
  static DType get(const Value& v);  // Error if the number is no dtype
};
template <>
struct FromValue<MemoryFormat> {
  static MemoryFormat get(const Value& v) { return static_cast<MemoryFormat>(v.to_int()); }
};
template <>
struct FromValue<IntArray> {
  static IntArray get(const Value& v);
};
template <>
struct FromValue<std::vector<Tensor>> {
  static std::vector<Tensor> get(const Value& v) { return v.to_tensor_list(); }
};
template <>
struct FromValue<std::vector<double>> {
  static std::vector<double> get(const Value& v);
};
template <>
struct FromValue<std::vector<bool>> {
  static std::vector<bool> get(const Value& v);
};
template <>
struct FromValue<Ref<List>> {
  static Ref<List> get(const Value& v);
};
template <>
struct FromValue<Ref<Dict>> {
  static Ref<Dict> get(const Value& v);
};
template <typename T>
struct FromValue<std::optional<T>> {
  static std::optional<T> get(const Value& v) {
    return v.is_none() ? std::nullopt : std::optional<T>(FromValue<T>::get(v));
  }
};

// C++ result -> Value.
template <typename T>
Value to_value(T&& result) {
  using Plain = std::remove_cvref_t<T>;
  if constexpr (std::is_same_v<Plain, std::vector<Tensor>>) {
    return make_tensor_list(std::forward<T>(result));
  } else if constexpr (std::is_same_v<Plain, IntArray>) {
    return make_int_list(result);
  } else if constexpr (std::is_same_v<Plain, DType> || std::is_same_v<Plain, QScheme>) {
    return Value(static_cast<int64_t>(result));
  } else {
    return Value(std::forward<T>(result));
  }
}

template <typename... T>
void store_results(std::span<Value> results, std::tuple<T...> tuple) {
  std::apply(
      [&](auto&... item) {
        size_t i = 0;
        ((results[i++] = to_value(std::move(item))), ...);
      },
      tuple);
}
template <typename T>
void store_results(std::span<Value> results, T&& result) {
  results[0] = to_value(std::forward<T>(result));
}

// The boxed form of a typed C++ function.
template <auto Fn>
struct Boxed;
template <typename R, typename... Args, R (*Fn)(Args...)>
struct Boxed<Fn> {
  static constexpr int kArity = sizeof...(Args);
  static void call(const Operator&, std::span<Value> args, std::span<Value> results) {
    invoke(args, results, std::index_sequence_for<Args...>{});
  }

 private:
  template <size_t... I>
  static void invoke([[maybe_unused]] std::span<Value> args, std::span<Value> results,
                     std::index_sequence<I...>) {
    if constexpr (std::is_void_v<R>) {
      Fn(FromValue<std::remove_cvref_t<Args>>::get(args[I])...);
      for (Value& result : results) result = Value();
    } else {
      store_results(results, Fn(FromValue<std::remove_cvref_t<Args>>::get(args[I])...));
    }
  }
};

template <auto Fn>
constexpr OpDef boxed_op(const char* schema, Variants variants) {
  return {schema, &Boxed<Fn>::call, Boxed<Fn>::kArity, variants};
}

}  // namespace torchlet::ops

#define TORCHLET_OP_VARIANTS(id, variant_list, schema, ...) \
  extern const ::torchlet::ops::OpDef op_##id;              \
  constinit const ::torchlet::ops::OpDef op_##id =          \
      ::torchlet::ops::boxed_op<(+__VA_ARGS__)>(schema, variant_list)

#define TORCHLET_OP(id, schema, ...) \
  TORCHLET_OP_VARIANTS(id, ::torchlet::ops::Variants{}, schema, __VA_ARGS__)

// For varargs and generic list operators: the C++ function is an OperatorFn.
#define TORCHLET_OP_BOXED_VARIANTS(id, variant_list, schema, ...) \
  extern const ::torchlet::ops::OpDef op_##id;                    \
  constinit const ::torchlet::ops::OpDef op_##id = {schema, __VA_ARGS__, -1, variant_list}

#define TORCHLET_OP_BOXED(id, schema, ...) \
  TORCHLET_OP_BOXED_VARIANTS(id, ::torchlet::ops::Variants{}, schema, __VA_ARGS__)
