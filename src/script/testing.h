// For tests: programs as text, compiled.
#pragma once

#include <torchlet/error.h>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "script/compilation_unit.h"
#include "tensor/containers.h"

namespace torchlet::script {

// A program of one record, code/__torch__.py.
inline std::unique_ptr<CompilationUnit> unit_of(const std::string& text,
                                                std::vector<Value> constants = {},
                                                int version = kCurrentOperatorVersion) {
  Program program;
  program.find_source = [text](const std::string& package) -> std::shared_ptr<const Source> {
    if (package != "__torch__") return nullptr;
    return std::make_shared<Source>(Source{"code/__torch__.py", text, 1, nullptr});
  };
  program.constants = std::move(constants);
  program.operator_version = version;
  return std::make_unique<CompilationUnit>(std::move(program));
}

// The graph without the places: "graph(%x.0 : Tensor):\n  ...".
inline std::string graph_text(Function& function) {
  const Graph& graph = function.graph();
  graph.verify();
  std::istringstream lines(graph.str());
  std::string out, line;
  while (std::getline(lines, line)) out += line.substr(0, line.find("  # ")) + "\n";
  return out;
}

// The graph of the function f.
inline std::string compiled(const std::string& text) {
  const auto unit = unit_of(text);
  return graph_text(*unit->find_function("__torch__.f"));
}

inline std::string error_of(const std::string& text) {
  try {
    compiled(text);
  } catch (const Error& error) {
    return error.message();
  }
  return "no error";
}

}  // namespace torchlet::script
