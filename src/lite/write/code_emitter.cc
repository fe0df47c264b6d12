#include "lite/write/code_emitter.h"

#include <algorithm>
#include <limits>
#include <span>

#include "base/error.h"
#include "graph/function.h"
#include "graph/prim_kinds.h"
#include "lite/write/argument_counts.h"
#include "lite/write/code_tables.h"
#include "lite/write/lifetimes.h"
#include "script/compilation_unit.h"
#include "script/upgraders.h"
#include "tensor/containers.h"

namespace torchlet::lite {
namespace {

using Values = std::span<const SsaValue* const>;

// Instructions hold numbers of 16 bits beside one of 32.
constexpr int64_t kMaxCount = std::numeric_limits<uint16_t>::max();

// Operators that are instructions of their own.
std::optional<Opcode> promoted(const Operator& op) {
  static const std::pair<Symbol, Opcode> known[] = {
      {Symbol("aten::__is__"), Opcode::kIs},
      {Symbol("aten::__isnot__"), Opcode::kIsNot},
      {Symbol("aten::__not__"), Opcode::kNot},
      {Symbol("aten::dim"), Opcode::kDim},
      {Symbol("aten::format"), Opcode::kFormat},
      {Symbol("prim::device"), Opcode::kDevice},
      {Symbol("prim::dtype"), Opcode::kDType},
      {Symbol("prim::is_cuda"), Opcode::kIsCuda},
      {Symbol("prim::NumToTensor"), Opcode::kNumToTensor},
  };
  for (const auto& [name, opcode] : known) {
    if (name == op.name) return opcode;
  }
  static const Symbol getitem("aten::__getitem__");
  if (op.name == getitem && op.schema.overload.starts_with("Dict")) return Opcode::kDictIndex;
  return std::nullopt;
}

// How deep the lists of numbers are that tolist() gives, and the number of the numbers' type.
struct NumberList {
  int64_t depth = 0, kind = 0;
};

NumberList number_list(const Type& type) {
  NumberList result;
  const Type* element = &type;
  for (; element->is(TypeKind::kList); element = element->element(0).get()) ++result.depth;
  constexpr TypeKind kinds[] = {TypeKind::kInt, TypeKind::kFloat, TypeKind::kBool,
                                TypeKind::kComplex};
  result.kind = std::ranges::find(kinds, element->kind()) - std::begin(kinds);
  return result;
}

class CodeEmitter {
 public:
  CodeEmitter(const Graph& graph, const CodeForm& form, BytecodeFunction& function,
              DebugTables* debug)
      : graph_(graph),
        form_(form),
        function_(function),
        debug_(debug),
        tables_(function),
        lifetimes_(graph),
        counts_(graph, form) {}

  void run() {
    store(graph_.inputs());
    block(*graph_.block());
    if (graph_.outputs().empty()) put(Opcode::kLoadC, tables_.constant(Value()));
    put(Opcode::kRet);
  }

 private:
  size_t here() const { return function_.instructions.size(); }

  size_t put(Opcode opcode, int64_t x = 0, size_t n = 0) {
    if (x > std::numeric_limits<int32_t>::max() || n > kMaxCount) {
      fail(ErrorCode::kUnsupported, "an instruction of bytecode has no room for so many values");
    }
    function_.instructions.push_back({opcode, x, static_cast<int64_t>(n)});
    if (debug_) function_.debug_handles.push_back(handle_);
    return here() - 1;
  }
  // The jump at `from` leads to the next instruction.
  void lead_here(size_t from) {
    function_.instructions[from].x = static_cast<int64_t>(here()) - static_cast<int64_t>(from);
  }

  // ---- values ----

  void load(const SsaValue* value) {
    const Node* maker = value->node();
    if (maker->kind() == prim::kConstant) {
      const Value& constant = maker->value_attribute("value");
      if (constant.is_enum()) refuse("a " + constant.enum_ref().type->str());
      put(Opcode::kLoadC, tables_.constant(constant));
    } else if (lifetimes_.is_on_stack(maker)) {
      const int64_t outer = handle_;
      if (debug_) handle_ = debug_->handle_of(*maker, function_.name);
      node(*maker);
      handle_ = outer;
    } else {
      put(lifetimes_.is_last_read(value) ? Opcode::kMove : Opcode::kLoad, registers_.at(value));
    }
  }
  void load(const std::vector<SsaValue*>& values) {
    for (const SsaValue* value : values) load(value);
  }

  // What lies on the stack goes into the next registers.
  void store(const std::vector<SsaValue*>& values) {
    const auto is_read = [](const SsaValue* value) { return !value->users().empty(); };
    if (std::ranges::none_of(values, is_read)) {
      for (size_t i = 0; i < values.size(); ++i) put(Opcode::kDrop);
      return;
    }
    const int64_t first = function_.register_size + 1;
    for (const SsaValue* value : values) registers_[value] = ++function_.register_size;
    if (values.size() == 1) {
      put(Opcode::kStore, first);
    } else {
      put(Opcode::kStoreN, first, values.size());
    }
    for (const SsaValue* value : values) {
      if (!is_read(value)) put(Opcode::kDropR, registers_[value]);
    }
  }

