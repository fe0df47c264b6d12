#include "device/specialise/call.h"

#include "tensor/containers.h"

namespace torchlet::device {

void decline(std::string why) { throw Declined{std::move(why)}; }

size_t Arg::of(const Operator& op) const {
  if (!name_) return place_;
  const auto place = op.schema.find_argument(name_);
  if (!place) decline("an overload without " + std::string(name_));
  return *place;
}

namespace {

[[noreturn]] void wrong(const Call& call, Arg arg, const char* expected) {
  decline(call.op->schema.arguments[arg.of(*call.op)].name + " is not " + expected);
}

}  // namespace

const Value& Call::known(Arg arg) const {
  const CallArgument& found = argument(arg);
  if (!found.is_known()) wrong(*this, arg, "known before the run");
  return found.known();
}

Tensor Call::known_tensor(Arg arg) const {
  const Value& value = known(arg);
  if (value.is_none()) return Tensor();
  if (!value.is_tensor()) wrong(*this, arg, "a tensor");
  return value.to_tensor();
}

int64_t Call::known_int(Arg arg) const {
  const Value& value = known(arg);
  if (!value.is_int() && !value.is_bool()) wrong(*this, arg, "an int");
  return value.to_int();
}

double Call::known_double(Arg arg) const {
  const Value& value = known(arg);
  if (value.is_tensor() && value.to_tensor().numel() == 1 &&
      !is_complex(value.to_tensor().dtype())) {
    return value.to_tensor().item<double>();
  }
  if (!value.is_int() && !value.is_bool() && !value.is_float()) wrong(*this, arg, "a number");
  return value.to_double();
}

bool Call::known_bool(Arg arg) const {
  const Value& value = known(arg);
  if (!value.is_bool()) wrong(*this, arg, "a bool");
  return value.to_bool();
}

IntArray Call::known_ints(Arg arg) const {
  const Value& value = known(arg);
  IntArray ints;
  if (value.is_int()) {
    ints.push_back(value.to_int());
    return ints;
  }
  if (!value.is_list()) wrong(*this, arg, "a list of ints");
  for (const Value& item : value.list_ref().items) {
    if (!item.is_int()) wrong(*this, arg, "a list of ints");
    ints.push_back(item.to_int());
  }
  return ints;
}

IntArray Call::known_ints(Arg arg, size_t count) const {
  IntArray ints = known_ints(arg);
  if (ints.size() == 1) ints = IntArray(count, ints[0]);
  if (ints.size() != count) wrong(*this, arg, "of the right length");
  return ints;
}

}  // namespace torchlet::device
