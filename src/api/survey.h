// Compiles everything that a program can reach and says what it needs.
#pragma once

#include <torchlet/module.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace torchlet {
class Graph;
}  // namespace torchlet

namespace torchlet::api {

using Bodies = std::vector<std::shared_ptr<const Graph>>;  // Function::body()

struct Survey {
  std::vector<std::pair<std::string, size_t>> operators;  // by name; how often each stands there
  std::vector<UnsupportedOperator> unsupported;           // by name
  Bodies bodies;                                          // of all that was compiled
};

// All methods of all objects that are reachable from `root`, and all functions that these call. The
// first error of the compiler passes through.
Survey survey(const Value& root);

}  // namespace torchlet::api
