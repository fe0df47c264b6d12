#include "builder.h"

#include <algorithm>
#include <cmath>

namespace torchlet::random_graphs {

// Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (SplitMix64).
uint64_t Random::next() {
  uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

float Random::real(float low, float high) {
  return low + (high - low) * static_cast<float>(next() >> 40) * 0x1p-24f;
}

Builder::Builder(Program& program, Expressions& expressions, uint64_t seed)
    : random(seed), program_(program), evaluator_(program, expressions, seed) {}

ValueId Builder::new_value(const std::string& type) {
  program_.variables.push_back({Variable::Kind::kComputed, type, {}});
  return static_cast<ValueId>(program_.variables.size() - 1);
}

ValueId Builder::add_input(const Tensor& tensor) {
  program_.variables.push_back({Variable::Kind::kInput, "Tensor", tensor});
  const auto id = static_cast<ValueId>(program_.variables.size() - 1);
  evaluator_.define(id, tensor);
  visible_.push_back(id);
  return id;
}

ValueId Builder::add_weight(const Tensor& tensor) {
  program_.variables.push_back({Variable::Kind::kWeight, "Tensor", tensor});
  const auto id = static_cast<ValueId>(program_.variables.size() - 1);
  evaluator_.define(id, tensor);
  return id;
}

std::vector<ValueId> Builder::weights() const { return program_.ids(Variable::Kind::kWeight); }

ValueId Builder::weight(const IntArray& sizes, double limit) {
  const int64_t numel = checked_numel(sizes);
  std::vector<ValueId> same = weights();
  std::erase_if(same, [&](ValueId id) { return tensor(id).numel() != numel; });
  if (!same.empty() && random.chance(0.4)) {
    const ValueId id = random.pick(same);
    IntArray known = this->sizes(id);
    if (known == sizes) return id;
    if (known.size() >= 2 && known.size() == sizes.size() && random.chance(0.7)) {
      std::swap(known[0], known[1]);
      if (known == sizes) {
        if (const auto turned = exact("torch.transpose($0, 0, 1)", {id})) return *turned;
      }
    }
    if (const auto shaped = exact("torch.reshape($0, " + text_of(sizes) + ")", {id})) {
      return *shaped;
    }
  }
  const auto bound = static_cast<float>(limit);
  return add_weight(random_tensor(random, sizes, -bound, bound));
}

ValueId Builder::layer_weight(const IntArray& sizes, int64_t terms) {
  return weight(sizes, std::sqrt(3.0 / static_cast<double>(std::max<int64_t>(terms, 1))));
}

std::optional<ValueId> Builder::call(const std::string& text, const std::vector<ValueId>& reads,
                                     Arithmetic arithmetic, double terms) {
  const std::vector<ValueId> results = call_many(1, text, reads, arithmetic, terms);
  if (results.empty()) return std::nullopt;
  return results[0];
}

std::optional<ValueId> Builder::call_typed(const std::string& type, const std::string& text,
                                           const std::vector<ValueId>& reads,
                                           Arithmetic arithmetic) {
  const ValueId id = new_value(type);
  if (add({Step::Kind::kCall, text, reads, {id}, {}, arithmetic})) return id;
  program_.variables.pop_back();
  return std::nullopt;
}

std::vector<ValueId> Builder::call_many(size_t results, const std::string& text,
                                        const std::vector<ValueId>& reads, Arithmetic arithmetic,
                                        double terms) {
  std::vector<ValueId> ids;
  for (size_t i = 0; i < results; ++i) ids.push_back(new_value());
  if (!add({Step::Kind::kCall, text, reads, ids, {}, arithmetic, false, terms})) {
    program_.variables.resize(program_.variables.size() - results);
    return {};
  }
  // Weights that are only reshaped are no values to go on from.
  const auto is_computed = [&](ValueId id) {
    return std::ranges::find(visible_, id) != visible_.end();
  };
  if (std::ranges::any_of(reads, is_computed))
    visible_.insert(visible_.end(), ids.begin(), ids.end());
  return ids;
}

std::optional<ValueId> Builder::call_in_place(const std::string& text,
                                              const std::vector<ValueId>& reads,
                                              Arithmetic arithmetic) {
  const ValueId id = new_value();
  const Evaluator before = evaluator_;
  evaluator_.own_memory();
  const bool is_fit_for_all =
      add({Step::Kind::kCall, text, reads, {id}, {}, arithmetic, true}) &&
      std::ranges::all_of(evaluator_.sharers(reads[0]),
                          [&](ValueId sharer) { return is_fit(evaluator_.state(sharer)); });
  if (is_fit_for_all) {
    visible_.push_back(id);
    return id;
  }
  if (!steps_.empty() && steps_.back().results == std::vector<ValueId>{id}) steps_.pop_back();
  evaluator_ = before;
  program_.variables.pop_back();
  return std::nullopt;
}

bool Builder::is_fit(const State& state) {
  if (!state.value.is_tensor()) return state.is_exact || state.value.is_custom();
  constexpr double kLargest = 1000;
  constexpr int64_t kMostElements = 40000, kMostDims = 6;
  const Tensor value = state.value.to_tensor();
  if (value.numel() > kMostElements || value.dim() > kMostDims) return false;
  if (!is_floating_point(value.dtype())) return state.is_exact;
  const double most = largest(value);
  if (!(most <= kLargest)) return false;
  if (state.is_exact) return true;
  const double sensitive = program_.precision == Precision::kFloat32 ? 2e-4 : 0.03;
  return largest_difference(value, state.rounded.to_tensor()) <= sensitive * most;
}

bool Builder::add(Step step) {
  try {
    evaluator_.run(step);
  } catch (const Error&) {
    return false;
  }
  const auto fits = [&](ValueId id) {
    const State& state = evaluator_.state(id);
    const bool is_empty = state.value.is_tensor() && state.value.tensor_impl()->numel == 0;
    return is_fit(state) && (!is_empty || random.chance(0.1));
  };
  if (!std::ranges::all_of(step.results, fits)) return false;
  steps_.push_back(std::move(step));
  return true;
}

ValueId Builder::new_carried(ValueId begin) {
  const ValueId id = new_value();
  evaluator_.carry(begin, id);
  return id;
}

Builder::Saved Builder::enter(std::optional<ValueId> carried) {
  Saved saved{evaluator_, visible_, std::move(steps_)};
  steps_.clear();
  evaluator_.own_memory();
  if (carried) visible_.push_back(*carried);
  ++depth_;
  return saved;
}

std::optional<Block> Builder::leave(Saved saved, std::optional<ValueId> result) {
  --depth_;
  std::optional<Block> block;
  if (result) block = Block{std::move(steps_), *result};
  evaluator_ = std::move(saved.evaluator);
  visible_ = std::move(saved.visible);
  steps_ = std::move(saved.steps);
  for (const ValueId id : weights()) {
    if (!evaluator_.is_defined(id)) {
      evaluator_.define(id, program_.variables[static_cast<size_t>(id)].initial);
    }
  }
  return block;
}

std::optional<ValueId> Builder::add_branch(ValueId condition, Block then, Block other) {
  const ValueId id = new_value();
  Step step{Step::Kind::kIf, "", {condition}, {id}, {std::move(then), std::move(other)}};
  return add_control(std::move(step));
}

std::optional<ValueId> Builder::add_loop(ValueId begin, ValueId carried, const std::string& count,
                                         std::optional<ValueId> count_value, Block body) {
  std::vector<ValueId> reads = {begin};
  if (count_value) reads.push_back(*count_value);
  Step step{Step::Kind::kLoop, count, reads, {carried}, {std::move(body)}};
  return add_control(std::move(step));
}

// Its blocks may have changed anything.
std::optional<ValueId> Builder::add_control(Step step) {
  const Evaluator before = evaluator_;
  evaluator_.own_memory();
  const ValueId result = step.results[0];
  const auto fits = [&](ValueId id) { return is_fit(evaluator_.state(id)); };
  if (add(step)) {
    if (std::ranges::all_of(visible_, fits)) {
      visible_.push_back(result);
      return result;
    }
    steps_.pop_back();
  }
  evaluator_ = before;
  return std::nullopt;
}

std::string text_of(const IntArray& ints) {
  std::string text = "[";
  for (size_t i = 0; i < ints.size(); ++i) text += (i ? ", " : "") + std::to_string(ints[i]);
  return text + "]";
}

Tensor random_tensor(Random& random, const IntArray& sizes, float low, float high) {
  const Tensor tensor = empty(sizes, DType::kFloat32);
  float* data = tensor.data_ptr<float>();
  for (int64_t i = 0; i < tensor.numel(); ++i) data[i] = random.real(low, high);
  return tensor;
}

}  // namespace torchlet::random_graphs
