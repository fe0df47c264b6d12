#include "tensor/containers.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "base/error.h"

namespace torchlet {
namespace {

template <typename T>
void append_bytes(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

bool holds_values(const Value& value) {
  return value.is_list() || value.is_tuple() || value.is_dict() || value.is_object() ||
         value.is_future();
}

// The containers that wait for their end while another one is being destroyed on this thread.
thread_local std::vector<Value>* doomed = nullptr;

// Destroys the containers among the values one after the other: what they hold comes back here.
void destroy(std::span<Value> values) {
  if (std::ranges::none_of(values, holds_values)) return;
  std::vector<Value> own;
  const bool first = !doomed;
  if (first) doomed = &own;
  for (Value& value : values) {
    if (holds_values(value)) doomed->push_back(std::move(value));
  }
  if (!first) return;
  while (!own.empty()) {
    const Value last = std::move(own.back());
    own.pop_back();
  }
  doomed = nullptr;
}

}  // namespace

thread_local int DepthGuard::depth_ = 0;

namespace {

// A walk meets a container as often as it is held: 2^30 times at the bottom of 30 tuples of the
// same tuple twice.
constexpr size_t kMaxContainersOfWalk = 2'000'000;
thread_local size_t containers_of_walk = 0;

}  // namespace

DepthGuard::DepthGuard() {
  if (depth_ >= kMaxValueDepth) {
    fail(ErrorCode::kRuntime, "a value is nested more than %d levels deep", kMaxValueDepth);
  }
  if (depth_ == 0) containers_of_walk = 0;
  if (++containers_of_walk > kMaxContainersOfWalk) {
    fail(ErrorCode::kRuntime, "a value holds more than %zu containers", kMaxContainersOfWalk);
  }
  ++depth_;
}

List::~List() { destroy(items); }

void List::grow(size_t count) {
  if (items.capacity() - items.size() >= count) return;
  const size_t capacity = std::max(items.size() + count, 2 * items.capacity());
  charge_.add((capacity - items.capacity()) * sizeof(Value));
  items.reserve(capacity);
}

Tuple::~Tuple() { destroy(items); }
Object::~Object() { destroy(slots); }
Future::~Future() { destroy({&result, 1}); }
Dict::~Dict() {
  for (Entry& entry : entries_) {
    destroy({&entry.key, 1});
    destroy({&entry.value, 1});
  }
}

std::string Dict::hash_key(const Value& key) {
  std::string bytes(1, static_cast<char>(key.kind()));
  switch (key.kind()) {
    case ValueKind::kString:
    case ValueKind::kDevice:
      return bytes + key.to_string();
    case ValueKind::kFloat:
      append_bytes(bytes, key.to_double() + 0.0);
      return bytes;  // -0.0 is 0.0
    case ValueKind::kComplex:
      append_bytes(bytes, key.to_complex());
      return bytes;
    case ValueKind::kInt:
    case ValueKind::kBool:
      append_bytes(bytes, key.raw_int());
      return bytes;
    case ValueKind::kTensor:
      append_bytes(bytes, key.tensor_impl());
      return bytes;
    case ValueKind::kEnum:
      return bytes + key.enum_ref().name;
    case ValueKind::kTuple: {
      const DepthGuard guard;
      for (const Value& item : key.tuple_ref().items) {
        const std::string part = hash_key(item);
        append_bytes(bytes, part.size());
        bytes += part;
      }
      return bytes;
    }
    default:
      fail(ErrorCode::kRuntime, "unhashable dict key: %s", key.kind_name());
  }
}

const Value* Dict::find(const Value& key) const {
  const auto found = index_.find(hash_key(key));
  return found == index_.end() ? nullptr : &entries_[found->second].value;
}

void Dict::set(const Value& key, Value value) {
  std::string hash = hash_key(key);
  const auto found = index_.find(hash);
  if (found != index_.end()) {
    entries_[found->second].value = std::move(value);
    return;
  }
  constexpr size_t kNode = 64;  // of the index, about
  charge_.add(sizeof(Entry) + kNode + hash.capacity());
  index_.emplace(std::move(hash), entries_.size());
  entries_.push_back({key, std::move(value)});
}

bool Dict::erase(const Value& key) {
  const auto found = index_.find(hash_key(key));
  if (found == index_.end()) return false;
  entries_[found->second] = Entry{Value(), Value(), false};
  index_.erase(found);
  if (entries_.size() > 2 * index_.size() + 16) {
    std::vector<Entry> live;
    for (Entry& entry : entries_) {
      if (!entry.live) continue;
      index_[hash_key(entry.key)] = live.size();
      live.push_back(std::move(entry));
    }
    entries_ = std::move(live);
  }
  return true;
}

void Dict::clear() {
  entries_.clear();
  index_.clear();
  charge_ = Charge();
}

std::vector<std::pair<Value, Value>> Dict::items() const {
  std::vector<std::pair<Value, Value>> result;
  result.reserve(index_.size());
  for (const Entry& entry : entries_) {
    if (entry.live) result.emplace_back(entry.key, entry.value);
  }
  return result;
}

namespace {

size_t slot_of(const ClassType& type, std::string_view name) {
  const auto slot = type.find_attribute(name);
  if (!slot) {
    fail(ErrorCode::kNotFound, "'%s' object has no attribute '%s'", type.name().c_str(),
         std::string(name).c_str());
  }
  return *slot;
}

}  // namespace

// A class may gain attributes after an object was made (lazily compiled classes), so slots grow.
const Value& Object::attribute(std::string_view name) const {
  static const Value none;
  const size_t slot = slot_of(*type, name);
  return slot < slots.size() ? slots[slot] : none;
}
void Object::set_attribute(std::string_view name, Value value) {
  const size_t slot = slot_of(*type, name);
  if (slot >= slots.size()) {
    charge_.add((slot + 1 - slots.size()) * sizeof(Value));
    slots.resize(slot + 1);
  }
  slots[slot] = std::move(value);
}

TypePtr type_of(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kNone:
      return types::none();
    case ValueKind::kTensor:
      return types::tensor();
    case ValueKind::kInt:
      return types::integer();
    case ValueKind::kFloat:
      return types::floating();
    case ValueKind::kComplex:
      return types::complex();
    case ValueKind::kBool:
      return types::boolean();
    case ValueKind::kString:
      return types::string();
    case ValueKind::kDevice:
      return types::device();
    case ValueKind::kGenerator:
      return types::generator();
    case ValueKind::kList:
      return types::list(value.list_ref().element_type);
    case ValueKind::kDict:
      return types::dict(value.dict_ref().key_type, value.dict_ref().value_type);
    case ValueKind::kTuple: {
      const Tuple& tuple = value.tuple_ref();
      if (tuple.type) return tuple.type;
      const DepthGuard guard;
      std::vector<TypePtr> elements;
      for (const Value& item : tuple.items) elements.push_back(type_of(item));
      return types::tuple(std::move(elements));
    }
    case ValueKind::kObject:
      return value.object_ref().type;
    case ValueKind::kCustom:
      return std::make_shared<ClassType>(TypeKind::kClass,
                                         std::string(value.custom_ref().class_name()), false);
    case ValueKind::kEnum:
      return value.enum_ref().type;
    case ValueKind::kFuture:
      return types::future(value.future_ref().type ? value.future_ref().type : types::any());
  }
  return types::any();
}

bool is_instance(const Value& value, const Type& type) {
  switch (type.kind()) {
    case TypeKind::kAny:
    case TypeKind::kUnknown:
      return true;
    case TypeKind::kNumber:
      return value.is_scalar();
    case TypeKind::kOptional:
      return value.is_none() || is_instance(value, *type.element(0));
    case TypeKind::kUnion:
      for (const TypePtr& member : type.elements()) {
        if (is_instance(value, *member)) return true;
      }
      return false;
    case TypeKind::kAnyList:
      return value.is_list();
    case TypeKind::kAnyTuple:
      return value.is_tuple();
    case TypeKind::kAnyEnum:
      return value.is_enum();
    case TypeKind::kAnyClass:
      return value.is_object() || value.is_custom();
    case TypeKind::kTuple: {
      if (!value.is_tuple() || value.tuple_ref().items.size() != type.elements().size())
        return false;
      const DepthGuard guard;
      for (size_t i = 0; i < type.elements().size(); ++i) {
        if (!is_instance(value.tuple_ref().items[i], *type.element(i))) return false;
      }
      return true;
    }
    default:
      // No other type has tuples among its values, and the type of a tuple may be large.
      return !value.is_tuple() && is_subtype(*type_of(value), type);
  }
}

bool values_equal(const Value& a, const Value& b) {
  if (a.is_scalar() && b.is_scalar()) {
    if (a.is_float() || b.is_float() || a.is_complex() || b.is_complex()) {
      return a.to_complex() == b.to_complex();
    }
    return a.raw_int() == b.raw_int();
  }
  if (a.kind() != b.kind()) return false;
  const DepthGuard guard;
  switch (a.kind()) {
    case ValueKind::kNone:
      return true;
    case ValueKind::kString:
    case ValueKind::kDevice:
      return a.to_string() == b.to_string();
    case ValueKind::kList:
    case ValueKind::kTuple: {
      const auto& left = a.is_list() ? a.list_ref().items : a.tuple_ref().items;
      const auto& right = b.is_list() ? b.list_ref().items : b.tuple_ref().items;
      if (left.size() != right.size()) return false;
      for (size_t i = 0; i < left.size(); ++i) {
        if (!values_equal(left[i], right[i])) return false;
      }
      return true;
    }
    case ValueKind::kDict: {
      if (a.dict_ref().size() != b.dict_ref().size()) return false;
      for (const auto& [key, value] : a.dict_ref().items()) {
        const Value* other = b.dict_ref().find(key);
        if (!other || !values_equal(value, *other)) return false;
      }
      return true;
    }
    case ValueKind::kEnum:
      return equal(a.enum_ref().type, b.enum_ref().type) && a.enum_ref().name == b.enum_ref().name;
    default:
      return a.is_same(b);
  }
}

Value make_int_list(IntSpan items) {
  return make_list(types::integer(), std::vector<Value>(items.begin(), items.end()));
}

Value CustomObject::get_state() const {
  fail(ErrorCode::kUnsupported, "a " + std::string(class_name()) + " cannot be written to a file");
}

Value make_tensor_list(std::vector<Tensor> items) {
  return make_list(types::tensor(), std::vector<Value>(items.begin(), items.end()));
}

}  // namespace torchlet
