#include "archive/file_kind.h"

#include <gtest/gtest.h>

#include "archive/test_util.h"

namespace torchlet::archive {
namespace {

FileKind detect(const std::string& bytes) {
  return detect_file_kind(std::as_bytes(std::span(bytes)));
}

TEST(FileKind, TorchletsOwn) {
  EXPECT_EQ(detect(ZipBuilder().add("m/a", "x").finish()), FileKind::kZip);
  EXPECT_EQ(detect(ZipBuilder().finish()), FileKind::kZip);
  EXPECT_EQ(detect(std::string("\x18\0\0\0PTMF", 8)), FileKind::kFlatbuffer);
}

TEST(FileKind, OthersAreNamedWithWhatToDo) {
  const std::string tar = "weights" + std::string(250, '\0') + "ustar" + std::string(250, '\0');
  const struct {
    std::string bytes;
    const char* what;
    const char* advice;
  } cases[] = {
      {"", "the file is empty", "download"},
      {"PYTORCH1" + std::string(64, '\0'), "PyTorch 1.0 release candidates", "save it again"},
      {std::string("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.",
                   21),
       "a torch.save file from before PyTorch 1.6", "torch.jit.script"},
      {"\x80\x04\x95", "a Python pickle", "torch.jit.script"},
      {tar, "a tar archive", "torch.jit.script"},
      {std::string("\x1c\0\0\0ET12\0\0\0\0", 12), "an ExecuTorch program", "torch.jit"},
      {std::string("\x1c\0\0\0TFL3\0\0\0\0", 12), "a TensorFlow Lite model", "torch.jit"},
      {std::string("\x40\0\0\0\0\0\0\0{\"__metadata__\"", 23), "a safetensors file", "torch.jit"},
      {std::string("\x08\x07\x12\x07pytorch\x1a\x05", 13), "an ONNX model", "torch.jit"},
      {"GGUF" + std::string(32, '\0'), "a GGUF file", "torch.jit"},
      {"\x89HDF\r\n\x1a\n", "an HDF5 file", "torch.jit"},
      {"\x93NUMPY\x01", "a NumPy array", "an input"},
      {"\x7f"
       "ELF\x02\x01\x01",
       "a program or a library", "model file"},
      {"\x1f\x8b\x08", "a gzip file", "decompress"},
      {"version https://git-lfs.github.com/spec/v1\noid", "a Git LFS pointer", "git lfs pull"},
      {"<!DOCTYPE html><html>", "an HTML page", "download the model again"},
      {"import torch\nprint(1)\n", "a text file", ".pt or .ptl"},
      {std::string("\x01\x02\x03\x04\x05\x06\x07\xff", 8), "no model file that Torchlet knows",
       ".pt or .ptl"},
  };
  for (const auto& one : cases) {
    const std::string error = error_of([&] { detect(one.bytes); });
    EXPECT_NE(error.find(one.what), std::string::npos) << one.what << " got: " << error;
    EXPECT_NE(error.find(one.advice), std::string::npos) << one.what << " got: " << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

TEST(FileKind, EveryShortPrefixIsAnswered) {
  const std::string magics[] = {"PK\x03\x04", std::string("\x18\0\0\0PTMF", 8), "PYTORCH1",
                                std::string("\x08\x07\x12", 3)};
  for (const std::string& magic : magics) {
    for (size_t size = 0; size < magic.size(); ++size) {
      EXPECT_NE(error_of([&] { detect(magic.substr(0, size)); }), "");
    }
  }
}

TEST(FileKind, ForeignZipArchives) {
  const auto error_with = [](std::string_view only) {
    return error_of(
        [&] { refuse_foreign_zip([&](std::string_view name) { return name == only; }); });
  };
  EXPECT_NE(error_with("model.json").find("PyTorch 1.0 to 1.2"), std::string::npos);
  EXPECT_NE(error_with("archive_format").find("torch.export"), std::string::npos);
  EXPECT_NE(error_with("serialized_exported_program.json").find("torch.export"), std::string::npos);
  EXPECT_NE(error_with(".data/extern_modules").find("torch.package"), std::string::npos);
  EXPECT_NE(error_with("data.pkl").find("torch.save"), std::string::npos);
  EXPECT_NE(error_with("word/document.xml").find("without a model"), std::string::npos);
}

}  // namespace
}  // namespace torchlet::archive
