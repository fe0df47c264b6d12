// A program as TorchScript source: the content of an archive's code/ and of its constants.pkl.
#pragma once

#include <torchlet/value.h>

#include <string>
#include <vector>

#include "script/marked_text.h"

namespace torchlet::script {

struct PrintedProgram {
  struct File {
    std::string package;  // "__torch__.torch.nn"
    MarkedText source;
  };
  std::vector<File> files;
  std::vector<Value> constants;  // CONSTANTS.c0, CONSTANTS.c1, ...
  // The least that reads the operators in it as they are meant today.
  int operator_version;
};

// The classes of all objects that are reachable from `root`, and all that these speak of. The same
// program gives the same text, and so does what is read back from it. Error kUnsupported for what
// TorchScript cannot say. `methods` are added to the class of `root`: TorchScript, not indented.
PrintedProgram print_program(const Value& root, const std::string& methods = {});

}  // namespace torchlet::script
