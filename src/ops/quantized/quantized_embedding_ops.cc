// Embeddings with 8- or 4-bit rows, each with a scale and a float zero point of its own
// (qembeddingbag.cpp, embedding_packed_params.h).
#include <cmath>
#include <cstring>

#include "ops/core/custom_class.h"
#include "ops/core/op.h"

namespace torchlet::ops {
namespace {

class EmbeddingPackedParams : public CustomObject {
 public:
  static constexpr char kClassName[] =
      "__torch__.torch.classes.quantized.EmbeddingPackedParamsBase";
  std::string_view class_name() const override { return kClassName; }
  // The doubles are not used.
  Value get_state() const override {
    return Value::tuple({1, make_tensor_list({weight}), make_list(types::floating(), {}),
                         make_int_list(IntArray{four_bit() ? 4 : 8})});
  }

  explicit EmbeddingPackedParams(const Tensor& quantized) : weight(quantized) {
    TORCHLET_CHECK(
        weight.dim() == 2 && weight.is_quantized() && !weight.impl()->quantizer->per_tensor(),
        "a packed embedding needs a 2-d weight quantized per row, got %s",
        weight.describe().c_str());
    const Quantizer& quantizer = *weight.impl()->quantizer;
    scales = quantizer.scales.to(DType::kFloat32).contiguous();
    zero_points = quantizer.zero_points.to(DType::kFloat32).contiguous();
    TORCHLET_CHECK(scales.numel() == weight.size(0) && zero_points.numel() == weight.size(0),
                   "a packed embedding needs a scale and a zero point for each of its %lld rows",
                   static_cast<long long>(weight.size(0)));
  }

  bool four_bit() const { return weight.dtype() == DType::kQUInt4x2; }
  int64_t rows() const { return weight.size(0); }
  int64_t columns() const { return weight.size(1); }

  // Adds factor * row to out[columns]. Two 4-bit values share a byte, the first in its low half.
  void add_row(int64_t row, float factor, float* out) const {
    TORCHLET_CHECK(row >= 0 && row < rows(), "embedding index %lld is out of range for %lld rows",
                   static_cast<long long>(row), static_cast<long long>(rows()));
    const auto* data = static_cast<const uint8_t*>(weight.raw_data());
    const float scale = scales.data_ptr<float>()[row] * factor;
    const float zero = zero_points.data_ptr<float>()[row];
    const int64_t n = columns();
    if (four_bit()) {
      const uint8_t* packed = data + row * ((n + 1) / 2);
      for (int64_t i = 0; i < n; ++i) {
        const int q = i % 2 == 0 ? packed[i / 2] & 15 : packed[i / 2] >> 4;
        out[i] += (static_cast<float>(q) - zero) * scale;
      }
    } else {
      for (int64_t i = 0; i < n; ++i) {
        out[i] += (static_cast<float>(data[row * n + i]) - zero) * scale;
      }
    }
  }

