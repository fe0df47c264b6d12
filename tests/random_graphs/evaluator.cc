#include "evaluator.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "tensor/containers.h"
#include "tensor/tensor_impl.h"

namespace torchlet::random_graphs {
namespace {

bool is_float(const Value& value) {
  return value.is_tensor() && is_floating_point(value.tensor_impl()->dtype);
}

bool shares_memory(const Value& a, const Value& b) {
  return a.is_tensor() && b.is_tensor() && a.tensor_impl()->storage == b.tensor_impl()->storage;
}

// Calls visit(element) for each element of a float32 or float64 tensor.
template <typename T, typename Visit>
void for_each_of(T* data, IntSpan sizes, IntSpan strides, const Visit& visit) {
  if (sizes.empty()) return visit(*data);
  for (int64_t i = 0; i < sizes[0]; ++i) {
    for_each_of(data + i * strides[0], sizes.subspan(1), strides.subspan(1), visit);
  }
}
template <typename Visit>
void for_each_element(const Tensor& tensor, const Visit& visit) {
  if (tensor.dtype() == DType::kFloat32) {
    for_each_of(tensor.data_ptr<float>(), tensor.sizes(), tensor.strides(), visit);
  } else if (tensor.dtype() == DType::kFloat64) {
    for_each_of(tensor.data_ptr<double>(), tensor.sizes(), tensor.strides(), visit);
  }
}

// A copy of all elements that the storage holds.
Ref<Storage> copy_of(Storage& storage) {
  auto copy = make_ref<Storage>(storage.nbytes());
  std::copy_n(storage.data(), storage.nbytes(), copy->data());
  return copy;
}

// The same view of another storage.
Tensor moved(const TensorImpl& impl, const Ref<Storage>& storage) {
  const Tensor tensor =
      make_tensor(storage, impl.dtype, impl.sizes, impl.strides, impl.storage_offset);
  tensor.impl()->quantizer = impl.quantizer;
  return tensor;
}

}  // namespace

Value Expressions::call(const std::string& text, const std::vector<std::string>& types,
                        const std::vector<std::string>& results, std::vector<Value> arguments) {
  std::vector<std::string> names;
  std::string parameters, names_of_results, types_of_results;
  for (size_t i = 0; i < types.size(); ++i) {
    names.push_back("a" + std::to_string(i));
    parameters += (i ? ", " : "") + names.back() + ": " + types[i];
  }
  for (size_t i = 0; i < results.size(); ++i) {
    names_of_results += (i ? ", r" : "r") + std::to_string(i);
    types_of_results += (i ? ", " : "") + results[i];
  }
  const bool is_tuple = results.size() > 1;
  const std::string source = "def f(" + parameters + ") -> " +
                             (is_tuple ? "Tuple[" + types_of_results + "]" : types_of_results) +
                             ":\n  " + names_of_results + " = " + substituted(text, names) +
                             "\n  return " +
                             (is_tuple ? "(" + names_of_results + ")" : names_of_results) + "\n";
  if (!interpreter_ || units_.size() > kMost) {
    interpreter_ = std::make_unique<interp::Interpreter>();
    units_.clear();
  }
  auto& unit = units_[source];
  if (!unit) {
    script::Program program;
    program.find_source = [source](const std::string& package) -> std::shared_ptr<const Source> {
      if (package != "__torch__") return nullptr;
      return std::make_shared<Source>(Source{"code/__torch__.py", source, 1, nullptr});
    };
    unit = std::make_unique<script::CompilationUnit>(std::move(program));
  }
  return interpreter_->run(*unit->find_function("__torch__.f"), std::move(arguments));
}

Evaluator::Evaluator(const Program& program, Expressions& expressions, uint64_t noise)
    : program_(&program), expressions_(&expressions), noise_(noise * 2 + 1) {}

double Evaluator::epsilon() const { return program_->epsilon(); }

State& Evaluator::at(ValueId id) {
  if (states_.size() <= static_cast<size_t>(id)) states_.resize(static_cast<size_t>(id) + 1);
  return states_[static_cast<size_t>(id)];
}

bool Evaluator::is_defined(ValueId id) const {
  return static_cast<size_t>(id) < states_.size() && !state(id).value.is_none();
}

void Evaluator::start(const std::vector<Tensor>& inputs) {
  states_.clear();
  const std::vector<ValueId> ids = program_->ids(Variable::Kind::kInput);
  for (size_t i = 0; i < ids.size(); ++i) define(ids[i], inputs.at(i));
  for (const ValueId id : program_->ids(Variable::Kind::kWeight)) {
    define(id, program_->variables[static_cast<size_t>(id)].initial);
  }
}

void Evaluator::define(ValueId id, const Tensor& tensor) {
  State& state = at(id);
  state = {copy_with_strides(tensor), copy_with_strides(tensor), true};
  // A layer may round what it reads, and in float16 the plan may go on with that.
  const bool is_input = program_->variables[static_cast<size_t>(id)].kind == Variable::Kind::kInput;
  if (is_input && program_->precision != Precision::kFloat32 && is_float(state.value)) {
    round(state.rounded.to_tensor(), epsilon());
    state.is_exact = false;
  }
}

void Evaluator::carry(ValueId from, ValueId carried) {
  State copy = state(from);
  copy.is_exact = false;
  at(carried) = std::move(copy);
}

double Evaluator::random_sign() {
  noise_ ^= noise_ << 13;
  noise_ ^= noise_ >> 7;
  noise_ ^= noise_ << 17;
  return noise_ & 0x10000 ? 1 : -1;
}

void Evaluator::round(const Tensor& value, double epsilon) {
  for_each_element(value, [&](auto& element) {
    element *= static_cast<std::remove_reference_t<decltype(element)>>(1 + epsilon * random_sign());
  });
}

void Evaluator::shift(const Tensor& value, double by) {
  for_each_element(value, [&](auto& element) {
    element += static_cast<std::remove_reference_t<decltype(element)>>(by * random_sign());
  });
}

void Evaluator::run(const std::vector<Step>& steps) {
  for (const Step& step : steps) run(step);
}

void Evaluator::run(const Step& step) {
  if (step.kind == Step::Kind::kCall) return run_call(step);
  if (step.kind == Step::Kind::kIf) {
    const State condition = state(step.reads[0]);
    const Block& block = step.blocks[condition.value.to_bool() ? 0 : 1];
    run(block.steps);
    State result = state(block.result);
    result.is_exact = result.is_exact && condition.is_exact;
    at(step.results[0]) = result;
    return;
  }
  State carried = state(step.reads[0]);
  at(step.results[0]) = carried;
  const int64_t times =
      step.reads.size() > 1 ? state(step.reads[1]).value.to_int() : std::stoll(step.text);
  for (int64_t i = 0; i < times; ++i) {
    run(step.blocks[0].steps);
    carried = state(step.blocks[0].result);
    at(step.results[0]) = carried;
  }
}

void Evaluator::run_call(const Step& step) {
  std::vector<Value> values, rounded;
  std::vector<std::string> types, results;
  const bool rounds = step.arithmetic <= Step::Arithmetic::kRoundsOperand;
  bool is_exact = !rounds;
  const double wrong = epsilon() * std::sqrt(step.terms);
  for (size_t i = 0; i < step.reads.size(); ++i) {
    const ValueId id = step.reads[i];
    const State& read = state(id);
    types.push_back(program_->variables[static_cast<size_t>(id)].type);
    values.push_back(read.value);
    rounded.push_back(read.rounded);
    is_exact = is_exact && (read.is_exact || step.arithmetic == Step::Arithmetic::kOfShapes);
    // Sums round what they add up: as if that had been rounded by more.
    if (rounds && !(step.writes && i == 0) && is_float(read.rounded)) {
      const Tensor copy = read.rounded.to_tensor().clone();
      round(copy, wrong);
      rounded.back() = copy;
    }
  }
  for (const ValueId id : step.results) {
    results.push_back(program_->variables[static_cast<size_t>(id)].type);
  }
  const Value value = expressions_->call(step.text, types, results, values);
  const Value other = expressions_->call(step.text, types, results, rounded);
  const auto set = [&](ValueId id, const Value& v, const Value& r) {
    if (rounds && !step.writes && is_float(r)) round(r.to_tensor(), epsilon());
    if (step.arithmetic == Step::Arithmetic::kRoundsOperand) {
      shift(r.to_tensor(), epsilon() * largest(values[0].to_tensor()));
    }
    at(id) = {v, r, is_exact};
  };
  if (results.size() == 1) {
    set(step.results[0], value, other);
  } else {
    const std::vector<Value> items = value.to_tuple(), others = other.to_tuple();
    for (size_t i = 0; i < results.size(); ++i) set(step.results[i], items[i], others[i]);
  }
  if (step.writes) {
    if (rounds && is_float(other)) round(state(step.reads[0]).rounded.to_tensor(), wrong);
    if (!is_exact) {
      for (const ValueId id : sharers(step.reads[0])) at(id).is_exact = false;
    }
  }
}

std::vector<ValueId> Evaluator::sharers(ValueId id) const {
  std::vector<ValueId> sharers;
  for (size_t i = 0; i < states_.size(); ++i) {
    if (shares_memory(states_[i].value, state(id).value)) {
      sharers.push_back(static_cast<ValueId>(i));
    }
  }
  return sharers;
}

void Evaluator::own_memory() {
  std::unordered_map<const Storage*, Ref<Storage>> copies;
  const auto copy = [&](Value& value) {
    if (!value.is_tensor()) return;
    const TensorImpl& impl = *value.tensor_impl();
    Ref<Storage>& storage = copies[impl.storage.get()];
    if (!storage) storage = copy_of(*impl.storage);
    value = moved(impl, storage);
  };
  for (State& state : states_) {
    copy(state.value);
    copy(state.rounded);
  }
}

Tensor copy_with_strides(const Tensor& tensor) {
  return moved(*tensor.impl(), copy_of(*tensor.impl()->storage));
}

double largest(const Tensor& a) {
  double most = 0;
  const Tensor x = a.to(DType::kFloat64);
  for_each_element(x, [&](double element) {
    // Once NaN, always NaN.
    most =
        std::isnan(most) || element != element ? std::nan("") : std::max(most, std::abs(element));
  });
  return most;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  const Tensor x = a.to(DType::kFloat64).contiguous(), y = b.to(DType::kFloat64).contiguous();
  double most = 0;
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double p = x.data_ptr<double>()[i], q = y.data_ptr<double>()[i];
    if (p == q || (std::isnan(p) && std::isnan(q))) continue;
    const double difference = std::abs(p - q);
    if (std::isnan(difference)) return difference;
    most = std::max(most, difference);
  }
  return most;
}

}  // namespace torchlet::random_graphs
