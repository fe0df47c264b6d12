#include "script/syntax.h"

#include <algorithm>
#include <unordered_set>

namespace torchlet::script {
namespace {

bool any_statement(const Body& body, bool into_loops, bool (*test)(const Stmt&)) {
  return std::any_of(body.begin(), body.end(), [&](const StmtPtr& s) {
    if (test(*s)) return true;
    const bool loop = s->kind == StmtKind::kWhile || s->kind == StmtKind::kFor;
    if (loop && !into_loops) return false;
    return any_statement(s->body, into_loops, test) || any_statement(s->orelse, into_loops, test);
  });
}

struct AssignedNames {
  void add(const std::string& name) {
    if (seen.insert(name).second) order.push_back(name);
  }
  std::vector<std::string> order;
  std::unordered_set<std::string> seen;
};

void add_target(const Expr& target, AssignedNames& names) {
  switch (target.kind) {
    case ExprKind::kName:
      names.add(target.text);
      break;
    case ExprKind::kTuple:
    case ExprKind::kList:
    case ExprKind::kStarred:
      for (const ExprPtr& child : target.children) add_target(*child, names);
      break;
    default:
      break;
  }
}

void add_assigned(const Body& body, AssignedNames& names) {
  for (const StmtPtr& s : body) {
    for (const ExprPtr& target : s->targets) add_target(*target, names);
    for (const WithItem& item : s->items) {
      if (item.target) add_target(*item.target, names);
    }
    add_assigned(s->body, names);
    add_assigned(s->orelse, names);
  }
}

}  // namespace

bool always_leaves(const Body& body) {
  return std::any_of(body.begin(), body.end(), [](const StmtPtr& s) {
    switch (s->kind) {
      case StmtKind::kReturn:
      case StmtKind::kRaise:
      case StmtKind::kBreak:
      case StmtKind::kContinue:
        return true;
      case StmtKind::kIf:
        return always_leaves(s->body) && always_leaves(s->orelse);
      case StmtKind::kWith:
        return always_leaves(s->body);
      default:
        return false;
    }
  });
}

bool has_return(const Body& body) {
  return any_statement(body, true, [](const Stmt& s) { return s.kind == StmtKind::kReturn; });
}

bool has_jump(const Body& body) {
  return any_statement(body, false, [](const Stmt& s) {
    return s.kind == StmtKind::kBreak || s.kind == StmtKind::kContinue;
  });
}

bool has_early_return(const Body& function_body) {
  for (const StmtPtr& s : function_body) {
    if (s != function_body.back() && s->kind == StmtKind::kReturn) return true;
    if (has_return(s->body) || has_return(s->orelse)) return true;
  }
  return false;
}

std::vector<std::string> assigned_names(const Body& body) {
  AssignedNames names;
  add_assigned(body, names);
  return std::move(names.order);
}

}  // namespace torchlet::script
