#include "lite/debug_info.h"

#include <span>

#include "script/marked_text.h"
#include "tensor/containers.h"

namespace torchlet::lite {
namespace {

std::span<const Value> items_of(const Value& value) {
  if (value.is_tuple()) return value.tuple_ref().items;
  return {};
}

}  // namespace

DebugTable::DebugTable(const Value& pickled,
                       const std::unordered_map<int64_t, SourceRange>& places) {
  std::vector<script::Mark> marks;
  for (const auto& [tag, place] : places) {
    place_index_.emplace(tag, static_cast<uint32_t>(marks.size()));
    marks.push_back({marks.size(), place});
  }
  auto source = std::make_shared<Source>();
  source->name = "bytecode";
  source->origin = std::make_shared<script::MarkedPlaces>(std::move(marks));
  calls_ = std::move(source);
  for (const Value& item : items_of(pickled)) {
    const std::span<const Value> fields = items_of(item);
    if (fields.size() < 4 || !fields[0].is_int() || !fields[1].is_int()) continue;
    entries_.try_emplace(fields[0].to_int(), Entry{fields[1].to_int(), fields[3]});
  }
}

const DebugTable::Entry* DebugTable::find(int64_t handle) const {
  const auto found = entries_.find(handle);
  return found == entries_.end() ? nullptr : &found->second;
}

SourceRange DebugTable::original(int64_t place) const {
  const auto found = place_index_.find(place);
  return found == place_index_.end() ? SourceRange() : calls_->origin->original(found->second);
}

bool DebugTable::read_call(const Value& calls, DebugCall& call, Value& inner) const {
  const std::span<const Value> fields = items_of(calls);
  if (fields.size() < 4 || !fields[1].is_int() || !fields[3].is_string()) return false;
  call.place = fields[1].to_int();
  const auto place = place_index_.find(call.place);
  call.range = place == place_index_.end() ? SourceRange()
                                           : SourceRange{calls_, place->second, place->second};
  const std::span<const Value> instance = items_of(fields[0]);
  call.is_method = instance.size() == 2 && instance[0].is_string() && instance[1].is_string();
  call.type = call.is_method ? printable(instance[0].to_string()) : "";
  call.instance = call.is_method ? printable(instance[1].to_string()) : "";
  call.function = printable(fields[3].to_string());
  inner = fields[2];
  return true;
}

void read_debug_handles(const Value& pickled, Bytecode& bytecode) {
  std::unordered_map<std::string, BytecodeFunction*> by_name;
  for (BytecodeFunction& function : bytecode.functions) by_name.emplace(function.name, &function);
  for (const Value& item : items_of(pickled)) {
    const std::span<const Value> parts = items_of(item);
    if (parts.size() < 2 || !parts[0].is_string()) continue;
    const auto function = by_name.find(parts[0].to_string());
    const std::span<const Value> fields = items_of(parts[1]);
    if (function == by_name.end() || fields.empty()) continue;
    const std::span<const Value> field = items_of(fields[0]);
    const std::span<const Value> lists =
        field.size() == 2 ? items_of(field[1]) : std::span<const Value>();
    if (lists.empty() || !lists[0].is_list()) continue;
    std::vector<int64_t>& handles = function->second->debug_handles;
    handles.clear();
    for (const Value& handle : lists[0].list_ref().items) {
      handles.push_back(handle.is_int() ? handle.to_int() : kNoDebugHandle);
    }
  }
}

std::string printable(const std::string& name) {
  std::string text = name.substr(0, 200);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = '?';
  }
  return text;
}

}  // namespace torchlet::lite
