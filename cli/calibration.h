// Inputs of a model from files, for commands that want many of them.
#pragma once

#include <torchlet/module.h>
#include <torchlet/value.h>

#include <string>
#include <vector>

#include "cli/inputs.h"

namespace torchlet::cli {

// Where the arguments of a call come from.
struct CallSource {
  std::string file;    // empty if they are the model's own
  std::string folder;  // that was named, in or below which the file lies; empty if the file was
};

struct CalibrationCalls {
  std::vector<std::vector<Value>> calls;
  std::vector<CallSource> sources;  // of each
};

// The arguments of one call each: of every file, and of every .npy, PNG and JPEG file of a folder,
// sorted by name; "bundled" stands for the inputs that the model carries. A file is the only
// argument of its call, or the only item of it where the method takes a list of tensors. Error
// kInvalidArgument for a folder without such files or files of another kind, kIo for what is not
// there.
CalibrationCalls calibration_calls(const Module& module, const std::string& method,
                                   const std::vector<std::string>& sources,
                                   const PictureOptions& pictures);

}  // namespace torchlet::cli
