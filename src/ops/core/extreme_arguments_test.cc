// Every operator with arguments that no program means: sizes near 2^63, negative and empty ones,
// strange numbers, tensors of any dtype and rank. A call may give anything or raise; it may not
// crash, run for long or take much memory. Sanitizers see more than this test does.
//
// TORCHLET_EXTREME_SEEDS=100 tries harder; TORCHLET_EXTREME_OPERATOR=aten::pad runs one operator
// and shows each call before it is made.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <random>

#include "base/limits.h"
#include "graph/operator.h"
#include "ops/core/common.h"
#include "tensor/containers.h"

namespace torchlet::ops {
namespace {

constexpr int64_t kLow = std::numeric_limits<int64_t>::min();
constexpr int64_t kHigh = std::numeric_limits<int64_t>::max();

class Arguments {
 public:
  explicit Arguments(uint32_t seed) : random_(seed) {}

  // Something of the type; nothing if there is no such thing.
  std::optional<Value> of(const Argument& argument) {
    if (argument.default_value && chance(3)) return argument.default_value;
    if (argument.alias_of_int == "ScalarType") return Value(static_cast<int64_t>(dtype()));
    if (!argument.alias_of_int.empty()) return Value(chance(2) ? int64_t{0} : integer());
    if (argument.list_size && chance(2)) {
      return ints(static_cast<size_t>(std::max<int64_t>(*argument.list_size, 0)));
    }
    return of(*argument.type);
  }

 private:
  bool chance(int one_in) { return pick(one_in) == 0; }
  int pick(int count) { return static_cast<int>(random_() % static_cast<uint32_t>(count)); }
  template <typename T, size_t N>
  T one_of(const T (&all)[N]) {
    return all[static_cast<size_t>(pick(N))];
  }

  int64_t integer() {
    if (chance(2)) return one_of<int64_t>({0, 1, 2, 3, -1, -2});
    return one_of<int64_t>({kLow, kLow + 1, -(int64_t{1} << 62), -(int64_t{1} << 31), 4, 7,
                            int64_t{1} << 31, int64_t{1} << 32, int64_t{1} << 40, int64_t{1} << 62,
                            kHigh / 3, kHigh - 1, kHigh});
  }
  double real() {
    if (chance(2)) return one_of({0.0, 0.5, 1.0, 2.0, -1.0});
    return one_of(
        {1e300, -1e300, 1e-300, 1e18, 9.3e18, -9.3e18, std::numeric_limits<double>::infinity(),
         -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()});
  }
  DType dtype() {
    if (chance(2)) return DType::kFloat32;
    return one_of({DType::kFloat64, DType::kFloat16, DType::kBFloat16, DType::kInt64, DType::kInt32,
                   DType::kInt16, DType::kInt8, DType::kUInt8, DType::kBool, DType::kComplex64,
                   DType::kComplex128, DType::kQUInt8, DType::kQInt8, DType::kQInt32});
  }
  IntArray shape() {
    switch (pick(12)) {
      case 0:
        return {};
      case 1:
        return {0};
      case 2:
        return {1};
      case 3:
        return {5};
      case 4:
        return {3, 3};
      case 5:
        return {2, 0, 3};
      case 6:
        return {2, 3, 4};
      case 7:
        return {1, 4, 5, 5};
      case 8:
        return {0, 2, 3, 3};
      case 9:
        return {1, 2, 3, 4, 4};
      case 10:
        return {2, 3};
      default:
        return {4, 2, 1, 1};
    }
  }

  Tensor tensor() {
    const DType type = dtype();
    const IntArray sizes = chance(12) ? huge_empty_shape() : shape();
    const bool quantized = is_quantized(type);
    const DType real_type = quantized ? DType::kFloat32 : type;
    const Tensor plain = empty(sizes, real_type);
    const bool wild = chance(4);
    for (int64_t i = 0; i < std::min<int64_t>(plain.numel(), 1 << 12); ++i) {
      const Tensor element = make_tensor(plain.impl()->storage, plain.dtype(), {}, {}, i);
      if (is_integral(type, true)) {
        const int64_t number = wild ? integer() : i % 3;
        convert_elements(&number, DType::kInt64, 1, element.raw_data(), type, 1, 1);
      } else {
        const double number = wild ? real() : 0.25 * static_cast<double>(i);
        convert_elements(&number, DType::kFloat64, 1, element.raw_data(), real_type, 1, 1);
      }
    }
    if (quantized) {
      Tensor result = empty_quantized(sizes, type, per_tensor_quantizer(0.1, 3));
      if (result.numel() > 0) {
        std::memset(result.raw_data(), 7, result.impl()->storage->nbytes());
      }
      return result;
    }
    if (chance(10) && plain.dim() == 1 && plain.numel() == 1) {
      return expand(plain, IntArray{one_of<int64_t>({1 << 20, int64_t{1} << 40, kHigh})});
    }
    if (chance(8) && plain.dim() >= 2) return transpose(plain, 0, -1);
    return plain;
  }
  IntArray huge_empty_shape() {
    const int64_t size = one_of<int64_t>({int64_t{1} << 31, int64_t{1} << 40, int64_t{1} << 60});
    return chance(2) ? IntArray{0, size} : chance(2) ? IntArray{size, 0} : IntArray{1, 0, size, 1};
  }

