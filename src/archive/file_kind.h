// What kind of file this is, told from its first bytes, so that a wrong one is refused by its name.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/function_ref.h"

namespace torchlet::archive {

enum class FileKind {
  kZip,         // a zip archive: TorchScript, Lite Interpreter, or a stranger
  kFlatbuffer,  // a Lite Interpreter module as a flatbuffer ("PTMF")
};

// Error kFileFormat or kUnsupported that says what the file is instead and what to do.
FileKind detect_file_kind(std::span<const std::byte> bytes);

// For a zip archive that is no TorchScript program: throws an Error that names what it is, judged
// by the records it has. `has_record` takes a name without the root folder.
[[noreturn]] void refuse_foreign_zip(FunctionRef<bool(std::string_view name)> has_record);

}  // namespace torchlet::archive
