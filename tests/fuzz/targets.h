// The fuzz targets: plain functions of one input, which libFuzzer (libfuzzer.cc) and the replay of
// old findings (replay.cc) call. Each returns 0, or ends the process if the input found a bug.
#pragma once

#include <torchlet/error.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>

namespace torchlet::fuzz {

using Target = int(std::span<const std::byte> input);

// load(), and whatever can be asked of a module without running it.
Target fuzz_load;
// load(), then every method of the module on small inputs, on both devices.
Target fuzz_run;
// The pickle of a Lite Interpreter's bytecode: pickle reader, bytecode reader, verifier and
// translator.
Target fuzz_bytecode;
// The Lite Interpreter's flatbuffer: its values, as classes without source, and its bytecode.
Target fuzz_flatbuffer;
// What a file is told to be by its first bytes and, if it is an archive, by its records.
Target fuzz_file_kind;
// PNG and JPEG, decoded, resized and cropped.
Target fuzz_picture;
// YUV of any strides, prepared in one pass; Exif blocks; records of preprocessing.
Target fuzz_camera;
// .npy, read and written again.
Target fuzz_npy;
// Calls of libneuralnetworks.so, with objects that are live, freed or none.
Target fuzz_nnapi;

// A program may ask for as much memory and time as it likes: beyond these it ends in an Error.
constexpr size_t kMemoryLimit = size_t{256} << 20;
constexpr double kTimeLimit = 1;  // seconds, for load() and for each call

// Runs `body`. An Error is a good end if it blames the input; one that confesses a bug of Torchlet
// ends the process, as any other exception does.
template <typename Body>
int expect_good_end(const Body& body) noexcept {
  try {
    body();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInternal) {
      std::fprintf(stderr, "an input found an internal error: %s\n", error.what());
      std::abort();
    }
  }
  return 0;
}

// For what a target compares itself.
inline void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::abort();
}

}  // namespace torchlet::fuzz
