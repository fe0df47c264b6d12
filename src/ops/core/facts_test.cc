// Facts that operators declare (graph/facts.h), next to their schemas and to what the reference
// implementations do: every operator is called with small arguments of many kinds.
#include "graph/facts.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <sstream>

#include "graph/operator.h"
#include "ops/core/common.h"
#include "ops/core/meta_call.h"
#include "ops/core/testing.h"
#include "tensor/containers.h"

namespace torchlet::ops {
namespace {

const Type& plain_type(const Argument& argument) {
  const Type& type = *argument.type;
  return type.is(TypeKind::kOptional) ? *type.element(0) : type;
}
bool is_tensor(const Argument& argument) { return plain_type(argument).is(TypeKind::kTensor); }
bool is_list_of(const Argument& argument, TypeKind kind) {
  const Type& type = plain_type(argument);
  return type.is(TypeKind::kList) && type.element(0)->is(kind);
}

TEST(Facts, FitTheSchema) {
  for (const Operator* op : all_operators()) {
    SCOPED_TRACE(op->schema.str());
    const Facts& facts = *op->facts;
    const auto& arguments = op->schema.arguments;
    const auto& returns = op->schema.returns;
    for (const char* names :
         {facts.varies_unless, facts.writes, facts.writes_unless, facts.identity_unless}) {
      std::istringstream words(names ? names : "");
      for (std::string word; words >> word;) EXPECT_TRUE(op->schema.find_argument(word)) << word;
    }
    EXPECT_TRUE(facts.writes || !facts.writes_unless);
    const bool takes_tensor = std::ranges::any_of(arguments, [](const Argument& argument) {
      return is_tensor(argument) || is_list_of(argument, TypeKind::kTensor) ||
             plain_type(argument).is(TypeKind::kAny);
    });
    const bool gives_tensor = std::ranges::any_of(
        returns, [](const Argument& result) { return result.type->is(TypeKind::kTensor); });
    if (facts.rank != RankRule::kUnknown || facts.dtype != DTypeRule::kUnknown) {
      EXPECT_TRUE(gives_tensor);
    }
    switch (facts.rank) {
      case RankRule::kProduct:
        EXPECT_TRUE(is_tensor(arguments[1]));
        [[fallthrough]];
      case RankRule::kFirst:
      case RankRule::kOneMore:
        EXPECT_TRUE(is_tensor(arguments[0]));
        break;
      case RankRule::kLargest:
        EXPECT_TRUE(std::ranges::any_of(arguments, is_tensor));
        break;
      case RankRule::kLength:
        EXPECT_TRUE(std::ranges::any_of(
            arguments, [](const Argument& a) { return is_list_of(a, TypeKind::kInt); }));
        break;
      case RankRule::kJoined:
        EXPECT_TRUE(is_list_of(arguments[0], TypeKind::kTensor));
        break;
      case RankRule::kEquation:
        EXPECT_TRUE(plain_type(arguments[0]).is(TypeKind::kString));
        break;
      case RankRule::kUnknown:
        break;
    }
    if (facts.dtype == DTypeRule::kFirst) {
      EXPECT_TRUE(is_tensor(arguments[0]));
    }
    if (facts.dtype == DTypeRule::kWeight) {
      EXPECT_TRUE(op->schema.find_argument("weight"));
    }
    if (facts.is_pointwise) {
      EXPECT_EQ(facts.rank, RankRule::kLargest);
      EXPECT_EQ(returns.size(), 1u);
    }
    if (facts.quantized != QuantizedOutput::kNone) {
      EXPECT_TRUE(takes_tensor);
    }
    if (facts.looks_at != LooksAt::kElements) {
      EXPECT_TRUE(is_tensor(arguments[0]));
      EXPECT_FALSE(gives_tensor);
    }
    if (facts.changes_sizes || facts.changes_dtype) {
      EXPECT_TRUE(is_tensor(arguments[0]));
    }
    if (facts.may_alias && !op->base) {
      EXPECT_TRUE(std::ranges::none_of(returns, &Argument::is_aliased)) << "the schema says it";
    }
  }
}

// Small arguments that fit each other now and then.
class Arguments {
 public:
  explicit Arguments(uint32_t seed) : random_(seed) {
    static const IntArray kShapes[] = {{},     {3},       {2, 3},       {3, 3},
                                       {1, 3}, {2, 3, 4}, {1, 2, 4, 4}, {2, 2, 3, 3, 3}};
    sizes_ = kShapes[pick(8)];
    static const DType kDTypes[] = {DType::kFloat32, DType::kFloat32, DType::kFloat64,
                                    DType::kInt64,   DType::kBool,    DType::kFloat16};
    dtype_ = kDTypes[pick(6)];
  }

