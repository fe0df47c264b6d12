#include "neuralnetworks/runtime/compiled_model.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "base/limits.h"
#include "device/partition.h"
#include "device/registry.h"
#include "interp/code.h"
#include "interp/interpreter.h"
#include "neuralnetworks/model/specialise.h"
#include "neuralnetworks/translate/representation.h"
#include "neuralnetworks/translate/translate.h"
#include "passes/pipeline.h"
#include "tensor/containers.h"

namespace torchlet::nn {
namespace {

class ModelFunction final : public Function {
 public:
  explicit ModelFunction(std::unique_ptr<Graph> graph) : graph_(std::move(graph)) {}
  const std::string& qualified_name() const override { return name_; }
  const Schema& schema() override { return schema_; }
  const Graph& graph() override { return *graph_; }
  void replace(std::unique_ptr<Graph> graph) { graph_ = std::move(graph); }

 private:
  std::string name_ = "model";
  Schema schema_;
  std::unique_ptr<Graph> graph_;
};

// The model for given omissions and given values of its scalar inputs, which may decide what is
// computed (paddings, axes, activations) and so are constants.
class Variant {
 public:
  Variant(const Model& model, std::span<const Input> inputs, const CompileOptions& options)
      : model_(model), function_(translate(specialised(inputs))) {
    const auto devices = device::make_devices(options.devices, {});
    if (!devices.empty()) {
      passes::Optimized optimized = passes::optimize(function_, Value(), {});
      device::partition(*optimized.graph, devices, placement_);
      function_.replace(std::move(optimized.graph));
    }
    code_ = interp::flatten(function_.graph());
  }

  Value run(std::vector<Value> arguments) const {
    return interpreter_.run(function_, code_, std::move(arguments));
  }

 private:
  const Model& specialised(std::span<const Input> inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].data) {
        fix_input(model_, i, {}, nullptr);
      } else if (is_scalar(model_.operands[model_.inputs[i]].type)) {
        auto kept = std::make_shared<std::vector<std::byte>>(inputs[i].data,
                                                             inputs[i].data + inputs[i].nbytes);
        const std::span<const std::byte> value = *kept;
        fix_input(model_, i, value, std::move(kept));
      }
    }
    return model_;
  }

  Model model_;
  mutable ModelFunction function_;
  std::shared_ptr<device::PlacementLog> placement_ = std::make_shared<device::PlacementLog>();
  interp::Code code_;
  interp::Interpreter interpreter_;
};

class GraphModel final : public CompiledModel {
 public:
  GraphModel(std::shared_ptr<const Model> model, CompileOptions options)
      : model_(std::move(model)), options_(std::move(options)) {
    const bool has_scalars = std::ranges::any_of(
        model_->inputs, [&](uint32_t i) { return is_scalar(model_->operands[i].type); });
    // Errors of the model are errors of its compilation.
    if (!has_scalars) {
      static constexpr std::byte kGiven{};
      variant(std::vector<Input>(model_->inputs.size(), Input{.dims = {}, .data = &kGiven}));
    }
  }

  void run(const std::vector<Input>& inputs, OutputSink& outputs,
           const RunOptions& options) const override {
    const LimitScope limits(nullptr, static_cast<double>(options.timeout_nanoseconds) * 1e-9);
    check(inputs);
    std::vector<Value> arguments;
    for (size_t i = 0; i < inputs.size(); ++i) arguments.push_back(argument(i, inputs[i]));
    arguments.emplace_back(static_cast<int64_t>(options.loop_timeout_nanoseconds));
    const std::vector<Value> results = variant(inputs)->run(std::move(arguments)).to_tuple();

    for (size_t i = 0; i < results.size(); ++i) check_output(i, results[i]);
    for (size_t i = 0; i < results.size(); ++i) {
      const Operand& operand = model_->operands[model_->outputs[i]];
      std::byte* target = outputs.receive(i, dims_of(results[i]), bytes_of(operand, results[i]));
      if (target) unhold(operand, results[i], target);
    }
  }

 private:
  // Per input: whether it is given, and the bytes of a scalar.
  using Key = std::vector<std::vector<std::byte>>;

  Key key_of(std::span<const Input> inputs) const {
    Key key;
    for (size_t i = 0; i < inputs.size(); ++i) {
      std::vector<std::byte> part(1, std::byte{inputs[i].data != nullptr});
      if (inputs[i].data && is_scalar(model_->operands[model_->inputs[i]].type)) {
        part.insert(part.end(), inputs[i].data, inputs[i].data + inputs[i].nbytes);
      }
      key.push_back(std::move(part));
    }
    return key;
  }

  std::shared_ptr<const Variant> variant(std::span<const Input> inputs) const {
    Key key = key_of(inputs);
    const std::lock_guard lock(mutex_);
    const auto found = variants_.find(key);
    if (found != variants_.end()) return found->second;
    // Scalars may take any number of values.
    if (variants_.size() >= kMaxVariants) variants_.clear();
    auto made = std::make_shared<const Variant>(*model_, inputs, options_);
    variants_.emplace(std::move(key), made);
    return made;
  }

  void check(const std::vector<Input>& inputs) const {
    TORCHLET_CHECK(inputs.size() == model_->inputs.size(), "the model takes %zu inputs, not %zu",
                   model_->inputs.size(), inputs.size());
  }

  Value argument(size_t i, const Input& input) const {
    const Operand& operand = model_->operands[model_->inputs[i]];
    // A scalar is a constant of its variant.
    if (!input.data || is_scalar(operand.type)) return Value();
    check_dims("input", i, operand, input.dims);
    return hold(operand, input.dims, {input.data, input.nbytes}, nullptr);
  }

  void check_output(size_t i, const Value& result) const {
    const Operand& operand = model_->operands[model_->outputs[i]];
    if (!is_scalar(operand.type)) check_dims("output", i, operand, dims_of(result));
  }

  static void check_dims(const char* what, size_t i, const Operand& operand,
                         std::span<const uint32_t> dims) {
    if (operand.dims.empty()) return;
    const bool fits = std::ranges::equal(operand.dims, dims, [](uint32_t declared, uint32_t is) {
      return declared == 0 || declared == is;
    });
    if (fits) return;
    const auto text = [](std::span<const uint32_t> sizes) {
      return shape_text(IntArray(sizes.begin(), sizes.end()));
    };
    fail(ErrorCode::kInvalidArgument, "%s %zu has sizes %s, and the model says %s", what, i,
         text(dims).c_str(), text(operand.dims).c_str());
  }

  static constexpr size_t kMaxVariants = 16;

  std::shared_ptr<const Model> model_;
  CompileOptions options_;
  mutable std::mutex mutex_;
  mutable std::map<Key, std::shared_ptr<const Variant>> variants_;
};

}  // namespace

std::shared_ptr<const CompiledModel> compile(std::shared_ptr<const Model> model,
                                             const CompileOptions& options) {
  return std::make_shared<GraphModel>(std::move(model), options);
}

}  // namespace torchlet::nn
