#include "prepare/needed_operators.h"

#include <algorithm>
#include <unordered_set>

#include "api/loaded_model.h"
#include "graph/prim_kinds.h"
#include "kernels/conv_nhwc/dwconv_nhwc.h"
#include "kernels/conv_nhwc/winograd_f32.h"
#include "passes/change_log.h"
#include "passes/pipeline.h"
#include "tensor/containers.h"

namespace torchlet::prepare {
namespace {

class FeatureFinder {
 public:
  void value(const Value& value) {
    switch (value.kind()) {
      case ValueKind::kTensor:
        return tensor(*value.tensor_impl());
      case ValueKind::kTuple:
        return values(value.tuple_ref().items);
      case ValueKind::kList:
        return values(value.list_ref().items);
      case ValueKind::kDict:
        for (const auto& [key, item] : value.dict_ref().items()) this->value(item);
        return;
      case ValueKind::kObject:
        if (seen_.insert(&value.object_ref()).second) values(value.object_ref().slots);
        return;
      default:
        return;
    }
  }

  void block(const Block& block) {
    for (const Node* node : block) {
      if (node->op()) call(*node, node->op()->schema);
      if (node->kind() == prim::kConstant) value(node->value_attribute("value"));
      for (const Block* inner : node->blocks()) this->block(*inner);
    }
  }

  std::set<std::string> found;

 private:
  void dtype(DType dtype) {
    if (dtype == DType::kFloat64) found.insert("float64");
    if (is_complex(dtype)) found.insert("complex");
  }
  void tensor(const TensorImpl& tensor) {
    dtype(tensor.dtype);
    if (tensor.sparse) found.insert("sparse");
    if (is_quantized(tensor.dtype)) found.insert("quantized");
    const size_t rank = tensor.sizes.size();
    if (rank != 4 && rank != 5) return;
    if (is_floating_point(tensor.dtype)) filter(tensor.sizes);
    if (tensor.dtype == DType::kInt64) found.insert("rare_convolutions");
  }
  // Of a convolution, if that is what it is.
  void filter(std::span<const int64_t> sizes) {
    const bool is_volume = sizes.size() == 5;
    if (is_volume) found.insert("volumes");
    const bool has_winograd =
        std::min(sizes[0], sizes[1]) >=
        (is_volume ? kernels::kWinogradVolumeChannels : kernels::kWinogradChannels);
    const auto plane = sizes.last(2);
    if (has_winograd && kernels::has_winograd_tiles(plane[0], plane[1])) found.insert("winograd");
    if (sizes[1] > 0 && kernels::dwconv_is_rare(sizes[0], sizes[1], plane[1])) {
      found.insert("rare_convolutions");
    }
  }
  void values(const std::vector<Value>& items) {
    for (const Value& item : items) value(item);
  }
  // A call may be told a dtype, or makes a tensor of a number, which may be float64.
  void call(const Node& node, const Schema& schema) {
    const auto is_tensor = [](const Argument& argument) {
      return argument.type->str().find("Tensor") != std::string::npos;
    };
    bool is_any = std::ranges::any_of(schema.returns, is_tensor) &&
                  std::ranges::none_of(schema.arguments, is_tensor);
    for (size_t i = 0; i < schema.arguments.size() && i < node.inputs().size(); ++i) {
      if (schema.arguments[i].name != "dtype") continue;
      const Node* from = node.input(i)->node();
      const bool is_constant = from->kind() == prim::kConstant;
      const Value told = is_constant ? from->value_attribute("value") : Value();
      if (told.is_int()) dtype(static_cast<DType>(told.to_int()));
      is_any |= !is_constant;
    }
    if (is_any) found.insert({"float64", "complex"});
  }

  std::unordered_set<const Object*> seen_;
};

void count(const Block& block, std::map<std::string, size_t>& counts) {
  for (const Node* node : block) {
    if (node->op()) ++counts[node->op()->schema.full_name()];
    for (const Block* inner : node->blocks()) count(*inner, counts);
  }
}

}  // namespace

std::map<std::string, size_t> optimized_operators(const Module& module) {
  LoadedModel& model = *LoadedModel::handle_of(module);
  const LimitScope scope = model.program->limits->scope();
  const Value& self = LoadedModel::object_of(module);
  std::map<std::string, size_t> counts;
  for (const auto& [name, method] : self.object_ref().type->methods()) {
    count(*model.methods.get(*method, self)->graph().block(), counts);
  }
  return counts;
}

std::set<std::string> needed_passes(const Module& module) {
  LoadedModel& model = *LoadedModel::handle_of(module);
  const LimitScope scope = model.program->limits->scope();
  const Value& self = LoadedModel::object_of(module);
  passes::ChangeLog log;
  passes::Request request;
  request.log = &log;
  // Each method alone, and then knowing what the others write.
  passes::WriteSet writes;
  for (int round = 0; round < 2; ++round) {
    const passes::WriteSet known = writes;
    for (const auto& [name, method] : self.object_ref().type->methods()) {
      writes.merge(passes::optimize(*method, self, known, request).writes);
    }
  }
  std::set<std::string> needed;
  for (const auto& [pass, changes] : log.changes()) {
    if (changes.any) needed.insert(pass);
  }
  return needed;
}

std::set<std::string> needed_features(const Module& module) {
  LoadedModel& model = *LoadedModel::handle_of(module);
  const LimitScope scope = model.program->limits->scope();
  const Value& self = LoadedModel::object_of(module);
  FeatureFinder finder;
  finder.value(self);
  for (const auto& [name, method] : self.object_ref().type->methods()) {
    finder.block(*model.methods.get(*method, self)->graph().block());
  }
  return finder.found;
}

}  // namespace torchlet::prepare