  std::optional<Value> of(const Argument& argument) {
    if (argument.default_value && pick(2)) return argument.default_value;
    if (argument.alias_of_int == "ScalarType") {
      return Value(static_cast<int64_t>(pick(2) ? DType::kFloat32 : DType::kInt64));
    }
    if (!argument.alias_of_int.empty()) return Value(int64_t{0});
    return of(*argument.type, argument.list_size.value_or(0));
  }

 private:
  size_t pick(size_t count) { return random_() % count; }

  std::optional<Value> of(const Type& type, int64_t list_size) {
    switch (type.kind()) {
      case TypeKind::kTensor:
        return Value(tensor());
      case TypeKind::kInt: {
        static const int64_t kInts[] = {1, 1, 1, 2, 2, 0, 3, -1};
        return Value(kInts[pick(8)]);
      }
      case TypeKind::kFloat:
        return Value(0.25 * static_cast<double>(pick(5)));
      case TypeKind::kNumber:
        return pick(2) ? Value(int64_t{2}) : Value(0.5);
      case TypeKind::kBool:
        return Value(pick(2) == 0);
      case TypeKind::kString: {
        static const char* const kStrings[] = {"none", "constant", "valid", "floor", "ij->ji"};
        return Value(std::string(kStrings[pick(5)]));
      }
      case TypeKind::kOptional:
        return pick(2) ? Value() : of(*type.element(0), list_size).value_or(Value());
      case TypeKind::kList: {
        std::vector<Value> items;
        for (size_t i = list_size > 0 ? static_cast<size_t>(list_size) : pick(5); i > 0; --i) {
          auto item = of(*type.element(0), 0);
          if (!item) return std::nullopt;
          items.push_back(*std::move(item));
        }
        return make_list(type.element(0), std::move(items));
      }
      default:
        return std::nullopt;
    }
  }

  Tensor tensor() {
    IntArray sizes = sizes_;
    if (pick(4) == 0 && !sizes.empty()) sizes[pick(sizes.size())] = 1;
    if (pick(8) == 0) sizes = {3};
    const Tensor t = empty(sizes, pick(6) ? dtype_ : DType::kInt64);
    const Tensor doubles = empty(sizes, DType::kFloat64);
    for (int64_t i = 0; i < t.numel(); ++i) {
      doubles.data_ptr<double>()[i] = 0.25 + 0.5 * static_cast<double>(i % 3);
    }
    t.copy_(doubles);
    return t;
  }

  std::mt19937 random_;
  IntArray sizes_;
  DType dtype_;
};

std::vector<Tensor> tensors_in(const Value& value) {
  std::vector<Tensor> tensors;
  if (value.is_tensor() && value.to_tensor().defined()) tensors.push_back(value.to_tensor());
  if (value.is_list()) {
    for (const Value& item : value.list_ref().items) {
      for (Tensor& tensor : tensors_in(item)) tensors.push_back(std::move(tensor));
    }
  }
  return tensors;
}

std::string bytes_of(const Tensor& tensor) {
  Storage& storage = *tensor.impl()->storage;
  return std::string(reinterpret_cast<const char*>(storage.data()), storage.nbytes());
}

// One call of an operator, and what there was before it.
struct Call {
  const Operator& op;
  std::vector<Value> arguments;
  std::vector<std::vector<Tensor>> tensors;  // by argument
  std::vector<std::vector<std::string>> bytes;
  std::vector<Value> results;

