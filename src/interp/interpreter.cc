#include "interp/interpreter.h"

#include <cstdio>
#include <mutex>

#include "base/error.h"
#include "interp/machine.h"
#include "tensor/containers.h"

namespace torchlet::interp {
namespace {

void print_to_stdout(std::string_view line) {
  std::printf("%.*s\n", static_cast<int>(line.size()), line.data());
}

}  // namespace

Interpreter::Interpreter(std::function<void(std::string_view)> print)
    : print_(print ? std::move(print) : print_to_stdout) {}

Interpreter::~Interpreter() = default;

const Code& Interpreter::code(Function& function) const {
  {
    const std::shared_lock lock(mutex_);
    const auto found = codes_.find(&function);
    if (found != codes_.end()) return *found->second;
  }
  // Made without the lock: compiling one function may run long. The first to finish wins.
  auto made = std::make_unique<const Code>(flatten(function.graph()));
  const std::unique_lock lock(mutex_);
  return *codes_.try_emplace(&function, std::move(made)).first->second;
}

Value Interpreter::run(Function& function, std::vector<Value> arguments) const {
  return call(function, code(function), arguments);
}

namespace {

// A run within a run on one thread: the __exit__ of a `with` that something left, which may be left
// by an error in its turn.
class NestedRun {
 public:
  NestedRun() {
    if (depth_ == kMaxDepth) {
      throw Error(ErrorCode::kRuntime, format("more than %d runs within runs", kMaxDepth))
          .set_python_class("builtins.RecursionError");
    }
    ++depth_;
  }
  ~NestedRun() { --depth_; }
  NestedRun(const NestedRun&) = delete;
  NestedRun& operator=(const NestedRun&) = delete;

 private:
  static constexpr int kMaxDepth = 10;
  static thread_local int depth_;
};
thread_local int NestedRun::depth_ = 0;

}  // namespace

Value Interpreter::call(Function& function, const Code& code, std::span<Value> arguments) const {
  const NestedRun nested;
  std::unique_ptr<Machine> machine = take_machine();
  try {
    Value result = machine->run(function, code, arguments);
    give_back(std::move(machine));
    return result;
  } catch (...) {
    give_back(std::move(machine));
    throw;
  }
}

std::unique_ptr<Machine> Interpreter::take_machine() const {
  const std::lock_guard lock(machines_mutex_);
  if (machines_.empty()) return std::make_unique<Machine>(*this);
  std::unique_ptr<Machine> machine = std::move(machines_.back());
  machines_.pop_back();
  return machine;
}

void Interpreter::give_back(std::unique_ptr<Machine> machine) const {
  const std::lock_guard lock(machines_mutex_);
  machines_.push_back(std::move(machine));
}

Value Interpreter::run_method(const Value& object, std::string_view name,
                              std::vector<Value> arguments) const {
  Function* method = object.is_object() ? object.object_ref().type->find_method(name) : nullptr;
  if (!method) {
    fail(ErrorCode::kNotFound, "%s has no method '%s'", object.kind_name(),
         std::string(name).c_str());
  }
  arguments.insert(arguments.begin(), object);
  return run(*method, std::move(arguments));
}

}  // namespace torchlet::interp
