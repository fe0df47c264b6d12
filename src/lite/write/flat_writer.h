// A whole module as a flatbuffer: what FlatbufferReader reads.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "archive/pickle_writer.h"
#include "lite/bytecode.h"
#include "lite/write/flat_builder.h"

namespace torchlet::lite {

struct FlatModule {
  const Bytecode& bytecode;
  const Value& root;
  archive::StateOf state_of;
  std::map<std::string, std::string> sources;  // package -> TorchScript
  const std::vector<Value>& constants;         // of the source
  const std::map<std::string, std::string>& extra_files;
  int operator_version;
};

// The bytes of the file, which the builder holds. Errors as of FlatValueWriter and FlatBuilder.
std::span<const std::byte> write_flatbuffer(const FlatModule& module, FlatBuilder& builder);

}  // namespace torchlet::lite
