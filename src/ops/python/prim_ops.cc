// Operators that the language itself needs: identity, text, properties of tensors, the state of the
// runtime.
#include <chrono>
#include <cstdio>
#include <functional>

#include "base/checked.h"
#include "ops/core/common.h"
#include "ops/core/op.h"

namespace torchlet::ops {
namespace {

// "{}" is replaced in order; "{{" is not special in TorchScript.
void format_text(const Operator&, std::span<Value> args, std::span<Value> results) {
  const std::string& pattern = args[0].to_string();
  std::string text;
  size_t at = 0, used = 1;
  for (size_t next; (next = pattern.find("{}", at)) != std::string::npos; at = next + 2) {
    TORCHLET_CHECK(used < args.size(), "Too few arguments for format string: %s", pattern.c_str());
    text.append(pattern, at, next - at);
    text += script_text(args[used++]);
  }
  results[0] = Value(text + pattern.substr(at));
}

// "%s %d" % ...: only the specifiers that TorchScript has.
void percent_format(const Operator&, std::span<Value> given, std::span<Value> results) {
  std::vector<Value> args(given.begin(), given.end());
  if (args.size() == 2 && args[1].is_tuple()) {
    const std::vector<Value> items = args[1].to_tuple();
    args.pop_back();
    args.insert(args.end(), items.begin(), items.end());
  }
  const std::string& pattern = args[0].to_string();
  std::string text;
  size_t used = 1;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      text += pattern[i];
      continue;
    }
    TORCHLET_CHECK(i + 1 < pattern.size(), "Incomplete format specifier");
    const char specifier = pattern[++i];
    if (specifier == '%') {
      text += '%';
      continue;
    }
    TORCHLET_CHECK(used < args.size(), "Too few arguments for format string");
    const Value& value = args[used++];
    switch (specifier) {
      case 's':
        text += script_text(value);
        break;
      case 'd':
      case 'i':
        TORCHLET_CHECK(value.is_scalar(), "%%%c requires a number for formatting, but got %s",
                       specifier, value.kind_name());
        text +=
            std::to_string(value.is_float() ? saturating_int(value.to_double()) : value.to_int());
        break;
      case 'e':
      case 'E':
      case 'f':
      case 'F': {
        TORCHLET_CHECK(value.is_scalar(), "%%%c requires a number for formatting, but got %s",
                       specifier, value.kind_name());
        const bool exponent = specifier == 'e' || specifier == 'E';
        text += format(exponent ? "%e" : "%f", value.to_double());
        break;
      }
      case 'c':
        text += value.is_string() ? value.to_string()
                                  : std::string(1, static_cast<char>(value.to_int()));
        break;
      default:
        fail(ErrorCode::kRuntime,
             "The specifier %%%c is not supported in TorchScript format strings", specifier);
    }
  }
  TORCHLET_CHECK(used == args.size(), "Too many arguments for format string");
  results[0] = Value(std::move(text));
}

// Python's `is`: containers and tensors by identity; numbers and strings by value, since
// TorchScript has no identity for them.
bool is_same(const Value& a, const Value& b) {
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  if (a.is_scalar() || a.is_string() || a.is_enum() || a.is_device()) return values_equal(a, b);
  return a.is_same(b);
}

bool never(const Tensor&) { return false; }

Layout layout_of(const Tensor& tensor) {
  return tensor.impl()->sparse ? tensor.impl()->sparse->layout : Layout::kStrided;
}

int64_t identity_hash(const Value& value) {
  if (value.is_string()) return static_cast<int64_t>(std::hash<std::string>()(value.to_string()));
  if (value.is_float()) return static_cast<int64_t>(std::hash<double>()(value.to_double()));
  return value.raw_int();
}

// Nothing here computes gradients, so grad mode is only remembered for programs that ask; each
// thread has its own, as in PyTorch.
thread_local bool grad_enabled = false;

