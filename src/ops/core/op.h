// How an operator is declared: once, in the file of its family.
//
//   TORCHLET_OP(sin, "aten::sin(Tensor self) -> Tensor", [](const Tensor& self) { ... });
//   TORCHLET_OP_WITH(add_Tensor, inplace() | out("out") | pointwise(),
//                    "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
//                    add);
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
// Traits are derived variants and facts (graph/facts.h), as keeps_rank(). Of the variants,
// inplace() adds aten::add_.Tensor, which computes the same, checks that shape
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
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "graph/facts.h"
#include "graph/operator.h"
#include "ops/core/schema_text.h"
#include "tensor/containers.h"
#include "tensor/scalar.h"
#include "tensor/tensor_impl.h"

namespace torchlet::ops {

// What is declared with an operator besides its schema and its function: the variants that are
// derived from it, and facts (graph/facts.h). Written as a list: inplace() | out("out") |
// pointwise().
struct Traits {
  const char* inplace_overload = nullptr;  // the functional operator's own if null
  const char* out_overloads = nullptr;
  const char* types = nullptr;
  bool has_inplace = false;
  bool has_inplace_view = false;
  bool has_copied = false;
  bool has_functional = false;
  Facts facts = {};

 private:
  // Stands before its uses: in a constant expression Clang 14 finds only what it has seen.
  template <typename F>
  constexpr void visit(const Traits& other, const F& f) {
    f(inplace_overload, other.inplace_overload);
    f(out_overloads, other.out_overloads);
    f(types, other.types);
    f(has_inplace, other.has_inplace);
    f(has_inplace_view, other.has_inplace_view);
    f(has_copied, other.has_copied);
    f(has_functional, other.has_functional);
    f(facts.rank, other.facts.rank);
    f(facts.dtype, other.facts.dtype);
    f(facts.places, other.facts.places);
    f(facts.looks_at, other.facts.looks_at);
    f(facts.quantized, other.facts.quantized);
    f(facts.is_pointwise, other.facts.is_pointwise);
    f(facts.may_alias, other.facts.may_alias);
    f(facts.new_of_several, other.facts.new_of_several);
    f(facts.runs_on_meta, other.facts.runs_on_meta);
    f(facts.never_raises, other.facts.never_raises);
    f(facts.changes_sizes, other.facts.changes_sizes);
    f(facts.changes_dtype, other.facts.changes_dtype);
    f(facts.varies_unless, other.facts.varies_unless);
    f(facts.writes, other.facts.writes);
    f(facts.writes_unless, other.facts.writes_unless);
    f(facts.identity_unless, other.facts.identity_unless);
  }

 public:
  // Both; each says something else.
  constexpr Traits operator|(const Traits& other) const {
    Traits both = *this;
    both.visit(other, [](auto& mine, const auto& theirs) {
      using T = std::remove_reference_t<decltype(mine)>;
      if (theirs == T()) return;
      if (mine != T()) throw "said twice";  // while compiling
      mine = theirs;
    });
    return both;
  }
  constexpr bool operator==(const Traits& other) const {
    bool same = true;
    Traits(*this).visit(other, [&](const auto& mine, const auto& theirs) {
      if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(mine)>>) {
        same &= mine && theirs ? std::string_view(mine) == theirs : !mine && !theirs;
      } else {
        same &= mine == theirs;
      }
    });
    return same;
  }
};

// Derived variants.
constexpr Traits inplace(const char* overload = nullptr) {
  return {.inplace_overload = overload, .has_inplace = true};
}
constexpr Traits inplace_view() { return {.has_inplace_view = true}; }
constexpr Traits copied() { return {.has_copied = true}; }
constexpr Traits functional() { return {.has_functional = true}; }
constexpr Traits out(const char* overload) { return {.out_overloads = overload}; }
constexpr Traits per_type(const char* words) { return {.types = words}; }

