#include <algorithm>
#include <map>

#include "base/error.h"
#include "graph/operator.h"
#include "lite/bytecode.h"
#include "tensor/containers.h"

namespace torchlet::lite {
namespace {

constexpr int64_t kMaxRegisters = int64_t{1} << 20;
constexpr size_t kMaxStack = size_t{1} << 20;
// Registers and stack entries of all the ways through all functions.
constexpr size_t kMaxValues = size_t{1} << 24;

// Thrown for an instruction whose effect cannot be told; the rest of its function is not verified.
struct Unknown {};

class FunctionVerifier {
 public:
  FunctionVerifier(const BytecodeFunction& function, const Program& program, size_t& values_left)
      : function_(function), program_(program), values_left_(values_left) {}

  void run() {
    if (function_.instructions.empty()) malformed("it has no instructions");
    if (function_.register_size < 0 || function_.register_size > kMaxRegisters) {
      malformed("its register_size is out of range");
    }
    spend(static_cast<size_t>(function_.register_size));
    registers_.resize(static_cast<size_t>(function_.register_size) + 1);
    stack_.assign(first_stack_size(), nullptr);
    if (!stack_.empty()) stack_[0] = own_class();
    depth_at_.assign(function_.instructions.size(), kNotSeen);
    pending_.push_back({0, stack_});
    while (!pending_.empty()) {
      at_ = pending_.back().first;
      stack_ = std::move(pending_.back().second);
      pending_.pop_back();
      // Registers hold what the way here stored; another way may have stored something else.
      std::ranges::fill(registers_, nullptr);
      spend(registers_.size());
      while (step()) {
      }
    }
  }

 private:
  static constexpr int64_t kNotSeen = -1;

  [[noreturn]] void malformed(const std::string& what) const {
    fail(ErrorCode::kFileFormat, "the bytecode of " + function_.name.substr(0, 200) +
                                     " is malformed: at instruction " + std::to_string(at_) + " " +
                                     what);
  }

  // The arguments lie on the stack; without a schema the first STOREN takes them all.
  size_t first_stack_size() const {
    if (function_.schema) return function_.schema->arguments.size();
    const Instruction& first = function_.instructions[0];
    const int64_t count = first.opcode == Opcode::kStoreN  ? first.n
                          : first.opcode == Opcode::kStore ? 1
                                                           : 0;
    return static_cast<size_t>(std::clamp<int64_t>(count, 0, kMaxRegisters));
  }

  const ClassType* own_class() const {
    const size_t dot = function_.name.rfind('.');
    return dot == std::string::npos ? nullptr : program_.find_class(function_.name.substr(0, dot));
  }

  // Runs one instruction; false when this way ends.
  bool step() {
    if (at_ >= function_.instructions.size()) malformed("the code ends without RET");
    int64_t& seen = depth_at_[at_];
    if (seen != kNotSeen) {
      if (seen != static_cast<int64_t>(stack_.size())) {
        malformed("the stack differs between two ways that lead there");
      }
      return false;
    }
    seen = static_cast<int64_t>(stack_.size());
    const Instruction& in = function_.instructions[at_];
    switch (in.opcode) {
      case Opcode::kRet:
        if (stack_.empty()) malformed("nothing is returned");
        return false;
      case Opcode::kRaiseException:
        pop(1);
        return false;
      case Opcode::kJmp:
        at_ = target(in.x);
        return true;
      case Opcode::kJF:
        pop(1);
        spend(stack_.size());
        pending_.emplace_back(target(in.x), stack_);
        break;
      case Opcode::kLoop: {
        // trip, most, condition and carried values; the three go when the loop ends.
        if (in.n < 2) malformed("the loop carries less than nothing");
        need(checked_count(in.n) + 1);
        spend(stack_.size());
        std::vector<const ClassType*> after(stack_.begin(), stack_.end() - 3);
        std::ranges::fill(after.end() - (in.n - 2), after.end(), nullptr);
        pending_.emplace_back(target(in.x), std::move(after));
        break;
      }
      default:
        plain(in);
    }
    ++at_;
    return true;
  }

  size_t target(int64_t offset) const {
    const auto size = static_cast<int64_t>(function_.instructions.size());
    const auto at = static_cast<int64_t>(at_);
    if (offset < -at || offset >= size - at) malformed("the jump leaves the code");
    return static_cast<size_t>(at + offset);
  }

  // Each way through the function has registers and a stack of its own.
  void spend(size_t values) {
    if (values > values_left_) malformed("its branches hold too many values");
    values_left_ -= values;
  }

  size_t checked_count(int64_t count) const {
    if (count < 0 || count > static_cast<int64_t>(kMaxStack)) malformed("a count is out of range");
    return static_cast<size_t>(count);
  }
  void need(size_t count) const {
    if (stack_.size() < count) malformed("the stack holds too few values");
  }
  void pop(int64_t count) {
    need(checked_count(count));
    stack_.resize(stack_.size() - static_cast<size_t>(count));
  }
  void push(size_t count = 1) {
    if (stack_.size() + count > kMaxStack) malformed("the stack grows too large");
    stack_.resize(stack_.size() + count, nullptr);
  }
  void replace(int64_t count) {
    pop(count);
    push();
  }

