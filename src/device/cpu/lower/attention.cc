// softmax(changes(scale q k^T)) v, recognised from its end: the last product looks back, and the
// steps that were made for the others before are dropped, since nobody reads what they compute.
// The changes are masks and the like. Between them programs split and join the dimensions of heads.
#include <algorithm>
#include <array>

#include "device/cpu/lower/lowering.h"
#include "graph/prim_kinds.h"
#include "kernels/sequence/attention.h"

namespace torchlet::cpu {
namespace {

using kernels::AttentionF32;
using kernels::ScoreChange;
using Kind = ScoreChange::Kind;

class AttentionStep : public Step {
 public:
  AttentionStep(const AttentionF32& attention, TensorId q, TensorId k, TensorId v,
                std::span<const AttentionChange> changes, TensorId result)
      : attention_(attention),
        q_(reading(Operand::fixed(q))),
        k_(reading(Operand::fixed(k))),
        v_(reading(Operand::fixed(v))),
        result_(writing(Operand::fixed(result))) {
    for (const AttentionChange& change : changes) {
      changes_.push_back(change.change);
      operands_.push_back(change.operand == kNoTensor ? Operand()
                                                      : reading(Operand::fixed(change.operand)));
    }
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
    a.result.data = m.data<float>(result_);
    std::array<ScoreChange, kMostChanges> changes;
    for (size_t i = 0; i < changes_.size(); ++i) {
      changes[i] = changes_[i];
      if (operands_[i].id() == kNoTensor) continue;
      if (changes[i].kind == Kind::kAdd || changes[i].kind == Kind::kScale) {
        changes[i].terms.data = m.data<float>(operands_[i]);
      } else {
        changes[i].chosen.data = m.data<uint8_t>(operands_[i]);
      }
    }
    a.changes = {changes.data(), changes_.size()};
    kernels::attention_f32(a);
  }