// Facts, in the words of graph/facts.h.
constexpr Traits rank(RankRule rule) { return {.facts = {.rank = rule}}; }
constexpr Traits dtype(DTypeRule rule) { return {.facts = {.dtype = rule}}; }
constexpr Traits keeps_rank() { return rank(RankRule::kFirst); }
constexpr Traits keeps_dtype() { return dtype(DTypeRule::kFirst); }
constexpr Traits places(PlaceRule rule) { return {.facts = {.places = rule}}; }
constexpr Traits pointwise(DTypeRule rule = DTypeRule::kPromoted) {
  return {
      .facts = {
          .rank = RankRule::kLargest, .dtype = rule, .is_pointwise = true, .runs_on_meta = true}};
}
constexpr Traits looks_at(LooksAt what) { return {.facts = {.looks_at = what}}; }
constexpr Traits quantized(QuantizedOutput output) { return {.facts = {.quantized = output}}; }
constexpr Traits quantized_as_input() { return quantized(QuantizedOutput::kAsInput); }
constexpr Traits quantized_average() { return quantized(QuantizedOutput::kAverage); }
constexpr Traits quantized_unit() { return quantized(QuantizedOutput::kUnit); }
constexpr Traits quantized_signed_unit() { return quantized(QuantizedOutput::kSignedUnit); }
constexpr Traits may_alias() { return {.facts = {.may_alias = true}}; }
constexpr Traits may_alias_unless_several(const char* tensors) {
  return {.facts = {.may_alias = true, .new_of_several = tensors}};
}
constexpr Traits on_meta() { return {.facts = {.runs_on_meta = true}}; }
constexpr Traits never_raises() { return {.facts = {.never_raises = true}}; }
constexpr Traits changes_sizes() { return {.facts = {.changes_sizes = true}}; }
constexpr Traits changes_dtype() { return {.facts = {.changes_dtype = true}}; }
constexpr Traits varies(const char* unless = "") { return {.facts = {.varies_unless = unless}}; }
constexpr Traits writes(const char* arguments, const char* unless = nullptr) {
  return {.facts = {.writes = arguments, .writes_unless = unless}};
}
constexpr Traits identity(const char* unless) { return {.facts = {.identity_unless = unless}}; }

// Those that most operators have are there only once.
inline constexpr Traits kNoTraits,
    kInplace = inplace(), kOut = out("out"), kInplaceAndOut = inplace() | out("out"),
    kPointwise = inplace() | out("out") | pointwise(), kVaries = varies();
constexpr const Traits* shared_traits(const Traits& own) {
  for (const Traits* common :
       {&kNoTraits, &kInplace, &kOut, &kInplaceAndOut, &kPointwise, &kVaries}) {
    if (own == *common) return common;
  }
  return &own;
}

// A function that takes the arguments as they come: a TypedFunction without a signature.
struct BoxedFunction : TypedFunction {
  OperatorFn fn;
};

struct OpDef {
  const char* schema;  // packed, see ops/core/schema_text.h
  const TypedFunction* function;
  const Traits* traits;
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

// What an argument is read as; a type of its own for optional<T>.
enum class ArgKind : uint8_t {
  kTensor,
  kValue,
  kInt,
  kFloat,
  kBool,
  kScalar,
  kString,
  kComplex,
  kDType,
  kMemoryFormat,
  kInts,
  kTensors,
  kFloats,
  kBools,
  kList,
  kDict,
  kOptional = 32,  // added to the others
};
template <typename T>
struct ArgKindOf;
#define TORCHLET_ARG_KIND(type, name)                         \
  template <>                                                 \
  struct ArgKindOf<type> {                                    \
    static constexpr auto value = static_cast<uint8_t>(name); \
  }
TORCHLET_ARG_KIND(Tensor, ArgKind::kTensor);
TORCHLET_ARG_KIND(Value, ArgKind::kValue);
TORCHLET_ARG_KIND(int64_t, ArgKind::kInt);
TORCHLET_ARG_KIND(double, ArgKind::kFloat);
TORCHLET_ARG_KIND(bool, ArgKind::kBool);
TORCHLET_ARG_KIND(Scalar, ArgKind::kScalar);
TORCHLET_ARG_KIND(std::string, ArgKind::kString);
TORCHLET_ARG_KIND(std::complex<double>, ArgKind::kComplex);
TORCHLET_ARG_KIND(DType, ArgKind::kDType);
TORCHLET_ARG_KIND(MemoryFormat, ArgKind::kMemoryFormat);
TORCHLET_ARG_KIND(IntArray, ArgKind::kInts);
TORCHLET_ARG_KIND(std::vector<Tensor>, ArgKind::kTensors);
TORCHLET_ARG_KIND(std::vector<double>, ArgKind::kFloats);
TORCHLET_ARG_KIND(std::vector<bool>, ArgKind::kBools);
TORCHLET_ARG_KIND(Ref<List>, ArgKind::kList);
TORCHLET_ARG_KIND(Ref<Dict>, ArgKind::kDict);
#undef TORCHLET_ARG_KIND
template <typename T>
struct ArgKindOf<std::optional<T>> {
  static constexpr auto value =
      static_cast<uint8_t>(ArgKindOf<T>::value + static_cast<uint8_t>(ArgKind::kOptional));
};

constexpr size_t kMaxTypedArgs = 24;
constexpr size_t kMaxResultBytes = 128;

// How functions of one signature are called; shared by all of them, so that an operator costs no
// code of its own. What is common to all signatures is in call_typed().
struct Signature {
  // Constructs the result of fn(*args...) in the memory `result`. Arguments taken by value are
  // moved from.
  void (*invoke)(const TypedFunction& fn, void* const* args, void* result);
  // Moves the result into the Values and destroys it.
  void (*store)(void* result, std::span<Value> results);
  const uint8_t* kinds;
  uint8_t arity;
};

// The OperatorFn of all typed functions.
void call_typed(const Operator& op, std::span<Value> args, std::span<Value> results);

// A typed C++ function, found through its base by Signature::invoke.
template <typename R, typename... Args>
struct TypedFunctionOf : TypedFunction {
  R (*fn)(Args...);
};

template <typename R>
void store_and_destroy([[maybe_unused]] void* result, std::span<Value> results) {
  if constexpr (std::is_void_v<R>) {
    for (Value& value : results) value = Value();
  } else {
    R* typed = static_cast<R*>(result);
    store_results(results, std::move(*typed));
    typed->~R();
  }
}

template <typename R, typename... Args>
struct SignatureOf {
  static constexpr uint8_t kKinds[sizeof...(Args) + 1] = {
      ArgKindOf<std::remove_cvref_t<Args>>::value...};

