// What the families of random steps share: the program so far, its values, and how to go on.
#pragma once

#include <optional>

#include "evaluator.h"
#include "tensor/tensor_impl.h"

namespace torchlet::random_graphs {

// The same numbers from the same seed, everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool chance(double p) { return real(0, 1) < p; }
  float real(float low, float high);
  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<size_t>(below(static_cast<int64_t>(from.size())))];
  }
  template <typename T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[below(static_cast<int64_t>(from.size()))];
  }

 private:
  uint64_t state_;
};

using Arithmetic = Step::Arithmetic;

class Builder {
 public:
  Builder(Program& program, Expressions& expressions, uint64_t seed);

  Random random;

  // ---- values ----

  ValueId add_input(const Tensor& tensor);
  // A float32 weight of these sizes, uniform in ±limit; often one that is there already, perhaps
  // reshaped or transposed.
  ValueId weight(const IntArray& sizes, double limit = 1);
  // Weights of layers keep the size of numbers: `terms` products are added up.
  ValueId layer_weight(const IntArray& sizes, int64_t terms);
  // A new weight of just these elements.
  ValueId add_weight(const Tensor& tensor);

  Tensor tensor(ValueId id) const { return evaluator_.state(id).value.to_tensor(); }
  IntArray sizes(ValueId id) const { return tensor(id).sizes(); }
  bool is_exact(ValueId id) const { return evaluator_.state(id).is_exact; }
  bool is_float(ValueId id) const { return tensor(id).dtype() == DType::kFloat32; }

  // Tensors that a step may read here, weights left out.
  const std::vector<ValueId>& visible() const { return visible_; }
  template <typename Predicate>
  std::vector<ValueId> visible_where(const Predicate& predicate) const {
    std::vector<ValueId> ids;
    for (const ValueId id : visible_) {
      if (predicate(id)) ids.push_back(id);
    }
    return ids;
  }
  // One of those, mostly a recent one.
  template <typename Predicate>
  std::optional<ValueId> any(const Predicate& predicate) {
    const std::vector<ValueId> ids = visible_where(predicate);
    if (ids.empty()) return std::nullopt;
    const auto count = static_cast<int64_t>(ids.size());
    const int64_t back =
        random.chance(0.7) ? random.below(std::min<int64_t>(count, 3)) : random.below(count);
    return ids[static_cast<size_t>(count - 1 - back)];
  }

  // All weights of the program; float32.
  std::vector<ValueId> weights() const;

  // Packed weights of quantized layers that another layer may have, too.
  struct Packed {
    ValueId id = 0, weight = 0;       // quantized
    int64_t channels = 0, terms = 0;  // of the input; products that are added up
    bool is_linear = false;
  };
  std::vector<Packed> packed;

  // ---- steps ----

  // The result of an expression; nothing if it raises, or if its result is not fit for tests: not
  // finite, huge, ill-conditioned, or discrete and of rounded numbers.
  std::optional<ValueId> call(const std::string& text, const std::vector<ValueId>& reads,
                              Arithmetic arithmetic = Arithmetic::kRounds, double terms = 1);
  std::optional<ValueId> exact(const std::string& text, const std::vector<ValueId>& reads) {
    return call(text, reads, Arithmetic::kExact);
  }
  // Of another type than Tensor; no step picks it by itself.
  std::optional<ValueId> call_typed(const std::string& type, const std::string& text,
                                    const std::vector<ValueId>& reads, Arithmetic arithmetic);
  // Several results.
  std::vector<ValueId> call_many(size_t results, const std::string& text,
                                 const std::vector<ValueId>& reads,
                                 Arithmetic arithmetic = Arithmetic::kExact, double terms = 1);
  // Changes reads[0].
  std::optional<ValueId> call_in_place(const std::string& text, const std::vector<ValueId>& reads,
                                       Arithmetic arithmetic = Arithmetic::kRounds);

  // Steps that `make` adds, in a block of their own: they run on copies of what is there, and
  // nothing outside sees them. `carried`, if any, is what a loop brings back. Nothing if none of
  // them gave a tensor that `fits`.
  template <typename Make, typename Fits>
  std::optional<Block> block(std::optional<ValueId> carried, const Make& make, const Fits& fits) {
    const Saved saved = enter(carried);
    make();
    std::optional<ValueId> result;
    for (size_t i = saved.visible.size(); i < visible_.size(); ++i) {
      if (visible_[i] != carried && fits(visible_[i])) result = visible_[i];
    }
    return leave(saved, result);
  }
  int depth() const { return depth_; }
  std::vector<Step> take_steps() { return std::move(steps_); }
  // What a loop that begins with this value carries: for its block.
  ValueId new_carried(ValueId begin);
  std::optional<ValueId> add_branch(ValueId condition, Block then, Block other);
  std::optional<ValueId> add_loop(ValueId begin, ValueId carried, const std::string& count,
                                  std::optional<ValueId> count_value, Block body);

 private:
  struct Saved {
    Evaluator evaluator;
    std::vector<ValueId> visible;
    std::vector<Step> steps;
  };
  Saved enter(std::optional<ValueId> carried);
  std::optional<Block> leave(Saved saved, std::optional<ValueId> result);
  ValueId new_value(const std::string& type = "Tensor");
  bool add(Step step);
  std::optional<ValueId> add_control(Step step);
  bool is_fit(const State& state);

  Program& program_;
  Evaluator evaluator_;
  std::vector<ValueId> visible_;
  std::vector<Step> steps_;  // of this block
  int depth_ = 0;
};

// "[1, 2]"
std::string text_of(const IntArray& ints);
// float32, uniform.
Tensor random_tensor(Random& random, const IntArray& sizes, float low, float high);

}  // namespace torchlet::random_graphs
