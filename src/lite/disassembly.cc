#include "lite/disassembly.h"

#include "base/selection.h"
#include "script/marked_text.h"

namespace torchlet::lite {
namespace {

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

std::shared_ptr<const Source> disassemble(const BytecodeFunction& function,
                                          const DebugTable* debug) {
  if constexpr (!selection::kHasPlaces) debug = nullptr;
  auto source = std::make_shared<Source>();
  source->name = "bytecode of " + printable(function.name);
  source->first_line = 0;  // as jumps count
  std::vector<script::Mark> marks;
  for (size_t at = 0; at < function.instructions.size(); ++at) {
    const Instruction& in = function.instructions[at];
    if (const DebugTable::Entry* entry = debug ? debug->find(function.debug_handle(at)) : nullptr) {
      marks.push_back({source->text.size(), debug->original(entry->place)});
    } else if (!marks.empty() && !marks.back().place.empty()) {
      marks.push_back({source->text.size(), {}});
    }
    source->text += name_of(in.opcode);
    source->text += " " + operand_of(in, function);
    if (in.n != 0) source->text += " " + std::to_string(in.n);
    source->text += "\n";
  }
  if (!marks.empty()) source->origin = std::make_shared<script::MarkedPlaces>(std::move(marks));
  return source;
}

}  // namespace torchlet::lite
