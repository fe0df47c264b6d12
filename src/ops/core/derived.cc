#include "ops/core/derived.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/error.h"
#include "ops/core/common.h"
#include "ops/core/op.h"
#include "ops/engines/elementwise.h"
#include "ops/engines/quantize.h"
#include "ops/sparse/sparse.h"
#include "tensor/containers.h"

namespace torchlet::ops {
namespace {

void run_inplace(const Operator& op, std::span<Value> args, std::span<Value> results) {
  const Tensor self = args[0].to_tensor();
  Value result;
  op.base->call(args, {&result, 1});
  results[0] = Value(assign(self, result.to_tensor()));
}

void run_twin(const Operator& op, std::span<Value> args, std::span<Value> results) {
  const Tensor self = args[0].to_tensor();
  op.base->call(args, results);
  const Tensor computed = results[0].to_tensor();
  if (computed.dtype() != self.dtype() || !std::ranges::equal(computed.sizes(), self.sizes()) ||
      !std::ranges::equal(computed.strides(), self.strides())) {
    results[0] = Value(assign(empty_like(self), computed));
  }
}

void run_inplace_view(const Operator& op, std::span<Value> args, std::span<Value> results) {
  const Tensor self = args[0].to_tensor();
  Value result;
  op.base->call(args, {&result, 1});
  become_view(self, result.to_tensor());
  results[0] = Value(self);
}

void run_copied(const Operator& op, std::span<Value> args, std::span<Value> results) {
  op.base->call(args, results);
  for (Value& result : results) {
    if (result.is_tensor()) {
      result = Value(result.to_tensor().clone());
    } else {
      std::vector<Tensor> views = result.to_tensor_list();
      for (Tensor& view : views) view = view.clone();
      result = make_tensor_list(std::move(views));
    }
  }
}

void run_functional(const Operator& op, std::span<Value> args, std::span<Value> results) {
  args[0] = Value(args[0].to_tensor().clone());
  op.base->call(args, results);
}

void run_out(const Operator& op, std::span<Value> args, std::span<Value> results) {
  const size_t arity = op.base->schema.arguments.size();
  const std::vector<Value> outs(args.begin() + static_cast<std::ptrdiff_t>(arity), args.end());
  op.base->call(args.first(arity), results);
  for (size_t i = 0; i < outs.size(); ++i) {
    const Tensor target = outs[i].to_tensor();
    const Tensor computed = results[i].to_tensor();
    check_castable(computed.dtype(), target.dtype());
    resize_output(target, computed.sizes());
    target.copy_(computed);
    results[i] = Value(target);
  }
}

bool is_quantized_value(const Value& value) {
  if (value.is_tensor()) return value.to_tensor().is_quantized();
  if (!value.is_list()) return false;
  return std::ranges::any_of(value.list_ref().items, is_quantized_value);
}

Value dequantized(const Value& value) {
  if (value.is_tensor()) {
    const Tensor tensor = value.to_tensor();
    return tensor.is_quantized() ? Value(dequantize(tensor)) : value;
  }
  std::vector<Value> items;
  for (const Value& item : value.list_ref().items) items.push_back(dequantized(item));
  return make_list(types::tensor(), std::move(items));
}

Tensor first_quantized(const Value& value) {
  if (value.is_tensor()) return value.to_tensor();
  const auto& items = value.list_ref().items;
  return std::ranges::find_if(items, is_quantized_value)->to_tensor();
}

// The same integers with another quantizer.
Tensor requantized(const Tensor& tensor, std::shared_ptr<const Quantizer> quantizer) {
  const Tensor view = make_view(tensor, tensor.sizes(), tensor.strides(), tensor.storage_offset());
  view.impl()->quantizer = std::move(quantizer);
  return view;
}

// How many pixels each element of an average pooling is the mean of, if all windows lie in the
// quint8 image; else 0.
int64_t averaged_pixels(std::string_view name, std::span<const Value> args) {
  if (!args[0].is_tensor()) return 0;
  const Tensor self = args[0].to_tensor();
  if (self.dim() != 4 || self.dtype() != DType::kQUInt8 || !self.impl()->quantizer->per_tensor()) {
    return 0;
  }
  const int64_t height = self.size(2), width = self.size(3);
  const auto ints = [&](size_t i) {
    return args[i].is_none() ? IntArray() : FromValue<IntArray>::get(args[i]);
  };
  if (name == "aten::mean") {
    const IntArray dims = args.size() > 1 ? ints(1) : IntArray();
    const bool over_pixels = dims.size() == 2 && wrap_dim(dims[0], 4) + wrap_dim(dims[1], 4) == 5 &&
                             std::abs(wrap_dim(dims[0], 4) - wrap_dim(dims[1], 4)) == 1;
    return over_pixels ? height * width : 0;
  }
  if (name == "aten::adaptive_avg_pool2d") {
    const IntArray size = ints(1);
    if (size.size() != 2 || size[0] < 1 || size[1] < 1) return 0;
    return height % size[0] == 0 && width % size[1] == 0 ? height / size[0] * (width / size[1]) : 0;
  }
  if (name == "aten::avg_pool2d") {
    const IntArray size = ints(1), padding = ints(3);
    const bool is_plain = std::ranges::all_of(padding, [](int64_t p) { return p == 0; }) &&
                          !args[4].to_bool() && args[6].is_none();
    if (!is_plain || size.empty()) return 0;
    return size.front() * size.back();
  }
  return 0;
}

// QNNPACK's rounding of an average of integers (qnnpack/src/average-pooling.c): the sum is exact,
// and its multiplier is computed in this order.
Tensor quantize_average(const Tensor& mean_of_integers, int64_t pixels,
                        const std::shared_ptr<const Quantizer>& quantizer) {
  const float scale = static_cast<float>(quantizer->scale);
  const float multiplier = scale / (scale * static_cast<float>(pixels));
  const double zero = static_cast<double>(quantizer->zero_point);
  const Tensor integers = map<kMapReal, 1>({mean_of_integers}, DType::kFloat32, [=](auto mean) {
    const double sum = std::nearbyint(static_cast<double>(mean) * static_cast<double>(pixels));
    const float q = std::nearbyint(static_cast<float>(sum) * multiplier);
    return static_cast<decltype(mean)>(std::clamp(static_cast<double>(q) + zero, 0.0, 255.0));
  });
  const Tensor result = empty_like(integers, DType::kQUInt8);
  result.copy_(integers);
  result.impl()->quantizer = quantizer;
  return result;
}

// Integers less the zero point are averaged without rounding, as PyTorch does; with the scale in
// it, an average halfway between two integers might go to the wrong one.
void run_average(const Operator& op, std::span<Value> args, std::span<Value> results) {
  if (!args[0].is_tensor() || !args[0].to_tensor().is_quantized()) {
    return op.base->call(args, results);
  }
  const Tensor input = args[0].to_tensor();
  const std::shared_ptr<const Quantizer> quantizer = input.impl()->quantizer;
  TORCHLET_CHECK(quantizer->per_tensor(), "%s of a tensor quantized per channel", op.name.c_str());
  const auto unit = per_tensor_quantizer(1, quantizer->zero_point);
  const int64_t pixels = averaged_pixels(op.name.str(), args);
  args[0] = Value(dequantize(requantized(input, unit)));
  op.base->call(args, results);
  if (pixels > 0) {
    results[0] = Value(quantize_average(results[0].to_tensor(), pixels, quantizer));
    return;
  }
  results[0] = Value(requantized(quantize(results[0].to_tensor(), input.dtype(), unit), quantizer));
}

template <QuantizedOutput kOutput>
void run_quantized(const Operator& op, std::span<Value> args, std::span<Value> results) {
  Tensor like;
  for (Value& arg : args) {
    if (!is_quantized_value(arg)) continue;
    if (!like.defined()) like = first_quantized(arg);
    arg = dequantized(arg);
  }
  op.base->call(args, results);
  if (!like.defined()) return;
  // sigmoid and its like have one natural scale; zero is at the low end, or in the middle for
  // signed results (at::native::qsigmoid, qtanh).
  const bool is_signed = like.dtype() != DType::kQUInt8;
  auto quantizer = kOutput == QuantizedOutput::kAsInput ? like.impl()->quantizer
                   : kOutput == QuantizedOutput::kUnit
                       ? per_tensor_quantizer(1.0 / 256, is_signed ? -128 : 0)
                       : per_tensor_quantizer(2.0 / 256, is_signed ? 0 : 128);
  for (Value& result : results) {
    if (!result.is_tensor() || !is_floating_point(result.to_tensor().dtype())) continue;
    result = Value(quantize(result.to_tensor(), like.dtype(), quantizer));
  }
}

bool is_sparse_value(const Value& value) {
  if (value.is_tensor()) return value.tensor_impl()->sparse != nullptr;
  return value.is_list() && std::ranges::any_of(value.list_ref().items, is_sparse_value);
}

void run_sparse(const Operator& op, std::span<Value> args, std::span<Value> results) {
  if (!std::ranges::any_of(args, is_sparse_value)) return op.base->call(args, results);
  sparse_form(op.base->name.str())(*op.base, args, results);
}

}  // namespace

Operator quantized_variant(const Operator& base) {
  const QuantizedOutput output = base.facts->quantized;
  Operator op = base;
  op.base = &base;
  op.fn = output == QuantizedOutput::kAsInput   ? run_quantized<QuantizedOutput::kAsInput>
          : output == QuantizedOutput::kAverage ? run_average
          : output == QuantizedOutput::kUnit    ? run_quantized<QuantizedOutput::kUnit>
                                                : run_quantized<QuantizedOutput::kSignedUnit>;
  return op;
}

Operator sparse_variant(const Operator& base) {
  Operator op = base;
  op.base = &base;
  op.fn = run_sparse;
  return op;
}

Operator inplace_variant(const Operator& base) {
  Operator op = base;
  op.name = Symbol(base.name.str() + "_");
  op.schema.name += "_";
  op.schema.arguments[0].is_aliased = op.schema.arguments[0].is_written = true;
  op.schema.returns[0].is_aliased = op.schema.returns[0].is_written = true;
  op.fn = run_inplace;
  op.base = &base;
  return op;
}

bool is_inplace_view_variant(const Operator& op) { return op.fn == run_inplace_view; }

const Operator* functional_twin(const Operator& inplace) {
  if (inplace.fn != run_inplace) return nullptr;
  static std::mutex mutex;
  static auto* const twins = new std::unordered_map<const Operator*, std::unique_ptr<Operator>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<Operator>& twin = (*twins)[&inplace];
  if (!twin) {
    twin = std::make_unique<Operator>(*inplace.base);
    twin->fn = run_twin;
    twin->base = inplace.base;
  }
  return twin.get();
}

Operator inplace_view_variant(const Operator& base) {
  Operator op = inplace_variant(base);
  op.fn = run_inplace_view;
  return op;
}

Operator copied_variant(const Operator& base) {
  Operator op = base;
  op.name = Symbol(base.name.str() + "_copy");
  op.schema.name += "_copy";
  op.schema.arguments[0].is_aliased = op.schema.returns[0].is_aliased = false;
  op.fn = run_copied;
  op.base = &base;
  return op;
}

Operator functional_variant(const Operator& base) {
  Operator op = base;
  op.schema.name.pop_back();  // the underscore
  op.name = Symbol(op.schema.name);
  op.schema.arguments[0].is_aliased = op.schema.arguments[0].is_written = false;
  op.schema.returns[0].is_aliased = op.schema.returns[0].is_written = false;
  op.fn = run_functional;
  op.base = &base;
  return op;
}

Operator out_variant(const Operator& base, std::string_view overload) {
  Operator op = base;
  const size_t open = overload.find('(');
  op.schema.overload = overload.substr(0, open);
  std::string_view names = open == std::string_view::npos
                               ? "out"
                               : overload.substr(open + 1, overload.size() - open - 2);
  while (!names.empty()) {
    const size_t comma = std::min(names.find(','), names.size());
    Argument argument;
    argument.name = names.substr(0, comma);
    argument.type = types::tensor();
    argument.keyword_only = argument.is_aliased = argument.is_written = true;
    op.schema.arguments.push_back(std::move(argument));
    names.remove_prefix(std::min(comma + 1, names.size()));
    while (names.starts_with(' ')) names.remove_prefix(1);
  }
  for (Argument& result : op.schema.returns) result.is_aliased = result.is_written = true;
  op.fn = run_out;
  op.base = &base;
  return op;
}

}  // namespace torchlet::ops
