#include "interp/interpreter.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/error.h"
#include "graph/prim_kinds.h"
#include "tensor/containers.h"

namespace torchlet::interp {
namespace {

class GraphFunction : public Function {
 public:
  explicit GraphFunction(std::string name) : name_(std::move(name)) {}
  const std::string& qualified_name() const override { return name_; }
  const Schema& schema() override { return schema_; }
  const Graph& graph() override { return graph_; }
  Graph& own() { return graph_; }

 private:
  std::string name_;
  Schema schema_;
  Graph graph_;
};

// Integer operators of the test's own, so that the interpreter is tested alone.
const Operator kAdd{Symbol("test::add"), parse_schema("test::add(int a, int b) -> int"),
                    [](const Operator&, auto args, auto results) {
                      results[0] = Value(args[0].to_int() + args[1].to_int());
                    }};
const Operator kLess{Symbol("test::lt"), parse_schema("test::lt(int a, int b) -> bool"),
                     [](const Operator&, auto args, auto results) {
                       results[0] = Value(args[0].to_int() < args[1].to_int());
                     }};
// How many references the argument's list has: 1 means that the interpreter has let go of it.
const Operator kUses{Symbol("test::uses"), parse_schema("test::uses(t[] list) -> int"),
                     [](const Operator&, auto args, auto results) {
                       results[0] = Value(static_cast<int64_t>(args[0].list_ref().use_count()));
                     }};
const Operator kFail{Symbol("test::fail"), parse_schema("test::fail() -> int"),
                     [](const Operator&, auto, auto) { fail(ErrorCode::kRuntime, "it failed"); }};
const Operator kFutureError{
    Symbol("test::error_of"), parse_schema("test::error_of(Future(t) f) -> Any"),
    [](const Operator&, auto args, auto results) {
      const Future& future = args[0].future_ref();
      results[0] = future.error ? Value(future.error->message()) : future.result;
    }};

// A place to add nodes, with shorthands.
struct Builder {
  Graph* graph;
  Block* block;

  explicit Builder(GraphFunction& function)
      : graph(&function.own()), block(function.own().block()) {}
  Builder(Graph* g, Block* b) : graph(g), block(b) {}
  Builder in(Block* inner) const { return {graph, inner}; }

