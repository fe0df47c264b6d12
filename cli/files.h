#pragma once

#include <string>
#include <string_view>

namespace torchlet::cli {

// All: error kIo, naming the path and why.

// Makes the folder and those above it; one that is there is left alone.
void make_folder(const std::string& path);
void write_file(const std::string& path, std::string_view text);
std::string read_file(const std::string& path);

}  // namespace torchlet::cli
