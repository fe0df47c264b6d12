// The right classes of inputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/calibration.h"

namespace torchlet::cli {

// The class of each row of scores that a model gives for the calls.
//
// `labels` is the word "folders", or a text file. "folders": an input lies below a folder named for
// its class in the folder that the command line names, and classes are the numbers of these folders
// in the order of their names, as in torchvision's ImageFolder. A file has a line for each input: a
// number is the class of the next row; a path and a number that of the inputs whose paths end so,
// whatever their order. Empty lines do not count.
//
// `rows` are those of each call, `classes` how many there are. Error kInvalidArgument, naming the
// file and the line or the input, if they do not fit; kIo if there is no such file.
std::vector<std::vector<int64_t>> labels_of_inputs(const std::string& labels,
                                                   const std::vector<CallSource>& sources,
                                                   const std::vector<size_t>& rows, size_t classes);

}  // namespace torchlet::cli
