#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "graph/graph.h"

namespace torchlet {
namespace {

class Verifier {
 public:
  void block(const Block& block) {
    std::vector<const SsaValue*> defined_here;
    auto define = [&](const std::vector<SsaValue*>& values, const Node* node) {
      for (const SsaValue* value : values) {
        require(defined_.insert(value).second, node, "defines a value twice");
        require(value->type() != nullptr, node, "has an output without a type");
        defined_here.push_back(value);
      }
    };
    define(block.inputs(), block.owner());
    for (const Node* node : block) {
      require(node->owner() == &block, node, "is linked into another block");
      uses(*node);
      for (const Block* inner : node->blocks()) {
        require(inner->owner() == node, node, "has a block of another node");
        this->block(*inner);
      }
      shape(*node);
      define(node->outputs(), node);
    }
    uses(*block.return_node());
    for (const SsaValue* value : defined_here) defined_.erase(value);
  }

 private:
  static void require(bool holds, const Node* node, const char* what) {
    if (holds) return;
    fail(ErrorCode::kInternal, "graph verifier: node %s (%s) %s",
         node ? node->kind().c_str() : "graph", node ? node->range().where().c_str() : "?", what);
  }

  void uses(const Node& node) {
    for (const SsaValue* value : node.inputs()) {
      require(defined_.contains(value), &node, "uses a value that is not defined there");
      require(std::ranges::count(value->users(), &node) == std::ranges::count(node.inputs(), value),
              &node, "is not in its input's list of users");
    }
  }

  static void shape(const Node& node) {
    static const Symbol kIf("prim::If"), kLoop("prim::Loop");
    if (node.kind() == kIf) {
      require(node.inputs().size() == 1 && node.blocks().size() == 2, &node,
              "must have a condition and two blocks");
      for (const Block* block : node.blocks()) {
        require(block->inputs().empty() && block->outputs().size() == node.outputs().size(), &node,
                "has a branch that does not give its outputs");
      }
    } else if (node.kind() == kLoop) {
      const size_t carried = node.outputs().size();
      require(node.blocks().size() == 1 && node.inputs().size() == carried + 2 &&
                  node.block(0)->inputs().size() == carried + 1 &&
                  node.block(0)->outputs().size() == carried + 1,
              &node, "does not carry what it gives");
    }
  }

  std::unordered_set<const SsaValue*> defined_;
};

}  // namespace

void Graph::verify() const { Verifier().block(*block_); }

}  // namespace torchlet