  // ---- nodes ----

  // Leaves what the block gives on the stack.
  void block(const Block& block) {
    for (const Node* each : block) {
      if (each->kind() == prim::kConstant || lifetimes_.is_on_stack(each)) continue;
      const int64_t outer = handle_;
      if (debug_) handle_ = debug_->handle_of(*each, function_.name);
      try {
        node(*each);
      } catch (Error& error) {
        if (error.context().empty()) error.add_context("at " + each->range().where());
        throw;
      }
      store(each->outputs());
      for (const SsaValue* value : lifetimes_.ends_after(each)) {
        put(Opcode::kDropR, registers_.at(value));
      }
      handle_ = outer;
    }
    load(block.outputs());
  }

  // Leaves what the node gives on the stack.
  void node(const Node& node) {
    if (node.op()) {
      operation(node);
    } else if (node.kind() == prim::kIf) {
      branch(node);
    } else if (node.kind() == prim::kLoop) {
      loop(node);
    } else if (node.kind() == prim::kFork) {
      // The mobile runtime has no futures, so what is forked runs at once.
      block(*node.block(0));
    } else if (!object_node(node) && !container_node(node) && !named_node(node)) {
      refuse(node);
    }
  }

  void operation(const Node& node) {
    const Operator& op = *node.op();
    static const Symbol warn("aten::warn"), wait("aten::wait");
    if (op.name == wait) {
      load(node.inputs());  // see fork
    } else if (op.name == warn) {
      constexpr int64_t kAlways = -1;  // and not once for each place
      load(node.inputs());
      put(Opcode::kWarn, kAlways);
    } else if (const std::optional<Opcode> opcode = promoted(op)) {
      load(node.inputs());
      if (!form_.has_promoted) return call(op, node.inputs().size());
      put(*opcode, opcode == Opcode::kFormat ? static_cast<int64_t>(node.inputs().size()) : 0);
    } else {
      const ArgumentCounts::Given given = counts_.of(&op);
      const std::vector<SsaValue*>& inputs = node.inputs();
      const size_t num_first = op.schema.is_vararg ? inputs.size() : given.num_first;
      for (size_t i = 0; i < num_first; ++i) load(inputs[i]);
      for (size_t i = inputs.size() - given.num_out; i < inputs.size(); ++i) load(inputs[i]);
      call(op, inputs.size());
    }
  }

  void call(const Operator& op, size_t num_inputs) {
    if (op.schema.is_vararg) {
      const int64_t index = tables_.operation({op.schema.name, op.schema.overload, std::nullopt});
      put(Opcode::kOpN, index, num_inputs);
    } else {
      call(op.schema.name, op.schema.overload, static_cast<int64_t>(counts_.of(&op).total()));
    }
  }
  void call(const std::string& name, const std::string& overload,
            std::optional<int64_t> num_arguments) {
    if (!form_.counts_arguments) num_arguments.reset();
    put(Opcode::kOp, tables_.operation({name, overload, num_arguments}));
  }

  void branch(const Node& node) {
    load(node.inputs());
    const size_t test = put(Opcode::kJF);
    block(*node.block(0));
    const size_t jump = put(Opcode::kJmp);
    lead_here(test);
    block(*node.block(1));
    lead_here(jump);
  }

  void loop(const Node& node) {
    const Block& body = *node.block(0);
    put(Opcode::kLoadC, tables_.constant(Value(int64_t{0})));
    load(node.inputs());
    const size_t begin = put(Opcode::kLoop, 0, node.inputs().size());
    store(body.inputs());
    block(body);
    put(Opcode::kJmp, static_cast<int64_t>(begin) - static_cast<int64_t>(here()));
    lead_here(begin);
  }

  // What has to do with objects; false if the node is of no such kind.
  bool object_node(const Node& node) {
    const Symbol kind = node.kind();
    if (kind == prim::kGetAttr || kind == prim::kSetAttr) {
      load(node.inputs());
      put(kind == prim::kGetAttr ? Opcode::kGetAttr : Opcode::kSetAttr, slot(node));
    } else if (kind == prim::kCallMethod && !node.has_attribute("function")) {
      load(node.inputs());
      const Value name(node.string_attribute("name"));
      put(Opcode::kInterfaceCall, tables_.constant(name), node.inputs().size());
    } else if (kind == prim::kCreateObject && script::is_custom_class(*node.output()->type())) {
      put(Opcode::kCreateObject, tables_.type(node.output()->type()));
    } else if (kind == prim::kIsInstance) {
      const std::vector<TypePtr>& types = node.type_attribute("types")->elements();
      load(node.inputs());
      put(Opcode::kIsInstance, tables_.types(types), types.size());
    } else {
      return false;
    }
    return true;
  }

