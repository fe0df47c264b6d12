#include "graph/graph.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace torchlet {

void SsaValue::replace_all_uses_with(SsaValue* other) {
  if (other == this) return;
  const std::vector<Node*> users = std::exchange(users_, {});
  for (Node* user : users) {
    std::ranges::replace(user->inputs_, this, other);
  }
  other->users_.insert(other->users_.end(), users.begin(), users.end());
}

void Node::drop_use(SsaValue* value) {
  // From the back: what was added last goes first in most changes of a graph.
  const auto found = std::find(value->users_.rbegin(), value->users_.rend(), this);
  TORCHLET_ASSERT(found != value->users_.rend());
  *found = value->users_.back();
  value->users_.pop_back();
}

void Node::add_input(SsaValue* value) {
  inputs_.push_back(value);
  value->users_.push_back(this);
}

void Node::replace_input(size_t i, SsaValue* value) {
  drop_use(inputs_[i]);
  inputs_[i] = value;
  value->users_.push_back(this);
}

void Node::remove_input(size_t i) {
  drop_use(inputs_[i]);
  inputs_.erase(inputs_.begin() + static_cast<std::ptrdiff_t>(i));
}

SsaValue* Node::add_output(TypePtr type, std::string name) {
  SsaValue* value = graph_->new_value(this, std::move(type), std::move(name));
  value->index_ = outputs_.size();
  outputs_.push_back(value);
  return value;
}

void Node::remove_output(size_t i) {
  TORCHLET_ASSERT(outputs_[i]->users_.empty());
  outputs_.erase(outputs_.begin() + static_cast<std::ptrdiff_t>(i));
  for (size_t k = i; k < outputs_.size(); ++k) outputs_[k]->index_ = k;
}

Block* Node::add_block() {
  blocks_.push_back(graph_->new_block(this));
  return blocks_.back();
}

void Node::no_such_part(size_t i) const {
  fail(ErrorCode::kInternal, "the node %s (%s) has no part %zu", kind_.c_str(),
       range_.where().c_str(), i);
}

bool Node::has_attribute(std::string_view name) const {
  return std::ranges::any_of(attributes_, [&](const auto& a) { return a.first == name; });
}

void Node::set_attribute(std::string_view name, Attribute value) {
  for (auto& [own, held] : attributes_) {
    if (own == name) {
      held = std::move(value);
      return;
    }
  }
  attributes_.emplace_back(std::string(name), std::move(value));
}

namespace {

template <typename T>
const T& attribute_of(const Node& node, std::string_view name) {
  for (const auto& [own, held] : node.attributes()) {
    if (own == name && std::holds_alternative<T>(held)) return std::get<T>(held);
  }
  fail(ErrorCode::kInternal, "node %s has no attribute '%s'", node.kind().c_str(),
       std::string(name).c_str());
}

}  // namespace

const Value& Node::value_attribute(std::string_view name) const {
  return attribute_of<Value>(*this, name);
}
const std::string& Node::string_attribute(std::string_view name) const {
  return attribute_of<std::string>(*this, name);
}
const TypePtr& Node::type_attribute(std::string_view name) const {
  return attribute_of<TypePtr>(*this, name);
}
Function* Node::function_attribute(std::string_view name) const {
  return attribute_of<Function*>(*this, name);
}

void Node::insert_before(Node* other) {
  TORCHLET_ASSERT(!owner_ && other->owner_);
  owner_ = other->owner_;
  next_ = other;
  prev_ = other->prev_;
  other->prev_ = this;
  (prev_ ? prev_->next_ : owner_->first_) = this;
}

void Node::insert_after(Node* other) {
  TORCHLET_ASSERT(!owner_ && other->owner_);
  owner_ = other->owner_;
  prev_ = other;
  next_ = other->next_;
  other->next_ = this;
  (next_ ? next_->prev_ : owner_->last_) = this;
}

void Node::unlink() {
  (prev_ ? prev_->next_ : owner_->first_) = next_;
  (next_ ? next_->prev_ : owner_->last_) = prev_;
  owner_ = nullptr;
  prev_ = next_ = nullptr;
}

void Node::move_before(Node* other) {
  unlink();
  insert_before(other);
}

void Node::move_to_end(Block* block) {
  unlink();
  block->append(this);
}

void Node::destroy() {
  for (SsaValue* value : outputs_) TORCHLET_ASSERT(value->users_.empty());
  for (Block* block : blocks_) {
    while (!block->returns_->inputs_.empty()) block->returns_->remove_input(0);
    while (block->last_) block->last_->destroy();
  }
  while (!inputs_.empty()) remove_input(inputs_.size() - 1);
  outputs_.clear();
  blocks_.clear();
  attributes_.clear();
  inlined_call_.reset();
  if (owner_) unlink();
}

Node* Block::append(Node* node) {
  TORCHLET_ASSERT(!node->owner_);
  node->owner_ = this;
  node->prev_ = last_;
  (last_ ? last_->next_ : first_) = node;
  last_ = node;
  return node;
}

Graph::Graph() : block_(new_block(nullptr)) {}
Graph::~Graph() = default;

Node* Graph::create(Symbol kind, std::vector<SsaValue*> inputs, size_t num_outputs) {
  Node* node = nodes_.make(this, kind);
  for (SsaValue* value : inputs) node->add_input(value);
  for (size_t i = 0; i < num_outputs; ++i) node->add_output(types::tensor());
  return node;
}

Block* Graph::new_block(Node* owner) {
  static const Symbol kParam("prim::Param"), kReturn("prim::Return");
  Block* block = blocks_.make();
  block->graph_ = this;
  block->owner_ = owner;
  block->params_ = create(kParam);
  block->returns_ = create(kReturn);
  block->params_->owner_ = block->returns_->owner_ = block;
  return block;
}

SsaValue* Graph::new_value(Node* node, TypePtr type, std::string name) {
  SsaValue* value = values_.make();
  value->node_ = node;
  value->type_ = std::move(type);
  value->name_ = std::move(name);
  value->id_ = values_.size() - 1;
  return value;
}

}  // namespace torchlet
