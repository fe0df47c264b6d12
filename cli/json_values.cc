#include "cli/json_values.h"

#include <cmath>

#include "base/error.h"
#include "graph/operator.h"
#include "tensor/containers.h"
#include "tensor/npy.h"
#include "tensor/tensor_impl.h"

namespace torchlet::cli {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  fail(ErrorCode::kInvalidArgument, "in the request: " + what);
}

DType parse_dtype(std::string_view name) {
  if (name.starts_with("torch.")) name.remove_prefix(6);
  for (int i = 0; i < kNumDTypes; ++i) {
    if (dtype_name(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  }
  refuse("no dtype is called " + std::string(name));
}

double parse_number(const Json& node) {
  if (node.is_number()) return node.get<double>();
  const auto text = node.get<std::string>();
  if (text == "nan") return std::nan("");
  if (text == "inf") return HUGE_VAL;
  if (text == "-inf") return -HUGE_VAL;
  refuse("no number is written " + text);
}

Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

IntArray parse_sizes(const Json& node) {
  IntArray sizes;
  for (const Json& size : node) sizes.push_back(size.get<int64_t>());
  return sizes;
}

// The same elements behind other strides, as the request wants them.
Tensor with_strides(const Tensor& plain, const Json& node) {
  const auto wanted = node.find("strides");
  if (wanted == node.end()) return plain;
  const IntArray strides = parse_sizes(*wanted);
  if (strides == contiguous_strides(plain.sizes())) return plain;
  Tensor result = empty_strided(plain.sizes(), strides, plain.dtype());
  result.impl()->quantizer = plain.impl()->quantizer;
  result.copy_(plain);
  return result;
}

}  // namespace

Json parse_json(std::span<const std::byte> text) {
  const auto* first = reinterpret_cast<const char*>(text.data());
  return Json::parse(first, first + text.size(), nullptr, false);
}

std::string json_text(const Json& node, int indent) {
  return node.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// ---- reading ----

Value ValueReader::read(const Json& node) {
  try {
    const auto kind = node.at("t").get<std::string>();
    if (kind == "none") return Value();
    if (kind == "bool") return Value(node.at("v").get<bool>());
    if (kind == "int") return Value(node.at("v").get<int64_t>());
    if (kind == "float") return Value(parse_number(node.at("v")));
    if (kind == "str") return Value(node.at("v").get<std::string>());
    if (kind == "device") return Value::device(node.at("v").get<std::string>());
    if (kind == "dtype") {
      return Value(static_cast<int64_t>(parse_dtype(node.at("v").get<std::string>())));
    }
    if (kind == "complex") {
      const Json& parts = node.at("v");
      return Value(std::complex<double>(parse_number(parts.at(0)), parse_number(parts.at(1))));
    }
    if (kind == "list" || kind == "tuple") {
      std::vector<Value> items;
      for (const Json& item : node.at("v")) items.push_back(read(item));
      return kind == "list" ? Value::list(std::move(items)) : Value::tuple(std::move(items));
    }
    if (kind == "dict") {
      std::vector<std::pair<Value, Value>> items;
      for (const Json& item : node.at("items")) {
        items.emplace_back(read(item.at(0)), read(item.at(1)));
      }
      return Value::dict(std::move(items));
    }
    if (kind == "tensor") return Value(tensor(node));
    if (kind == "qtensor") return Value(quantized(node));
    if (kind == "sparse_coo") return Value(sparse(node));
    if (kind == "sparse_csr") return Value(sparse_csr(node));
    refuse("values of kind '" + kind + "' are not supported");
  } catch (const Json::exception& error) {
    refuse(error.what());
  }
}

Tensor ValueReader::array(const Json& node, DType dtype) {
  const auto name = node.at("npy").get<std::string>();
  std::unique_ptr<MappedFile>& file = files_[name];
  if (!file) file = std::make_unique<MappedFile>(folder_ + "/" + name);
  const auto offset = node.value("offset", uint64_t{0});
  if (offset > file->bytes().size()) refuse("an array lies behind the end of " + name);
  return read_npy(file->bytes().subspan(offset), dtype);
}

Tensor ValueReader::tensor(const Json& node) {
  return with_strides(array(node, parse_dtype(node.at("dtype").get<std::string>())), node);
}

Tensor ValueReader::quantized(const Json& node) {
  const Tensor plain = array(node, parse_dtype(node.at("dtype").get<std::string>()));
  if (node.contains("scale")) {
    plain.impl()->quantizer =
        per_tensor_quantizer(parse_number(node.at("scale")), node.at("zero_point").get<int64_t>());
  } else {
    auto quantizer = std::make_shared<Quantizer>();
    quantizer->qscheme = node.at("qscheme") == "per_channel_affine_float_qparams"
                             ? QScheme::kPerChannelAffineFloatQParams
                             : QScheme::kPerChannelAffine;
    quantizer->scales = tensor(node.at("scales"));
    quantizer->zero_points = tensor(node.at("zero_points"));
    quantizer->axis = node.at("axis").get<int64_t>();
    plain.impl()->quantizer = std::move(quantizer);
  }
  return with_strides(plain, node);
}

Tensor ValueReader::sparse(const Json& node) {
  auto impl = make_ref<TensorImpl>();
  impl->dtype = parse_dtype(node.at("dtype").get<std::string>());
  impl->sizes = parse_sizes(node.at("shape"));
  impl->strides = contiguous_strides(impl->sizes);
  impl->update_numel();
  impl->sparse = std::make_shared<const SparseParts>(SparseParts{
      tensor(node.at("indices")), tensor(node.at("values")), node.value("coalesced", false)});
  return Tensor(std::move(impl));
}

Tensor ValueReader::sparse_csr(const Json& node) {
  const Operator& make = *find_operator("aten::sparse_csr_tensor", "crow_col_value_size");
  Value args[] = {tensor(node.at("crow")),
                  tensor(node.at("col")),
                  tensor(node.at("values")),
                  make_int_list(parse_sizes(node.at("shape"))),
                  Value(),
                  Value(),
                  Value(),
                  Value()};
  Value result;
  make.call(args, {&result, 1});
  return result.to_tensor();
}

// ---- writing ----

namespace {

// JSON holds no other text, and PyTorch gives no other str to Python.
const std::string& checked_utf8(const std::string& text) {
  try {
    (void)Json(text).dump();
  } catch (const Json::type_error&) {
    fail(ErrorCode::kRuntime, "the result holds a str that is not UTF-8");
  }
  return text;
}

}  // namespace

ValueWriter::ValueWriter(const std::string& folder)
    : path_(folder + "/data.npy"), file_(std::fopen(path_.c_str(), "wb"), std::fclose) {
  if (!file_) fail(ErrorCode::kIo, "cannot write " + path_);
}

void ValueWriter::finish() {
  if (std::fflush(file_.get()) != 0) fail(ErrorCode::kIo, "cannot write " + path_);
}

Json ValueWriter::write(const Value& value, int depth) {
  constexpr int kMaxDepth = 500;
  if (depth > kMaxDepth) fail(ErrorCode::kRuntime, "the result is nested too deeply to be written");
  switch (value.kind()) {
    case ValueKind::kNone:
      return {{"t", "none"}};
    case ValueKind::kBool:
      return {{"t", "bool"}, {"v", value.to_bool()}};
    case ValueKind::kInt:
      return {{"t", "int"}, {"v", value.to_int()}};
    case ValueKind::kFloat:
      return {{"t", "float"}, {"v", number(value.to_double())}};
    case ValueKind::kComplex: {
      const std::complex<double> parts = value.to_complex();
      return {{"t", "complex"}, {"v", {number(parts.real()), number(parts.imag())}}};
    }
    case ValueKind::kString:
      return {{"t", "str"}, {"v", checked_utf8(value.to_string())}};
    case ValueKind::kDevice:
      return {{"t", "device"}, {"v", value.to_string()}};
    case ValueKind::kTensor:
      return tensor(value.to_tensor());
    case ValueKind::kList:
      return {{"t", "list"}, {"v", items(value.list_ref().items, depth)}};
    case ValueKind::kTuple: {
      Json node = {{"t", "tuple"}, {"v", items(value.tuple_ref().items, depth)}};
      if (const TypePtr& type = value.tuple_ref().type) {
        node["names"] = type->field_names();
        node["type_name"] = type->name();
      }
      return node;
    }
    case ValueKind::kDict: {
      Json pairs = Json::array();
      for (const auto& [key, item] : value.to_dict()) {
        pairs.push_back(Json::array({write(key, depth + 1), write(item, depth + 1)}));
      }
      return {{"t", "dict"}, {"items", std::move(pairs)}};
    }
    default:
      return {{"t", "object"}, {"v", to_text(value)}};
  }
}

Json ValueWriter::items(const std::vector<Value>& values, int depth) {
  Json all = Json::array();
  for (const Value& value : values) all.push_back(write(value, depth + 1));
  return all;
}

namespace {

// What an operator of one argument gives.
Tensor part(const char* name, const Tensor& tensor) {
  Value arg = tensor, result;
  find_operator(name, "")->call({&arg, 1}, {&result, 1});
  return result.to_tensor();
}

const char* format_name(const Tensor& tensor) {
  if (tensor.is_contiguous()) return "contiguous";
  const bool last = (tensor.dim() == 4 && tensor.is_contiguous(MemoryFormat::kChannelsLast)) ||
                    (tensor.dim() == 5 && tensor.is_contiguous(MemoryFormat::kChannelsLast3d));
  return last ? "channels_last" : "strided";
}

Json header(const char* kind, const Tensor& tensor) {
  return {{"t", kind},
          {"dtype", std::string(dtype_name(tensor.dtype()))},
          {"shape", std::vector<int64_t>(tensor.sizes().begin(), tensor.sizes().end())}};
}

}  // namespace

void ValueWriter::append(const Tensor& tensor, Json& node) {
  std::string bytes;
  append_npy(tensor, bytes);
  node["strides"] = std::vector<int64_t>(tensor.strides().begin(), tensor.strides().end());
  node["memory_format"] = format_name(tensor);
  node["npy"] = "data.npy";
  node["offset"] = offset_;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) {
    fail(ErrorCode::kIo, "cannot write " + path_);
  }
  offset_ += bytes.size();
}

Json ValueWriter::tensor(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  if (impl.quantizer) return quantized(tensor);
  if (impl.sparse && impl.sparse->layout == Layout::kSparseCsr) {
    Json node = header("sparse_csr", tensor);
    node["crow"] = this->tensor(part("aten::crow_indices", tensor));
    node["col"] = this->tensor(part("aten::col_indices", tensor));
    node["values"] = this->tensor(impl.sparse->values);
    return node;
  }
  if (impl.sparse) {
    Json node = header("sparse_coo", tensor);
    node["indices"] = this->tensor(impl.sparse->indices);
    node["values"] = this->tensor(impl.sparse->values);
    node["coalesced"] = impl.sparse->coalesced;
    return node;
  }
  if (impl.nested) {
    Json parts = Json::array();
    for (const Tensor& part : *impl.nested) parts.push_back(this->tensor(part));
    return {{"t", "nested"}, {"v", std::move(parts)}};
  }
  Json node = header("tensor", tensor);
  append(tensor, node);
  return node;
}

Json ValueWriter::quantized(const Tensor& tensor) {
  const Quantizer& quantizer = *tensor.impl()->quantizer;
  Json node = header("qtensor", tensor);
  append(tensor, node);
  if (quantizer.per_tensor()) {
    node["qscheme"] = "per_tensor_affine";
    node["scale"] = quantizer.scale;
    node["zero_point"] = quantizer.zero_point;
  } else {
    node["qscheme"] = quantizer.qscheme == QScheme::kPerChannelAffineFloatQParams
                          ? "per_channel_affine_float_qparams"
                          : "per_channel_affine";
    node["axis"] = quantizer.axis;
    node["scales"] = this->tensor(quantizer.scales);
    node["zero_points"] = this->tensor(quantizer.zero_points);
  }
  return node;
}

}  // namespace torchlet::cli
