// Values as JSON with tensor data in .npy streams beside it:
//
//   {"t": "none"}, {"t": "int", "v": 3} (also bool, str, float, device),
//   {"t": "float", "v": "nan"} (also "inf", "-inf"), {"t": "complex", "v": [re, im]},
//   {"t": "dtype", "v": "torch.float32"}, {"t": "list", "v": [VALUE...]} (also tuple; named tuples
//   have "names" and "type_name"), {"t": "dict", "items": [[KEY, VALUE]...]},
//   {"t": "tensor", "dtype", "shape", "strides", "memory_format", "npy": FILE, "offset": BYTE},
//   {"t": "qtensor"}: the same with the integers, "qscheme" and "scale", "zero_point" or "axis",
//   "scales", "zero_points" (tensors); {"t": "sparse_coo", "dtype", "shape", "indices", "values",
//   "coalesced"}; {"t": "sparse_csr", "dtype", "shape", "crow", "col", "values"}
//
// The array at `offset` of the file holds the tensor in row-major order, whatever its strides;
// bfloat16 is stored as uint16.
#pragma once

#include <torchlet/value.h>

#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "base/mapped_file.h"

namespace torchlet::cli {

using Json = nlohmann::json;

// `is_discarded()` if the text is no JSON.
Json parse_json(std::span<const std::byte> text);
// On one line, or with each level `indent` spaces further in. What is no UTF-8 in a string is
// replaced.
std::string json_text(const Json& node, int indent = -1);

class ValueReader {
 public:
  // Files are looked up in `folder`.
  explicit ValueReader(std::string folder) : folder_(std::move(folder)) {}

  // Error kInvalidArgument if the notation is wrong. Tensors have memory of their own.
  Value read(const Json& node);

 private:
  Tensor tensor(const Json& node);
  Tensor array(const Json& node, DType dtype);
  Tensor quantized(const Json& node);
  Tensor sparse(const Json& node);
  Tensor sparse_csr(const Json& node);

  std::string folder_;
  std::map<std::string, std::unique_ptr<MappedFile>> files_;
};

class ValueWriter {
 public:
  // Creates `folder`/data.npy. Error kIo if it cannot.
  explicit ValueWriter(const std::string& folder);

  Json write(const Value& value) { return write(value, 0); }
  // Error kIo if something could not be written.
  void finish();

 private:
  Json write(const Value& value, int depth);
  Json items(const std::vector<Value>& values, int depth);
  Json tensor(const Tensor& tensor);
  Json quantized(const Tensor& tensor);
  void append(const Tensor& tensor, Json& node);

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  uint64_t offset_ = 0;
};

}  // namespace torchlet::cli
