// What a Value of a reference kind points to.
#pragma once

#include <torchlet/value.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "base/limits.h"
#include "tensor/type.h"

namespace torchlet {

// Items, text and slots count towards a program's budget, as the objects themselves do.
struct StringBox : RefCounted {
  explicit StringBox(std::string t) : text(std::move(t)), charge(text.capacity()) {}
  const std::string text;

 private:
  Charge charge;
};

struct ComplexBox : RefCounted {
  explicit ComplexBox(std::complex<double> v) : value(v) {}
  std::complex<double> value;
};

// A program may nest values as deep as it likes and hold one many times over, so they are destroyed
// without recursion; other walks give up beyond kMaxValueDepth, or after too many containers.
inline constexpr int kMaxValueDepth = 1000;

// One container met by a walk over nested values on this thread; Error kRuntime when it gives up.
class DepthGuard {
 public:
  DepthGuard();
  ~DepthGuard() { --depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  static thread_local int depth_;
};

struct List : RefCounted {
  List(TypePtr type, std::vector<Value> values)
      : element_type(std::move(type)),
        items(std::move(values)),
        charge_(items.capacity() * sizeof(Value)) {}
  ~List() override;
  // Before `count` items are added to a list of a running program.
  void grow(size_t count);
  TypePtr element_type;
  std::vector<Value> items;

 private:
  Charge charge_;
};

struct Tuple : RefCounted {
  explicit Tuple(std::vector<Value> values, TypePtr named = nullptr)
      : items(std::move(values)),
        type(std::move(named)),
        charge_(items.capacity() * sizeof(Value)) {}
  ~Tuple() override;
  std::vector<Value> items;
  TypePtr type;  // set for a NamedTuple

 private:
  Charge charge_;
};

// Keeps insertion order, as Python's dict. Keys are int, float, complex, bool, str, device or
// Tensor (by identity); 1, 1.0 and True are different keys here because a TorchScript dict has one
// key type.
struct Dict : RefCounted {
  Dict(TypePtr key, TypePtr value) : key_type(std::move(key)), value_type(std::move(value)) {}
  ~Dict() override;

  const Value* find(const Value& key) const;  // null if absent; valid until the next change
  void set(const Value& key, Value value);
  bool erase(const Value& key);  // false if absent
  void clear();
  size_t size() const { return index_.size(); }
  // (key, value) in order of insertion.
  std::vector<std::pair<Value, Value>> items() const;

  TypePtr key_type, value_type;

 private:
  static std::string hash_key(const Value& key);
  struct Entry {
    Value key, value;
    bool live = true;
  };
  std::vector<Entry> entries_;  // erased ones stay as holes until there are too many
  std::unordered_map<std::string, size_t> index_;
  Charge charge_;  // never less, as the memory of the tables
};

struct Object : RefCounted {
  explicit Object(std::shared_ptr<const ClassType> class_type)
      : type(std::move(class_type)),
        slots(type->attributes().size()),
        charge_(slots.size() * sizeof(Value)) {}
  ~Object() override;
  std::shared_ptr<const ClassType> type;
  std::vector<Value> slots;
  // How often attributes of this object, or of others of its model, were set from outside. Null
  // until somebody relies on the object (api/optimized_methods.h, which guards it).
  std::shared_ptr<std::atomic<uint64_t>> outside_sets;

  // Error kNotFound if the class has no such attribute.
  const Value& attribute(std::string_view name) const;
  void set_attribute(std::string_view name, Value value);

 private:
  Charge charge_;
};

struct EnumValue : RefCounted {
  EnumValue(TypePtr enum_type, std::string n, Value v)
      : type(std::move(enum_type)), name(std::move(n)), value(std::move(v)) {}
  TypePtr type;
  std::string name;
  Value value;
};

// fork() runs its function at once on the caller's thread, so a Future is always complete.
struct Future : RefCounted {
  ~Future() override;
  Value result;
  TypePtr type;
  std::shared_ptr<const Error> error;  // what the function raised, if it did: wait() throws it
};

// An instance of a C++ class that TorchScript knows by name (torch.classes.*), such as packed
// convolution weights.
class CustomObject : public RefCounted {
 public:
  // "__torch__.torch.classes.quantized.Conv2dPackedParamsBase"
  virtual std::string_view class_name() const = 0;
  // What a file holds of it: CustomClass::set_state (graph/operator.h) makes the same object of it.
  // Error kUnsupported unless the class says what that is.
  virtual Value get_state() const;
};

// The dynamic type of a value ("what isinstance sees").
TypePtr type_of(const Value& value);
// Is the value an instance of the type? Containers are judged by their declared element types.
bool is_instance(const Value& value, const Type& type);

// Python's repr of plain values ("[1, 2.5, 'a']"); tensors and objects are named by kind and shape.
std::string to_text(const Value& value);
// What TorchScript's str(), format() and print() give, not Python's: 2.0 is "2.", 0.1 is
// "0.10000000000000001", strings have no quotes even inside containers, tensors are written out.
std::string script_text(const Value& value);
// Python's repr of a float: the shortest text that reads back as the same number, with ".0" if it
// would look like an int.
std::string float_text(double value);
// Python's repr of a str, in single quotes unless it holds one.
std::string quoted(std::string_view text);

// Python's == on values of any kind (lists, tuples and dicts by content; tensors by identity).
bool values_equal(const Value& a, const Value& b);

inline Value make_list(TypePtr element_type, std::vector<Value> items) {
  return Value(make_ref<List>(std::move(element_type), std::move(items)));
}
Value make_int_list(IntSpan items);
Value make_tensor_list(std::vector<Tensor> items);

}  // namespace torchlet
