#include "program.h"

#include <algorithm>
#include <unordered_set>

#include "passes/testing.h"
#include "tensor/tensor_impl.h"

namespace torchlet::random_graphs {
namespace {

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

class Writer {
 public:
  explicit Writer(const Program& program) : program_(program) {}

  void steps(const std::vector<Step>& steps) {
    for (const Step& step : steps) this->step(step);
  }
  void line(const std::string& text) { text_ += std::string(indent_, ' ') + text + "\n"; }
  std::string take() { return std::move(text_); }

 private:
  std::vector<std::string> names(const std::vector<ValueId>& ids) const {
    std::vector<std::string> names;
    for (const ValueId id : ids) names.push_back(program_.name(id));
    return names;
  }

  void step(const Step& step) {
    const std::vector<std::string> reads = names(step.reads);
    switch (step.kind) {
      case Step::Kind::kCall:
        return line(joined(names(step.results)) + " = " + substituted(step.text, reads));
      case Step::Kind::kIf:
        line("if " + reads[0] + ":");
        block(step.blocks[0], step.results[0]);
        line("else:");
        return block(step.blocks[1], step.results[0]);
      case Step::Kind::kLoop:
        line(program_.name(step.results[0]) + " = " + reads[0]);
        line("for _ in range(" + substituted(step.text, reads) + "):");
        return block(step.blocks[0], step.results[0]);
    }
  }

  void block(const Block& block, ValueId result) {
    indent_ += 2;
    steps(block.steps);
    line(program_.name(result) + " = " + program_.name(block.result));
    indent_ -= 2;
  }

  const Program& program_;
  std::string text_;
  size_t indent_ = 4;
};

void collect(const std::vector<Step>& steps, std::unordered_set<ValueId>& made,
             std::vector<ValueId>& reads, std::vector<ValueId>& writes) {
  const auto add = [&](std::vector<ValueId>& to, ValueId id) {
    if (!made.contains(id) && std::ranges::find(to, id) == to.end()) to.push_back(id);
  };
  for (const Step& step : steps) {
    for (const ValueId id : step.reads) add(reads, id);
    if (step.writes) add(writes, step.reads[0]);
    // What a loop carries is read by its own block.
    if (step.kind == Step::Kind::kLoop) made.insert(step.results[0]);
    for (const Block& block : step.blocks) {
      collect(block.steps, made, reads, writes);
      add(reads, block.result);
    }
    made.insert(step.results.begin(), step.results.end());
  }
}

std::string layout(const Tensor& t) {
  if (t.is_contiguous()) return "";
  if (t.is_contiguous(MemoryFormat::kChannelsLast)) return ", channels last";
  return ", strides " + shape_text(t.strides());
}

}  // namespace

std::vector<ValueId> Program::ids(Variable::Kind kind) const {
  std::vector<ValueId> ids;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].kind == kind) ids.push_back(static_cast<ValueId>(i));
  }
  return ids;
}

std::string Program::name(ValueId id) const {
  switch (variables[static_cast<size_t>(id)].kind) {
    case Variable::Kind::kInput:
      return "x" + std::to_string(id);
    case Variable::Kind::kWeight:
      return "self.w" + std::to_string(id);
    case Variable::Kind::kComputed:
      return "v" + std::to_string(id);
  }
  return "";
}

std::string Program::source() const {
  std::vector<std::string> attributes, parameters = {"self: __torch__.M"}, results;
  for (const ValueId id : ids(Variable::Kind::kWeight)) {
    attributes.push_back(name(id).substr(5) + " : Tensor");
  }
  for (const ValueId id : ids(Variable::Kind::kInput)) {
    parameters.push_back(name(id) + ": " + variables[static_cast<size_t>(id)].type);
  }
  Writer writer(*this);
  writer.steps(steps);
  std::vector<std::string> returned;
  for (const ValueId id : outputs) returned.push_back(name(id));
  // A tuple of one is written with a comma.
  writer.line("return (" + joined(returned) + (returned.size() == 1 ? ",)" : ")"));
  return passes::module_class("M", attributes,
                              "  def forward(" + joined(parameters) + ") -> Tuple[" +
                                  joined(std::vector<std::string>(outputs.size(), "Tensor")) +
                                  "]:\n" + writer.take());
}

double Program::epsilon() const {
  switch (precision) {
    case Precision::kFloat32:
      break;
    case Precision::kFloat16:
      return 0x1p-11;
    case Precision::kBFloat16:
      return 0x1p-8;
  }
  return 0x1p-22;
}

std::string Program::text() const {
  std::string text = source();
  for (const ValueId id : ids(Variable::Kind::kWeight)) {
    text += "# " + name(id) + ": " + variables[static_cast<size_t>(id)].initial.describe() + "\n";
  }
  const std::vector<ValueId> inputs = ids(Variable::Kind::kInput);
  for (const std::vector<Tensor>& set : input_sets) {
    text += "# call with";
    for (size_t i = 0; i < set.size(); ++i) {
      text += (i ? "; " : " ") + name(inputs[i]) + ": " + set[i].describe() + layout(set[i]);
    }
    text += "\n";
  }
  if (precision != Precision::kFloat32) {
    text += format("# precision: %s\n", precision_name(precision));
  }
  if (operator_threads > 1) text += format("# threads of an operator: %d\n", operator_threads);
  if (callers > 1) text += format("# threads that call: %d\n", callers);
  return text;
}

std::string substituted(const std::string& text, const std::vector<std::string>& names) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      result += text[i];
      continue;
    }
    size_t index = 0;
    for (; i + 1 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '9'; ++i) {
      index = index * 10 + static_cast<size_t>(text[i + 1] - '0');
    }
    result += names.at(index);
  }
  return result;
}

std::vector<ValueId> all_reads(const Step& step) {
  std::unordered_set<ValueId> made;
  std::vector<ValueId> reads, writes;
  collect({step}, made, reads, writes);
  return reads;
}

std::vector<ValueId> all_writes(const Step& step) {
  std::unordered_set<ValueId> made;
  std::vector<ValueId> reads, writes;
  collect({step}, made, reads, writes);
  return writes;
}

}  // namespace torchlet::random_graphs
