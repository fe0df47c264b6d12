// What the parts of the extension share: the GIL, calls into Torchlet, and values both ways.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <torchlet/torchlet.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "graph/event_sink.h"

namespace torchlet::python {

namespace nb = nanobind;

// ---- objects of Python that tensors keep alive ----

// Tensors end on any thread, with or without the GIL; what they share the memory of is released
// here, which waits for nobody.
class Kept {
 public:
  Kept() = default;
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  virtual ~Kept() = default;  // with the GIL

  // Without the GIL: deletes it at the next collect().
  void drop();
  // With the GIL.
  static void collect();

 private:
  Kept* next_ = nullptr;
};

// ---- calls ----

// The GIL is released until the end. A thread that wants it back after the interpreter has begun to
// go down sleeps for good.
class ReleasedGil {
 public:
  ReleasedGil() : state_(PyEval_SaveThread()) {}
  ~ReleasedGil();
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

 private:
  PyThreadState* state_;
};

// Around each stretch in which Torchlet runs a program: Control-C on the main thread ends it with
// KeyboardInterrupt, and what print() raises comes out of it.
class Call {
 public:
  Call();
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // With the GIL, where the stretch ended by an exception: throws the one of Python that ended it,
  // if there is one.
  void rethrow_python();

  // Where the programs' lines go: sys.stdout. From the thread that runs the program.
  static void print(std::string_view line);

 private:
  static thread_local Call* current_;
  Call* outer_;
  bool listens_ = false;  // for Control-C
  std::optional<LimitScope> limits_;
  std::optional<nb::python_error> raised_;
};

// f() without the GIL. Whatever may wait for a lock of Torchlet's goes through here: who holds the
// lock may be waiting for the GIL, to print.
template <typename F>
auto unlocked(F&& f) {
  Call call;
  struct Collected {
    ~Collected() { Kept::collect(); }
  } collected;
  try {
    const ReleasedGil released;
    return f();
  } catch (...) {
    call.rethrow_python();
    throw;
  }
}

// ---- values ----

// A text of a model as a str; what is no UTF-8 is replaced.
nb::str text(std::string_view bytes);
std::vector<std::string> strings(const nb::object& list);

// torchlet.Tensor.
struct PyTensor {
  explicit PyTensor(Tensor t) : tensor(std::move(t)) {}
  PyTensor(PyTensor&&) = default;
  ~PyTensor() {
    tensor = Tensor();
    Kept::collect();
  }
  Tensor tensor;
};

// torchlet.Object: what a program holds and Python has no type for.
struct PyObjectValue {
  Value value;
};

// Over the memory of the object where it can be shared. Error kInvalidArgument for what is no
// array.
Tensor to_tensor(nb::handle object);
Value to_value(nb::handle object);
std::vector<Value> to_values(nb::handle sequence);
Kwargs to_kwargs(const nb::kwargs& kwargs);

// A NumPy array over the tensor's memory; a torchlet.Tensor where NumPy has no such dtype.
nb::object from_tensor(const Tensor& tensor);
// The same for any value: tuples, named tuples, lists, dicts, numbers, strings, None.
nb::object from_value(const Value& value);
nb::tuple from_values(const std::vector<Value>& values);

// As nb::cast, with an error kInvalidArgument for an object of another type.
template <typename T>
T cast_to(nb::handle object, const char* what) {
  T value;
  if (nb::try_cast<T>(object, value)) return value;
  const nb::object type = object.type().attr("__name__");
  throw Error(ErrorCode::kInvalidArgument, std::string(what) + " cannot be a '" +
                                               nb::cast<std::string>(nb::str(type)) +
                                               "', or holds what it cannot");
}

std::optional<DType> dtype_of_name(std::string_view name);
nb::tuple tuple_of(IntSpan numbers);

// ---- parts of the module ----

// A model, and what cancels it.
struct PyModule {
  Module module;
  std::shared_ptr<std::atomic<bool>> cancel;
};

void bind_calls();
void bind_errors(nb::module_& m);
void bind_tensor(nb::module_& m);
void bind_values(nb::module_& m);
void bind_module(nb::module_& m);
void bind_profile(nb::module_& m);
void bind_tools(nb::module_& m);
void bind_images(nb::module_& m);

// The innermost profile that was begun on this thread hears what f() runs.
class ProfileScope {
 public:
  ProfileScope();
  ~ProfileScope();

 private:
  std::optional<EventScope> scope_;
  double begin_ = 0;
};

}  // namespace torchlet::python
