// Writes a model as a file that PyTorch reads (docs/convert.md).
#pragma once

#include <torchlet/export.h>
#include <torchlet/module.h>

#include <cstdint>
#include <map>
#include <string>

namespace torchlet {

enum class FileContainer : uint8_t {
  kTorchScript,  // zip archive of source and objects: torch.jit.load
  kLite,         // the same with bytecode: _load_for_lite_interpreter
  kFlatbuffer,   // bytecode, source and objects in a flatbuffer: likewise
};

struct SaveOptions {
  // Name -> content of the files that go beside the model (torch.jit.save's _extra_files). The
  // record of preprocessing and the labels that the module carries (preprocess.h) go there, too.
  std::map<std::string, std::string> extra_files = {};
  FileContainer container = FileContainer::kTorchScript;
  // Of the bytecode, 4 to 8: a lower one for apps with an older PyTorch. 1.13 writes 8.
  int bytecode_version = 8;
  // Which lines of the original Python the program comes from, if that is known: errors name them,
  // here and in PyTorch. The records quote these lines.
  bool debug_info = true;
};

// Writes the module as it is now, with its program. The file is written whole or not at all, and
// the same module gives the same bytes. Not while another thread changes the module.
//
// Error kIo if the file cannot be written, kUnsupported for what such a file cannot hold, and
// kInvalidArgument for a bytecode version that there is not, or if `path` is the file that the
// module was loaded from, since its tensors still lie there.
TORCHLET_API void save(const Module& module, const std::string& path,
                       const SaveOptions& options = {});

// The files beside the model in `path`: name -> content. Errors as of load().
TORCHLET_API std::map<std::string, std::string> read_extra_files(const std::string& path);

}  // namespace torchlet
