#include "tensor/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/error.h"
#include "base/mapped_file.h"

namespace torchlet {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct DTypeCode {
  DType dtype;
  const char* code;
};
// The first entry of a code is what it is read as.
constexpr DTypeCode kCodes[] = {
    {DType::kUInt8, "|u1"},   {DType::kInt8, "|i1"},        {DType::kInt16, "<i2"},
    {DType::kInt32, "<i4"},   {DType::kInt64, "<i8"},       {DType::kFloat16, "<f2"},
    {DType::kFloat32, "<f4"}, {DType::kFloat64, "<f8"},     {DType::kComplex64, "<c8"},
    {DType::kBool, "|b1"},    {DType::kComplex128, "<c16"}, {DType::kBFloat16, "<u2"},
    {DType::kQUInt8, "|u1"},  {DType::kQInt8, "|i1"},       {DType::kQInt32, "<i4"},
};

[[noreturn]] void damaged(const char* what) {
  fail(ErrorCode::kFileFormat, std::string("the .npy data is damaged: ") + what);
}

// What follows `'key':` in the header, a Python dict literal, without leading spaces.
std::string_view after_key(std::string_view header, const std::string& key) {
  const size_t at = header.find("'" + key + "'");
  const size_t colon = at == std::string_view::npos ? at : header.find(':', at);
  if (colon == std::string_view::npos) damaged("its header lacks a key");
  const size_t value = header.find_first_not_of(' ', colon + 1);
  return value == std::string_view::npos ? std::string_view() : header.substr(value);
}

DType parse_descr(std::string_view text) {
  const std::string_view code = text.size() > 1 ? text.substr(1, text.find('\'', 1) - 1) : text;
  for (const DTypeCode& known : kCodes) {
    if (code == known.code) return known.dtype;
  }
  fail(ErrorCode::kUnsupported,
       "no tensor holds a NumPy array of dtype '" + std::string(code.substr(0, 20)) + "'");
}

// "(2, 3)", "(3,)", "()"
IntArray parse_shape(std::string_view text) {
  IntArray shape;
  if (!text.starts_with('(')) damaged("its shape is no tuple");
  const char* at = text.data() + 1;
  const char* end = text.data() + text.size();
  while (at < end && *at != ')') {
    int64_t size = 0;
    const auto [next, error] = std::from_chars(at, end, size);
    if (error != std::errc() || size < 0 || shape.size() > 1000) damaged("its shape is wrong");
    shape.push_back(size);
    at = next;
    while (at < end && (*at == ',' || *at == ' ' || *at == 'L')) ++at;
  }
  return shape;
}

struct Header {
  DType dtype;
  bool fortran_order;
  IntArray shape;
  size_t size;  // bytes until the data
};

Header parse_header(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic) || text.size() < 12) damaged("it does not start as a .npy file");
  const auto byte = [&](size_t i) { return static_cast<size_t>(bytes[i]); };
  const bool old = byte(6) == 1;  // version 1.0 has two bytes of header length, later ones four
  const size_t start = old ? 10 : 12;
  size_t length = byte(8) | byte(9) << 8;
  if (!old) length |= byte(10) << 16 | byte(11) << 24;
  if (length > text.size() - start) damaged("its header is cut off");
  const std::string_view header = text.substr(start, length);
  return {parse_descr(after_key(header, "descr")),
          after_key(header, "fortran_order").starts_with("True"),
          parse_shape(after_key(header, "shape")), start + length};
}

}  // namespace

Tensor read_npy(std::span<const std::byte> bytes, std::optional<DType> as) {
  const Header header = parse_header(bytes);
  const DType dtype = as.value_or(header.dtype);
  if (element_size(dtype) != element_size(header.dtype)) {
    damaged("its dtype is not the one that was expected");
  }
  const auto count = static_cast<size_t>(checked_numel(header.shape));
  if (count > (bytes.size() - header.size) / element_size(dtype)) damaged("it is cut off");
  IntArray shape = header.shape;
  if (header.fortran_order) std::reverse(shape.begin(), shape.end());
  const Tensor tensor = is_quantized(dtype)
                            ? empty_quantized(shape, dtype, per_tensor_quantizer(1, 0))
                            : empty(shape, dtype);
  if (count) {
    std::memcpy(tensor.raw_data(), bytes.data() + header.size, count * element_size(dtype));
  }
  if (!header.fortran_order) return tensor;
  IntArray strides = contiguous_strides(shape);
  std::reverse(strides.begin(), strides.end());
  return make_view(tensor, header.shape, strides, 0);
}

Tensor load_npy(const std::string& path) {
  const MappedFile file(path);
  try {
    return read_npy(file.bytes());
  } catch (Error& error) {
    error.add_context("in " + path);
    throw;
  }
}

void append_npy(const Tensor& tensor, std::string& out) {
  const char* code = nullptr;
  for (const DTypeCode& known : kCodes) {
    if (known.dtype == tensor.dtype()) code = known.code;
  }
  if (!code) {
    fail(ErrorCode::kUnsupported,
         "NumPy has no dtype for " + std::string(dtype_name(tensor.dtype())));
  }
  std::string header = std::string("{'descr': '") + code + "', 'fortran_order': False, 'shape': (";
  for (const int64_t size : tensor.sizes()) header += std::to_string(size) + ",";
  header += "), }";
  constexpr size_t kPreamble = 10, kAlignment = 64;
  const size_t unpadded = kPreamble + header.size() + 1;
  header.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  header += '\n';

  const Tensor plain = tensor.contiguous();
  out += kMagic;
  out += '\x01';
  out += '\0';
  out += static_cast<char>(header.size());
  out += static_cast<char>(header.size() >> 8);
  out += header;
  out.append(static_cast<const char*>(plain.raw_data()),
             static_cast<size_t>(plain.numel()) * element_size(plain.dtype()));
}

}  // namespace torchlet