  const Tensor& first() const { return tensors[0][0]; }
  bool is_off(const char* name) const {
    const Value& value = arguments[*op.schema.find_argument(name)];
    return value.is_bool() && !value.to_bool();
  }
};

void check_sharing(const Call& call) {
  const Facts& facts = *call.op.facts;
  const auto& returns = call.op.schema.returns;
  const bool says_so = facts.may_alias || std::ranges::any_of(returns, &Argument::is_aliased);
  if (says_so) return;
  for (const Value& result : call.results) {
    for (const Tensor& made : tensors_in(result)) {
      for (const auto& given : call.tensors) {
        for (const Tensor& tensor : given) {
          EXPECT_NE(made.impl()->storage.get(), tensor.impl()->storage.get()) << "gives it back";
        }
      }
    }
  }
}

void check_writing(const Call& call) {
  for (size_t i = 0; i < call.tensors.size(); ++i) {
    const Argument& argument = call.op.schema.arguments[i];
    const std::string_view silent = call.op.facts->writes ? call.op.facts->writes : "";
    if (argument.is_written || silent.find(argument.name) != std::string_view::npos) continue;
    for (size_t t = 0; t < call.tensors[i].size(); ++t) {
      EXPECT_EQ(bytes_of(call.tensors[i][t]), call.bytes[i][t]) << "writes " << argument.name;
    }
  }
}

// The sizes that broadcasting gives.
void check_pointwise(const Call& call, const Tensor& result) {
  IntArray sizes;
  for (const auto& given : call.tensors) {
    for (const Tensor& tensor : given) sizes = broadcast_shapes(sizes, tensor.sizes());
  }
  EXPECT_EQ(IntArray(result.sizes()), sizes);
}

void check_rank(const Call& call, const Tensor& result) {
  int64_t expected = 0;
  switch (call.op.facts->rank) {
    case RankRule::kUnknown:
      return;
    case RankRule::kFirst:
      expected = call.first().dim();
      break;
    case RankRule::kOneMore:
      expected = call.first().dim() + 1;
      break;
    case RankRule::kProduct:
      expected = call.first().dim() + call.tensors[1][0].dim() - 2;
      break;
    case RankRule::kLargest:
      for (const auto& given : call.tensors) {
        for (const Tensor& tensor : given) expected = std::max(expected, tensor.dim());
      }
      break;
    case RankRule::kLength: {
      const auto list = std::ranges::find_if(
          call.arguments, [](const Value& argument) { return argument.is_list(); });
      expected = static_cast<int64_t>(list->list_ref().items.size());
      break;
    }
    case RankRule::kJoined:
      for (const Tensor& tensor : call.tensors[0]) expected = std::max(expected, tensor.dim());
      break;
    case RankRule::kEquation: {
      const std::string& text = call.arguments[0].to_string();
      const size_t arrow = text.find("->");
      if (arrow == std::string::npos || text.find('.') != std::string::npos) return;
      expected = std::ranges::count_if(text.substr(arrow + 2), [](char c) { return c != ' '; });
      break;
    }
  }
  EXPECT_EQ(result.dim(), expected);
}

void check_dtype(const Call& call, const Tensor& result) {
  std::optional<DType> expected;
  switch (call.op.facts->dtype) {
    case DTypeRule::kUnknown:
      return;
    case DTypeRule::kFirst:
      expected = call.first().dtype();
      break;
    case DTypeRule::kWeight:
      expected = call.tensors[*call.op.schema.find_argument("weight")][0].dtype();
      break;
    case DTypeRule::kPromoted:
      for (const auto& given : call.tensors) {
        for (const Tensor& tensor : given) {
          if (expected && *expected != tensor.dtype()) return;
          expected = tensor.dtype();
        }
      }
      break;
  }
  if (expected && is_floating_point(*expected)) {
    EXPECT_EQ(result.dtype(), *expected);
  }
}

// Does each place along this dimension of the result depend on that place of the first argument?
bool has_own_places(const Call& call, const Tensor& result, int64_t dim) {
  switch (call.op.facts->places) {
    case PlaceRule::kUnknown:
      break;
    case PlaceRule::kAll:
      return true;
    case PlaceRule::kButLast: {
      const auto& weight = call.tensors[*call.op.schema.find_argument("weight")];
      const auto& bias = call.tensors[*call.op.schema.find_argument("bias")];
      return dim < result.dim() - 1 && weight[0].dim() == 2 && (bias.empty() || bias[0].dim() <= 1);
    }
    case PlaceRule::kButDim:
      return dim !=
             wrap_dim(call.arguments[*call.op.schema.find_argument("dim")].to_int(), result.dim());
    case PlaceRule::kButNormalized: {
      const Value& shape = call.arguments[*call.op.schema.find_argument("normalized_shape")];
      return dim < result.dim() - static_cast<int64_t>(shape.list_ref().items.size());
    }
    case PlaceRule::kRows:
      return dim == result.dim() - 2 && call.first().dim() >= 2 && call.tensors[1][0].dim() >= 2;
  }
  return false;
}

// All places but the first give all of the result but the first.
void check_places(const Call& call, const Tensor& result) {
  for (int64_t dim = 0; dim < result.dim(); ++dim) {
    if (!has_own_places(call, result, dim)) continue;
    const int64_t from = dim + call.first().dim() - result.dim(), size = result.size(dim);
    ASSERT_GE(from, 0);
    ASSERT_EQ(call.first().size(from), size);
    if (size < 2) continue;
    std::vector<Value> arguments = call.arguments, results(call.results.size());
    arguments[0] = Value(slice(call.first(), from, 1, size, 1));
    call.op.call(arguments, results);
    const auto want = elements_of(slice(result, dim, 1, size, 1)),
               got = elements_of(results[0].to_tensor());
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-3) << dim;
  }
}

// The same answer for another tensor that is alike in what it looks at.
void check_looking(const Call& call) {
  if (call.op.facts->looks_at == LooksAt::kElements) return;
  const Tensor& tensor = call.first();
  Tensor alike;
  switch (call.op.facts->looks_at) {
    case LooksAt::kElements:
      return;
    case LooksAt::kStrides:
      alike = empty(tensor.sizes(), DType::kInt8);
      break;
    case LooksAt::kSizes:
      alike = make_tensor(make_ref<Storage>(nullptr, size_t{1} << 20, nullptr), DType::kInt8,
                          tensor.sizes(), IntArray(tensor.sizes().size(), 1), 0);
      break;
    case LooksAt::kDType:
      alike = empty(IntArray{0}, tensor.dtype());
      break;
    case LooksAt::kPlainness:
    case LooksAt::kNothing:
      alike = empty(IntArray{0}, DType::kInt8);
      break;
  }
  std::vector<Value> arguments = call.arguments, results(call.results.size());
  arguments[0] = Value(alike);
  call.op.call(arguments, results);
  for (size_t i = 0; i < results.size(); ++i)
    EXPECT_TRUE(values_equal(results[i], call.results[i]));
}

// What meta tensors tell is what the call gave, also next to numbers that are known.
void check_meta(const Call& call, bool knows_numbers) {
  if (std::ranges::any_of(call.op.schema.arguments, &Argument::is_written)) return;
  std::vector<Value> arguments;
  for (const Value& argument : call.arguments) {
    const bool is_number = argument.is_tensor() && argument.to_tensor().dim() == 0;
    arguments.push_back(is_number && knows_numbers ? argument : meta_value(argument));
  }
  try {
    const auto told = call_on_meta(call.op, std::move(arguments));
    for (size_t i = 0; told && i < told->size(); ++i) {
      EXPECT_EQ(description_of((*told)[i]), description_of(call.results[i]));
    }
  } catch (const Error& error) {
    FAIL() << "on meta tensors: " << error.what();
  }
}

void check(const Call& call) {
  check_sharing(call);
  check_meta(call, false);
  check_meta(call, true);
  check_writing(call);
  check_looking(call);
  const Facts& facts = *call.op.facts;
  if (facts.identity_unless && call.is_off(facts.identity_unless)) {
    EXPECT_EQ(call.results[0].tensor_impl(), call.first().impl());
  }
  const auto& returns = call.op.schema.returns;
  if (returns.empty() || returns[0].is_written || !call.results[0].is_tensor()) return;
  const Tensor result = call.results[0].to_tensor();
  check_rank(call, result);
  check_dtype(call, result);
  if (facts.is_pointwise) check_pointwise(call, result);
  check_places(call, result);
}

TEST(Facts, AreWhatTheReferenceDoes) {
  size_t checked = 0;
  for (const Operator* op : all_operators()) {
    if (op->schema.is_vararg) continue;
    for (uint32_t seed = 0; seed < 120; ++seed) {
      Call call{*op, {}, {}, {}, std::vector<Value>(op->schema.returns.size())};
      Arguments some(seed);
      for (const Argument& argument : op->schema.arguments) {
        auto value = some.of(argument);
        if (!value) break;
        call.arguments.push_back(*std::move(value));
        call.tensors.push_back(tensors_in(call.arguments.back()));
        call.bytes.emplace_back();
        for (const Tensor& tensor : call.tensors.back())
          call.bytes.back().push_back(bytes_of(tensor));
      }
      if (call.arguments.size() != op->schema.arguments.size()) break;
      SCOPED_TRACE(op->schema.str() + ", seed " + std::to_string(seed));
      std::vector<Value> arguments = call.arguments;
      try {
        op->call(arguments, call.results);
      } catch (const std::exception& error) {
        EXPECT_FALSE(op->facts->never_raises) << error.what();
        continue;
      }
      check(call);
      ++checked;
    }
  }
  EXPECT_GT(checked, 100'000u);
}

}  // namespace
}  // namespace torchlet::ops
