#include <torchlet/bundle.h>

#include <torchlet/bundled_inputs.h>

#include <algorithm>
#include <cstring>

#include "api/arguments.h"
#include "base/error.h"
#include "prepare/draft.h"
#include "tensor/containers.h"
#include "tensor/tensor_impl.h"

namespace torchlet {
namespace {

// PyTorch's names (torch/utils/bundled_inputs.py; run_on_bundled_input() is of releases
// before 1.9).
constexpr char kGetterOfForward[] = "get_all_bundled_inputs";
constexpr char kCounterOfForward[] = "get_num_bundled_inputs";
constexpr char kRunnerOfForward[] = "run_on_bundled_input";
constexpr char kAbout[] = "get_bundled_inputs_functions_and_info";

std::string attribute_of(const std::string& method) { return "_bundled_inputs_deflated_" + method; }
std::string generator_of(const std::string& method) {
  return "_generate_bundled_inputs_for_" + method;
}
std::string getter_of(const std::string& method) { return "get_all_bundled_inputs_for_" + method; }
std::string helper_of(const std::string& method, size_t call, size_t argument) {
  return "_inflate_helper_for_" + method + "_input_" + std::to_string(call) + "_arg_" +
         std::to_string(argument);
}

// ---- how an argument is kept ----

bool is_plain(const Tensor& tensor) {
  return tensor.impl()->storage && !tensor.is_quantized() && !tensor.impl()->sparse;
}

// All elements have the same bits.
bool is_constant(const Tensor& contiguous) {
  const size_t size = element_size(contiguous.dtype());
  const auto* data = static_cast<const std::byte*>(contiguous.raw_data());
  for (int64_t i = 1; i < contiguous.numel(); ++i) {
    if (std::memcmp(data, data + static_cast<size_t>(i) * size, size) != 0) return false;
  }
  return true;
}

// One element with strides 0.
Tensor one_for_all(const Tensor& tensor) {
  const Tensor first = empty(std::vector<int64_t>{1}, tensor.dtype());
  std::memcpy(first.raw_data(), tensor.raw_data(), element_size(tensor.dtype()));
  const std::vector<int64_t> strides(static_cast<size_t>(tensor.dim()), 0);
  return make_view(first, tensor.sizes(), strides, 0);
}

std::string int_list(IntSpan numbers) {
  std::string text;
  for (const int64_t number : numbers) {
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  }
  return "annotate(List[int], [" + text + "])";
}

// Hashes each element's number with the seed. All products stay below 2^62, and what becomes a
// floating-point number below 2^24, so that every runtime computes the same.
std::string random_body(const RandomTensor& random, int64_t numel) {
  std::string text = format("  i = torch.arange(%lld, dtype=4)\n", static_cast<long long>(numel));
  const auto step = [&](const std::string& expression) {
    text += "  h = torch.remainder(" + expression + ", 2147483647)\n";
  };
  step("torch.add(torch.mul(i, 16807), torch.mul(seed, 69621))");
  step("torch.mul(h, h)");
  step("torch.add(torch.mul(h, 48271), i)");
  step("torch.mul(h, h)");
  const std::string to_dtype = format(", dtype=%d)", static_cast<int>(random.dtype));
  if (is_floating_point(random.dtype)) {
    text +=
        "  u = torch.mul(torch.to(torch.remainder(h, 16777216), dtype=6), "
        "5.9604644775390625e-08)\n";
  } else {
    text += format("  u = torch.remainder(h, %d)\n", random.dtype == DType::kBool ? 2 : 10);
  }
  return text + "  return torch.reshape(torch.to(u" + to_dtype + ", " + int_list(random.sizes) +
         ")\n";
}

// ---- one method's calls ----

void define(prepare::Draft& draft, const std::string& name, const std::string& signature,
            const std::string& body) {
  draft.define("def " + name + signature + ":\n" + body);
}

class Bundler {
 public:
  Bundler(const Value& self, const std::string& method, const Schema& schema)
      : self_(self), method_(method), schema_(schema) {
    for (size_t i = 1; i < schema.arguments.size(); ++i) {
      types_.push_back(schema.arguments[i].type);
    }
    call_type_ = types::tuple(types_);
  }

