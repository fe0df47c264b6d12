#include "prepare/written_constants.h"

#include <cstring>
#include <map>
#include <set>
#include <unordered_map>

#include "graph/prim_kinds.h"
#include "passes/analysis/constants.h"
#include "tensor/containers.h"
#include "tensor/tensor_impl.h"

namespace torchlet::prepare {
namespace {

bool is_plain(const TensorImpl& tensor) {
  return tensor.storage && !tensor.sparse && !tensor.nested && !tensor.quantizer;
}

std::span<const std::byte> bytes_of(const Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.raw_data()),
          static_cast<size_t>(tensor.numel()) * element_size(tensor.dtype())};
}

class Settler {
 public:
  explicit Settler(const std::unordered_set<std::string>& taken) : taken_(taken) {}

  std::vector<GivenAttribute> run(const std::vector<Graph*>& graphs) {
    for (Graph* graph : graphs) {
      construct_containers(*graph);
      for_each_constant(*graph, [&](Node&, const Value& value) {
        if (value.is_tensor()) count(*value.tensor_impl());
      });
    }
    for (Graph* graph : graphs) {
      for_each_constant(*graph, [&](Node& node, const Value& value) {
        if (value.is_tensor()) {
          node.set_attribute("value", Value(tensor(value.to_tensor())));
        } else if (value.is_custom()) {
          give(node, value);
        }
      });
    }
    return std::move(given_);
  }

  static void construct_containers(Graph& graph) {
    for_each_constant(graph, [&](Node& node, const Value& value) {
      if (has_text(value)) return;
      node.output()->replace_all_uses_with(constructed(node, value, node.output()->type()));
      node.destroy();
    });
  }

 private:
  template <typename Visit>
  static void for_each_constant(Graph& graph, const Visit& visit) {
    passes::for_each_node(*graph.block(), [&](Node& node) {
      const Value* value =
          node.kind() == prim::kConstant ? passes::constant_of(node.output()) : nullptr;
      if (value) visit(node, Value(*value));
    });
  }

  // PyTorch's table of constants holds no lists and dicts of tensors, but source can make them.
  static bool has_text(const Value& value) {
    bool holds_tensors = false;
    passes::for_each_part(value, [&](const Value& part) {
      holds_tensors = holds_tensors || part.is_tensor() || part.is_custom();
      return !holds_tensors;
    });
    return !holds_tensors || value.is_tensor() || value.is_custom();
  }

  static SsaValue* constructed(Node& before, const Value& value, const TypePtr& type) {
    if (has_text(value) || !(value.is_list() || value.is_tuple() || value.is_dict())) {
      return passes::insert_constant(&before, value, type);
    }
    const DepthGuard guard;
    std::vector<Value> parts;
    if (value.is_dict()) {
      for (const auto& [key, item] : value.to_dict()) parts.insert(parts.end(), {key, item});
    } else {
      parts = value.to_list();
    }
    const TypePtr own = type->is(TypeKind::kOptional) ? type->element(0) : type;
    std::vector<SsaValue*> items;
    for (size_t i = 0; i < parts.size(); ++i) {
      const std::vector<TypePtr>& elements = own->elements();
      const TypePtr item_type = elements.empty()
                                    ? type_of(parts[i])
                                    : elements[value.is_list() ? 0 : i % elements.size()];
      items.push_back(constructed(before, parts[i], item_type));
    }
    Node* made = before.graph()->create(value.is_list()    ? prim::kListConstruct
                                        : value.is_tuple() ? prim::kTupleConstruct
                                                           : prim::kDictConstruct,
                                        std::move(items));
    made->set_range(before.range());
    made->set_inlined_call(before.inlined_call());
    made->insert_before(&before);
    return made->add_output(own, before.output()->name());
  }

  void count(const TensorImpl& tensor) { parts_[tensor.storage.get()].insert(&tensor); }

  Tensor tensor(const Tensor& original) {
    if (!is_plain(*original.impl()) || !original.is_contiguous()) return original;
    const std::span<const std::byte> bytes = bytes_of(original);
    std::string key(dtype_name(original.dtype()));
    for (const int64_t size : original.sizes()) key += " " + std::to_string(size);
    key += " " + std::to_string(std::hash<std::string_view>()(
                     {reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    for (const Tensor& known : tensors_[key]) {
      if (std::memcmp(known.raw_data(), bytes.data(), bytes.size()) == 0) return known;
    }
    const auto parts = parts_.find(original.impl()->storage.get());
    const bool is_small_part = original.impl()->storage->nbytes() > bytes.size() &&
                               parts != parts_.end() && parts->second.size() == 1;
    return tensors_[key].emplace_back(is_small_part ? original.clone() : original);
  }

  // The same for the same state; what it names lives as long as this.
  std::string key_of(const Value& value) {
    if (value.is_tensor()) {
      held_.emplace_back(tensor(value.to_tensor()));
      return "tensor " + std::to_string(held_.back().raw_int());
    }
    if (!value.is_list() && !value.is_tuple()) {
      return std::string(value.kind_name()) + " " + to_text(value);
    }
    std::string key = "(";
    for (const Value& item : value.to_list()) key += key_of(item) + ", ";
    return key + ")";
  }

  void give(Node& constant, const Value& object) {
    const std::string& name = attribute_for(object, constant.output()->type());
    Graph& graph = *constant.graph();
    Node* read = graph.create(prim::kGetAttr, {graph.inputs().at(0)});
    read->set_attribute("name", name);
    read->set_range(constant.range());
    read->set_inlined_call(constant.inlined_call());
    read->insert_before(&constant);
    constant.output()->replace_all_uses_with(read->add_output(constant.output()->type()));
    constant.destroy();
  }

  const std::string& attribute_for(const Value& object, const TypePtr& type) {
    const CustomObject& custom = object.custom_ref();
    std::string& name = names_[std::string(custom.class_name()) + key_of(custom.get_state())];
    if (!name.empty()) return name;
    do {
      name = "packed_weight_" + std::to_string(next_++);
    } while (taken_.contains(name));
    given_.push_back({name, type, object});
    return name;
  }

  const std::unordered_set<std::string>& taken_;
  std::unordered_map<const Storage*, std::set<const TensorImpl*>> parts_;
  std::unordered_map<std::string, std::vector<Tensor>> tensors_;
  std::map<std::string, std::string> names_;  // of attributes, by the state
  std::vector<Value> held_;
  std::vector<GivenAttribute> given_;
  size_t next_ = 0;
};

}  // namespace

std::vector<GivenAttribute> settle_constants(const std::vector<Graph*>& graphs,
                                             const std::unordered_set<std::string>& taken) {
  return Settler(taken).run(graphs);
}

void construct_containers(Graph& graph) { Settler::construct_containers(graph); }

}  // namespace torchlet::prepare