const Object& object_of(const Value& value) {
  TORCHLET_CHECK(value.is_object(), "expected a module, got %s", value.kind_name());
  return value.object_ref();
}

}  // namespace

TORCHLET_OP_WITH(is, never_raises(), "aten::__is__(t1 self, t2 obj) -> bool", is_same);
TORCHLET_OP_WITH(isnot, never_raises(), "aten::__isnot__(t1 self, t2 obj) -> bool",
                 [](const Value& a, const Value& b) { return !is_same(a, b); });
TORCHLET_OP_WITH(not_bool, never_raises(), "aten::__not__(bool self) -> bool",
                 [](bool a) { return !a; });
TORCHLET_OP(unwrap_optional, "aten::_unwrap_optional(t(a)? optional) -> t(a)",
            [](const Value& value) {
              TORCHLET_CHECK(!value.is_none(), "Unwrapping null optional");
              return value;
            });
TORCHLET_OP(unchecked_unwrap_optional, "prim::unchecked_unwrap_optional(t(a)? optional) -> t(a)",
            [](const Value& value) { return value; });
TORCHLET_OP(IfThenElse, "prim::IfThenElse(bool cond, Any(a) x, Any(b) y) -> Any(b|a)",
            [](bool condition, const Value& x, const Value& y) { return condition ? x : y; });
TORCHLET_OP_WITH(prim_id, varies(), "prim::id(AnyClassType? x) -> int",
                 [](const Value& x) { return x.raw_int(); });
TORCHLET_OP(hash_generic, "aten::hash.generic(t value) -> int", identity_hash);
TORCHLET_OP(ModuleContainerIndex_list, "prim::ModuleContainerIndex.list(Any self, int ind) -> Any",
            [](const Value& self, int64_t index) {
              return object_of(self).attribute(std::to_string(index));
            });
TORCHLET_OP(ModuleContainerIndex_dict, "prim::ModuleContainerIndex.dict(Any self, str ind) -> Any",
            [](const Value& self, const std::string& name) {
              return object_of(self).attribute(name);
            });

TORCHLET_OP(str_t, "aten::str(t elem) -> str", script_text);
TORCHLET_OP_BOXED(format, "aten::format(str self, ...) -> str", format_text);
TORCHLET_OP_BOXED(percentFormat, "aten::percentFormat(str self, ...) -> str", percent_format);

TORCHLET_OP(eq_enum, "aten::eq.enum(AnyEnumType a, AnyEnumType b) -> bool", values_equal);
TORCHLET_OP(ne_enum, "aten::ne.enum(AnyEnumType a, AnyEnumType b) -> bool",
            [](const Value& a, const Value& b) { return !values_equal(a, b); });
TORCHLET_OP(eq_device, "aten::eq.device(Device a, Device b) -> bool", values_equal);
TORCHLET_OP(ne_device, "aten::ne.device(Device a, Device b) -> bool",
            [](const Value& a, const Value& b) { return !values_equal(a, b); });

// ---- devices: every tensor is on the CPU ----

TORCHLET_OP(device_str, "aten::device(str a) -> Device",
            [](const std::string& name) { return Value::device(name); });
TORCHLET_OP(device_with_index, "aten::device.with_index(str type, int index) -> Device",
            [](const std::string& type, int64_t index) {
              return Value::device(type + ":" + std::to_string(index));
            });
TORCHLET_OP(prim_type, "prim::type(Device self) -> str", [](const Value& device) {
  const std::string& name = device.to_string();
  return name.substr(0, name.find(':'));
});
TORCHLET_OP(prim_index, "prim::index(Device self) -> int?", [](const Value& device) {
  const std::string& name = device.to_string();
  const size_t colon = name.find(':');
  return colon == std::string::npos
             ? Value()
             : Value(static_cast<int64_t>(std::stoll(name.substr(colon + 1))));
});
TORCHLET_OP_WITH(prim_device, looks_at(LooksAt::kNothing) | never_raises(),
                 "prim::device(Tensor a) -> Device",
                 [](const Tensor&) { return Value::device("cpu"); });

