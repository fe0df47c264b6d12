// Models: loading, calling, looking inside.
#include <algorithm>

#include "base/error.h"
#include "python.h"
#include "tensor/containers.h"

#include <torchlet/bundled_inputs.h>
#include <torchlet/save.h>

namespace torchlet::python {
namespace {

Options options_of(const std::vector<std::string>& devices, const std::string& precision,
                   const std::string& preference, const std::string& footprint,
                   const std::string& cache_dir, bool allow_unsupported, size_t memory_limit,
                   double time_limit, bool prints,
                   const std::shared_ptr<std::atomic<bool>>& cancel) {
  Options options;
  options.devices = devices;
  options.precision = parse_precision(precision);
  options.preference = parse_preference(preference);
  options.footprint = parse_footprint(footprint);
  options.cache_dir = cache_dir;
  options.allow_unsupported = allow_unsupported;
  options.memory_limit = memory_limit;
  options.time_limit = time_limit;
  options.cancel = cancel;
  options.print = prints ? Call::print : [](std::string_view) {};
  return options;
}

template <typename... Source>
PyModule load_model(const Options& options, std::shared_ptr<std::atomic<bool>> cancel,
                    const Source&... source) {
  return unlocked([&] { return PyModule{load(source..., options), std::move(cancel)}; });
}

PyModule load_path(const std::string& path, const std::vector<std::string>& devices,
                   const std::string& precision, const std::string& preference,
                   const std::string& footprint, const std::string& cache_dir,
                   bool allow_unsupported, size_t memory_limit, double time_limit, bool prints) {
  auto cancel = std::make_shared<std::atomic<bool>>(false);
  return load_model(options_of(devices, precision, preference, footprint, cache_dir,
                               allow_unsupported, memory_limit, time_limit, prints, cancel),
                    cancel, path);
}

PyModule load_bytes(const nb::bytes& bytes, const std::vector<std::string>& devices,
                    const std::string& precision, const std::string& preference,
                    const std::string& footprint, const std::string& cache_dir,
                    bool allow_unsupported, size_t memory_limit, double time_limit, bool prints) {
  auto cancel = std::make_shared<std::atomic<bool>>(false);
  const std::span data(static_cast<const std::byte*>(bytes.data()), bytes.size());
  return load_model(options_of(devices, precision, preference, footprint, cache_dir,
                               allow_unsupported, memory_limit, time_limit, prints, cancel),
                    cancel, data);
}

nb::object call(const Method& method, const nb::args& args, const nb::kwargs& kwargs) {
  std::vector<Value> arguments = to_values(args);
  const Kwargs keywords = to_kwargs(kwargs);
  const ProfileScope profile;
  return from_value(unlocked([&] { return method(std::move(arguments), keywords); }));
}

nb::object forward(const PyModule& model, const nb::args& args, const nb::kwargs& kwargs) {
  return call(unlocked([&] { return model.module.get_method("forward"); }), args, kwargs);
}

nb::dict methods(const PyModule& model) {
  nb::dict all;
  for (const Method& method : unlocked([&] { return model.module.methods(); }))
    all[text(method.name())] = nb::cast(method);
  return all;
}

// A submodule is a Module; everything else a value.
nb::object attribute(const PyModule& model, const std::string& path) {
  const size_t dot = path.rfind('.');
  const std::string name = dot == std::string::npos ? path : path.substr(dot + 1);
  const auto [value, child] = unlocked([&] {
    const Module module =
        dot == std::string::npos ? model.module : model.module.submodule(path.substr(0, dot));
    Value v = module.attr(name);
    std::optional<Module> submodule;
    if (v.is_object() && v.object_ref().type->is_module()) submodule = module.submodule(name);
    return std::pair(std::move(v), std::move(submodule));
  });
  return child ? nb::cast(PyModule{*child, model.cancel}) : from_value(value);
}

nb::object get_attribute(const PyModule& model, const std::string& name) {
  const bool is_special = name.starts_with("__");
  if (!is_special && unlocked([&] { return model.module.hasattr(name); }))
    return attribute(model, name);
  if (!is_special) {
    if (const auto method = unlocked([&] { return model.module.find_method(name); }))
      return nb::cast(*method);
  }
  throw nb::attribute_error(("the model has no attribute or method '" + name + "'").c_str());
}

nb::dict attributes(const PyModule& model) {
  nb::dict all;
  for (const auto& [name, value] : unlocked([&] { return model.module.named_attributes(); })) {
    all[text(name)] = attribute(model, name);
  }
  return all;
}

nb::list named_tensors(const std::vector<std::pair<std::string, Tensor>>& tensors) {
  nb::list all;
  for (const auto& [name, tensor] : tensors)
    all.append(nb::make_tuple(text(name), from_tensor(tensor)));
  return all;
}

nb::list named_children(const PyModule& model) {
  nb::list all;
  for (const auto& [name, child] : unlocked([&] { return model.module.named_children(); })) {
    all.append(nb::make_tuple(text(name), PyModule{child, model.cancel}));
  }
  return all;
}

nb::dict operators(const PyModule& model) {
  nb::dict all;
  for (const auto& [name, count] : model.module.operators()) all[text(name)] = count;
  return all;
}

nb::list bundled(const PyModule& model, const std::string& method) {
  nb::list calls;
  for (const auto& arguments : unlocked([&] { return bundled_inputs(model.module, method); })) {
    calls.append(from_values(arguments));
  }
  return calls;
}

nb::dict bundled_by_method(const PyModule& model) {
  nb::dict all;
  for (const auto& [method, info] : unlocked([&] { return bundled_methods(model.module); })) {
    nb::list texts;
    for (const std::string& one : info) texts.append(text(one));
    all[text(method)] = texts;
  }
  return all;
}

// Lists of a Python-side class, made of what C++ has.
nb::object made(const char* name, const nb::list& rows) {
  const nb::object type = nb::module_::import_("torchlet._values").attr(name);
  nb::list all;
  for (const nb::handle row : rows) all.append(type(*row));
  return all;
}

nb::object placement(const PyModule& model) {
  nb::list rows;
  for (const Placement& p : unlocked([&] { return model.module.placement(); })) {
    rows.append(nb::make_tuple(p.is_segment, text(p.what), text(p.place), text(p.device),
                               text(p.reason), p.operators, p.times, p.seconds));
  }
  return made("Placement", rows);
}

nb::object unsupported(const PyModule& model) {
  nb::list rows;
  for (const UnsupportedOperator& op : model.module.unsupported_operators()) {
    nb::list places;
    for (const std::string& place : op.places) places.append(text(place));
    rows.append(nb::make_tuple(text(op.name), text(op.reason), nb::tuple(places)));
  }
  return made("UnsupportedOperator", rows);
}

nb::object info(const PyModule& model) {
  const ModelInfo& i = model.module.info();
  nb::list rows;
  rows.append(nb::make_tuple(text(i.file), text(i.container), i.file_version, text(i.root_class),
                             i.num_bytes));
  return made("ModelInfo", rows)[0];
}

nb::object arguments_of(const Method& method) {
  nb::list rows;
  for (const MethodArgument& argument : unlocked([&] { return method.arguments(); })) {
    const bool has_default = argument.default_value.has_value();
    rows.append(nb::make_tuple(text(argument.name), text(argument.type), has_default,
                               has_default ? from_value(*argument.default_value) : nb::none()));
  }
  return made("Argument", rows);
}

void bind_method(nb::module_& m) {
  nb::class_<Method>(m, "Method", "A method of one module. It keeps the model alive.")
      .def("__call__", call,
           nb::sig("def __call__(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any"),
           "Runs the method: arrays and whatever else stands in its signature in and out. The GIL "
           "is released.")
      .def_prop_ro(
          "name", [](const Method& s) { return text(s.name()); }, nb::sig("def name(self) -> str"))
      .def_prop_ro(
          "schema", [](const Method& s) { return text(unlocked([&] { return s.schema(); })); },
          nb::sig("def schema(self) -> str"), "\"forward(Tensor x, int size=3) -> Tensor\"")
      .def_prop_ro("arguments", arguments_of, nb::sig("def arguments(self) -> list[Argument]"),
                   "Without self.")
      .def_prop_ro(
          "return_type",
          [](const Method& s) { return text(unlocked([&] { return s.return_type(); })); },
          nb::sig("def return_type(self) -> str"))
      .def_prop_ro(
          "graph", [](const Method& s) { return text(unlocked([&] { return s.graph(); })); },
          nb::sig("def graph(self) -> str"), "The program, in PyTorch's notation for graphs.")
      .def_prop_ro(
          "optimized_graph",
          [](const Method& s) { return text(unlocked([&] { return s.optimized_graph(); })); },
          nb::sig("def optimized_graph(self) -> str"), "The same as it runs on devices.")
      .def(
          "__repr__",
          [](const Method& s) {
            return text("<torchlet.Method " + unlocked([&] { return s.schema(); }) + ">");
          },
          nb::sig("def __repr__(self) -> str"));
}

}  // namespace

void bind_module(nb::module_& m) {
  bind_method(m);
  nb::class_<PyModule>(
      m, "Module", nb::is_weak_referenceable(),
      "A loaded model, or a module inside of one; torchlet.load() gives it.\n\n"
      "Any number of threads may call one at once, unless it changes its own state:\n"
      "then each takes a copy (copy.deepcopy). Attributes, submodules and methods of the\n"
      "model are attributes of this object, too.")
      .def("__call__", forward,
           nb::sig("def __call__(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any"),
           "Runs forward(): arrays and whatever else stands in its signature in and out. The GIL "
           "is released.")
      .def("forward", forward,
           nb::sig("def forward(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any"))
      .def(
          "method",
          [](const PyModule& s, const std::string& name) {
            return unlocked([&] { return s.module.get_method(name); });
          },
          nb::arg("name"), "NotFoundError, naming the methods there are.")
      .def_prop_ro("methods", methods, nb::sig("def methods(self) -> dict[str, Method]"),
                   "By name.")
      .def_prop_ro(
          "type_name", [](const PyModule& s) { return text(s.module.type_name()); },
          nb::sig("def type_name(self) -> str"), "The qualified name of its class.")
      .def_prop_ro(
          "graph",
          [](const PyModule& s) {
            return text(unlocked([&] { return s.module.get_method("forward").graph(); }));
          },
          nb::sig("def graph(self) -> str"), "Of forward().")
      .def(
          "has_attribute",
          [](const PyModule& s, const std::string& name) {
            return unlocked([&] { return s.module.hasattr(name); });
          },
          nb::arg("name"))
      .def("attribute", attribute, nb::arg("path"),
           nb::sig("def attribute(self, path: str) -> typing.Any"),
           "A parameter, buffer, submodule or other attribute; \"features.0.weight\" is a path. "
           "NotFoundError.")
      .def(
          "set_attribute",
          [](const PyModule& s, const std::string& name, nb::handle value) {
            Value v = to_value(value);
            unlocked([&] { s.module.setattr(name, std::move(v)); });
          },
          nb::arg("name"), nb::arg("value").none(),
          nb::sig("def set_attribute(self, name: str, value: typing.Any) -> None"),
          "Not while another thread runs a method of the module.")
      .def_prop_ro("attributes", attributes,
                   nb::sig("def attributes(self) -> dict[str, typing.Any]"))
      .def("__getattr__", get_attribute, nb::arg("name"),
           nb::sig("def __getattr__(self, name: str) -> typing.Any"))
      .def(
          "submodule",
          [](const PyModule& s, const std::string& path) {
            return PyModule{unlocked([&] { return s.module.submodule(path); }), s.cancel};
          },
          nb::arg("path"))
      .def("named_children", named_children,
           nb::sig("def named_children(self) -> list[tuple[str, Module]]"))
      .def(
          "named_parameters",
          [](const PyModule& s) {
            return named_tensors(unlocked([&] { return s.module.named_parameters(); }));
          },
          nb::sig("def named_parameters(self) -> list[tuple[str, typing.Any]]"),
          "Of this module and all below it: (\"features.0.weight\", array). The arrays share the "
          "model's memory.")
      .def(
          "named_buffers",
          [](const PyModule& s) {
            return named_tensors(unlocked([&] { return s.module.named_buffers(); }));
          },
          nb::sig("def named_buffers(self) -> list[tuple[str, typing.Any]]"))
      .def_prop_ro("operators", operators, nb::sig("def operators(self) -> dict[str, int]"),
                   "That the program calls, and how often they stand in it.")
      .def_prop_ro("unsupported_operators", unsupported,
                   nb::sig("def unsupported_operators(self) -> list[UnsupportedOperator]"),
                   "Empty unless it was loaded with allow_unsupported.")
      .def_prop_ro("info", info, nb::sig("def info(self) -> ModelInfo"),
                   "Of the whole model's file.")
      .def_prop_ro("placement", placement, nb::sig("def placement(self) -> list[Placement]"),
                   "What runs where, and why: decided when methods are called.")
      .def("bundled_inputs", bundled, nb::arg("method") = "forward",
           nb::sig("def bundled_inputs(self, method: str = \"forward\") -> list[tuple[typing.Any, "
                   "...]]"),
           "The arguments of each call that the file carries for the method. NotFoundError if "
           "there is none.")
      .def("bundled_methods", bundled_by_method,
           nb::sig("def bundled_methods(self) -> dict[str, list[str]]"),
           "The methods that have such calls, with what the file tells about each.")
      .def(
          "cancel", [](const PyModule& s, bool cancel) { s.cancel->store(cancel); },
          nb::arg("cancel") = true,
          "Ends all calls of the model within some milliseconds with CancelledError, those of "
          "later too,\nuntil cancel(False). From any thread.")
      .def(
          "__deepcopy__",
          [](const PyModule& s, nb::handle) {
            return PyModule{unlocked([&] { return s.module.deepcopy(); }), s.cancel};
          },
          nb::arg("memo").none() = nb::none(),
          nb::sig("def __deepcopy__(self, memo: typing.Any = None) -> Module"),
          "A module of the same program with its own tensors and state.")
      .def(
          "__repr__",
          [](const PyModule& s) { return text("<torchlet.Module " + s.module.type_name() + ">"); },
          nb::sig("def __repr__(self) -> str"));

  m.def("load_path", load_path);
  m.def("load_bytes", load_bytes);
  m.def("save",
        [](const PyModule& s, const std::string& path, const std::string& container,
           int bytecode_version, bool debug, const std::map<std::string, nb::bytes>& extra_files) {
          SaveOptions options;
          options.container = container == ".ptl"  ? FileContainer::kLite
                              : container == ".ff" ? FileContainer::kFlatbuffer
                                                   : FileContainer::kTorchScript;
          options.bytecode_version = bytecode_version;
          options.debug_info = debug;
          for (const auto& [name, bytes] : extra_files)
            options.extra_files[name] = std::string(bytes.c_str(), bytes.size());
          unlocked([&] { save(s.module, path, options); });
        });
  m.def(
      "extra_files",
      [](const std::string& path) {
        nb::dict files;
        for (const auto& [name, content] : unlocked([&] { return read_extra_files(path); })) {
          files[text(name)] = nb::bytes(content.data(), content.size());
        }
        return files;
      },
      nb::sig("def extra_files(path: str) -> dict[str, bytes]"));
  m.def(
      "set_num_threads",
      [](int count) {
        if (count < 0 || count > 256) {
          fail(ErrorCode::kInvalidArgument, "threads: 0 for all processors, to 256, not %d", count);
        }
        unlocked([&] { set_num_threads(count); });
      },
      nb::arg("count"), "Threads that one operator may use, 256 at most; 0: all processors.");
  m.def("num_threads", &num_threads);
  m.def("version", &version);
}

}  // namespace torchlet::python