  Tensor weight;
  Tensor scales, zero_points;  // float32 [rows]
};

const EmbeddingPackedParams& packed(const Value& value) {
  return custom_object<EmbeddingPackedParams>(value);
}

Value pack(const Tensor& weight) {
  return Value(Ref<CustomObject>(make_ref<EmbeddingPackedParams>(weight.contiguous())));
}

// (version, [weight], doubles, [bit rate])
Value set_state(const Value& state) {
  const std::vector<Value> items = state.to_tuple();
  TORCHLET_CHECK(items.size() == 4,
                 "the state of an EmbeddingPackedParamsBase has %zu items, expected 4",
                 items.size());
  const std::vector<Tensor> tensors = items[1].to_tensor_list();
  TORCHLET_CHECK(!tensors.empty(), "the state of an EmbeddingPackedParamsBase has no weight");
  return pack(tensors[0]);
}

Tensor lookup(const Value& value, const Tensor& indices, bool) {
  const auto& params = packed(value);
  const Tensor flat = indices.to(DType::kInt64).contiguous();
  IntArray shape(indices.sizes());
  shape.push_back(params.columns());
  const Tensor result = zeros(shape, DType::kFloat32);
  for (int64_t i = 0; i < flat.numel(); ++i) {
    params.add_row(flat.data_ptr<int64_t>()[i], 1, result.data_ptr<float>() + i * params.columns());
  }
  return result;
}

// Sums of rows for each bag; a 2-d `indices` has a bag a row.
Tensor bag(const Value& value, const Tensor& indices, const Tensor& offsets, bool, int64_t,
           bool pruned, const Tensor& per_sample_weights, const Tensor& mapping,
           bool include_last_offset) {
  const auto& params = packed(value);
  const Tensor flat = indices.to(DType::kInt64).contiguous();
  const int64_t* index = flat.data_ptr<int64_t>();
  IntArray starts;
  if (indices.dim() == 2) {
    for (int64_t i = 0; i <= indices.size(0); ++i) starts.push_back(i * indices.size(1));
  } else {
    TORCHLET_CHECK(offsets.defined(), "embedding_bag needs offsets for 1-d indices");
    const Tensor given = offsets.to(DType::kInt64).contiguous();
    starts.assign(given.data_ptr<int64_t>(), given.data_ptr<int64_t>() + given.numel());
    if (!include_last_offset) starts.push_back(flat.numel());
  }
  const Tensor weights =
      per_sample_weights.defined() ? per_sample_weights.to(DType::kFloat32).contiguous() : Tensor();
  TORCHLET_CHECK(!weights.defined() || weights.numel() == flat.numel(),
                 "embedding_bag: %lld weights for %lld indices",
                 static_cast<long long>(weights.numel()), static_cast<long long>(flat.numel()));
  const Tensor compressed =
      pruned && mapping.defined() ? mapping.to(DType::kInt64).contiguous() : Tensor();
  const int64_t bags = std::max<int64_t>(static_cast<int64_t>(starts.size()) - 1, 0);
  const Tensor result = zeros(IntArray{bags, params.columns()}, DType::kFloat32);
  for (int64_t b = 0; b < bags; ++b) {
    const int64_t first = starts[static_cast<size_t>(b)], last = starts[static_cast<size_t>(b) + 1];
    TORCHLET_CHECK(first >= 0 && first <= last && last <= flat.numel(),
                   "embedding_bag: offsets must not decrease");
    for (int64_t i = first; i < last; ++i) {
      int64_t row = index[i];
      if (compressed.defined()) {
        TORCHLET_CHECK(row >= 0 && row < compressed.numel(), "embedding index %lld is out of range",
                       static_cast<long long>(row));
        row = compressed.data_ptr<int64_t>()[row];
        if (row < 0) continue;  // a pruned row is zero
      }
      params.add_row(row, weights.defined() ? weights.data_ptr<float>()[i] : 1,
                     result.data_ptr<float>() + b * params.columns());
    }
  }
  return result;
}

// A row of the portable format: the quantized values, then scale and smallest value as two floats.
Tensor byte_prepack(const Tensor& weight) {
  const Tensor real = weight.to(DType::kFloat32).contiguous();
  const int64_t columns = weight.size(-1), rows = columns ? weight.numel() / columns : 0;
  IntArray shape(weight.sizes());
  shape.back() = columns + 8;
  const Tensor result = empty(shape, DType::kUInt8);
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = real.data_ptr<float>() + r * columns;
    uint8_t* out = result.data_ptr<uint8_t>() + r * (columns + 8);
    const float low = *std::min_element(in, in + columns),
                high = *std::max_element(in, in + columns);
    const float scale = (high - low) / 255.0f;
    const float inverse = 255.0f / (high - low + 1e-8f);
    for (int64_t i = 0; i < columns; ++i) {
      out[i] = static_cast<uint8_t>(std::lrint((in[i] - low) * inverse));
    }
    std::memcpy(out + columns, &scale, 4);
    std::memcpy(out + columns + 4, &low, 4);
  }
  return result;
}

Tensor byte_unpack(const Tensor& packed_rows) {
  const Tensor in = packed_rows.contiguous();
  const int64_t width = in.size(-1), columns = width - 8;
  TORCHLET_CHECK(columns >= 0, "a packed 8-bit embedding row has at least 8 bytes");
  IntArray shape(in.sizes());
  shape.back() = columns;
  const Tensor result = empty(shape, DType::kFloat32);
  for (int64_t r = 0; r < (width ? in.numel() / width : 0); ++r) {
    const uint8_t* row = in.data_ptr<uint8_t>() + r * width;
    float scale, low;
    std::memcpy(&scale, row + columns, 4);
    std::memcpy(&low, row + columns + 4, 4);
    float* out = result.data_ptr<float>() + r * columns;
    for (int64_t i = 0; i < columns; ++i) out[i] = static_cast<float>(row[i]) * scale + low;
  }
  return result;
}

#define TORCHLET_EMBEDDING "__torch__.torch.classes.quantized.EmbeddingPackedParamsBase"

constexpr auto kBitRate =
    typed(+[](const Value& self) { return int64_t{packed(self).four_bit() ? 4 : 8}; });
constexpr auto kUnpack = typed(+[](const Value& self) { return packed(self).weight; });
constexpr auto kVersion = typed(+[](const Value&) { return int64_t{1}; });
constexpr CustomMethodDef kMethods[] = {
    {"bit_rate(" TORCHLET_EMBEDDING " self) -> int", &kBitRate},
    {"unpack(" TORCHLET_EMBEDDING " self) -> Tensor", &kUnpack},
    {"version(" TORCHLET_EMBEDDING " self) -> int", &kVersion},
};

}  // namespace

