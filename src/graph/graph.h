// The program of one function in SSA form: a Block of Nodes, where control flow is a Node with
// Blocks of its own (PyTorch's torch/csrc/jit/OVERVIEW.md describes the same form).
//
// A Graph owns its blocks, nodes and values; pointers to them stay valid until the graph goes or
// the node is destroyed. Reading is thread-safe, changing is not.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/pool.h"
#include "graph/operator.h"
#include "graph/source_range.h"
#include "graph/symbol.h"
#include "tensor/type.h"

namespace torchlet {

class Block;
class Function;
class Graph;
class Node;
class Segment;

// What a node gives or a block takes: defined once, used any number of times.
class SsaValue {
 public:
  Node* node() const { return node_; }     // the definer: for block inputs the block's param node
  size_t index() const { return index_; }  // among the definer's outputs
  const TypePtr& type() const { return type_; }
  void set_type(TypePtr type) { type_ = std::move(type); }
  const std::string& name() const { return name_; }  // a hint for printing, may be empty
  void set_name(std::string name) { name_ = std::move(name); }
  // Unique in the graph and dense: registers of the interpreter are numbered by it.
  size_t id() const { return id_; }
  const std::vector<Node*>& users() const { return users_; }  // once for every use
  void replace_all_uses_with(SsaValue* other);

 private:
  friend class Graph;
  friend class Node;
  friend class Block;
  Node* node_ = nullptr;
  size_t index_ = 0;
  size_t id_ = 0;
  TypePtr type_;
  std::string name_;
  std::vector<Node*> users_;
};

// prim::Constant has "value"; prim::GetAttr "name"; ... : see graph/prim_kinds.h.
using Attribute = std::variant<Value, TypePtr, Function*, std::string>;

// The call that a node's function was inlined for (PyTorch's InlinedCallStack): what an error tells
// as if the call were still there.
struct InlinedCall {
  std::shared_ptr<const InlinedCall> caller;  // the call of the function that holds this call
  SourceRange range;                          // of the call; may be empty
  Function* callee = nullptr;
  std::string module_path;  // of the callee's self below the caller's: "features.3"; may be empty
};

class Node {
 public:
  Symbol kind() const { return kind_; }
  // The operator that this node calls; null for the kinds of graph/prim_kinds.h.
  const Operator* op() const { return op_; }
  void set_op(const Operator* op) { op_ = op; }

  const std::vector<SsaValue*>& inputs() const { return inputs_; }
  // These throw Error kInternal if there is no such one: how many a node has is the program's
  // doing.
  SsaValue* input(size_t i) const { return checked(inputs_, i); }
  void add_input(SsaValue* value);
  void replace_input(size_t i, SsaValue* value);
  void remove_input(size_t i);

  const std::vector<SsaValue*>& outputs() const { return outputs_; }
  SsaValue* output(size_t i = 0) const { return checked(outputs_, i); }
  SsaValue* add_output(TypePtr type, std::string name = {});
  void remove_output(size_t i);  // must have no users

  const std::vector<Block*>& blocks() const { return blocks_; }
  Block* block(size_t i) const { return checked(blocks_, i); }
  Block* add_block();

  bool has_attribute(std::string_view name) const;
  void set_attribute(std::string_view name, Attribute value);
  // Error kInternal if it is absent or of another kind.
  const Value& value_attribute(std::string_view name) const;
  const std::string& string_attribute(std::string_view name) const;
  const TypePtr& type_attribute(std::string_view name) const;
  Function* function_attribute(std::string_view name) const;
  const std::vector<std::pair<std::string, Attribute>>& attributes() const { return attributes_; }

  // What runs a prim::Segment.
  Segment* segment() const { return segment_.get(); }
  const std::shared_ptr<Segment>& shared_segment() const { return segment_; }
  void set_segment(std::shared_ptr<Segment> segment) { segment_ = std::move(segment); }

  const SourceRange& range() const { return range_; }
  void set_range(SourceRange range) { range_ = std::move(range); }

  // Null for a node of the graph's own function.
  const std::shared_ptr<const InlinedCall>& inlined_call() const { return inlined_call_; }
  void set_inlined_call(std::shared_ptr<const InlinedCall> call) {
    inlined_call_ = std::move(call);
  }

  Block* owner() const { return owner_; }
  Graph* graph() const { return graph_; }
  Node* next() const { return next_; }  // in the owner; null at the end
  Node* prev() const { return prev_; }