// ---- properties of tensors ----

TORCHLET_OP_WITH(prim_dtype, looks_at(LooksAt::kDType) | never_raises(),
                 "prim::dtype(Tensor a) -> int",
                 [](const Tensor& a) { return static_cast<int64_t>(a.dtype()); });
TORCHLET_OP_WITH(prim_layout, looks_at(LooksAt::kPlainness) | never_raises(),
                 "prim::layout(Tensor a) -> Layout",
                 [](const Tensor& a) { return static_cast<int64_t>(layout_of(a)); });
TORCHLET_OP_WITH(prim_requires_grad, never_raises(), "prim::requires_grad(Tensor a) -> bool",
                 [](const Tensor& a) { return a.impl()->requires_grad; });
TORCHLET_OP(prim_data, "prim::data(Tensor(a) a) -> Tensor(a)", [](const Tensor& a) { return a; });
TORCHLET_OP(prim_grad, "prim::grad(Tensor a) -> Tensor(*)", [](const Tensor&) { return Tensor(); });
TORCHLET_OP(prim_name, "prim::name(Tensor a) -> str?", [](const Tensor&) { return Value(); });
TORCHLET_OP_WITH(get_device, looks_at(LooksAt::kNothing) | never_raises(),
                 "aten::get_device(Tensor self) -> int", [](const Tensor&) { return int64_t{-1}; });
TORCHLET_OP_WITH(prim_is_cpu, looks_at(LooksAt::kNothing) | never_raises(),
                 "prim::is_cpu(Tensor a) -> bool", [](const Tensor&) { return true; });