 private:
  AttentionF32 attention_;
  std::vector<ScoreChange> changes_;
  Operand q_, k_, v_, result_;
  std::vector<Operand> operands_;  // of the changes
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

std::optional<Product> product_of(PlanBuilder& plan, const Call* call) {
  if (!call) return std::nullopt;
  if (call->kind().str() == "aten::einsum") return product_of_einsum(plan, *call);
  if (!is_one_of(*call, {"aten::matmul", "aten::bmm"})) return std::nullopt;
  return Product{&call->arguments[0], &call->arguments[1]};
}

// Where the scores of a softmax come from.
struct Scores {
  struct Change {
    Kind kind;
    double number;
    const CallArgument* operand;
    const CallArgument* scores;  // which it changes
  };
  std::optional<Product> product;
  const CallArgument* result = nullptr;  // of the product
  double scale = 1;
  std::vector<Change> changes;
};

// Whether the call only splits or joins dimensions before the last two.
bool views_heads(PlanBuilder& plan, const Call& call) {
  if (!is_one_of(call, {"aten::view", "aten::reshape", "aten::_unsafe_view"})) return false;
  const IntArray from = plan.info(plan.tensor(call, 0)).sizes;
  const IntArray to = plan.info(plan.tensor(call.outputs[0])).sizes;
  return from.size() > 2 && to.size() > 2 && std::equal(from.end() - 2, from.end(), to.end() - 2);
}

// What computes scores for their call alone, behind such views as well.
const Call* source_of_scores(PlanBuilder& plan, const CallArgument& argument) {
  const Call* source = only_source(plan, argument);
  while (source && views_heads(plan, *source)) source = only_source(plan, source->arguments[0]);
  return source;
}

// Whether `scores`, times `scale`, are a product with changes.
bool find_scores(PlanBuilder& plan, const CallArgument& scores, double scale, Scores& found,
                 int depth = 0) {
  constexpr int kMostCalls = 8;
  const Call* source = source_of_scores(plan, scores);
  if (!source || depth == kMostCalls) return false;
  if ((found.product = product_of(plan, source))) {
    found.scale = scale;
    found.result = &source->outputs[0];
    return true;
  }
  const auto behind = [&](Arg arg, double factor) {
    return find_scores(plan, source->argument(arg), factor, found, depth + 1);
  };
  const auto change = [&](Kind kind, double number, const CallArgument* operand) {
    found.changes.push_back({kind, scale * number, operand, &source->outputs[0]});
    return true;
  };
  const auto number = [&](const char* name) {
    return source->has_argument(name) ? known_number(*source, name) : std::nullopt;
  };
  const std::string_view name = source->kind().name();
  if (name == "mul" || (name == "div" && !source->has_argument("rounding_mode"))) {
    if (const auto factor = number("other")) {
      return behind(0, name == "mul" ? scale * *factor : scale / *factor);
    }
    // One for each head, or for each query.
    return name == "mul" && behind(0, scale) && change(Kind::kScale, 0, &source->arguments[1]);
  }
  if (name == "add") {
    if (scale != 1 || source->known_double("alpha") != 1) return false;
    for (size_t i = 0; i < 2; ++i) {
      if (behind(i, 1)) return change(Kind::kAdd, 0, &source->arguments[1 - i]);
    }
    return false;
  }
  if (name == "max" || name == "maximum") {
    const auto least = number("other");
    return least && scale > 0 && behind(0, scale) && change(Kind::kAtLeast, *least, nullptr);
  }
  if (name == "masked_fill") {
    const auto filling = number("value");
    return filling && behind(0, scale) &&
           change(Kind::kFillWhere, *filling, &source->argument("mask"));
  }
  if (name == "where" && source->has_argument("condition")) {
    const auto filling = number("other");
    return filling && behind("self", scale) &&
           change(Kind::kFillUnless, *filling, &source->argument("condition"));
  }
  return false;
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

// What is, or can be expanded to, [heads..., rows, columns], with the heads as in `fine`, which may
// be split further: the elements of `id` in that form. No tensor if these heads are no such parts.
TensorId with_heads(PlanBuilder& plan, TensorId id, IntSpan heads, IntSpan fine) {
  if (std::ranges::equal(heads, fine)) return id;
  const IntArray& own = plan.info(id).sizes;
  const size_t rank = heads.size() + 2;
  if (own.size() > rank) return kNoTensor;
  const auto own_size = [&](size_t d) {
    return d + own.size() < rank ? 1 : own[d + own.size() - rank];
  };
  IntArray sizes;
  size_t next = 0;
  for (size_t d = 0; d < heads.size(); ++d) {
    int64_t parts = 1;
    for (; parts < heads[d] && next < fine.size(); ++next) {
      parts *= fine[next];
      sizes.push_back(own_size(d) == 1 ? 1 : fine[next]);
    }
    if (parts != heads[d]) return kNoTensor;
  }
  for (; next < fine.size(); ++next) {
    if (fine[next] != 1) return kNoTensor;
    sizes.push_back(1);
  }
  sizes.push_back(own_size(rank - 2));
  sizes.push_back(own_size(rank - 1));
  return plan.reshaped(id, sizes);
}

IntSpan heads_of(const IntArray& sizes) { return IntSpan(sizes).first(sizes.size() - 2); }

// The change as the kernel wants it; false if it cannot be.
bool prepare_change(PlanBuilder& plan, AttentionChange& c, const IntArray& scores) {
  if (c.change.kind == Kind::kAtLeast) return true;
  const bool is_fill = c.change.kind == Kind::kFillWhere || c.change.kind == Kind::kFillUnless;
  if (!is_fill) c.operand = plan.in_float32(c.operand);
  const DType dtype = plan.info(c.operand).dtype;
  if (is_fill ? dtype != DType::kBool && dtype != DType::kUInt8 : dtype != DType::kFloat32) {
    return false;
  }
  const IntArray& sizes = plan.info(c.operand).sizes;
  const int64_t keys = scores.back(), columns = sizes.empty() ? 1 : sizes.back();
  if (!can_expand(plan.info(c.operand), scores)) return false;
  if (c.change.kind == Kind::kScale) {
    if (columns != 1) return false;
  } else {
    if (sizes.empty() || columns != keys) return false;
    if (keys > 1 && plan.info(c.operand).strides.back() == 0) return false;
    c.operand = with_dense_rows(plan, c.operand);
  }
  const auto strides = head_strides(plan.info(c.operand), scores);
  if (!strides) return false;
  c.change.terms = matrices<const float>(*strides);
  c.change.chosen = matrices<const uint8_t>(*strides);
  return true;
}

}  // namespace

TensorId add_attention(PlanBuilder& plan, TensorId q, TensorId k, TensorId v,
                       std::span<AttentionChange> changes, double scale, IntSpan result_heads) {
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
  a.scale = static_cast<float>(scale);
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
  for (AttentionChange& change : changes) {
    if (!prepare_change(plan, change, sizes)) return kNoTensor;
  }
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
  IntArray result_sizes(result_heads.begin(), result_heads.end());
  result_sizes.push_back(a.queries);
  result_sizes.push_back(a.value_depth);
  const TensorId result = new_result(plan, result_sizes);
  const TensorId heads = with_heads(plan, result, result_heads, heads_of(sizes));
  a.result = matrices<float>(*head_strides(plan.info(heads), plan.info(heads).sizes));
  plan.add_step<AttentionStep>(a, q, k, v, changes, result);
  return result;
}

bool lower_attention(PlanBuilder& plan, const Call& call) {
  const std::optional<Product> end = product_of(plan, &call);
  const Call* softmax = end && end->a_order.empty() ? source_of_scores(plan, *end->a) : nullptr;
  if (!softmax || softmax->kind().str() != "aten::softmax") return false;
  const TensorId weights = plan.tensor(softmax->outputs[0]);
  if (plan.program_dtype(weights) != DType::kFloat32 ||
      !is_last(plan, weights, softmax->known_int("dim"))) {
    return false;
  }
  Scores scores;
  if (!find_scores(plan, softmax->arguments[0], 1, scores)) return false;
  const Product& product = *scores.product;
  if (!product.result_order.empty() || scores.changes.size() > kMostChanges) return false;
  const auto sizes_of = [&](const CallArgument& argument) -> const IntArray& {
    return plan.info(plan.tensor(argument)).sizes;
  };
  // Where the heads have most dimensions, all others are split so.
  IntArray most = sizes_of(*end->a);
  const auto look_at = [&](const CallArgument& argument) {
    if (const IntArray& sizes = sizes_of(argument); sizes.size() > most.size()) most = sizes;
  };
  look_at(*scores.result);
  for (const Scores::Change& change : scores.changes) look_at(*change.scores);
  const IntSpan fine = heads_of(most);

  const auto operand = [&](const CallArgument& argument, const IntArray& order) {
    const TensorId id = permuted(plan, plan.tensor(argument), order);
    const IntArray sizes = plan.info(id).sizes;
    return sizes.size() < 2 ? kNoTensor : with_heads(plan, id, heads_of(sizes), fine);
  };
  const CallArgument& q_argument = without_scale(plan, *product.a, scores.scale);
  const CallArgument& k_argument = without_scale(plan, *product.b, scores.scale);
  const TensorId q = operand(q_argument, product.a_order);
  const TensorId k = operand(k_argument, product.b_order), v = operand(*end->b, end->b_order);
  std::vector<AttentionChange> changes;
  for (const Scores::Change& change : scores.changes) {
    AttentionChange& c = changes.emplace_back();
    c.change.kind = change.kind;
    c.change.number = static_cast<float>(change.number);
    if (!change.operand) continue;
    const IntArray heads = sizes_of(*change.scores);
    c.operand = with_heads(plan, plan.tensor(*change.operand), heads_of(heads), fine);
    if (c.operand == kNoTensor) return false;
  }
  if (q == kNoTensor || k == kNoTensor || v == kNoTensor) return false;
  const IntArray result_heads = sizes_of(*end->a);
  const TensorId result =
      add_attention(plan, q, k, v, changes, scores.scale, heads_of(result_heads));
  if (result == kNoTensor) return false;
  plan.define(call, permuted(plan, result, end->result_order));
  return true;
}

}  // namespace torchlet::cpu
