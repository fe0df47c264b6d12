// Runs functions. One interpreter serves a whole loaded model and any number of threads: it keeps
// the flattened code of every function that was called.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/function.h"
#include "interp/code.h"

namespace torchlet::interp {

class Machine;

// Calls within calls; more end in an Error, as Python's RecursionError. Frames live on the heap, so
// the thread's stack does not matter.
inline constexpr size_t kMaxCallDepth = 1000;

class Interpreter {
 public:
  // `print` receives what the program prints, a line at a time and without its end; it may be
  // called from any thread that runs something.
  explicit Interpreter(std::function<void(std::string_view)> print = {});
  ~Interpreter();

  // The arguments are those of the function's schema, all of them, self first. Errors carry where
  // in the Python source and in the tree of modules they arose. Thread-safe; the objects that the
  // program changes are the caller's to protect.
  Value run(Function& function, std::vector<Value> arguments) const;
  // The same with code that is kept elsewhere.
  Value run(Function& function, const Code& code, std::vector<Value> arguments) const {
    return call(function, code, arguments);
  }
  // Moves from the arguments, and does not touch the heap if the program does not.
  Value call(Function& function, const Code& code, std::span<Value> arguments) const;
  // The method of an object's class. Error kNotFound if it has none of that name.
  Value run_method(const Value& object, std::string_view name, std::vector<Value> arguments) const;

  // For Machine.
  const Code& code(Function& function) const;
  void print(std::string_view line) const { print_(line); }

 private:
  std::unique_ptr<Machine> take_machine() const;
  void give_back(std::unique_ptr<Machine> machine) const;

  std::function<void(std::string_view)> print_;
  mutable std::shared_mutex mutex_;
  mutable std::unordered_map<Function*, std::unique_ptr<const Code>> codes_;
  mutable std::mutex machines_mutex_;
  mutable std::vector<std::unique_ptr<Machine>> machines_;  // at rest; as many as ran at once
};

}  // namespace torchlet::interp