  void add(const BundledCall& call) {
    const size_t number = calls_.size();
    std::vector<Value> given;
    for (size_t i = 0; i < call.arguments.size(); ++i) {
      const auto* value = std::get_if<Value>(&call.arguments[i]);
      given.push_back(value ? *value : seed_of(std::get<RandomTensor>(call.arguments[i])));
    }
    std::vector<Value> bound;
    api::bind_arguments(schema_, self_, given, {}, bound);
    bound.erase(bound.begin());
    std::string inflated;
    for (size_t i = 0; i < bound.size(); ++i) {
      const RandomTensor* random =
          i < call.arguments.size() ? std::get_if<RandomTensor>(&call.arguments[i]) : nullptr;
      const std::string place = format("deflated[%zu][%zu]", number, i);
      inflated += random ? made_anew(*random, number, i, place) : kept(bound[i], place, i);
      inflated += ", ";
    }
    expressions_ += "(" + inflated + "), ";
    calls_.push_back(Value::tuple(std::move(bound)));
    if (!call.info.empty()) info_.resize(number);
    if (!call.info.empty() || !info_.empty()) info_.push_back(call.info);
  }

  void finish(prepare::Draft& draft) const {
    const TypePtr calls_type = types::list(call_type_);
    draft.set_attribute(attribute_of(method_), calls_type, make_list(call_type_, calls_));
    const std::string gives = "(self) -> " + calls_type->str();
    draft.define(helpers_);
    define(draft, generator_of(method_), gives,
           "  deflated = self." + attribute_of(method_) + "\n  return [" + expressions_ + "]\n");
    define(draft, getter_of(method_), gives, "  return self." + generator_of(method_) + "()\n");
    if (method_ == "forward") define_short_names(draft, gives);
  }

  const std::vector<std::string>& info() const { return info_; }

 private:
  Value seed_of(const RandomTensor& random) const {
    if (is_complex(random.dtype) || is_quantized(random.dtype)) {
      fail(ErrorCode::kInvalidArgument, "there are no random tensors of %s",
           std::string(dtype_name(random.dtype)).c_str());
    }
    checked_numel(random.sizes);
    const Tensor seed = empty(std::vector<int64_t>{1}, DType::kInt64);
    seed.data_ptr<int64_t>()[0] = random.seed & 0xFFFFFF;
    return Value(seed);
  }

  // Of a tensor at `place`, which may be declared optional.
  std::string as_tensor(const std::string& place, size_t argument) const {
    return types_[argument]->is(TypeKind::kTensor) ? place
                                                   : "unchecked_cast(Tensor, " + place + ")";
  }

  std::string made_anew(const RandomTensor& random, size_t call, size_t argument,
                        const std::string& place) {
    const std::string helper = helper_of(method_, call, argument);
    helpers_ += "def " + helper + "(self, seed: Tensor) -> Tensor:\n" +
                random_body(random, checked_numel(random.sizes));
    return "self." + helper + "(" + as_tensor(place, argument) + ")";
  }

  // Makes the value as small as it can be.
  std::string kept(Value& value, const std::string& place, size_t argument) const {
    constexpr int64_t kSmall = 16;  // elements that are not worth a thought, PyTorch's number
    if (!value.is_tensor()) return place;
    const Tensor tensor = value.to_tensor();
    if (!is_plain(tensor)) return place;
    const size_t bytes = static_cast<size_t>(tensor.numel()) * element_size(tensor.dtype());
    if (tensor.impl()->storage->nbytes() > bytes) value = Value(tensor.clone());
    if (tensor.numel() <= kSmall || !is_constant(tensor.contiguous())) return place;
    int format_code = 0;
    if (!tensor.is_contiguous()) {
      if (!tensor.is_contiguous(MemoryFormat::kChannelsLast)) return place;
      format_code = 2;
    }
    value = Value(one_for_all(tensor));
    return "torch.contiguous(" + as_tensor(place, argument) +
           format(", memory_format=%d)", format_code);
  }

