// A function or method of a program, compiled when it is first asked for.
#pragma once

#include <memory>
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
  // The body, which then lives as long as the function. Compiles it (and nothing it calls) if
  // nobody holds it; thread-safe. Error if the source is wrong.
  virtual const Graph& graph() = 0;
  // The same for who is soon done with it: it may go with the last of those who hold it, and is
  // compiled again for the next one.
  virtual std::shared_ptr<const Graph> body() { return {std::shared_ptr<void>(), &graph()}; }
};

}  // namespace torchlet
