// One operator of a specialised segment: what it calls, and what is known of its arguments.
#pragma once

#include <torchlet/value.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "graph/graph.h"
#include "tensor/tensor_impl.h"

namespace torchlet::device {

// Thrown by what cannot make something of these shapes, dtypes or arguments.
struct Declined {
  std::string why;
};
[[noreturn]] void decline(std::string why);

// A tensor of a specialised segment whose elements depend on its inputs, by its place in
// SpecialisedSegment::tensors.
using ValueId = int32_t;

// What a call reads or gives: a value that is known before the run, a tensor, or a list of these.
class CallArgument {
 public:
  CallArgument(Value known) : known_(std::move(known)) {}
  static CallArgument tensor(ValueId id) {
    CallArgument argument{Value()};
    argument.kind_ = Kind::kTensor;
    argument.id_ = id;
    return argument;
  }
  static CallArgument list(std::vector<CallArgument> items) {
    CallArgument argument{Value()};
    argument.kind_ = Kind::kList;
    argument.items_ = std::move(items);
    return argument;
  }

  bool is_known() const { return kind_ == Kind::kKnown; }
  bool is_tensor() const { return kind_ == Kind::kTensor; }
  bool is_list() const { return kind_ == Kind::kList; }  // of which not all items are known
  bool is_none() const { return is_known() && known_.is_none(); }

  const Value& known() const {
    TORCHLET_ASSERT(is_known());
    return known_;
  }
  ValueId id() const {
    TORCHLET_ASSERT(is_tensor());
    return id_;
  }
  const std::vector<CallArgument>& items() const { return items_; }

 private:
  enum class Kind : uint8_t { kKnown, kTensor, kList };

  Kind kind_ = Kind::kKnown;
  ValueId id_ = -1;
  Value known_;
  std::vector<CallArgument> items_;
};

// An argument of an operator: by its name in the schema; by its place where it is the first, or
// where operators that share a lowering name it differently.
class Arg {
 public:
  Arg(const char* name) : name_(name) {}
  Arg(int place) : place_(static_cast<size_t>(place)) {}
  Arg(size_t place) : place_(place) {}

  // Its place among the arguments of the operator; Declined if this overload has none of that name.
  size_t of(const Operator& op) const;

 private:
  const char* name_ = nullptr;
  size_t place_ = 0;
};

struct Call {
  const Node* node;  // in the program: where it stands, for messages and profiles
  const Operator* op;
  std::vector<CallArgument> arguments;  // all of the schema, defaults filled in
  std::vector<CallArgument> outputs;    // tensors, and lists of tensors

  Symbol kind() const { return op->name; }
  // Has the operator, in this overload, an argument of that name?
  bool has_argument(const char* name) const { return op->schema.find_argument(name).has_value(); }
  const CallArgument& argument(Arg arg) const { return arguments[arg.of(*op)]; }
  bool is_none(Arg arg) const { return argument(arg).is_none(); }

  // The values of arguments; Declined unless they are known and of that kind.
  const Value& known(Arg arg) const;
  Tensor known_tensor(Arg arg) const;  // undefined for None
  int64_t known_int(Arg arg) const;
  double known_double(Arg arg) const;  // ints are converted, tensors of one number too
  bool known_bool(Arg arg) const;
  IntArray known_ints(Arg arg) const;  // one int is a list of one
  // int[n] arguments of one number mean it n times.
  IntArray known_ints(Arg arg, size_t count) const;
};

}  // namespace torchlet::device