  template <size_t... I>
  static void invoke_with(const TypedFunction& base, [[maybe_unused]] void* const* args,
                          [[maybe_unused]] void* result, std::index_sequence<I...>) {
    const auto fn = static_cast<const TypedFunctionOf<R, Args...>&>(base).fn;
    if constexpr (std::is_void_v<R>) {
      fn(static_cast<Args&&>(*static_cast<std::remove_cvref_t<Args>*>(args[I]))...);
    } else {
      static_assert(sizeof(R) <= kMaxResultBytes);
      new (result) R(fn(static_cast<Args&&>(*static_cast<std::remove_cvref_t<Args>*>(args[I]))...));
    }
  }
  static void invoke(const TypedFunction& fn, void* const* args, void* result) {
    invoke_with(fn, args, result, std::index_sequence_for<Args...>{});
  }

  static_assert(sizeof...(Args) <= kMaxTypedArgs);
  static constexpr Signature kSignature = {&invoke, &store_and_destroy<R>, kKinds,
                                           static_cast<uint8_t>(sizeof...(Args))};
};

template <typename R, typename... Args>
constexpr TypedFunctionOf<R, Args...> typed(R (*fn)(Args...)) {
  // A value that a function takes by value and moves from may not be one that its Value shares.
  static_assert(((std::is_reference_v<Args> || !std::is_same_v<Args, Value>)&&...));
  static_assert(((std::is_reference_v<Args> || !std::is_same_v<Args, std::string>)&&...));
  return {{&SignatureOf<R, Args...>::kSignature}, fn};
}

}  // namespace torchlet::ops

#define TORCHLET_OP_DEFINE(id, traits, schema, ...)                               \
  static constexpr auto schema_##id =                                             \
      ::torchlet::ops::pack_schema<::torchlet::ops::packed_size(schema)>(schema); \
  static constinit const auto function_##id = __VA_ARGS__;                        \
  extern const ::torchlet::ops::OpDef op_##id;                                    \
  constinit const ::torchlet::ops::OpDef op_##id = {schema_##id.bytes, &function_##id, traits}

#define TORCHLET_OP_WITH(id, trait_list, schema, ...)                         \
  static constexpr ::torchlet::ops::Traits traits_##id = trait_list;          \
  TORCHLET_OP_DEFINE(id, ::torchlet::ops::shared_traits(traits_##id), schema, \
                     ::torchlet::ops::typed(+__VA_ARGS__))

#define TORCHLET_OP(id, schema, ...) \
  TORCHLET_OP_DEFINE(id, &::torchlet::ops::kNoTraits, schema, ::torchlet::ops::typed(+__VA_ARGS__))

// For varargs and generic list operators: the C++ function is an OperatorFn.
#define TORCHLET_OP_BOXED_WITH(id, trait_list, schema, ...)                   \
  static constexpr ::torchlet::ops::Traits traits_##id = trait_list;          \
  TORCHLET_OP_DEFINE(id, ::torchlet::ops::shared_traits(traits_##id), schema, \
                     ::torchlet::ops::BoxedFunction{{nullptr}, __VA_ARGS__})

#define TORCHLET_OP_BOXED(id, schema, ...)                    \
  TORCHLET_OP_DEFINE(id, &::torchlet::ops::kNoTraits, schema, \
                     ::torchlet::ops::BoxedFunction{{nullptr}, __VA_ARGS__})
