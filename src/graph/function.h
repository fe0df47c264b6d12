// A function or method of a program, compiled when it is first asked for.
#pragma once

#include <string>

#include "graph/graph.h"
#include "graph/schema.h"

namespace torchlet {

class Function {
 public:
  virtual ~Function() = default;
  // "__torch__.m.Net.forward"
  virtual const std::string& qualified_name() const = 0;
  // The signature; a method's first argument is self. Does not compile the body.
  virtual const Schema& schema() = 0;
  // The body. Compiles it (and nothing it calls) on the first call; thread-safe. Error if the
  // source is wrong.
  virtual const Graph& graph() = 0;
};

}  // namespace torchlet
