#include "archive/file_kind.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/error.h"

namespace torchlet::archive {
namespace {

using std::string_view_literals::operator""sv;

constexpr const char* kSaveTorchScript =
    "build the model in Python, load the weights into it, and save it with "
    "torch.jit.script(model).save(...) or torch.jit.trace(model, example).save(...)";
constexpr const char* kExportTorchScript =
    "save the original PyTorch model with torch.jit.script(model).save(...) or torch.jit.trace";

struct Signature {
  size_t offset;
  std::string_view magic;
  const char* what;    // "this is ..."
  const char* advice;  // what to do instead
};

constexpr Signature kSignatures[] = {
    {0, "PYTORCH1"sv, "a model in the container of PyTorch 1.0 release candidates",
     "load it with PyTorch 1.0 and save it again with a newer one"},
    {0, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv,
     "a torch.save file from before PyTorch 1.6 (weights or a Python object)", kSaveTorchScript},
    {0, "\x80\x02"sv, "a Python pickle", kSaveTorchScript},
    {0, "\x80\x03"sv, "a Python pickle", kSaveTorchScript},
    {0, "\x80\x04"sv, "a Python pickle", kSaveTorchScript},
    {0, "\x80\x05"sv, "a Python pickle", kSaveTorchScript},
    {257, "ustar"sv, "a tar archive (torch.save files of PyTorch 0.1 look like this)",
     kSaveTorchScript},
    {4, "ET1"sv, "an ExecuTorch program (.pte)", kExportTorchScript},
    {4, "TFL3"sv, "a TensorFlow Lite model", kExportTorchScript},
    {8, "{\""sv, "a safetensors file (weights only)", kSaveTorchScript},
    {0, "GGUF"sv, "a GGUF file (weights only)", kExportTorchScript},
    {0, "\x89HDF"sv, "an HDF5 file (Keras weights look like this)", kExportTorchScript},
    {0, "\x93NUMPY"sv, "a NumPy array", "it may be an input, not a model"},
    {0,
     "\x7f"
     "ELF"sv,
     "a program or a library (ELF)", "give the model file"},
    {0, "\x1f\x8b"sv, "a gzip file", "decompress it first"},
    {0, "version https://git-lfs"sv, "a Git LFS pointer", "fetch the model with `git lfs pull`"},
    {0, "<!DOCTYPE"sv, "an HTML page (a download that went wrong?)", "download the model again"},
    {0, "<html"sv, "an HTML page (a download that went wrong?)", "download the model again"},
};

bool matches(std::string_view text, const Signature& signature) {
  return text.size() >= signature.offset &&
         text.substr(signature.offset).starts_with(signature.magic);
}

// An ONNX file is a bare protobuf message: field 1 (ir_version, a small number), then the
// producer's name or the graph.
bool looks_like_onnx(std::string_view text) {
  return text.size() > 4 && text[0] == '\x08' && text[1] > 0 && text[1] < 32 &&
         (text[2] == '\x12' || text[2] == '\x1a' || text[2] == '\x3a' || text[2] == '\x42');
}

bool looks_like_text(std::string_view text) {
  return std::ranges::all_of(text.substr(0, 256), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\r' || c == '\t';
  });
}

[[noreturn]] void refuse(const std::string& what, const std::string& advice) {
  fail(ErrorCode::kUnsupported, "this is " + what + ", not a TorchScript model; " + advice);
}

}  // namespace

FileKind detect_file_kind(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.empty()) {
    fail(ErrorCode::kFileFormat, "the file is empty; copy or download the model again");
  }
  if (text.starts_with("PK\x03\x04") || text.starts_with("PK\x05\x06")) return FileKind::kZip;
  if (matches(text, {4, "PTMF", "", ""})) return FileKind::kFlatbuffer;
  for (const Signature& signature : kSignatures) {
    if (matches(text, signature)) refuse(signature.what, signature.advice);
  }
  if (looks_like_onnx(text)) refuse("an ONNX model", kExportTorchScript);
  if (looks_like_text(text)) refuse("a text file", "give the .pt or .ptl file");
  fail(ErrorCode::kFileFormat,
       "this is no model file that Torchlet knows (its first bytes are neither a zip archive's nor "
       "a mobile flatbuffer's); give a .pt or .ptl file");
}

void refuse_foreign_zip(FunctionRef<bool(std::string_view)> has_record) {
  if (has_record("model.json")) {
    refuse("a TorchScript archive of PyTorch 1.0 to 1.2 (it has model.json)",
           "load it with PyTorch 1.4 to 1.13 and save it again");
  }
  if (has_record("archive_format") || has_record("serialized_exported_program.json")) {
    refuse("a torch.export program (.pt2)",
           "save the model with torch.jit.script(model).save(...) or torch.jit.trace");
  }
  if (has_record(".data/extern_modules")) {
    refuse("a torch.package archive", kSaveTorchScript);
  }
  if (has_record("data.pkl")) {
    refuse("a torch.save file: weights or a Python object", kSaveTorchScript);
  }
  refuse("a zip archive without a model", "it has no data.pkl; give a .pt or .ptl file");
}

}  // namespace torchlet::archive