  const ClassType*& reg(int64_t index) {
    if (index < 1 || index >= static_cast<int64_t>(registers_.size())) {
      malformed("there is no register " + std::to_string(index));
    }
    return registers_[static_cast<size_t>(index)];
  }
  template <typename T>
  const T& entry(const std::vector<T>& table, int64_t index, const char* what) const {
    if (index < 0 || index >= static_cast<int64_t>(table.size())) {
      malformed(std::string("there is no ") + what + " " + std::to_string(index));
    }
    return table[static_cast<size_t>(index)];
  }

  void plain(const Instruction& in) {
    switch (in.opcode) {
      case Opcode::kOp:
      case Opcode::kOpN:
        return call_operator(in);
      case Opcode::kLoad:
      case Opcode::kMove: {
        const ClassType* held = reg(in.x);
        push();
        stack_.back() = held;
        return;
      }
      case Opcode::kStore:
        need(1);
        reg(in.x) = stack_.back();
        return pop(1);
      case Opcode::kStoreN:
        need(checked_count(in.n));
        for (int64_t i = 0; i < in.n; ++i) {
          reg(in.x + i) = stack_[stack_.size() - static_cast<size_t>(in.n - i)];
        }
        return pop(in.n);
      case Opcode::kDropR:
        reg(in.x) = nullptr;
        return;
      case Opcode::kLoadC:
        entry(function_.constants, in.x, "constant");
        return push();
      case Opcode::kInterfaceCall:
        if (!entry(function_.constants, in.x, "constant").is_string()) {
          malformed("the method's name is no str");
        }
        return replace(in.n);
      case Opcode::kGetAttr:
        return get_attribute(in.x);
      case Opcode::kNamedTupleConstruct:
      case Opcode::kListConstruct:
      case Opcode::kDictConstruct:
        entry(function_.types, in.x, "type");
        return replace(in.n);
      case Opcode::kCreateObject:
        entry(function_.types, in.x, "type");
        return push();
      case Opcode::kIsInstance:
        if (in.n > 0) entry(function_.types, in.x + in.n - 1, "type");
        entry(function_.types, in.x, "type");
        return replace(1);
      case Opcode::kListUnpack:
        pop(1);
        return push(checked_count(in.x));
      case Opcode::kTupleConstruct:
      case Opcode::kFormat:
        return replace(in.x);
      default:
        return fixed(in.opcode);
    }
  }

  // Instructions that pop and push the same numbers every time.
  void fixed(Opcode opcode) {
    switch (opcode) {
      case Opcode::kDrop:
        return pop(1);
      case Opcode::kSetAttr:
      case Opcode::kWarn:
        return pop(2);
      case Opcode::kTupleIndex:
      case Opcode::kDictIndex:
      case Opcode::kIs:
      case Opcode::kIsNot:
        return replace(2);
      case Opcode::kToList:
        return replace(3);
      case Opcode::kUnInitialized:
        return push();
      case Opcode::kUncheckedCast:
        return need(1);
      case Opcode::kWait:
      case Opcode::kTupleSlice:
      case Opcode::kDevice:
      case Opcode::kDType:
      case Opcode::kDim:
      case Opcode::kNot:
      case Opcode::kNumToTensor:
      case Opcode::kIsCuda:
        return replace(1);
      default:
        throw Unknown();
    }
  }

  void get_attribute(int64_t slot) {
    need(1);
    const ClassType* holder = stack_.back();
    replace(1);
    if (!holder) return;
    if (slot < 0 || slot >= static_cast<int64_t>(holder->attributes().size())) {
      malformed(holder->name() + " has no attribute " + std::to_string(slot));
    }
    stack_.back() = holder->attributes()[static_cast<size_t>(slot)].type->as_class();
  }

  void call_operator(const Instruction& in) {
    const OperatorName& called = entry(function_.operators, in.x, "operator");
    const Operator* op = find_operator(called.name, called.overload);
    if (!op) {
      // prim:: names may be node kinds, such as prim::TupleUnpack, which are no operators here.
      if (called.name.starts_with("prim::") || program_.is_known_missing(called.name)) {
        throw Unknown();
      }
      malformed("there is no operator " + called.name.substr(0, 100) + "." +
                called.overload.substr(0, 100));
    }
    const Schema& schema = op->schema;
    const auto declared = static_cast<int64_t>(schema.arguments.size());
    const int64_t given = in.opcode == Opcode::kOpN ? in.n : called.num_args.value_or(declared);
    if (!schema.is_vararg && (given < 0 || given > declared)) {
      malformed(called.name + " does not take " + std::to_string(given) + " arguments");
    }
    pop(given);
    push(schema.returns.size());
  }

  const BytecodeFunction& function_;
  const Program& program_;
  size_t at_ = 0;
  size_t& values_left_;
  // The class of each value, or null.
  std::vector<const ClassType*> stack_, registers_;
  std::vector<int64_t> depth_at_;  // of the stack before each instruction
  std::vector<std::pair<size_t, std::vector<const ClassType*>>> pending_;  // ways not gone yet
};

}  // namespace

void verify(const Bytecode& bytecode, const Program& program) {
  size_t values_left = kMaxValues;
  for (const BytecodeFunction& function : bytecode.functions) {
    try {
      FunctionVerifier(function, program, values_left).run();
    } catch (const Unknown&) {
      // Valid as far as it could be followed.
    }
  }
}

}  // namespace torchlet::lite
