// The variables that are visible at a place of a function.
#pragma once

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "script/sugared_value.h"

namespace torchlet::script {

class Environment {
 public:
  // The variables assigned inside one block.
  struct Scope {
    std::unordered_map<std::string, SugaredValue> names;
    std::vector<std::string> order;  // of the names, by their first assignment
    // Why a name that one might expect is not there ("y is not defined in the false branch").
    std::unordered_map<std::string, std::string> problems;
  };

  Environment() { push(); }

  void push() { scopes_.emplace_back(); }
  Scope pop() {
    Scope scope = std::move(scopes_.back());
    scopes_.pop_back();
    return scope;
  }

  // Null if there is no such variable.
  const SugaredValue* find(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      const auto found = scope->names.find(name);
      if (found != scope->names.end()) return &found->second;
    }
    return nullptr;
  }
  // As find(), without the innermost scope.
  const SugaredValue* find_outside(const std::string& name) const {
    for (auto scope = scopes_.rbegin() + 1; scope != scopes_.rend(); ++scope) {
      const auto found = scope->names.find(name);
      if (found != scope->names.end()) return &found->second;
    }
    return nullptr;
  }

  void assign(const std::string& name, SugaredValue sugared) {
    Scope& scope = scopes_.back();
    if (scope.names.insert_or_assign(name, std::move(sugared)).second) scope.order.push_back(name);
  }
  bool erase(const std::string& name) {
    bool found = false;
    for (Scope& scope : scopes_) found |= scope.names.erase(name) > 0;
    return found;
  }

  void set_problem(const std::string& name, std::string text) {
    scopes_.back().problems[name] = std::move(text);
  }
  // Empty if nothing is known.
  std::string problem(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      const auto found = scope->problems.find(name);
      if (found != scope->problems.end()) return found->second;
    }
    return "";
  }

 private:
  std::deque<Scope> scopes_;
};

}  // namespace torchlet::script