#define TORCHLET_NEVER(property)                                                     \
  TORCHLET_OP_WITH(prim_is_##property, looks_at(LooksAt::kNothing) | never_raises(), \
                   "prim::is_" #property "(Tensor a) -> bool", never)
TORCHLET_NEVER(cuda);
TORCHLET_NEVER(ipu);
TORCHLET_NEVER(mps);
TORCHLET_NEVER(ort);
TORCHLET_NEVER(vulkan);
TORCHLET_NEVER(xpu);
TORCHLET_NEVER(mkldnn);
TORCHLET_NEVER(meta);
#undef TORCHLET_NEVER
TORCHLET_OP_WITH(prim_is_sparse, looks_at(LooksAt::kPlainness) | never_raises(),
                 "prim::is_sparse(Tensor a) -> bool",
                 [](const Tensor& a) { return layout_of(a) == Layout::kSparse; });
TORCHLET_OP_WITH(prim_is_sparse_csr, looks_at(LooksAt::kPlainness) | never_raises(),
                 "prim::is_sparse_csr(Tensor a) -> bool",
                 [](const Tensor& a) { return layout_of(a) == Layout::kSparseCsr; });
TORCHLET_OP_WITH(prim_is_nested, looks_at(LooksAt::kPlainness) | never_raises(),
                 "prim::is_nested(Tensor a) -> bool",
                 [](const Tensor& a) { return a.impl()->nested != nullptr; });
TORCHLET_OP_WITH(prim_is_quantized, looks_at(LooksAt::kPlainness) | never_raises(),
                 "prim::is_quantized(Tensor a) -> bool",
                 [](const Tensor& a) { return a.is_quantized(); });

// ---- dtypes ----

TORCHLET_OP(promote_types_op,
            "aten::promote_types(ScalarType type1, ScalarType type2) -> ScalarType",
            [](DType a, DType b) { return promote_types(a, b); });
TORCHLET_OP(can_cast_op, "aten::can_cast(ScalarType from, ScalarType to) -> bool",
            [](DType from, DType to) { return can_cast(from, to); });
TORCHLET_OP(result_type_Tensor,
            "aten::result_type.Tensor(Tensor tensor, Tensor other) -> ScalarType",
            [](const Tensor& a, const Tensor& b) { return result_type(a, b); });
TORCHLET_OP(result_type_Scalar,
            "aten::result_type.Scalar(Tensor tensor, Scalar other) -> ScalarType",
            [](const Tensor& a, const Scalar& b) { return result_type(a, b); });
TORCHLET_OP(result_type_Scalar_Tensor,
            "aten::result_type.Scalar_Tensor(Scalar scalar, Tensor tensor) -> ScalarType",
            [](const Scalar& a, const Tensor& b) { return result_type(b, a); });
TORCHLET_OP(result_type_Scalar_Scalar,
            "aten::result_type.Scalar_Scalar(Scalar scalar1, Scalar scalar2) -> ScalarType",
            [](const Scalar& a, const Scalar& b) { return ResultType().add(a).add(b).get(); });
TORCHLET_OP(infer_size_op, "aten::_infer_size(int[] a, int[] b) -> int[]",
            [](const IntArray& a, const IntArray& b) { return broadcast_shapes(a, b); });
TORCHLET_OP(size_if_not_equal,
            "aten::_size_if_not_equal(int[] self_size, int[] other_size) -> int[]?",
            [](const IntArray& a, const IntArray& b) {
              return a == b ? Value() : make_int_list(a);
            });

// ---- the state of the runtime ----

TORCHLET_OP_WITH(is_grad_enabled, varies(), "aten::is_grad_enabled() -> bool",
                 [] { return grad_enabled; });
TORCHLET_OP(set_grad_enabled, "aten::set_grad_enabled(bool val) -> ()",
            [](bool on) { grad_enabled = on; });
TORCHLET_OP(is_scripting, "aten::is_scripting() -> bool", [] { return true; });
TORCHLET_OP(get_tracing_state, "aten::_get_tracing_state() -> bool", [] { return false; });
TORCHLET_OP(is_autocast_enabled, "aten::is_autocast_enabled() -> bool", [] { return false; });
TORCHLET_OP(is_autocast_cpu_enabled, "aten::is_autocast_cpu_enabled() -> bool",
            [] { return false; });
TORCHLET_OP(is_vulkan_available, "aten::is_vulkan_available() -> bool", [] { return false; });
TORCHLET_OP(nnpack_available, "aten::_nnpack_available() -> bool", [] { return false; });
TORCHLET_OP(cudnn_is_acceptable, "aten::cudnn_is_acceptable(Tensor self) -> bool", never);
TORCHLET_OP(use_cudnn_rnn_flatten_weight, "aten::_use_cudnn_rnn_flatten_weight() -> bool",
            [] { return false; });
TORCHLET_OP_BOXED(has_torch_function, "aten::has_torch_function(...) -> bool",
                  [](const Operator&, std::span<Value>, std::span<Value> results) {
                    results[0] = Value(false);
                  });
TORCHLET_OP(warn, "aten::warn(str message, int stacklevel=2) -> ()",
            [](const std::string& message, int64_t) {
              std::fprintf(stderr, "warning from the model: %s\n", message.c_str());
            });
// fork has run its function already.
TORCHLET_OP(wait, "aten::wait(Future(t) self) -> t", [](const Value& self) {
  TORCHLET_CHECK(self.is_future(), "wait() expects a Future, got %s", self.kind_name());
  const Future& future = self.future_ref();
  if (future.error) throw Error(*future.error);
  return future.result;
});
TORCHLET_OP_WITH(TimePoint, varies(), "prim::TimePoint() -> int", [] {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<int64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
});
TORCHLET_OP(AddStatValue, "prim::AddStatValue(str key, int val) -> ()",
            [](const std::string&, int64_t) {});
TORCHLET_OP(AutogradZero, "prim::AutogradZero() -> Tensor", [] { return Tensor(); });

}  // namespace torchlet::ops
