// softmax(scale q k^T + mask) v, recognised from its end: the last product looks back, and the
// steps that were made for the others before are dropped, since nobody reads what they compute.
#include <algorithm>

#include "device/cpu/lower/lowering.h"
#include "graph/prim_kinds.h"
#include "kernels/sequence/attention.h"

namespace torchlet::cpu {
namespace {

using kernels::AttentionF32;

class AttentionStep : public Step {
 public:
  // The mask may be none.
  AttentionStep(const AttentionF32& attention, TensorId q, TensorId k, TensorId v, TensorId mask,
                TensorId result)
      : attention_(attention),
        q_(reading(Operand::fixed(q))),
        k_(reading(Operand::fixed(k))),
        v_(reading(Operand::fixed(v))),
        result_(writing(Operand::fixed(result))) {
    if (mask != kNoTensor) mask_ = reading(Operand::fixed(mask));
  }
  const char* kernel() const override { return "attention_f32"; }
  double flops() const override {
    const AttentionF32& a = attention_;
    return 2.0 *
           static_cast<double>(a.outer * a.inner * a.queries * a.keys * (a.depth + a.value_depth));
  }
  void run(const Memory& m) const override {
    AttentionF32 a = attention_;
    a.q.data = m.data<float>(q_);
    a.k.data = m.data<float>(k_);
    a.v.data = m.data<float>(v_);
    if (mask_.id() != kNoTensor) a.mask.data = m.data<float>(mask_);
    a.result.data = m.data<float>(result_);
    kernels::attention_f32(a);
  }