  void insert_before(Node* other);  // this node is in no block
  void insert_after(Node* other);
  void move_before(Node* other);
  void move_to_end(Block* block);
  // Takes it out of its block and destroys it with its blocks; its outputs must have no users.
  void destroy();

 private:
  friend class Graph;
  friend class Block;
  friend class SsaValue;
  friend class Pool<Node>;
  Node(Graph* graph, Symbol kind) : graph_(graph), kind_(kind) {}
  void drop_use(SsaValue* value);
  void unlink();
  template <typename Part>
  Part* checked(const std::vector<Part*>& parts, size_t i) const {
    if (i >= parts.size()) [[unlikely]] {
      no_such_part(i);
    }
    return parts[i];
  }
  [[noreturn, gnu::cold]] void no_such_part(size_t i) const;

  Graph* graph_;
  Symbol kind_;
  const Operator* op_ = nullptr;
  std::vector<SsaValue*> inputs_;
  std::vector<SsaValue*> outputs_;
  std::vector<Block*> blocks_;
  std::vector<std::pair<std::string, Attribute>> attributes_;
  std::shared_ptr<Segment> segment_;
  SourceRange range_;
  std::shared_ptr<const InlinedCall> inlined_call_;
  Block* owner_ = nullptr;
  Node* next_ = nullptr;
  Node* prev_ = nullptr;
};

class Block {
 public:
  // Parameters: the graph's inputs, a loop's (iteration, carried...).
  const std::vector<SsaValue*>& inputs() const { return params_->outputs(); }
  SsaValue* add_input(TypePtr type, std::string name = {}) {
    return params_->add_output(std::move(type), std::move(name));
  }
  void remove_input(size_t i) { params_->remove_output(i); }
  // Results: the graph's outputs, a branch's values, a loop's (condition, carried...).
  const std::vector<SsaValue*>& outputs() const { return returns_->inputs(); }
  void add_output(SsaValue* value) { returns_->add_input(value); }
  void replace_output(size_t i, SsaValue* value) { returns_->replace_input(i, value); }
  void remove_output(size_t i) { returns_->remove_input(i); }

  Node* first() const { return first_; }
  Node* last() const { return last_; }
  Node* append(Node* node);
  Node* return_node() const { return returns_; }  // holds the outputs; not in the list of nodes
  Node* owner() const { return owner_; }          // null for the graph's own block
  Graph* graph() const { return graph_; }

  // for (Node* node : *block); the current node may be destroyed only through a saved next().
  class Iterator {
   public:
    explicit Iterator(Node* node) : node_(node) {}
    Node* operator*() const { return node_; }
    Iterator& operator++() {
      node_ = node_->next();
      return *this;
    }
    bool operator!=(const Iterator& other) const { return node_ != other.node_; }

   private:
    Node* node_;
  };
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(nullptr); }

 private:
  friend class Graph;
  friend class Node;
  Graph* graph_ = nullptr;
  Node* owner_ = nullptr;
  Node* params_ = nullptr;
  Node* returns_ = nullptr;
  Node* first_ = nullptr;
  Node* last_ = nullptr;
};

class Graph {
 public:
  Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  Block* block() const { return block_; }
  const std::vector<SsaValue*>& inputs() const { return block_->inputs(); }
  const std::vector<SsaValue*>& outputs() const { return block_->outputs(); }

  // A node in no block yet.
  Node* create(Symbol kind, std::vector<SsaValue*> inputs = {}, size_t num_outputs = 0);
  // Ids given so far: the size of a register file.
  size_t num_values() const { return values_.size(); }

  // The graph in PyTorch's textual form (graph/printer.cc).
  std::string str() const;
  // Error kInternal naming the node if a value is used where it is not defined, a node's inputs,
  // outputs, attributes or blocks are not those of its operator or kind, or a use list is wrong
  // (graph/verifier.cc). Every graph that the compiler made has passed. Linear in its size.
  void verify() const;

 private:
  friend class Node;
  friend class Block;
  Block* new_block(Node* owner);
  SsaValue* new_value(Node* node, TypePtr type, std::string name);

  Pool<Node> nodes_;  // destroyed ones stay, empty, until the graph goes
  Pool<Block> blocks_;
  Pool<SsaValue> values_;
  Block* block_ = nullptr;
};

}  // namespace torchlet
