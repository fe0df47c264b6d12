// A loaded model: the root module of a TorchScript file, or one of its submodules.
//
//   torchlet::Module model = torchlet::load("mobilenet.pt");
//   torchlet::Tensor scores = model.forward({image}).to_tensor();
//
// A Module is a handle; copies share the object, and every handle keeps the whole model (with its
// mapped file) alive.
//
// A method is optimised for its module when it is first called (unless it runs on "reference"):
// parameters may be packed and merged then, and attributes that no method changes count as
// constants. What the program itself changes is always seen, and so is setattr(). What is written
// from outside into the memory of a parameter, buffer or other tensor of the module after that is
// seen by some operators and not by others: call setattr() afterwards (with the same tensor will
// do), or write before the first call. deepcopy() optimises for itself.
//
// Thread safety: any number of threads may run methods of one module at once, as long as these
// methods do not change the module's own attributes or buffers (forward of a model in eval mode
// does not). A model with state needs one deepcopy() for each thread, or the caller's lock.
#pragma once

#include <torchlet/export.h>
#include <torchlet/options.h>
#include <torchlet/placement.h>
#include <torchlet/value.h>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace torchlet {

class Function;
class Module;
class Type;
struct LoadedModel;

// Keyword arguments by name.
using Kwargs = std::vector<std::pair<std::string, Value>>;

// A parameter of a method as its Python signature declares it.
struct MethodArgument {
  std::string name;
  std::string type;                    // "Tensor", "Optional[List[int]]"
  std::optional<Value> default_value;  // nothing if the caller must give it
};

// A method of one module. Lives as long as it likes: it keeps the model alive.
class TORCHLET_API Method {
 public:
  const std::string& name() const { return name_; }
  // Without self.
  std::vector<MethodArgument> arguments() const;
  std::string return_type() const;
  // "forward(Tensor x, int size=3) -> Tensor"
  std::string schema() const;
  // The program as text, in PyTorch's notation for graphs.
  std::string graph() const;
  // The same as it runs on devices, for this very object.
  std::string optimized_graph() const;

  // Runs the method. Arguments are checked against the signature and converted as PyTorch converts
  // Python's: an int may stand for a float, a list for a tuple, and lists and dicts are copied into
  // ones of the declared element types; tensors are passed as they are, so that the program may
  // change them in place.
  //
  // Error kInvalidArgument if the arguments do not fit; kRuntime if the program raises or an
  // operator fails, with the places in the Python source and the module tree as context; and
  // kUnsupported if it reaches an operator that Torchlet does not have.
  Value operator()(std::vector<Value> arguments, const Kwargs& kwargs = {}) const;

 private:
  friend class Module;
  Method(std::shared_ptr<LoadedModel> model, Value self, std::string name, Function* function);

  std::shared_ptr<LoadedModel> model_;
  Value self_;
  std::string name_;
  Function* function_;
};

// An operator that the model uses and Torchlet does not have.
struct UnsupportedOperator {
  std::string name;                 // "aten::fft_rfft"
  std::string reason;               // what exactly is missing
  std::vector<std::string> places;  // "model.py:57, in __torch__.Net.forward", each use
};

struct ModelInfo {
  std::string file;          // as it was given to load()
  std::string container;     // "TorchScript", "Lite Interpreter", "Lite Interpreter flatbuffer"
  int64_t file_version = 0;  // of the format, 1 to 10; of a flatbuffer's operators
  std::string root_class;    // "__torch__.torchvision.models.mobilenetv2.MobileNetV2"
  size_t num_bytes = 0;      // of the file
};

class TORCHLET_API Module {
 public:
  // Runs forward(). As Method::operator().
  Value forward(std::vector<Value> inputs, const Kwargs& kwargs = {}) const;
  template <typename... Args>
  Value run_method(std::string_view name, Args&&... arguments) const {
    return get_method(name)({Value(std::forward<Args>(arguments))...});
  }

  // Error kNotFound, naming the methods there are.
  Method get_method(std::string_view name) const;
  std::optional<Method> find_method(std::string_view name) const;
  std::vector<Method> methods() const;

  // The qualified class name.
  std::string type_name() const;

  // Attributes of this module, parameters, buffers and submodules included. attr() is an Error
  // kNotFound if there is none of that name; a submodule is a Value of kind kObject.
  bool hasattr(std::string_view name) const;
  Value attr(std::string_view name) const;
  // Methods that rely on the attribute are optimised anew at their next call; after a few times
  // they do not rely on it any more. Not while another thread runs a method of the module.
  void setattr(std::string_view name, Value value) const;
  std::vector<std::pair<std::string, Value>> named_attributes() const;

  // Submodules. Error kNotFound if there is none of that name; "features.0" is a path.
  Module submodule(std::string_view path) const;
  std::vector<std::pair<std::string, Module>> named_children() const;

  // Of this module and all below it, with paths such as "features.0.weight", in the order of
  // declaration. Tensors share memory with the module.
  std::vector<std::pair<std::string, Tensor>> named_parameters() const;
  std::vector<std::pair<std::string, Tensor>> named_buffers() const;

  // A module of the same program with its own tensors, lists and objects; sharing inside the module
  // stays sharing inside the copy.
  Module deepcopy() const;

  // Where the parts of the model run, and why: decided when methods are first called, and for each
  // new set of shapes. Parts without a decision have not run, or run as they were written.
  std::vector<Placement> placement() const;

  // Of the whole model.
  const ModelInfo& info() const;
  // What the file carries besides the model (PyTorch's _extra_files), contents by name. Reads them
  // from the file: Error kFileFormat if they are damaged.
  std::map<std::string, std::string> extra_files() const;
  // Empty unless Options::allow_unsupported was set.
  const std::vector<UnsupportedOperator>& unsupported_operators() const;
  // Overloads that the program calls, with how often they stand in it: {"aten::conv2d", 52}.
  const std::vector<std::pair<std::string, size_t>>& operators() const;

 private:
  friend struct LoadedModel;
  Module(std::shared_ptr<LoadedModel> model, Value object);

  std::shared_ptr<LoadedModel> model_;
  Value object_;
};

// Loads a file that torch.jit.save or _save_for_lite_interpreter wrote (PyTorch 1.0 to 2.x). All of
// its code is compiled here, so that a wrong file and a missing operator are errors now and not
// later. The file is mapped: it must not be changed in place while the model lives (replacing it by
// another file is fine), and its tensors are read when they are first used.
//
// Error kIo if the file cannot be read, kFileFormat if it is damaged, kUnsupported if it is of
// another kind or uses what Torchlet does not have.
TORCHLET_API Module load(const std::string& path, const Options& options = {});

// The same from `length` bytes at `offset` of an open file, such as an uncompressed asset of an
// Android app; -1 stands for all to the end. They are mapped, whatever the offset, and the
// descriptor may be closed after the call. Error kInvalidArgument for a part that the file does not
// have.
TORCHLET_API Module load(int fd, int64_t offset, int64_t length, const Options& options = {});

// The same from memory. The bytes are copied.
TORCHLET_API Module load(std::span<const std::byte> bytes, const Options& options = {});

}  // namespace torchlet
