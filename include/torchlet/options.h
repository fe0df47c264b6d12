// How a model is loaded and run.
#pragma once

#include <torchlet/footprint.h>
#include <torchlet/precision.h>
#include <torchlet/preference.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace torchlet {

struct Options {
  // What runs a model, in order: each part of it runs on the first device that takes it
  // (Module::placement() says which and why). load() refuses a name that there is not, naming those
  // there are.
  //
  // "cpu": the processor, as fast as Torchlet can: methods are inlined, constants folded and batch
  // norms merged into convolutions when a method is first called (see Module).
  // "reference", alone: the same answers from the program as it was written, operator by operator:
  // slow, and the measure of what is right. At the end of a list it changes nothing.
  // "nnapi": the accelerators behind Android's NNAPI (docs/nnapi.md), as NNAPI distributes the
  // work; "nnapi:NAME": that one of them alone. "auto", alone: what `torchlet tune` measured and
  // kept beside the model, in MODEL.placement.json, for calls of these shapes and this number of
  // threads on this machine; "cpu" for all others. A file that does not fit or is broken costs one
  // line on standard error.
  std::vector<std::string> devices = {"cpu"};
  Precision precision = Precision::kFloat32;
  Preference preference = Preference::kSustained;
  Footprint footprint = Footprint::kFast;
  // A folder for weights in the form in which the processor takes them, empty for none: the next
  // process that loads the model maps them in place of packing them anew, which is most of what a
  // first call costs. They take the disk space of the model again, or twice, and may be deleted at
  // any time. What is damaged, of another model, processor or build of Torchlet is not used, and
  // made again. Only Torchlet should be able to write there, as what is inside is run. load()
  // makes the folder, or throws Error kIo.
  std::string cache_dir = {};

  // load() refuses a model that uses operators which Torchlet does not have, and its Error lists
  // them all, each with its place in the Python source. With true such a model loads, and only
  // running into one of these operators is an Error; Module::unsupported_operators() lists them.
  bool allow_unsupported = false;

  // Receives what the program prints, line by line without the line's end; standard output if
  // empty. Called from whichever thread runs the program.
  std::function<void(std::string_view line)> print;

  // For models by somebody else, which are programs and may ask for anything; what each limit
  // counts and costs is in docs/limits.md. Exceeding one is an Error with the place in the program;
  // the model can be used again after it.

  // Bytes that the model may hold at once, besides its file and the caller's inputs: what load()
  // makes of it, what its calls are working on, what they leave in it and return, until that is
  // destroyed. All calls and deep copies share them. 0: no limit. Error kMemoryLimit.
  size_t memory_limit = 0;
  // Seconds for load(), and for each call of a method. 0: no limit. Error kTimeLimit, some
  // milliseconds later.
  double time_limit = 0;
  // Set to true from any thread, it ends load() and all calls, those of later too, until it is
  // false again. Error kCancelled, within some milliseconds.
  std::shared_ptr<const std::atomic<bool>> cancel = nullptr;
};

}  // namespace torchlet
