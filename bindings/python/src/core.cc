// torchlet._core: what the Python package is made of.
#include "python.h"

NB_MODULE(_core, m) {
  using namespace torchlet::python;
  // An interpreter that ends leaves objects to the system.
  nb::set_leak_warnings(false);
  bind_calls();
  bind_errors(m);
  bind_tensor(m);
  bind_values(m);
  bind_module(m);
  bind_profile(m);
  bind_tools(m);
  bind_images(m);
}
