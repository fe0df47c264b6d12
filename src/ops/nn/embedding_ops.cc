// Rows of a table: embedding, embedding_bag and their renormalisation.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <span>

#include "base/counted_vector.h"
#include "base/thread_pool.h"
#include "kernels/reduce/bag.h"
#include "ops/core/op.h"
#include "ops/engines/compute.h"
#include "ops/math/math.h"
#include "ops/shape/shape.h"
#include "tensor/meta.h"

namespace torchlet::ops {
namespace {

long long ll(int64_t value) { return value; }

void check_index_dtype(const Tensor& indices, const char* what) {
  TORCHLET_CHECK(indices.dtype() == DType::kInt64 || indices.dtype() == DType::kInt32,
                 "Expected tensor for argument '%s' to have one of the following scalar types: "
                 "Long, Int; but got %s instead",
                 what, dtype_name(indices.dtype()).data());
}

int64_t checked_row(int64_t index, int64_t rows) {
  TORCHLET_CHECK(index >= 0 && index < rows, "index out of range in self: %lld is not in [0, %lld)",
                 ll(index), ll(rows));
  return index;
}

Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t, bool, bool) {
  TORCHLET_CHECK(weight.dim() == 2, "'weight' must be 2-D, got %s", weight.describe().c_str());
  check_index_dtype(indices, "indices");
  IntArray shape(indices.sizes());
  shape.push_back(weight.size(1));
  if (is_meta(weight) || is_meta(indices)) return empty(shape, weight.dtype());
  return reshape(index_select(weight, 0, reshape(indices, IntArray{-1})), shape);
}

enum class BagMode { kSum = 0, kMean = 1, kMax = 2 };

struct Bags {
  Tensor indices, offsets;  // int64, contiguous
  int64_t count;            // of bags
  // Asked once: a bag may have few rows.
  const int64_t* index_data = indices.data_ptr<int64_t>();
  std::span<const int64_t> begins{offsets.data_ptr<int64_t>(),
                                  static_cast<size_t>(offsets.numel())};
  int64_t index_count = indices.numel();

