#include "passes/analysis/effects.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "ops/random/random.h"
#include "passes/testing.h"
#include "tensor/containers.h"

namespace torchlet::passes {
namespace {

// A value for an argument that many operators take: 3 x 3 tensors, twos, halves. Nothing for types
// that those that draw random numbers do not have.
std::optional<Value> some_value(const Argument& argument) {
  if (argument.name.find("dropout") != std::string::npos || argument.name == "p") return Value(0.5);
  const TypePtr& type = argument.type;
  if (type->is(TypeKind::kTensor) ||
      (type->is(TypeKind::kOptional) && type->element(0)->is(TypeKind::kTensor))) {
    const Tensor tensor = empty(IntArray{3, 3}, DType::kFloat32);
    std::fill_n(tensor.data_ptr<float>(), 9, 0.5f);
    return Value(tensor);
  }
  switch (type->kind()) {
    case TypeKind::kBool:
      return Value(true);
    case TypeKind::kInt:
      return argument.alias_of_int.empty() ? Value(int64_t{2}) : Value(int64_t{6});
    case TypeKind::kFloat:
    case TypeKind::kNumber:
      return Value(0.5);
    case TypeKind::kList:
      if (type->element(0)->is(TypeKind::kInt)) {
        return make_int_list(IntArray(static_cast<size_t>(argument.list_size.value_or(2)), 3));
      }
      return std::nullopt;
    case TypeKind::kOptional:
      return Value();
    default:
      return std::nullopt;
  }
}

uint64_t next_number() {
  ops::Random random;
  return random.next64();
}

// The random numbers that an operator draws are seen by the one generator that there is.
bool draws(const Operator& op) {
  if (op.schema.is_vararg || op.schema.returns.empty()) return false;  // never pure
  std::vector<Value> arguments;
  for (const Argument& argument : op.schema.arguments) {
    const bool is_switch = argument.name.starts_with("train") || argument.name == "dropout_p";
    const auto value =
        argument.default_value && !is_switch ? argument.default_value : some_value(argument);
    if (!value) return false;
    arguments.push_back(*value);
  }
  std::vector<Value> results(op.schema.returns.size());
  ops::seed_random(1);
  const uint64_t untouched = next_number();
  ops::seed_random(1);
  try {
    op.call(arguments, results);
  } catch (const std::exception&) {
  }
  return next_number() != untouched;
}

TEST(Effects, OperatorsThatDrawRandomNumbersSaySo) {
  std::set<std::string> drawing;
  for (const Operator* op : all_operators()) {
    const std::string name = op->schema.full_name();
    const bool has_generator = op->schema.find_argument("generator").has_value();
    const bool is_drawing = draws(*op);
    EXPECT_TRUE(op->facts->varies_unless || !(has_generator || is_drawing)) << name;
    if (is_drawing) drawing.insert(op->schema.name);
  }
  // It does find those that it can call.
  for (const char* name : {"aten::rand",
                           "aten::randn",
                           "aten::randint",
                           "aten::randperm",
                           "aten::rand_like",
                           "aten::randn_like",
                           "aten::randint_like",
                           "aten::bernoulli",
                           "aten::bernoulli_",
                           "aten::multinomial",
                           "aten::normal",
                           "aten::normal_",
                           "aten::uniform_",
                           "aten::uniform",
                           "aten::poisson",
                           "aten::exponential_",
                           "aten::cauchy_",
                           "aten::log_normal_",
                           "aten::geometric_",
                           "aten::random_",
                           "aten::dropout",
                           "aten::dropout_",
                           "aten::feature_dropout",
                           "aten::alpha_dropout",
                           "aten::feature_alpha_dropout",
                           "aten::native_dropout",
                           "aten::rrelu",
                           "aten::rrelu_",
                           "aten::rrelu_with_noise",
                           "aten::_standard_gamma",
                           "aten::_sample_dirichlet"}) {
    EXPECT_TRUE(drawing.contains(name)) << name;
  }
}

// The nodes of a method that are pure.
std::string pure_nodes(const std::string& body) {
  Program program(module_class(
      "M", {}, "  def forward(self: __torch__.M, x: Tensor, b: bool) -> Tensor:\n" + body));
  const Value object = program.object("M", {});
  std::string names;
  for (const Node* node : *Program::method(object).graph().block()) {
    if (node->op() && is_pure(*node)) names += std::string(node->kind().name()) + " ";
  }
  return names;
}

TEST(Effects, WhatMakesAnOperatorPure) {
  struct Row {
    const char *expression, *pure;
  };
  const std::string norm =
      "torch.batch_norm(x, None, None, x, x, %, 0.10000000000000001, 1.0000000000000001e-05, True)";
  const auto norm_with = [&](const char* training) {
    std::string text = norm;
    return text.replace(text.find('%'), 1, training);
  };
  const std::string in_training = norm_with("True"), unknown = norm_with("b"),
                    in_eval = norm_with("False");
  const Row rows[] = {
      {"torch.relu(x)", "relu "},
      {"torch.relu_(x)", ""},
      {"torch.dropout(x, 0.5, True)", ""},
      {"torch.dropout(x, 0.5, b)", ""},
      {"torch.dropout(x, 0.5, False)", "dropout "},
      {"torch.dropout(x, 0., True)", "dropout "},
      {"torch.feature_dropout(x, 0.5, True)", ""},
      {"torch.alpha_dropout(x, 0.5, True)", ""},
      {"torch.feature_alpha_dropout(x, 0.5, True)", ""},
      {"torch.rrelu(x, 0.1, 0.2, True)", ""},
      {"torch.rrelu(x, 0.1, 0.2, False)", "rrelu "},
      {"torch.rrelu(x)", "rrelu "},
      {"torch.bernoulli(x)", ""},
      {"torch.multinomial(x, 2)", ""},
      {"torch.normal(x, 1.)", ""},
      {"torch.normal(0., 1., [2, 3])", ""},
      {"torch.poisson(x)", ""},
      {"torch.rand([2, 3])", ""},
      {"torch.randn([2, 3])", ""},
      {"torch.randint(5, [2, 3])", ""},
      {"torch.randint(1, 5, [2, 3])", ""},
      {"torch.randperm(5)", ""},
      {"torch.rand_like(x)", ""},
      {"torch.randn_like(x)", ""},
      {"torch.randint_like(x, 5)", ""},
      {"torch.empty([2, 3])", ""},
      {"torch.empty_like(x)", ""},
      {"torch.empty_strided([2, 3], [3, 1])", ""},
      {"torch.new_empty(x, [2, 3])", ""},
      {"torch.new_empty_strided(x, [2, 3], [3, 1])", ""},
      {in_training.c_str(), ""},
      {unknown.c_str(), ""},
      {in_eval.c_str(), "batch_norm "},
      // There is nothing to be written.
      {"torch.batch_norm(x, x, x, None, None, True, 0.1, 0.1, True)", "batch_norm "},
      {"torch.batch_norm(x, x, x, None, x, True, 0.1, 0.1, True)", ""},
      {"torch.instance_norm(x, None, None, None, None, True, 0.1, 0.1, True)", "instance_norm "},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(pure_nodes("    return " + std::string(row.expression) + "\n"), row.pure)
        << row.expression;
  }
}

// May `x` change between the first node that reads it and the last one?
bool may_change(const std::string& body) {
  Program program(
      module_class("M", {"w : Tensor"},
                   "  def forward(self: __torch__.M, x: Tensor, y: Tensor, b: bool):\n"
                   "    u = torch.neg(x)\n    v = torch.view(u, [-1])\n    n = torch.abs(u)\n" +
                       body + "    return torch.exp(u)\n"));
  const Value object = program.object("M", {{"w", Value(empty(IntArray{3}, DType::kFloat32))}});
  const Graph& graph = Program::method(object).graph();
  const Node *from = nullptr, *to = graph.outputs()[0]->node();
  for (const Node* node : *graph.block()) {
    if (node->kind() == Symbol("aten::abs")) from = node;
  }
  return may_change_between(to->input(0), *from, *to);
}

TEST(Effects, WhatMayChangeBetweenTwoNodes) {
  const struct {
    const char* body;
    bool may_change;
  } kRows[] = {
      {"", false},
      {"    z = torch.relu(u)\n", false},
      {"    z = torch.relu_(u)\n", true},
      // Of the same memory.
      {"    z = torch.relu_(v)\n", true},
      {"    z = torch.relu_(torch.select(v, 0, 0))\n", true},
      {"    z = torch.relu_(torch.contiguous(u))\n", true},
      {"    z = torch.relu_(torch.mul_(u, 2))\n", true},
      // Of other memory.
      {"    z = torch.relu_(n)\n", false},
      {"    z = torch.relu_(x)\n", false},
      {"    z = torch.relu_(torch.select(y, 0, 0))\n", false},
      {"    z = torch.relu_(torch.select(torch.add(u, 1), 0, 0))\n", false},
      {"    if b:\n      z = torch.relu_(n)\n    else:\n      z = n\n", false},
      // In a branch, and where it is not known what is written.
      {"    if b:\n      z = torch.relu_(u)\n    else:\n      z = u\n", true},
      {"    if b:\n      z = n\n    else:\n      z = u\n    z = torch.relu_(z)\n", true},
      {"    l = [n]\n    z = torch.relu_(l[0])\n", true},
  };
  for (const auto& [body, expected] : kRows) EXPECT_EQ(may_change(body), expected) << body;
  std::string many;
  for (int i = 0; i < 1001; ++i) many += "    z = torch.relu(u)\n";
  EXPECT_TRUE(may_change(many));
}

}  // namespace
}  // namespace torchlet::passes
