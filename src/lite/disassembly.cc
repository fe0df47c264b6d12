#include "lite/disassembly.h"

namespace torchlet::lite {
namespace {

// Names come from the file: one line, and not a long one.
std::string printable(const std::string& name) {
  std::string text = name.substr(0, 200);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = '?';
  }
  return text;
}

std::string operand_of(const Instruction& in, const BytecodeFunction& function) {
  const auto index = static_cast<size_t>(in.x);
  const bool is_call = in.opcode == Opcode::kOp || in.opcode == Opcode::kOpN;
  if (is_call && in.x >= 0 && index < function.operators.size()) {
    const OperatorName& op = function.operators[index];
    return printable(op.name + (op.overload.empty() ? "" : "." + op.overload));
  }
  return std::to_string(in.x);
}

}  // namespace

std::shared_ptr<const Source> disassemble(const BytecodeFunction& function) {
  auto source = std::make_shared<Source>();
  source->name = "bytecode of " + printable(function.name);
  source->first_line = 0;  // as jumps count
  for (const Instruction& in : function.instructions) {
    source->text += name_of(in.opcode);
    source->text += " " + operand_of(in, function);
    if (in.n != 0) source->text += " " + std::to_string(in.n);
    source->text += "\n";
  }
  return source;
}

}  // namespace torchlet::lite
