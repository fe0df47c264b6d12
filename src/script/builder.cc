#include "script/builder.h"

#include <algorithm>
#include <bit>

#include "graph/prim_kinds.h"
#include "script/compilation_unit.h"
#include "tensor/containers.h"

namespace torchlet::script {

namespace {

// Far above real functions.
constexpr size_t kMostUnrolled = 100'000;

}  // namespace

void Builder::count_unrolled() {
  if (++unrolled_ > kMostUnrolled) fail_at(*source_, span_, "loops over tuples unroll too far");
}

Node* Builder::node(Symbol kind, std::vector<SsaValue*> inputs) {
  if (prim::contract_of(kind)) check_types(kind, inputs);
  unit_.count_parts(*source_, span_, 1 + graph_.num_values() - counted_values_);
  counted_values_ = graph_.num_values();
  Node* node = graph_.create(kind, std::move(inputs));
  node->set_range(range());
  block_->append(node);
  made_.push_back(node);
  return node;
}

// A program may put any value anywhere, so this is where it is told.
void Builder::check_types(Symbol kind, const std::vector<SsaValue*>& inputs) const {
  const std::vector<Argument>& arguments = prim::schema_of(kind).arguments;
  for (size_t i = 0; i < std::min(inputs.size(), arguments.size()); ++i) {
    const Type &type = *inputs[i]->type(), &declared = *arguments[i].type;
    if (prim::fits(type, declared)) continue;
    fail_at(*source_, span_,
            "the " + arguments[i].name + " of " + kind.str() + " is to be a " + declared.str() +
                ", got a " + type.str());
  }
}

SsaValue* Builder::value(Symbol kind, std::vector<SsaValue*> inputs, TypePtr type) {
  return node(kind, std::move(inputs))->add_output(std::move(type));
}

namespace {

// Empty for what is not pooled.
std::string pool_key(const Value& value, const Type& type) {
  switch (value.kind()) {
    case ValueKind::kNone:
      return "n" + type.str();
    case ValueKind::kInt:
      return "i" + std::to_string(value.raw_int());
    case ValueKind::kBool:
      return value.to_bool() ? "t" : "f";
    case ValueKind::kFloat:
      return "d" + std::to_string(std::bit_cast<uint64_t>(value.raw_double()));
    case ValueKind::kString:
      return "s" + value.to_string();
    default:
      return "";
  }
}

}  // namespace

SsaValue* Builder::constant(const Value& value, TypePtr type) {
  const std::string key = pool_key(value, *type);
  if (key.empty()) return new_constant(value, std::move(type));
  SsaValue*& pooled = pool_[key];
  if (!pooled) pooled = new_constant(value, std::move(type));
  return pooled;
}

SsaValue* Builder::constant(const Value& value) { return constant(value, type_of(value)); }

SsaValue* Builder::new_constant(const Value& value, TypePtr type) {
  Node* node = graph_.create(prim::kConstant);
  node->set_range(range());
  node->set_attribute("value", value);
  if (!constants_.empty()) {
    node->insert_after(constants_.back());
  } else if (Node* first = graph_.block()->first()) {
    node->insert_before(first);
  } else {
    graph_.block()->append(node);
  }
  constants_.push_back(node);
  return node->add_output(std::move(type));
}

const Value* Builder::constant_value(const SsaValue* value) {
  const Node* node = value->node();
  return node->kind() == prim::kConstant ? &node->value_attribute("value") : nullptr;
}

void Builder::roll_back(size_t mark) {
  while (made_.size() > mark) {
    made_.back()->destroy();
    made_.pop_back();
  }
}

void Builder::drop_unused_constants() {
  for (Node* node : constants_) {
    if (node->output()->users().empty()) node->destroy();
  }
  constants_.clear();
  pool_.clear();
}

}  // namespace torchlet::script
