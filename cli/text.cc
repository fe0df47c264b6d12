#include "cli/text.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "base/error.h"
#include "ops/engines/quantize.h"
#include "ops/sparse/sparse.h"
#include "tensor/containers.h"
#include "tensor/tensor_impl.h"

namespace torchlet::cli {

std::string one_line(const Error& error) {
  constexpr size_t kLongest = 500;
  std::string line = error.message();
  for (const std::string& place : error.context()) line += "; " + place;
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  if (line.size() > kLongest) line = line.substr(0, kLongest - 3) + "...";
  return line;
}

std::string human_bytes(uint64_t bytes) {
  if (bytes < 1000) return std::to_string(bytes) + " B";
  auto value = static_cast<double>(bytes);
  const char* unit = "B";
  for (const char* bigger : {"kB", "MB", "GB", "TB"}) {
    if (value < 1000) break;
    value /= 1000;
    unit = bigger;
  }
  return format("%.1f %s", value, unit);
}

Tensor plain_numbers(const Tensor& tensor) {
  const Tensor real = tensor.is_quantized() ? ops::dequantize(tensor) : ops::to_dense(tensor);
  const DType dtype = real.dtype();
  return real
      .to(is_integral(dtype, true) ? DType::kInt64
          : is_complex(dtype)      ? DType::kComplex128
                                   : DType::kFloat64)
      .contiguous();
}

namespace {

std::string statistics(const Tensor& tensor) {
  if (tensor.numel() == 0 || is_complex(tensor.dtype()) || !tensor.impl()->storage ||
      tensor.dtype() == DType::kQUInt4x2) {
    return "";
  }
  const Tensor plain = plain_numbers(tensor).to(DType::kFloat64);
  const std::span<const double> values(plain.data_ptr<double>(),
                                       static_cast<size_t>(plain.numel()));
  double sum = 0;
  for (const double value : values) sum += value;
  const auto [least, most] = std::ranges::minmax(values);
  std::string text = format("  min %.6g  max %.6g  mean %.6g", least, most,
                            sum / static_cast<double>(values.size()));
  constexpr size_t kShown = 8;
  text += "  [";
  for (size_t i = 0; i < std::min(values.size(), kShown); ++i) {
    text += format(i ? ", %.6g" : "%.6g", values[i]);
  }
  return text + (values.size() > kShown ? ", ...]" : "]");
}

}  // namespace

std::string describe(const Value& value, const std::string& name) {
  if (value.is_tensor()) {
    const Tensor tensor = value.to_tensor();
    return name + ": " + tensor.describe() + statistics(tensor) + "\n";
  }
  const DepthGuard guard;
  std::string text;
  if (value.is_list() || value.is_tuple()) {
    const std::vector<Value> items = value.to_list();
    const bool plain = std::ranges::all_of(items, [](const Value& v) { return v.is_scalar(); });
    if (!plain) {
      for (size_t i = 0; i < items.size(); ++i) {
        text += describe(items[i], name + "[" + std::to_string(i) + "]");
      }
      return text;
    }
  } else if (value.is_dict()) {
    for (const auto& [key, item] : value.to_dict()) {
      text += describe(item, name + "[" + to_text(key) + "]");
    }
    return text;
  }
  return name + ": " + to_text(value) + "\n";
}

double now() {
  using std::chrono::duration;
  return duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string joined(std::span<const std::string> words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

}  // namespace torchlet::cli