  void define_short_names(prepare::Draft& draft, const std::string& gives) const {
    const std::string inputs = "self." + getter_of(method_) + "()";
    define(draft, kGetterOfForward, gives, "  return " + inputs + "\n");
    define(draft, kCounterOfForward, "(self) -> int", "  return len(" + inputs + ")\n");
    std::string arguments;
    for (size_t i = 0; i < types_.size(); ++i) arguments += format("inputs[%zu], ", i);
    define(draft, kRunnerOfForward, "(self, idx: int) -> " + schema_.returns[0].type->str(),
           "  inputs = " + inputs + "[idx]\n  return self.forward(" + arguments + ")\n");
  }

  const Value& self_;
  const std::string& method_;
  const Schema& schema_;
  std::vector<TypePtr> types_;  // of the arguments
  TypePtr call_type_;           // the tuple of them
  std::vector<Value> calls_;    // deflated
  std::string expressions_, helpers_;
  std::vector<std::string> info_;  // nothing, or a text for each call
};

void remove_calls(prepare::Draft& draft, const Module& module, const std::string& method) {
  draft.remove_attribute(attribute_of(method));
  draft.remove_method(generator_of(method));
  draft.remove_method(getter_of(method));
  const std::string helpers = "_inflate_helper_for_" + method + "_input_";
  for (const Method& other : module.methods()) {
    if (other.name().starts_with(helpers)) draft.remove_method(other.name());
  }
  if (method != "forward") return;
  for (const char* name : {kGetterOfForward, kCounterOfForward, kRunnerOfForward}) {
    draft.remove_method(name);
  }
}

// The method that tells which methods have inputs, and what of them.
void define_about(prepare::Draft& draft, const Module& module,
                  const std::vector<std::pair<std::string, std::vector<std::string>>>& methods) {
  std::string items;
  for (const auto& [name, info] : methods) {
    std::string lines;
    for (const std::string& line : info) lines += quoted(line) + ", ";
    // A file of before PyTorch 1.9 has the short name alone.
    const bool is_old = name == "forward" && !module.find_method(getter_of(name)) &&
                        module.find_method(kGetterOfForward).has_value();
    items += quoted(name) + ": {\"info\": annotate(List[str], [" + lines +
             "]), \"get_inputs_function_name\": [" +
             quoted(is_old ? kGetterOfForward : getter_of(name)) + "]}, ";
  }
  draft.remove_method(kAbout);
  if (methods.empty()) return;
  define(draft, kAbout, "(self) -> Dict[str, Dict[str, List[str]]]", "  return {" + items + "}\n");
}

}  // namespace

Module bundle(const Module& module, const std::string& method,
              const std::vector<BundledCall>& calls) {
  const Method called = module.get_method(method);
  if (calls.empty()) fail(ErrorCode::kInvalidArgument, "there are no calls to bundle");
  if (called.arguments().empty()) {
    fail(ErrorCode::kInvalidArgument, method + "() takes no arguments that could be bundled");
  }
  const Value& self = LoadedModel::object_of(module);
  Bundler bundler(self, method, self.object_ref().type->find_method(method)->schema());
  for (size_t i = 0; i < calls.size(); ++i) {
    try {
      bundler.add(calls[i]);
    } catch (Error& error) {
      error.add_context(format("in bundled call %zu", i));
      throw;
    }
  }
  auto methods = bundled_methods(module);
  std::erase_if(methods, [&](const auto& other) { return other.first == method; });
  methods.emplace_back(method, bundler.info());
  prepare::Draft draft(module);
  remove_calls(draft, module, method);
  bundler.finish(draft);
  define_about(draft, module, methods);
  return draft.finish();
}

Module unbundle(const Module& module) {
  prepare::Draft draft(module);
  for (const auto& [method, info] : bundled_methods(module)) remove_calls(draft, module, method);
  define_about(draft, module, {});
  return draft.finish();
}

}  // namespace torchlet
