// Values of a program as objects of Python, and back.
#include "base/error.h"
#include "python.h"
#include "tensor/containers.h"

namespace torchlet::python {
namespace {

bool is_numpy_scalar(nb::handle object) {
  static const nb::object* type = new nb::object(nb::module_::import_("numpy").attr("generic"));
  const int answer = PyObject_IsInstance(object.ptr(), type->ptr());
  if (answer < 0) throw nb::python_error();
  return answer != 0;
}

// Python may change the list while its items are converted.
std::vector<Value> items_of(nb::handle sequence) {
  std::vector<Value> items;
  for (size_t i = 0; i < nb::len(sequence); ++i) {
    const nb::object item =
        nb::steal(PySequence_GetItem(sequence.ptr(), static_cast<Py_ssize_t>(i)));
    if (!item.is_valid()) throw nb::python_error();
    items.push_back(to_value(item));
  }
  return items;
}

Value from_dict(nb::handle dict) {
  const nb::object pairs = nb::steal(PyDict_Items(dict.ptr()));
  if (!pairs.is_valid()) throw nb::python_error();
  std::vector<std::pair<Value, Value>> items;
  for (const nb::handle pair : pairs) items.emplace_back(to_value(pair[0]), to_value(pair[1]));
  return Value::dict(std::move(items));
}

Value from_int(nb::handle number) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0)
    fail(ErrorCode::kInvalidArgument, "an int of a model has 64 bits, and this one is larger");
  return Value(static_cast<int64_t>(value));
}

// Bytes that are no UTF-8 came from a model as surrogates, and go back so.
Value from_str(nb::handle string) {
  const nb::object bytes =
      nb::steal(PyUnicode_AsEncodedString(string.ptr(), "utf-8", "surrogateescape"));
  if (!bytes.is_valid()) throw nb::python_error();
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(bytes.ptr(), &data, &size) != 0) throw nb::python_error();
  return Value(std::string(data, static_cast<size_t>(size)));
}

nb::object decoded(std::string_view bytes, const char* errors) {
  nb::object result =
      nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), errors));
  if (!result.is_valid()) throw nb::python_error();
  return result;
}

nb::object from_items(const std::vector<Value>& items) {
  nb::list list;
  for (const Value& item : items) list.append(from_value(item));
  return list;
}

nb::object from_tuple(const Tuple& tuple) {
  const nb::object items = from_items(tuple.items);
  if (!tuple.type || tuple.type->field_names().size() != tuple.items.size())
    return nb::tuple(items);
  nb::list names;
  for (const std::string& name : tuple.type->field_names()) names.append(text(name));
  return nb::module_::import_("torchlet._values")
      .attr("named_tuple")(text(tuple.type->name()), nb::tuple(names), items);
}

nb::object from_pairs(const Value& dict) {
  nb::dict result;
  for (const auto& [key, value] : dict.to_dict()) {
    const nb::object name = key.is_tensor() ? nb::cast(PyTensor(key.to_tensor())) : from_value(key);
    result[name] = from_value(value);
  }
  return result;
}

const char* kind_of(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kObject:
      return "object";
    case ValueKind::kCustom:
      return "custom";
    case ValueKind::kEnum:
      return "enum";
    case ValueKind::kFuture:
      return "future";
    default:
      return "generator";
  }
}

}  // namespace

nb::str text(std::string_view bytes) { return nb::borrow<nb::str>(decoded(bytes, "replace")); }

std::vector<std::string> strings(const nb::object& list) {
  std::vector<std::string> result;
  for (const nb::handle item : list) result.push_back(cast_to<std::string>(item, "a text"));
  return result;
}

