// Writes archives as caffe2/serialize/inline_container.cc does: one root folder, tensors' bytes
// stored at multiples of 64 in the file, so that a reader can use them in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/byte_sink.h"

namespace torchlet::archive {

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// The same records give the same bytes: nothing of the time or the machine is in the file.
class ZipWriter {
 public:
  // Every record lies in the folder `root`. The sink must outlive the writer.
  ZipWriter(ByteSink& sink, std::string root) : sink_(sink), root_(std::move(root)) {}

  enum class Form { kStored, kDeflatedIfLarge };
  // Error kInvalidArgument for a name that is there already or no name of a record.
  void add(std::string_view name, std::span<const std::byte> data, Form form = Form::kStored);
  // Writes the directory.
  void finish();

 private:
  void write_directory_end(uint64_t begin);

  ByteSink& sink_;
  const std::string root_;
  std::string directory_;
  std::unordered_set<std::string> names_;
};

}  // namespace torchlet::archive