  Value ints(size_t count) {
    std::vector<Value> items;
    for (size_t i = 0; i < count; ++i) items.emplace_back(integer());
    return make_list(types::integer(), std::move(items));
  }

  std::optional<Value> of(const Type& type) {
    switch (type.kind()) {
      case TypeKind::kTensor:
        return Value(tensor());
      case TypeKind::kInt:
        return Value(integer());
      case TypeKind::kFloat:
        return Value(real());
      case TypeKind::kBool:
        return Value(chance(2));
      case TypeKind::kNumber:
        if (chance(8)) return Value(std::complex<double>(real(), real()));
        return chance(2) ? Value(integer()) : Value(real());
      case TypeKind::kComplex:
        return Value(std::complex<double>(real(), real()));
      case TypeKind::kString:
        return Value(std::string(one_of({"", "a", "mean", "sum", "linear", "bilinear", "nearest",
                                         "constant", "reflect", "replicate", "ij", "reduced",
                                         "ij,jk->ik", "none", "tanh", "fro", "nuc", "same"})));
      case TypeKind::kDevice:
        return Value::device("cpu");
      case TypeKind::kAny:
      case TypeKind::kVar:
        return chance(2) ? Value(tensor()) : Value(integer());
      case TypeKind::kGenerator:
      case TypeKind::kNone:
        return Value();
      case TypeKind::kOptional:
        return chance(3) ? Value() : of(*type.element(0));
      case TypeKind::kList: {
        std::vector<Value> items;
        const int count = pick(5);
        for (int i = 0; i < count; ++i) {
          auto item = of(*type.element(0));
          if (!item) return std::nullopt;
          items.push_back(*std::move(item));
        }
        return make_list(type.element(0), std::move(items));
      }
      default:
        return std::nullopt;
    }
  }

  std::minstd_rand random_;
};

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The most that this process has held so far.
size_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<size_t>(usage.ru_maxrss) << 10;
}

std::string call_text(const Operator& op, const std::vector<Value>& args) {
  std::string text = op.schema.full_name() + "(";
  for (const Value& arg : args) text += (&arg == &args[0] ? "" : ", ") + to_text(arg);
  return text + ")";
}

void call_with(const Operator& op, uint32_t seed, bool show) {
  constexpr size_t kBytes = size_t{256} << 20;
  constexpr double kSeconds = 0.5, kLateness = 2;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr size_t kMostMemory = ~size_t{0};  // sanitizers keep memory of their own
#else
  // What is counted, and blocks that wait to be used again.
  static const size_t kMostMemory = peak_memory() + kBytes + (size_t{64} << 20);
#endif
  Arguments arguments(seed);
  std::vector<Value> args;
  for (const Argument& argument : op.schema.arguments) {
    auto value = arguments.of(argument);
    if (!value) return;
    args.push_back(*std::move(value));
  }
  const std::string text = call_text(op, args);
  if (show) std::fprintf(stderr, "%u: %s\n", seed, text.c_str());
  std::vector<Value> results(op.schema.returns.size());
  const double begin = processor_seconds();
  const size_t peak_before = peak_memory();
  {
    const MemoryBudget memory(kBytes);
    const LimitScope scope(&memory, kSeconds);
    try {
      op.call(args, results);
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::kInternal) << text << ": " << error.what();
    } catch (const std::bad_alloc&) {
    } catch (const std::length_error&) {
    }
  }
  EXPECT_LT(processor_seconds() - begin, kSeconds + kLateness) << text << ", seed " << seed;
  if (const size_t peak = peak_memory(); peak > peak_before) {
    EXPECT_LT(peak, kMostMemory) << text << ", seed " << seed;
  }
}

TEST(ExtremeArguments, NoCallCrashesOrRunsForLong) {
  const char* seeds_text = std::getenv("TORCHLET_EXTREME_SEEDS");
  const char* only = std::getenv("TORCHLET_EXTREME_OPERATOR");
  const auto seeds = static_cast<uint32_t>(seeds_text ? std::atoi(seeds_text) : 10);
  for (const Operator* op : all_operators()) {
    if (only && op->name.str() != only) continue;
    for (uint32_t seed = 0; seed < seeds; ++seed) call_with(*op, seed + 1, only != nullptr);
  }
}

}  // namespace
}  // namespace torchlet::ops