Value to_value(nb::handle object) {
  PyObject* o = object.ptr();
  if (object.is_none()) return Value();
  if (PyBool_Check(o)) return Value(o == Py_True);
  if (PyLong_Check(o)) return from_int(object);
  if (PyFloat_Check(o)) return Value(PyFloat_AsDouble(o));
  if (PyUnicode_Check(o)) return from_str(object);
  if (PyComplex_Check(o))
    return Value(std::complex<double>(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o)));
  const DepthGuard guard;
  if (PyTuple_Check(o)) return Value::tuple(items_of(object));
  if (PyList_Check(o)) return Value::list(items_of(object));
  if (PyDict_Check(o)) return from_dict(object);
  if (nb::isinstance<PyObjectValue>(object)) return nb::cast<PyObjectValue&>(object).value;
  // NumPy's numbers are numbers, as Python's; its arrays without dimensions are tensors.
  if (is_numpy_scalar(object)) {
    const nb::object item = object.attr("item")();
    if (!is_numpy_scalar(item)) return to_value(item);
  }
  return Value(to_tensor(object));
}

std::vector<Value> to_values(nb::handle sequence) { return items_of(sequence); }

Kwargs to_kwargs(const nb::kwargs& kwargs) {
  Kwargs result;
  for (const auto [name, value] : kwargs)
    result.emplace_back(cast_to<std::string>(name, "a name"), to_value(value));
  return result;
}

nb::object from_value(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kNone:
      return nb::none();
    case ValueKind::kTensor:
      return from_tensor(value.to_tensor());
    case ValueKind::kInt:
      return nb::int_(value.to_int());
    case ValueKind::kFloat:
      return nb::float_(value.to_double());
    case ValueKind::kComplex: {
      const std::complex<double> z = value.to_complex();
      return nb::steal(PyComplex_FromDoubles(z.real(), z.imag()));
    }
    case ValueKind::kBool:
      return nb::bool_(value.to_bool());
    case ValueKind::kString:
    case ValueKind::kDevice:
      return decoded(value.to_string(), "surrogateescape");
    default:
      break;
  }
  const DepthGuard guard;
  switch (value.kind()) {
    case ValueKind::kList:
      return from_items(value.list_ref().items);
    case ValueKind::kTuple:
      return from_tuple(value.tuple_ref());
    case ValueKind::kDict:
      return from_pairs(value);
    default:
      return nb::cast(PyObjectValue{value});
  }
}

nb::tuple from_values(const std::vector<Value>& values) { return nb::tuple(from_items(values)); }

void bind_values(nb::module_& m) {
  nb::class_<PyObjectValue>(
      m, "Object",
      "What a program holds and Python has no type for: objects of its classes, enums and the\n"
      "like. It can be given back to the program.")
      .def_prop_ro(
          "kind", [](const PyObjectValue& o) { return kind_of(o.value); },
          "\"object\", \"enum\", \"custom\" (a class written in C++), \"future\" or \"generator\".")
      .def_prop_ro(
          "type_name", [](const PyObjectValue& o) { return text(type_of(o.value)->str()); },
          nb::sig("def type_name(self) -> str"))
      .def_prop_ro(
          "name", [](const PyObjectValue& o) { return text(o.value.enum_ref().name); },
          nb::sig("def name(self) -> str"), "Of an enum's member.")
      .def_prop_ro(
          "value", [](const PyObjectValue& o) { return from_value(o.value.enum_ref().value); },
          nb::sig("def value(self) -> typing.Any"), "Of an enum's member.")
      .def_prop_ro(
          "attributes",
          [](const PyObjectValue& o) {
            const torchlet::Object& object = o.value.object_ref();
            nb::dict all;
            for (size_t i = 0; i < object.slots.size(); ++i) {
              all[text(object.type->attributes()[i].name)] = from_value(object.slots[i]);
            }
            return all;
          },
          nb::sig("def attributes(self) -> dict[str, typing.Any]"), "Of an object.")
      .def(
          "__repr__",
          [](const PyObjectValue& o) { return text("<torchlet.Object " + to_text(o.value) + ">"); },
          nb::sig("def __repr__(self) -> str"));
}

}  // namespace torchlet::python