  int64_t begin(int64_t bag) const { return begins[static_cast<size_t>(bag)]; }
  int64_t end(int64_t bag) const {
    const auto next = static_cast<size_t>(bag) + 1;
    return next < begins.size() ? begins[next] : index_count;
  }
};

Bags make_bags(const Tensor& indices, const Tensor& offsets, bool include_last_offset) {
  check_index_dtype(indices, "indices");
  check_index_dtype(offsets, "offsets");
  TORCHLET_CHECK(indices.dim() == 1 || indices.dim() == 2,
                 "input has to be a 1D or 2D Tensor, but got Tensor of dimension %lld",
                 ll(indices.dim()));
  TORCHLET_CHECK(offsets.dim() == 1,
                 "offsets has to be a 1D Tensor, but got Tensor of dimension %lld",
                 ll(offsets.dim()));
  Bags bags{reshape(dense_as<int64_t>(indices), {{-1}}), dense_as<int64_t>(offsets),
            offsets.numel()};
  if (include_last_offset) {
    TORCHLET_CHECK(offsets.numel() > 0,
                   "include_last_offset: number of offsets should be at least 1");
    --bags.count;
  }
  const int64_t* data = bags.begins.data();
  for (int64_t i = 0; i < offsets.numel(); ++i) {
    TORCHLET_CHECK(
        i > 0 || data[0] == 0,
        "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start "
        "from position 0. However, got %lld",
        ll(data[0]));
    TORCHLET_CHECK(data[i] <= indices.numel() && (i == 0 || data[i] >= data[i - 1]),
                   "offsets must not decrease nor be greater than input's length %lld, but "
                   "offsets[%lld] is %lld",
                   ll(indices.numel()), ll(i), ll(data[i]));
  }
  return bags;
}

// The sum of a bag in row[dim]; returns how many indices counted.
int64_t sum_bag(const Bags& bags, int64_t bag, const float* table, int64_t dim,
                const float* factors, int64_t padding_idx, float* row) {
  const int64_t begin = bags.begin(bag), count = bags.end(bag) - begin;
  const int64_t* const indices = bags.index_data + begin;
  if (factors) factors += begin;
  if (padding_idx < 0 || std::find(indices, indices + count, padding_idx) == indices + count) {
    kernels::sum_bag(table, dim, indices, count, bags.index_count - begin, factors, row);
    return count;
  }
  CountedVector<int64_t> counted;
  CountedVector<float> their_factors;
  for (int64_t i = 0; i < count; ++i) {
    if (indices[i] == padding_idx) continue;
    counted.push_back(indices[i]);
    if (factors) their_factors.push_back(factors[i]);
  }
  kernels::sum_bag(table, dim, counted.data(), std::ssize(counted), std::ssize(counted),
                   factors ? their_factors.data() : nullptr, row);
  return std::ssize(counted);
}

// One bag into row[dim]; returns how many indices counted. `best` (mode max): the index per column.
template <typename T>
int64_t reduce_bag(const Bags& bags, int64_t bag, BagMode mode, const T* table, int64_t dim,
                   const T* factors, int64_t padding_idx, T* row, int64_t* best) {
  int64_t used = 0;
  const bool is_summed = std::is_same_v<T, float> && mode != BagMode::kMax;
  if constexpr (std::is_same_v<T, float>) {
    if (is_summed) used = sum_bag(bags, bag, table, dim, factors, padding_idx, row);
  }
  if (!is_summed) {
    std::fill_n(row, dim, T(0));
    const int64_t* const indices = bags.index_data;
    const int64_t end = bags.end(bag);
    for (int64_t i = bags.begin(bag); i < end; ++i) {
      const int64_t index = indices[i];
      if (index == padding_idx) continue;
      const T* from = table + index * dim;
      const T factor = factors ? factors[i] : T(1);
      for (int64_t d = 0; d < dim; ++d) {
        if (mode != BagMode::kMax) {
          row[d] += from[d] * factor;
        } else if (used == 0 || from[d] > row[d]) {
          row[d] = from[d];
          best[d] = index;
        }
      }
      ++used;
    }
  }
  if (mode == BagMode::kMean && used > 0) {
    for (int64_t d = 0; d < dim; ++d) row[d] /= static_cast<T>(used);
  }
  return used;
}

// (output, offset2bag, bag_size, max_indices) as aten/src/ATen/native/EmbeddingBag.cpp defines them
// for inference: bag sizes are left at 0 for sums.
std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag(
    const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool, int64_t mode_number,
    bool, const Tensor& per_sample_weights, bool include_last_offset, int64_t padding_idx) {
  TORCHLET_CHECK(weight.dim() == 2, "'weight' must be 2-D, got %s", weight.describe().c_str());
  TORCHLET_CHECK(mode_number >= 0 && mode_number <= 2, "embedding_bag: unknown mode %lld",
                 ll(mode_number));
  const BagMode mode = static_cast<BagMode>(mode_number);
  TORCHLET_CHECK(!per_sample_weights.defined() || mode == BagMode::kSum,
                 "embedding_bag: per_sample_weights was not None, but mode is not 'sum'");
  TORCHLET_CHECK(!per_sample_weights.defined() || per_sample_weights.numel() == indices.numel(),
                 "expected per_sample_weights to have the same size as indices");
  expect_dtype(per_sample_weights, weight.dtype());
  const Bags bags = make_bags(indices, offsets, include_last_offset);
  const int64_t rows = weight.size(0);
  for (const int64_t index : std::span(bags.index_data, static_cast<size_t>(bags.index_count))) {
    checked_row(index, rows);
  }
  const int64_t dim = weight.size(1);
  const DType index_dtype = promote_types(indices.dtype(), offsets.dtype());
  const Tensor counts =
      zeros({{mode == BagMode::kSum ? offsets.numel() : bags.count}}, DType::kInt64);
  // PyTorch leaves this empty where it takes its fast path.
  const bool fast = mode == BagMode::kSum && padding_idx < 0 && weight.stride(1) == 1 &&
                    (weight.dtype() == DType::kFloat32 ||
                     (weight.dtype() == DType::kFloat16 && !per_sample_weights.defined())) &&
                    (!per_sample_weights.defined() || per_sample_weights.stride(0) == 1);
  const Tensor offset2bag = empty({{fast ? 0 : bags.index_count}}, DType::kInt64);
  const Tensor best = mode == BagMode::kMax ? zeros({{bags.count, dim}}, DType::kInt64) : counts;
  auto *const bag_of = offset2bag.data_ptr<int64_t>(), *const count_of = counts.data_ptr<int64_t>();
  for (int64_t bag = 0; bag < bags.count; ++bag) {
    if (!fast) std::fill(bag_of + bags.begin(bag), bag_of + bags.end(bag), bag);
    if (mode != BagMode::kSum) count_of[bag] = bags.end(bag) - bags.begin(bag);
  }
  const Tensor out = compute_as<kMapReal>(weight.dtype(), "embedding_bag", [&](auto zero) {
    using T = decltype(zero);
    const Tensor table = dense_as<T>(weight);
    const Tensor factors =
        per_sample_weights.defined() ? dense_as<T>(per_sample_weights) : Tensor();
    const Tensor result = empty({{bags.count, dim}}, DTypeOf<T>::value);
    T* to = result.data_ptr<T>();
    int64_t* best_data = best.data_ptr<int64_t>();
    constexpr int64_t kElementsPerTask = 32768;
    const int64_t bag_size =
        (bags.index_count / std::max<int64_t>(1, bags.count) + 1) * std::max<int64_t>(1, dim);
    const int64_t grain = std::max<int64_t>(1, kElementsPerTask / bag_size);
    parallel_for(bags.count, grain, [&](int64_t first, int64_t last) {
      for (int64_t bag = first; bag < last; ++bag) {
        const int64_t used = reduce_bag(bags, bag, mode, const_data<T>(table), dim,
                                        const_data<T>(factors), padding_idx, to + bag * dim,
                                        best_data + (mode == BagMode::kMax ? bag * dim : 0));
        if (mode != BagMode::kSum && padding_idx >= 0) count_of[bag] = used;
      }
    });
    return result.to(weight.dtype());
  });
  return {out, offset2bag.to(index_dtype), counts.to(index_dtype), best.to(index_dtype)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag_padding(
    const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool scale, int64_t mode,
    bool sparse, const Tensor& per_sample_weights, bool include_last_offset,
    std::optional<int64_t> padding_idx) {
  int64_t padding = -1;
  if (padding_idx) {
    padding = *padding_idx;
    TORCHLET_CHECK(padding >= -weight.size(0) && padding < weight.size(0),
                   "padding_idx must be within the number of embeddings, -%lld through %lld, but "
                   "got %lld",
                   ll(weight.size(0)), ll(weight.size(0) - 1), ll(padding));
    if (padding < 0) padding += weight.size(0);
  }
  return embedding_bag(weight, indices, offsets, scale, mode, sparse, per_sample_weights,
                       include_last_offset, padding);
}

// Rows that are named by `indices` and longer than max_norm are scaled to it, in place.
Tensor embedding_renorm_(const Tensor& self, const Tensor& indices, double max_norm,
                         double norm_type) {
  TORCHLET_CHECK(self.dim() == 2, "embedding_renorm_: 'self' must be 2-D, got %s",
                 self.describe().c_str());
  check_index_dtype(indices, "indices");
  const Tensor list = dense_as<int64_t>(indices);
  const int64_t* data = list.data_ptr<int64_t>();
  for (int64_t index : std::set<int64_t>(data, data + list.numel())) {
    const Tensor row = select(self, 0, checked_row(index, self.size(0)));
    const double norm = vector_norm(row, norm_type).item<double>();
    if (norm > max_norm) row.copy_(mul(row, Scalar(max_norm / (norm + 1e-7))));
  }
  return self;
}

}  // namespace

TORCHLET_OP_WITH(embedding, on_meta() | out("out"),
                 "aten::embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool "
                 "scale_grad_by_freq=False, bool sparse=False) -> Tensor",
                 embedding);
TORCHLET_OP(embedding_bag,
            "aten::embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool "
            "scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? "
            "per_sample_weights=None, bool include_last_offset=False) -> (Tensor, Tensor, Tensor, "
            "Tensor)",
            [](const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool scale,
               int64_t mode, bool sparse, const Tensor& per_sample_weights,
               bool include_last_offset) {
              return embedding_bag(weight, indices, offsets, scale, mode, sparse,
                                   per_sample_weights, include_last_offset, -1);
            });
TORCHLET_OP(embedding_bag_padding_idx,
            "aten::embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool "
            "scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool "
            "include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)",
            embedding_bag_padding);
TORCHLET_OP_WITH(
    _embedding_bag, out("out(out0, out1, out2, out3)"),
    "aten::_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool "
    "scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, "
    "bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
    embedding_bag);
TORCHLET_OP_WITH(
    _embedding_bag_forward_only, out("out(out0, out1, out2, out3)"),
    "aten::_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool "
    "scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, "
    "bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
    embedding_bag);
TORCHLET_OP(embedding_renorm_,
            "aten::embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float "
            "norm_type) -> Tensor(a!)",
            embedding_renorm_);
TORCHLET_OP_WITH(
    _no_grad_embedding_renorm_, may_alias() | writes("weight"),
    "aten::_no_grad_embedding_renorm_(Tensor weight, Tensor input, float max_norm, float "
    "norm_type) -> Tensor",
    embedding_renorm_);
TORCHLET_OP_WITH(
    embedding_renorm, out("out"),
    "aten::embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> "
    "Tensor",
    [](const Tensor& self, const Tensor& indices, double max_norm, double norm_type) {
      return embedding_renorm_(self.clone(), indices, max_norm, norm_type);
    });

}  // namespace torchlet::ops
