// Which Python an instruction of bytecode comes from: mobile_debug_handles.pkl, which gives each
// instruction a handle, and callstack_debug_map.pkl, which tells what handles stand for
// (torch/csrc/jit/serialization/callstack_debug_info_serialization.cpp).
//
// Places are a comfort: what is missing or malformed there is left out, never an error.
#pragma once

#include <torchlet/value.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/source_range.h"
#include "lite/bytecode.h"

namespace torchlet::lite {

// ("__torch__.Block", "conv"): the class of the object that a method is called on and the last
// attribute on the way to it from the caller's self, or one of these.
inline constexpr const char* kOwnInstance = "SELF";
inline constexpr const char* kUnknownInstance = "INSTANCE_NAME_UNKNOWN";

// A call that was inlined.
struct DebugCall {
  int64_t place = 0;  // of the call, in the caller
  SourceRange range;  // the same; empty if it is not known
  bool is_method = false;
  std::string type, instance;  // of a method
  std::string function;        // "forward"
};

// Not thread-safe; the ranges that it gives are, and outlive it.
class DebugTable {
 public:
  // `pickled` holds (handle, tag of the place, name of the node, calls) for each handle, where
  // calls are None or ((type, instance) or None, tag, inner calls, function).
  DebugTable(const Value& pickled, const std::unordered_map<int64_t, SourceRange>& places);

  struct Entry {
    int64_t place;
    Value calls;
  };
  // Null if the handle is not known.
  const Entry* find(int64_t handle) const;
  // The Python that is known under the tag; may be empty.
  SourceRange original(int64_t place) const;

  // The outermost of the calls; gives those inside it. None ends them. False if it is none.
  bool read_call(const Value& calls, DebugCall& call, Value& inner) const;

 private:
  std::unordered_map<int64_t, Entry> entries_;
  std::shared_ptr<const Source> calls_;                // an empty text; its origin has the places
  std::unordered_map<int64_t, uint32_t> place_index_;  // offsets in calls_ by tag
};

// Reads mobile_debug_handles.pkl: (version, (function, (("function_debug_handles", (list of int,)),
// )), ...).
void read_debug_handles(const Value& pickled, Bytecode& bytecode);

// A name that comes from a file, for messages: one line, and not a long one.
std::string printable(const std::string& name);

}  // namespace torchlet::lite