  Node* node(Symbol kind, std::vector<SsaValue*> inputs, std::vector<TypePtr> outputs) {
    Node* made = block->append(graph->create(kind, std::move(inputs)));
    for (TypePtr& type : outputs) made->add_output(std::move(type));
    return made;
  }
  SsaValue* constant(Value value) {
    Node* made = node(prim::kConstant, {}, {type_of(value)});
    made->set_attribute("value", std::move(value));
    return made->output();
  }
  SsaValue* call(const Operator& op, std::vector<SsaValue*> inputs,
                 TypePtr type = types::integer()) {
    Node* made = node(op.name, std::move(inputs), {std::move(type)});
    made->set_op(&op);
    return made->output();
  }
  Node* loop(SsaValue* most, SsaValue* first, std::vector<SsaValue*> carried) {
    std::vector<SsaValue*> inputs = {most, first};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    Node* made = node(prim::kLoop, inputs, {});
    made->add_block()->add_input(types::integer());
    for (SsaValue* value : carried) {
      made->add_output(value->type());
      made->block(0)->add_input(value->type());
    }
    return made;
  }
};

Value run(GraphFunction& function, std::vector<Value> arguments) {
  function.graph().verify();
  return Interpreter().run(function, std::move(arguments));
}

TEST(Interpreter, ForLoopCarriesValuesAndCountsTrips) {
  GraphFunction f("sum");
  Builder b(f);
  SsaValue* n = b.block->add_input(types::integer());
  Node* loop = b.loop(n, b.constant(true), {b.constant(0)});
  Builder body = b.in(loop->block(0));
  SsaValue* again = body.constant(true);
  SsaValue* sum = body.call(kAdd, {body.block->inputs()[1], body.block->inputs()[0]});
  body.block->add_output(again);
  body.block->add_output(sum);
  b.block->add_output(loop->output());
  EXPECT_EQ(run(f, {5}).to_int(), 10);
  EXPECT_EQ(run(f, {0}).to_int(), 0);
}

TEST(Interpreter, WhileLoopSwapsCarriedValuesAtOnce) {
  GraphFunction f("fibonacci");  // a, b = b, a + b while b < limit
  Builder b(f);
  SsaValue* limit = b.block->add_input(types::integer());
  SsaValue* zero = b.constant(0);
  SsaValue* one = b.constant(1);
  Node* loop = b.loop(b.constant(std::numeric_limits<int64_t>::max()),
                      b.call(kLess, {one, limit}, types::boolean()), {zero, one});
  Builder body = b.in(loop->block(0));
  SsaValue* old_a = body.block->inputs()[1];
  SsaValue* old_b = body.block->inputs()[2];
  SsaValue* next = body.call(kAdd, {old_a, old_b});
  body.block->add_output(body.call(kLess, {next, limit}, types::boolean()));
  body.block->add_output(old_b);
  body.block->add_output(next);
  Node* pair = b.node(prim::kTupleConstruct, {loop->output(0), loop->output(1)},
                      {types::tuple({types::integer(), types::integer()})});
  b.block->add_output(pair->output());
  EXPECT_EQ(to_text(run(f, {50})), "(34, 55)");
  EXPECT_EQ(to_text(run(f, {1})), "(0, 1)");
}

TEST(Interpreter, BranchInsideLoopReadsOuterValues) {
  GraphFunction f("count_small");  // how many of 0..9 are below `limit`
  Builder b(f);
  SsaValue* limit = b.block->add_input(types::integer());
  Node* loop = b.loop(b.constant(10), b.constant(true), {b.constant(0)});
  Builder body = b.in(loop->block(0));
  SsaValue* small = body.call(kLess, {body.block->inputs()[0], limit}, types::boolean());
  Node* branch = body.node(prim::kIf, {small}, {types::integer()});
  Builder then = b.in(branch->add_block());
  then.block->add_output(then.call(kAdd, {body.block->inputs()[1], then.constant(1)}));
  branch->add_block()->add_output(body.block->inputs()[1]);
  body.block->add_output(body.constant(true));
  body.block->add_output(branch->output());
  b.block->add_output(b.call(kAdd, {loop->output(), b.constant(100)}));
  EXPECT_EQ(run(f, {3}).to_int(), 103);
  EXPECT_EQ(run(f, {30}).to_int(), 110);
}

TEST(Interpreter, LastUseMovesTheValue) {
  GraphFunction f("moves");
  Builder b(f);
  SsaValue* item = b.block->add_input(types::integer());
  SsaValue* list =
      b.node(prim::kListConstruct, {item, item}, {types::list(types::integer())})->output();
  SsaValue* first = b.call(kUses, {list});   // the register and the argument
  SsaValue* second = b.call(kUses, {list});  // only the argument
  b.block->add_output(b.node(prim::kTupleConstruct, {first, second},
                             {types::tuple({types::integer(), types::integer()})})
                          ->output());
  EXPECT_EQ(to_text(run(f, {7})), "(2, 1)");
}

TEST(Interpreter, ValueLastUsedInsideABlockIsFreeAfterIt) {
  GraphFunction f("drops");
  Builder b(f);
  SsaValue* watched = b.block->add_input(types::list(types::integer()));
  SsaValue* holder =
      b.node(prim::kListConstruct, {watched}, {types::list(watched->type())})->output();
  Node* branch = b.node(prim::kIf, {b.constant(true)}, {});
  Builder then = b.in(branch->add_block());
  then.call(kUses, {holder});
  branch->add_block();
  b.block->add_output(b.call(kUses, {watched}));
  Value list = make_int_list(std::vector<int64_t>{1});
  std::vector<Value> arguments(1, list);
  EXPECT_EQ(run(f, std::move(arguments)).to_int(), 2);  // `list` and the argument, no holder
}

TEST(Interpreter, ListsThatAProgramMayChangeAreMadeAnew) {
  GraphFunction f("fresh");
  Builder b(f);
  SsaValue* list =
      b.node(prim::kListConstruct, {b.constant(1)}, {types::list(types::integer())})->output();
  b.block->add_output(list);
  Interpreter interpreter;
  const Value one = interpreter.run(f, {});
  const Value two = interpreter.run(f, {});
  EXPECT_FALSE(one.is_same(two));
}

TEST(Interpreter, ForkKeepsTheErrorForWait) {
  GraphFunction f("fork");
  Builder b(f);
  SsaValue* fails = b.block->add_input(types::boolean());
  Node* fork = b.node(prim::kFork, {}, {types::future(types::integer())});
  Builder body = b.in(fork->add_block());
  Node* branch = body.node(prim::kIf, {fails}, {});
  Builder then = b.in(branch->add_block());
  then.call(kFail, {});
  branch->add_block();
  body.block->add_output(body.constant(42));
  b.block->add_output(b.call(kFutureError, {fork->output()}, types::any()));
  EXPECT_EQ(run(f, {false}).to_int(), 42);
  EXPECT_EQ(run(f, {true}).to_string(), "it failed");
}

TEST(Interpreter, ErrorsSayWhereInTheSourceAndInTheModules) {
  auto net = std::make_shared<ClassType>(TypeKind::kClass, "__torch__.Net", true);
  auto conv = std::make_shared<ClassType>(TypeKind::kClass, "__torch__.Conv", true);
  net->add_attribute({"conv", conv});
  GraphFunction inner("__torch__.Conv.forward"), outer("__torch__.Net.forward");
  auto source = std::make_shared<Source>();
  source->name = "net.py";
  source->text = "line\nline\nline\n";

  Builder c(inner);
  c.block->add_input(conv);
  Node* failing = c.call(kFail, {})->node();
  failing->set_range({source, 5, 9});
  c.block->add_output(failing->output());
  conv->add_method("forward", &inner);

  Builder b(outer);
  SsaValue* self = b.block->add_input(net);
  Node* get = b.node(prim::kGetAttr, {self}, {conv});
  get->set_attribute("name", std::string("conv"));
  Node* call = b.node(prim::kCallMethod, {get->output()}, {types::integer()});
  call->set_attribute("name", std::string("forward"));
  call->set_range({source, 10, 14});
  b.block->add_output(call->output());

  auto object = make_ref<Object>(net);
  object->slots[0] = Value(make_ref<Object>(conv));
  try {
    run(outer, {Value(object)});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "it failed\n  in net.py:2, in conv (test::fail)\n  in net.py:3");
  }
}

TEST(Interpreter, EndlessRecursionIsAnError) {
  GraphFunction f("__torch__.again");
  Builder b(f);
  Node* call = b.node(prim::kCallFunction, {}, {types::integer()});
  call->set_attribute("function", static_cast<Function*>(&f));
  b.block->add_output(call->output());
  try {
    run(f, {});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "more than 1000 calls within calls");
    EXPECT_EQ(error.python_class(), "builtins.RecursionError");
    EXPECT_EQ(error.context().size(), 25u);
  }
}

