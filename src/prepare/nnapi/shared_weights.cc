#include "prepare/nnapi/shared_weights.h"

#include <cstring>
#include <map>
#include <numeric>
#include <optional>

#include "graph/prim_kinds.h"
#include "ops/core/common.h"
#include "passes/analysis/constants.h"
#include "passes/analysis/rewrite.h"
#include "tensor/tensor_impl.h"

namespace torchlet::prepare {
namespace {

constexpr size_t kLeastBytes = 256;

std::string_view bytes_of(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.impl()->data()),
          static_cast<size_t>(tensor.numel()) * element_size(tensor.dtype())};
}

// A constant whose elements lie among the weights. Its dimension order[i] is the i-th there.
struct Match {
  Tensor weight;
  IntArray order;
};

class Sharing {
 public:
  Sharing(const std::vector<Tensor>& weights, const ClassType& root, Draft& draft)
      : root_(root), draft_(draft) {
    for (const Tensor& weight : weights) {
      if (bytes_of(weight).size() >= kLeastBytes) known_.emplace(hash(weight), weight);
    }
  }

  void share(Node& constant) {
    const Value* value = passes::constant_of(constant.output());
    if (!value || !value->is_tensor()) return;
    const Tensor tensor = value->to_tensor();
    const TensorImpl& impl = *tensor.impl();
    if (!impl.storage || impl.sparse || impl.nested || impl.quantizer) return;
    if (static_cast<size_t>(impl.numel) * element_size(impl.dtype) < kLeastBytes) return;
    const std::optional<Match> match = find(tensor);
    if (!match) return;
    const std::string name = attribute(tensor, *match);
    const std::vector<Node*> users = constant.output()->users();
    for (Node* user : users) {
      if (user != user->owner()->return_node()) replace(*user, constant, name, *match);
    }
    if (constant.output()->users().empty()) constant.destroy();
  }

 private:
  static size_t hash(const Tensor& tensor) {
    return std::hash<std::string_view>()(bytes_of(tensor));
  }

  static std::vector<IntArray> orders(int64_t dim) {
    IntArray same(static_cast<size_t>(dim));
    std::iota(same.begin(), same.end(), 0);
    if (dim == 2) return {same, {1, 0}};
    // Filters of convolutions, and of those by channel, which are transposed ones, too.
    if (dim == 4) return {same, {0, 2, 3, 1}, {1, 2, 3, 0}};
    return {same};
  }

  std::optional<Match> find(const Tensor& tensor) const {
    for (const IntArray& order : orders(tensor.dim())) {
      const Tensor ordered = ops::permute(tensor, order).contiguous();
      const auto [begin, end] = known_.equal_range(hash(ordered));
      for (auto at = begin; at != end; ++at) {
        if (at->second.dtype() == tensor.dtype() && bytes_of(at->second) == bytes_of(ordered)) {
          return Match{at->second, order};
        }
      }
    }
    return std::nullopt;
  }

  // Of a view of the weight.
  std::string attribute(const Tensor& tensor, const Match& match) {
    IntArray ordered_sizes, strides(match.order.size());
    for (const int64_t dim : match.order) ordered_sizes.push_back(tensor.size(dim));
    const IntArray ordered_strides = contiguous_strides(ordered_sizes);
    for (size_t i = 0; i < match.order.size(); ++i) {
      strides[static_cast<size_t>(match.order[i])] = ordered_strides[i];
    }
    std::string name;
    do {
      name = "nnapi_weight_" + std::to_string(next_++);
    } while (root_.find_attribute(name) || root_.find_method(name));
    const Tensor view =
        make_view(match.weight, tensor.sizes(), strides, match.weight.storage_offset());
    draft_.set_attribute(name, types::tensor(), Value(view));
    return name;
  }

  static void replace(Node& user, const Node& constant, const std::string& name,
                      const Match& match) {
    Graph& graph = *user.graph();
    Node* read = graph.create(prim::kGetAttr, {graph.inputs().at(0)});
    read->set_attribute("name", name);
    read->set_range(constant.range());
    read->insert_before(&user);
    SsaValue* weight = read->add_output(types::tensor());
    if (!std::ranges::is_sorted(match.order)) {
      SsaValue* format = passes::insert_constant(
          &user, Value(static_cast<int64_t>(MemoryFormat::kContiguous)), types::integer());
      weight = passes::insert_call(&user, *find_operator("aten::contiguous", ""), {weight, format})
                   ->output();
    }
    for (size_t i = 0; i < user.inputs().size(); ++i) {
      if (user.input(i) == constant.output()) user.replace_input(i, weight);
    }
  }

  const ClassType& root_;
  Draft& draft_;
  std::multimap<size_t, Tensor> known_;
  size_t next_ = 0;
};

}  // namespace

void share_weights(Graph& graph, const std::vector<Tensor>& weights, const ClassType& root,
                   Draft& draft) {
  Sharing sharing(weights, root, draft);
  passes::for_each_node(*graph.block(), [&](Node& node) {
    if (node.kind() == prim::kConstant) sharing.share(node);
  });
}

}  // namespace torchlet::prepare