 private:
  AttentionF32 attention_;
  Operand q_, k_, v_, mask_, result_;
};

bool is_one_of(const Call& call, std::initializer_list<std::string_view> kinds) {
  return std::ranges::find(kinds, call.kind().str()) != kinds.end();
}

// What computes the argument for its call alone, behind casts that change nothing; null if others
// read it, too.
const Call* only_source(const PlanBuilder& plan, const CallArgument& argument) {
  const CallArgument* read = &argument;
  while (read->is_tensor() && plan.users(read->id()).size() == 1) {
    const Call* source = plan.producer(read->id());
    if (!source || !plan.gave_back(*source)) return source;
    read = &source->arguments[0];
  }
  return nullptr;
}

// The argument behind a product or a quotient with a known number, by which `scale` changes.
const CallArgument& without_scale(const PlanBuilder& plan, const CallArgument& argument,
                                  double& scale) {
  const Call* source = only_source(plan, argument);
  if (!source || !is_one_of(*source, {"aten::mul", "aten::div"})) return argument;
  if (source->has_argument("rounding_mode")) return argument;
  const auto number = known_number(*source, "other");
  if (!number) return argument;
  scale = source->kind().name() == "mul" ? scale * *number : scale / *number;
  return source->arguments[0];
}

std::optional<Product> product_of(const Call* call) {
  if (!call) return std::nullopt;
  if (call->kind().str() == "aten::einsum") return product_of_einsum(*call);
  if (!is_one_of(*call, {"aten::matmul", "aten::bmm"})) return std::nullopt;
  return Product{&call->arguments[0], &call->arguments[1]};
}

// Where the scores of a softmax come from.
struct Scores {
  std::optional<Product> product;
  double scale = 1;
  const CallArgument* mask = nullptr;
};

Scores find_scores(const PlanBuilder& plan, const CallArgument& scores) {
  Scores found;
  found.product = product_of(only_source(plan, without_scale(plan, scores, found.scale)));
  if (found.product) return found;
  const Call* source = only_source(plan, scores);
  if (!source || source->kind().str() != "aten::add") return found;
  if (source->known_double("alpha") != 1) return found;
  for (size_t i = 0; i < 2; ++i) {
    double scale = 1;
    const CallArgument& term = without_scale(plan, source->arguments[i], scale);
    const std::optional<Product> product = product_of(only_source(plan, term));
    if (product) return {product, scale, &source->arguments[1 - i]};
  }
  return found;
}

bool is_last(const PlanBuilder& plan, TensorId id, int64_t dim) {
  return wrap_dim(dim, plan.info(id).dim()) == plan.info(id).dim() - 1;
}

// The strides of [outer, inner, rows, columns], for tensors whose sizes are `sizes` or can be
// expanded to them; nothing if there are more dimensions of heads.
struct HeadStrides {
  int64_t outer_size = 1, inner_size = 1;
  int64_t outer = 0, inner = 0, row = 0, column = 0;
};
std::optional<HeadStrides> head_strides(const PlanTensor& t, const IntArray& sizes) {
  const size_t rank = sizes.size(), missing = rank - t.sizes.size();
  const auto stride = [&](size_t d) {
    if (d < missing) return int64_t{0};
    return t.sizes[d - missing] == 1 ? 0 : t.strides[d - missing];
  };
  HeadStrides s;
  s.row = stride(rank - 2);
  s.column = stride(rank - 1);
  size_t dims = 0;
  for (size_t d = rank - 2; d-- > 0;) {
    if (sizes[d] == 1) continue;
    if (dims == 0) {
      s.inner_size = sizes[d];
      s.inner = stride(d);
    } else if (dims == 1) {
      s.outer_size = sizes[d];
      s.outer = stride(d);
    } else {
      return std::nullopt;
    }
    ++dims;
  }
  return s;
}

bool can_expand(const PlanTensor& t, const IntArray& sizes) {
  if (t.sizes.size() > sizes.size()) return false;
  const size_t missing = sizes.size() - t.sizes.size();
  for (size_t d = 0; d < t.sizes.size(); ++d) {
    if (t.sizes[d] != 1 && t.sizes[d] != sizes[d + missing]) return false;
  }
  return true;
}

// [heads..., rows, columns] whose columns lie together.
TensorId with_dense_rows(PlanBuilder& plan, TensorId id) {
  const PlanTensor& t = plan.info(id);
  return t.sizes.back() == 1 || t.strides.back() == 1 ? id : plan.contiguous(id);
}

template <typename T>
kernels::HeadMatrices<T> matrices(const HeadStrides& s) {
  return {nullptr, s.outer, s.inner, s.row};
}

// The result lies as [..., queries, heads, value_depth], where the heads are joined without a copy.
TensorId new_result(PlanBuilder& plan, const IntArray& sizes) {
  IntArray strides = contiguous_strides(sizes);
  const size_t rank = sizes.size();
  if (rank > 2) {
    strides[rank - 3] = sizes[rank - 1];
    strides[rank - 2] = sizes[rank - 3] * sizes[rank - 1];
  }
  return plan.new_tensor(DType::kFloat32, sizes, strides);
}

}  // namespace

TensorId add_attention(PlanBuilder& plan, TensorId q, TensorId k, TensorId v, TensorId mask,
                       float scale) {
  constexpr int64_t kMostWork = int64_t{3} << 20;  // what threads keep for kernels
  // All heads of all operands, none of them spread over others.
  IntArray sizes = plan.info(q).sizes;
  const size_t rank = sizes.size();
  for (const TensorId id : {q, k, v}) {
    const PlanTensor& t = plan.info(id);
    if (plan.program_dtype(id) != DType::kFloat32 || rank < 2 || t.sizes.size() != rank ||
        t.numel() == 0 || !std::equal(t.sizes.begin(), t.sizes.end() - 2, sizes.begin())) {
      return kNoTensor;
    }
  }
  AttentionF32 a{};
  a.queries = sizes[rank - 2];
  a.keys = plan.info(k).sizes[rank - 1];
  a.depth = plan.info(q).sizes[rank - 1];
  a.value_depth = plan.info(v).sizes[rank - 1];
  a.scale = scale;
  if (plan.info(k).sizes[rank - 2] != a.depth || plan.info(v).sizes[rank - 2] != a.keys) {
    return kNoTensor;
  }
  sizes[rank - 1] = a.keys;  // those of the scores
  if (kernels::attention_work_bytes(a.keys, a.depth, a.value_depth) > kMostWork) return kNoTensor;

  q = with_dense_rows(plan, plan.in_float32(q));
  v = with_dense_rows(plan, plan.in_float32(v));
  k = plan.in_float32(k);
  if (const IntArray& s = plan.info(k).strides; s[rank - 1] != 1 && s[rank - 2] != 1) {
    k = plan.contiguous(k);
  }
  if (mask != kNoTensor) {
    mask = plan.in_float32(mask);
    const PlanTensor& t = plan.info(mask);
    if (t.dtype != DType::kFloat32 || !can_expand(t, sizes) || t.dim() == 0 ||
        t.sizes.back() != a.keys || (a.keys > 1 && t.strides.back() != 1)) {
      return kNoTensor;
    }
  }
  IntArray result_sizes = sizes;
  result_sizes[rank - 1] = a.value_depth;
  const auto q_strides = head_strides(plan.info(q), plan.info(q).sizes);
  const auto k_strides = head_strides(plan.info(k), plan.info(k).sizes);
  const auto v_strides = head_strides(plan.info(v), plan.info(v).sizes);
  if (!q_strides || !k_strides || !v_strides) return kNoTensor;
  a.outer = q_strides->outer_size;
  a.inner = q_strides->inner_size;
  a.q = matrices<const float>(*q_strides);
  a.k = matrices<const float>(*k_strides);
  // k is given as [depth, keys]; rows and columns of size 1 have any stride.
  a.k.row_stride = a.keys == 1 ? 1 : k_strides->column;
  a.k_column_stride = a.depth == 1 ? 1 : k_strides->row;
  a.v = matrices<const float>(*v_strides);
  if (mask != kNoTensor) a.mask = matrices<const float>(*head_strides(plan.info(mask), sizes));
  const TensorId result = new_result(plan, result_sizes);
  a.result = matrices<float>(*head_strides(plan.info(result), result_sizes));
  plan.add_step<AttentionStep>(a, q, k, v, mask, result);
  return result;
}

bool lower_attention(PlanBuilder& plan, const Call& call) {
  const std::optional<Product> end = product_of(&call);
  const Call* softmax = end && end->a_order.empty() ? only_source(plan, *end->a) : nullptr;
  if (!softmax || softmax->kind().str() != "aten::softmax") return false;
  const TensorId weights = plan.tensor(*end->a);
  if (!softmax->is_none("dtype") || !is_last(plan, weights, softmax->known_int("dim"))) {
    return false;
  }
  Scores scores = find_scores(plan, softmax->arguments[0]);
  if (!scores.product || !scores.product->result_order.empty()) return false;
  const auto operand = [&](const CallArgument& argument, const IntArray& order) {
    return permuted(plan, plan.tensor(argument), order);
  };
  const CallArgument& q = without_scale(plan, *scores.product->a, scores.scale);
  const CallArgument& k = without_scale(plan, *scores.product->b, scores.scale);
  const TensorId result = add_attention(
      plan, operand(q, scores.product->a_order), operand(k, scores.product->b_order),
      operand(*end->b, end->b_order), scores.mask ? plan.tensor(*scores.mask) : kNoTensor,
      static_cast<float>(scores.scale));
  if (result == kNoTensor) return false;
  plan.define(call, permuted(plan, result, end->result_order));
  return true;
}

}  // namespace torchlet::cpu