TEST(Interpreter, WithIsLeftWhenSomethingIsRaised) {
  auto guard = std::make_shared<ClassType>(TypeKind::kClass, "__torch__.Guard", false);
  guard->add_attribute({"left", types::boolean()});
  GraphFunction enter("__torch__.Guard.__enter__"), leave("__torch__.Guard.__exit__");
  Builder e(enter);
  e.block->add_input(guard);
  e.block->add_output(e.constant(Value()));
  Builder x(leave);
  SsaValue* self = x.block->add_input(guard);
  for (int i = 0; i < 3; ++i) x.block->add_input(types::any());
  x.node(prim::kSetAttr, {self, x.constant(true)}, {})->set_attribute("name", std::string("left"));
  x.block->add_output(x.constant(Value()));
  guard->add_method("__enter__", &enter);
  guard->add_method("__exit__", &leave);

  GraphFunction f("f");
  Builder b(f);
  SsaValue* object = b.block->add_input(guard);
  b.node(prim::kEnter, {object}, {types::none()});
  b.node(prim::kRaiseException, {b.constant("no"), b.constant("builtins.ValueError")}, {});
  b.node(prim::kExit, {object}, {});
  b.block->add_output(b.constant(Value()));

  auto held = make_ref<Object>(guard);
  try {
    run(f, {Value(held)});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "no");
    EXPECT_EQ(error.python_class(), "builtins.ValueError");
  }
  EXPECT_TRUE(held->slots[0].to_bool());
}

TEST(Interpreter, AnUnknownOperatorIsNamedWhenItIsReached) {
  GraphFunction f("f");
  Builder b(f);
  Node* missing = b.node(prim::kUnsupported, {}, {types::unknown()});
  missing->set_attribute("name", std::string("aten::no_such"));
  missing->set_attribute("reason", std::string("it is missing"));
  b.block->add_output(missing->output());
  try {
    run(f, {});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_NE(error.message().find("aten::no_such"), std::string::npos);
  }
}

TEST(Interpreter, UnpackChecksTheLength) {
  GraphFunction f("f");
  Builder b(f);
  SsaValue* list = b.block->add_input(types::list(types::integer()));
  Node* unpack = b.node(prim::kListUnpack, {list}, {types::integer(), types::integer()});
  b.block->add_output(b.call(kAdd, {unpack->output(0), unpack->output(1)}));
  EXPECT_EQ(run(f, {make_int_list(std::vector<int64_t>{3, 4})}).to_int(), 7);
  try {
    run(f, {make_int_list(std::vector<int64_t>{1, 2, 3})});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "Expected 2 elements in a list but found 3");
  }
}

TEST(Interpreter, ThreadsShareOneFunction) {
  GraphFunction f("sum");
  Builder b(f);
  SsaValue* n = b.block->add_input(types::integer());
  Node* loop = b.loop(n, b.constant(true), {b.constant(0)});
  Builder body = b.in(loop->block(0));
  body.block->add_output(body.constant(true));
  body.block->add_output(body.call(kAdd, {body.block->inputs()[1], body.block->inputs()[0]}));
  b.block->add_output(loop->output());
  const Interpreter interpreter;
  std::vector<std::thread> threads;
  std::vector<int64_t> sums(4);
  for (size_t t = 0; t < sums.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) sums[t] += interpreter.run(f, {100}).to_int();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sums, std::vector<int64_t>(4, 495000));
}

}  // namespace
}  // namespace torchlet::interp
