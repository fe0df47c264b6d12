// The Lite Interpreter's second container: a flatbuffer ("PTMF") instead of a zip archive of
// pickles. It holds the same bytecode and the same object, and PyTorch 1.13 adds the source.
#pragma once

#include <torchlet/value.h>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "archive/pickle.h"
#include "lite/bytecode.h"
#include "lite/flat_values.h"

namespace torchlet::lite {

// A module in the bytes of a file. Opening it reads next to nothing; values are made once, whoever
// asks for them first. Errors are kFileFormat, kUnsupported for another version, or what the
// factory throws. Not thread safe.
class FlatbufferReader {
 public:
  // Tensors use the bytes in place, so a program that changes its weights writes there.
  FlatbufferReader(std::span<std::byte> bytes, std::shared_ptr<void> keep_alive);

  // 1 to 10 (caffe2/serialize/versions.h): the oldest in which the operators that the bytecode uses
  // mean what they mean there. 1 if the file does not tell.
  int64_t operator_version() const { return operator_version_; }
  // What was saved as _extra_files.
  std::map<std::string, std::string> extra_files();
  // Package ("__torch__.torch.nn") -> TorchScript source. Empty if the file holds bytecode only.
  std::map<std::string, std::string> sources();
  // The constants that the source calls CONSTANTS.c0, CONSTANTS.c1, ...
  std::vector<Value> read_constants(archive::ObjectFactory& factory);

  // All functions, those named __setstate__ too.
  Bytecode read_bytecode(archive::ObjectFactory& factory);
  // The root object: a module (a Value of kind kObject).
  Value read_module(archive::ObjectFactory& factory);

 private:
  std::map<std::string, std::string> texts(unsigned field);
  BytecodeFunction read_function(size_t index, const FlatTable& table,
                                 archive::ObjectFactory& factory);
  std::vector<Instruction> read_instructions(const FlatVector& vector);
  std::vector<OperatorName> read_operators(const FlatVector& vector);
  std::vector<Argument> read_arguments(size_t index, const FlatVector& vector,
                                       archive::ObjectFactory& factory);

  FlatTable module_;
  FlatValues values_;
  int64_t bytecode_version_;
  int64_t operator_version_;
};

}  // namespace torchlet::lite