  static int64_t slot(const Node& node) {
    const Type* holder = node.input(0)->type().get();
    if (holder->is(TypeKind::kOptional)) holder = holder->element(0).get();
    const ClassType* type = holder->as_class();
    const auto found =
        type ? type->find_attribute(node.string_attribute("name")) : std::optional<size_t>();
    if (!found) {
      fail(ErrorCode::kUnsupported,
           "bytecode names attributes by number, and '%s' of a %s has none",
           node.string_attribute("name").c_str(), holder->str().c_str());
    }
    return static_cast<int64_t>(*found);
  }

  // Lists, dicts and tuples; false if the node is of no such kind.
  bool container_node(const Node& node) {
    const Symbol kind = node.kind();
    const size_t count = node.inputs().size();
    if (kind == prim::kListUnpack) {
      load(node.inputs());
      put(Opcode::kListUnpack, static_cast<int64_t>(node.outputs().size()));
    } else if (kind == prim::kTupleUnpack) {
      load(node.inputs());
      call(kind.str(), "", 1);
    } else if (kind == prim::kTupleIndex) {
      load(node.inputs());
      form_.has_promoted ? void(put(Opcode::kTupleIndex)) : call(kind.str(), "", 2);
    } else if (kind == prim::kListConstruct || kind == prim::kDictConstruct) {
      load(node.inputs());
      put(kind == prim::kListConstruct ? Opcode::kListConstruct : Opcode::kDictConstruct,
          tables_.type(node.output()->type()), count);
    } else if (kind == prim::kTupleConstruct) {
      load(node.inputs());
      const TypePtr& type = node.output()->type();
      if (type->name().empty()) {
        put(Opcode::kTupleConstruct, static_cast<int64_t>(count));
      } else {
        put(Opcode::kNamedTupleConstruct, tables_.type(type), count);
      }
    } else {
      return false;
    }
    return true;
  }

  // What PyTorch calls by its name; false if the node is of no such kind.
  bool named_node(const Node& node) {
    const Symbol kind = node.kind();
    if (kind == prim::kUncheckedCast) {
      load(node.inputs());
      call(kind.str(), "", 1);
    } else if (kind == prim::kModuleContainerIndex) {
      load(node.inputs());
      call(kind.str(), node.input(1)->type()->is(TypeKind::kString) ? "dict" : "list", 2);
    } else if (kind == prim::kUninitialized) {
      form_.has_promoted ? void(put(Opcode::kUnInitialized)) : call(kind.str(), "", 0);
    } else if (kind == prim::kRaiseException) {
      load(node.inputs());
      form_.has_promoted ? void(put(Opcode::kRaiseException)) : call(kind.str(), "", 2);
    } else if (kind == prim::kToList) {
      load(node.inputs());
      const NumberList list = number_list(*node.output()->type());
      put(Opcode::kLoadC, tables_.constant(Value(list.depth)));
      put(Opcode::kLoadC, tables_.constant(Value(list.kind)));
      form_.has_promoted ? void(put(Opcode::kToList)) : call(kind.str(), "", std::nullopt);
    } else if (kind == prim::kPrint) {
      load(node.inputs());
      put(Opcode::kOpN, tables_.operation({kind.str(), "", std::nullopt}), node.inputs().size());
    } else {
      return false;
    }
    return true;
  }

  [[noreturn]] static void refuse(const Node& node) {
    std::string what = node.kind().str();
    if (node.kind() == prim::kUnsupported) {
      what = "the operator " + node.string_attribute("name") + ", which Torchlet does not know";
    } else if (node.has_attribute("function")) {
      what = "a call of " + node.function_attribute("function")->qualified_name() +
             ", which calls itself or makes the method too large";
    } else if (node.kind() == prim::kCreateObject) {
      what = "an object of " + node.output()->type()->str() + " that a method makes";
    }
    refuse(what);
  }
  [[noreturn]] static void refuse(const std::string& what) {
    fail(ErrorCode::kUnsupported, "Lite Interpreter bytecode has no form for " +
                                      what.substr(0, 300) + "; write the model as .pt");
  }

  const Graph& graph_;
  const CodeForm form_;
  BytecodeFunction& function_;
  DebugTables* const debug_;
  int64_t handle_ = kNoDebugHandle;  // of the node whose instructions are put
  CodeTables tables_;
  Lifetimes lifetimes_;
  const ArgumentCounts counts_;
  std::unordered_map<const SsaValue*, int64_t> registers_;
};

}  // namespace

void emit_code(const Graph& graph, const CodeForm& form, BytecodeFunction& function,
               DebugTables* debug) {
  CodeEmitter(graph, form, function, debug).run();
}

int version_of_operators(const Bytecode& bytecode) {
  int version = 0;
  for (const BytecodeFunction& function : bytecode.functions) {
    for (const OperatorName& name : function.operators) {
      const Operator* op = find_operator(name.name, name.overload);
      if (op) version = std::max(version, script::version_of_meaning(op->schema));
    }
  }
  return version;
}

}  // namespace torchlet::lite
