#include "api/survey.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "base/selection.h"
#include "graph/function.h"
#include "graph/prim_kinds.h"
#include "tensor/containers.h"

namespace torchlet::api {
namespace {

// Of one operator. To find its line takes a walk through the source.
constexpr size_t kMostPlaces = 100;

class Surveyor {
 public:
  Survey run(const Value& root) {
    objects(root);
    while (!functions_.empty()) {
      Function* function = functions_.back();
      functions_.pop_back();
      if constexpr (selection::kIsWhole) {
        bodies_.push_back(function->body());
        block(*bodies_.back()->block(), *function);
      } else {  // graphs stay
        block(*function->graph().block(), *function);
      }
    }
    Survey result;
    if constexpr (selection::kIsWhole) result.bodies = std::move(bodies_);
    result.operators.assign(operators_.begin(), operators_.end());
    for (auto& [name, found] : unsupported_) result.unsupported.push_back(std::move(found));
    return result;
  }

 private:
  void add(Function* function) {
    if (seen_.insert(function).second) functions_.push_back(function);
  }
  void add_class(const ClassType& type) {
    if (!seen_.insert(&type).second) return;
    for (const auto& [name, method] : type.methods()) add(method);
  }

  void objects(const Value& root) {
    std::vector<Value> open = {root};
    auto look_into = [&](const std::vector<Value>& items) {
      for (const Value& item : items) {
        if (item.is_object() || item.is_list() || item.is_tuple() || item.is_dict()) {
          open.push_back(item);
        }
      }
    };
    while (!open.empty()) {
      const Value value = std::move(open.back());
      open.pop_back();
      if (value.is_object()) {
        const Object& object = value.object_ref();
        if (!seen_.insert(&object).second) continue;
        add_class(*object.type);
        look_into(object.slots);
      } else if (value.is_dict()) {
        if (!seen_.insert(&value.dict_ref()).second) continue;
        for (const auto& [key, item] : value.dict_ref().items()) look_into({item});
      } else {
        const bool fresh = value.is_list() ? seen_.insert(&value.list_ref()).second
                                           : seen_.insert(&value.tuple_ref()).second;
        if (fresh) look_into(value.is_list() ? value.list_ref().items : value.tuple_ref().items);
      }
    }
  }

  void block(const Block& block, const Function& function) {
    for (const Node* node : block) {
      this->node(*node, function);
      for (const Block* inner : node->blocks()) this->block(*inner, function);
    }
  }

  void node(const Node& node, const Function& function) {
    if (node.op()) {
      ++operators_[node.op()->schema.full_name()];
    } else if (node.kind() == prim::kUnsupported) {
      missing(node, function);
    } else if (node.has_attribute("function")) {
      add(node.function_attribute("function"));
    } else if (node.kind() == prim::kCreateObject) {
      if (const ClassType* type = node.output()->type()->as_class()) add_class(*type);
    }
  }

  void missing(const Node& node, const Function& function) {
    const std::string& name = node.string_attribute("name");
    UnsupportedOperator& found = unsupported_[name];
    found.name = name;
    found.reason = node.string_attribute("reason");
    if (found.places.size() == kMostPlaces) return;
    found.places.push_back(node.range().where() + ", in " + function.qualified_name());
  }

  std::vector<Function*> functions_;
  Bodies bodies_;
  std::unordered_set<const void*> seen_;
  std::map<std::string, size_t> operators_;
  std::map<std::string, UnsupportedOperator> unsupported_;
};

}  // namespace

Survey survey(const Value& root) { return Surveyor().run(root); }

}  // namespace torchlet::api
