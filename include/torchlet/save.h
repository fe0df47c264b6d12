// Writes a model as a TorchScript file that PyTorch's torch.jit.load reads (docs/convert.md).
#pragma once

#include <torchlet/export.h>
#include <torchlet/module.h>

#include <map>
#include <string>

namespace torchlet {

struct SaveOptions {
  // Name -> content of the files that go beside the model (torch.jit.save's _extra_files).
  std::map<std::string, std::string> extra_files;
};

// Writes the module as it is now, with its program. The file is written whole or not at all, and
// the same module gives the same bytes. Not while another thread changes the module.
//
// Error kIo if the file cannot be written, kUnsupported for what a TorchScript file cannot hold,
// and kInvalidArgument if `path` is the file that the module was loaded from, since its tensors
// still lie there.
TORCHLET_API void save(const Module& module, const std::string& path,
                       const SaveOptions& options = {});

// The files beside the model in `path`: name -> content. Errors as of load().
TORCHLET_API std::map<std::string, std::string> read_extra_files(const std::string& path);

}  // namespace torchlet
