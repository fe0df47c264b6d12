#include <algorithm>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "graph/graph.h"
#include "graph/prim_kinds.h"

namespace torchlet {
namespace {

class Verifier {
 public:
  void block(const Block& block) {
    std::vector<const SsaValue*> defined_here;
    auto define = [&](const std::vector<SsaValue*>& values, const Node* node) {
      for (const SsaValue* value : values) {
        require(uses_.try_emplace(value).second, node, "defines a value twice");
        require(value->type() != nullptr, node, "has an output without a type");
        defined_here.push_back(value);
      }
    };
    define(block.inputs(), block.owner());
    std::vector<const SsaValue*> entered;
    for (const Node* node : block) {
      require(node->owner() == &block, node, "is linked into another block");
      uses(*node);
      for (const Block* inner : node->blocks()) {
        require(inner->owner() == node, node, "has a block of another node");
        this->block(*inner);
      }
      contract(*node);
      pair(*node, entered);
      define(node->outputs(), node);
    }
    require(entered.empty(), block.owner(), "has a block with an Enter and no Exit");
    uses(*block.return_node());
    for (const SsaValue* value : defined_here) {
      require(uses_.at(value) == counted(value->users()), value->node(),
              "has an output whose list of users is wrong");
      uses_.erase(value);
    }
  }

 private:
  using Count = std::unordered_map<const Node*, size_t>;

  static void require(bool holds, const Node* node, const char* what) {
    if (holds) return;
    fail(ErrorCode::kInternal, "graph verifier: node %s (%s) %s",
         node ? node->kind().c_str() : "graph", node ? node->range().where().c_str() : "?", what);
  }

  static Count counted(const std::vector<Node*>& users) {
    Count count;
    for (const Node* user : users) ++count[user];
    return count;
  }

  void uses(const Node& node) {
    for (const SsaValue* value : node.inputs()) {
      const auto found = uses_.find(value);
      require(found != uses_.end(), &node, "uses a value that is not defined there");
      ++found->second[&node];
    }
  }

  // The inputs and outputs against what the operator, or the kind of node, says of them.
  static void contract(const Node& node) {
    const prim::Contract* const kind = prim::contract_of(node.kind());
    require(!node.op() != !kind, &node, "is neither an operator nor of a kind of its own");
    if (node.op()) {
      arity(node, node.op()->schema);
      require(node.blocks().empty(), &node, "is an operator with blocks");
      return;
    }
    const Schema& schema = prim::schema_of(node.kind());
    arity(node, schema);
    for (size_t i = 0; i < schema.arguments.size(); ++i) {
      require(prim::fits(*node.input(i)->type(), *schema.arguments[i].type), &node,
              "has an input of a wrong type");
    }
    for (size_t i = 0; i < schema.returns.size(); ++i) {
      require(prim::fits(*node.output(i)->type(), *schema.returns[i].type), &node,
              "has an output of a wrong type");
    }
    for (const std::string_view attribute : kind->attributes) {
      require(node.has_attribute(attribute), &node, "lacks an attribute");
    }
    require(node.blocks().size() == kind->num_blocks, &node, "has the wrong number of blocks");
    blocks(node);
  }

  // What is left out at the end has a default.
  static void arity(const Node& node, const Schema& schema) {
    const size_t given = node.inputs().size(), declared = schema.arguments.size();
    require(given <= declared || schema.is_vararg, &node, "has too many inputs");
    for (size_t i = given; i < declared; ++i) {
      require(schema.arguments[i].default_value.has_value(), &node, "has too few inputs");
    }
    require(node.outputs().size() == schema.returns.size() ||
                (schema.is_varret && node.outputs().size() > schema.returns.size()),
            &node, "has the wrong number of outputs");
  }

  // What blocks take and give.
  static void blocks(const Node& node) {
    const size_t given = node.outputs().size();
    if (node.kind() == prim::kLoop) {
      require(node.inputs().size() == given + 2 && node.block(0)->inputs().size() == given + 1 &&
                  node.block(0)->outputs().size() == given + 1,
              &node, "does not carry what it gives");
      return;
    }
    for (const Block* block : node.blocks()) {
      require(block->inputs().empty() && block->outputs().size() == given, &node,
              "has a block that does not give its outputs");
    }
  }

  static void pair(const Node& node, std::vector<const SsaValue*>& entered) {
    if (node.kind() == prim::kEnter) entered.push_back(node.input(0));
    if (node.kind() != prim::kExit) return;
    require(!entered.empty() && entered.back() == node.input(0), &node, "has no Enter of its own");
    entered.pop_back();
  }

  // Who uses the values that are defined at this point.
  std::unordered_map<const SsaValue*, Count> uses_;
};

}  // namespace

void Graph::verify() const { Verifier().block(*block_); }

}  // namespace torchlet
