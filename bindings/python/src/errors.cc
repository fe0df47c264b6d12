// torchlet::Error as exceptions of Python (torchlet/_errors.py).
#include <new>
#include <stdexcept>

#include "device/device.h"
#include "python.h"

namespace torchlet::python {
namespace {

void raise(const Error& error) {
  nb::list places;
  for (const std::string& place : error.context()) places.append(text(place));
  const nb::object exception =
      nb::module_::import_("torchlet._errors")
          .attr("make")(static_cast<int>(error.code()), text(error.what()), text(error.message()),
                        nb::tuple(places), text(error.python_class()));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
}

}  // namespace

void bind_errors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      try {
        std::rethrow_exception(thrown);
      } catch (const Error& error) {
        raise(error);
      } catch (const device::DeviceFailure& failure) {
        raise(Error(ErrorCode::kUnsupported, failure.why));
      } catch (const std::bad_alloc&) {
        raise(Error(ErrorCode::kOutOfMemory, "out of memory"));
      } catch (const std::length_error&) {
        raise(Error(ErrorCode::kOutOfMemory,
                    "out of memory: more was asked for than can be addressed"));
      }
    } catch (nb::python_error& another) {
      another.restore();
    }
  });
}

}  // namespace torchlet::python
