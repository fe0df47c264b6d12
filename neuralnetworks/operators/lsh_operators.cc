// LSH_PROJECTION: bits that are alike for inputs that are alike.
#include <bit>
#include <cstring>
#include <span>

#include "base/checked.h"
#include "base/counted_vector.h"
#include "base/limits.h"
#include "neuralnetworks/operators/checks.h"
#include "neuralnetworks/operators/fingerprint.h"
#include "ops/core/op.h"
#include "ops/engines/compute.h"

namespace torchlet::ops {
namespace {

enum Kind : int64_t { kSparseDeprecated = 1, kDense = 2, kSparse = 3 };

// The sign of the sum of the hashes of all items, each with the seed before it.
bool sign_of_hashes(float seed, std::span<const std::byte> items, size_t item_bytes,
                    const float* weights, CountedVector<std::byte>& key) {
  std::memcpy(key.data(), &seed, sizeof(seed));
  double score = 0;
  for (size_t at = 0, i = 0; at < items.size(); at += item_bytes, ++i) {
    std::memcpy(key.data() + sizeof(seed), items.data() + at, item_bytes);
    const auto hash = static_cast<double>(static_cast<int64_t>(nn::fingerprint(key)));
    score += weights ? weights[i] * hash : hash;
  }
  return score > 0;
}

// Functions [functions, bits] of a seed each; an input of any type, whose first dimension is that
// of its items; weights [items] or none.
Tensor lsh_projection(const Tensor& functions, const Tensor& input, const Tensor& weights,
                      int64_t kind) {
  nn::check_sizes(functions, {-1, -1}, "the hash functions");
  const int64_t count = functions.size(0), bits = functions.size(1);
  TORCHLET_CHECK(input.dim() >= 1, "the input has no items");
  const int64_t items = input.size(0);
  if (weights.defined()) nn::check_sizes(weights, {items}, "the weights");
  TORCHLET_CHECK(kind >= kSparseDeprecated && kind <= kSparse,
                 "there is no projection of number %lld", static_cast<long long>(kind));
  const int index_bits =
      kind == kSparse && count > 1 ? std::bit_width(static_cast<uint64_t>(count - 1)) : 0;
  TORCHLET_CHECK(kind == kDense || bits + index_bits <= 32,
                 "%lld hash functions of %lld bits do not fit into 32 bits",
                 static_cast<long long>(count), static_cast<long long>(bits));

  const Tensor seeds = dense_as<float>(functions), dense = input.contiguous();
  const Tensor own_weights = weights.defined() ? dense_as<float>(weights) : Tensor();
  const std::span<const std::byte> bytes(
      dense.impl()->data(), static_cast<size_t>(dense.numel()) * element_size(dense.dtype()));
  const size_t item_bytes = items ? bytes.size() / static_cast<size_t>(items) : 0;
  CountedVector<std::byte> key(sizeof(float) + item_bytes);
  const auto bit = [&](int64_t i) -> uint32_t {
    poll();
    if (item_bytes == 0) return 0;
    return sign_of_hashes(seeds.data_ptr<float>()[i], bytes, item_bytes,
                          weights.defined() ? own_weights.data_ptr<float>() : nullptr, key);
  };
  if (kind == kDense) {
    const Tensor result = empty({{checked_mul(count, bits)}}, DType::kInt32);
    for (int64_t i = 0; i < count * bits; ++i) {
      result.data_ptr<int32_t>()[i] = static_cast<int32_t>(bit(i));
    }
    return result;
  }
  const Tensor result = empty({{count}}, DType::kInt32);
  for (int64_t i = 0; i < count; ++i) {
    // The number of the function stands before its bits.
    uint64_t signature = kind == kSparse ? static_cast<uint64_t>(i) : 0;
    for (int64_t j = 0; j < bits; ++j) signature = signature << 1 | bit(i * bits + j);
    result.data_ptr<int32_t>()[i] = static_cast<int32_t>(static_cast<uint32_t>(signature));
  }
  return result;
}

}  // namespace

TORCHLET_OP(nnapi_lsh_projection,
            "nnapi::lsh_projection(Tensor functions, Tensor input, Tensor? weights, int kind) -> "
            "Tensor",
            lsh_projection);

}  // namespace torchlet::ops