extern const CustomClassDef class_quantized_embedding;
constinit const CustomClassDef class_quantized_embedding = {EmbeddingPackedParams::kClassName,
                                                            set_state, kMethods};

#define TORCHLET_EMBEDDING_OPS(bits)                                                               \
  TORCHLET_OP(quantized_embedding_##bits,                                                          \
              "quantized::embedding_" #bits "(" TORCHLET_EMBEDDING                                 \
              " weight, Tensor indices, bool pruned_weights=False) -> Tensor",                     \
              lookup);                                                                             \
  TORCHLET_OP(                                                                                     \
      quantized_embedding_bag_##bits,                                                              \
      "quantized::embedding_bag_" #bits "(" TORCHLET_EMBEDDING                                     \
      " weight, Tensor indices, Tensor? offsets=None, bool scale_grad_by_freq=False, int mode=0, " \
      "bool pruned_weights=False, Tensor? per_sample_weights=None, Tensor? "                       \
      "compressed_indices_mapping=None, bool include_last_offset=False) -> Tensor",                \
      bag)
TORCHLET_EMBEDDING_OPS(byte);
TORCHLET_EMBEDDING_OPS(4bit);
#undef TORCHLET_EMBEDDING_OPS

TORCHLET_OP(quantized_embedding_bag_prepack,
            "quantized::embedding_bag_prepack(Tensor weight) -> " TORCHLET_EMBEDDING " W_prepack",
            pack);
TORCHLET_OP(quantized_embedding_bag_unpack,
            "quantized::embedding_bag_unpack(" TORCHLET_EMBEDDING " W_prepack) -> Tensor W_origin",
            [](const Value& params) { return packed(params).weight; });
TORCHLET_OP(quantized_embedding_bag_byte_prepack,
            "quantized::embedding_bag_byte_prepack(Tensor weight) -> Tensor", byte_prepack);
TORCHLET_OP(quantized_embedding_bag_byte_unpack,
            "quantized::embedding_bag_byte_unpack(Tensor weight) -> Tensor", byte_unpack);

}  // namespace torchlet::ops
