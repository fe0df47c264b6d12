// `torchlet convert --to nnapi`.
#pragma once

#include <torchlet/nnapi.h>

#include <string>

#include "cli/inputs.h"
#include "cli/output.h"

namespace torchlet::cli {

class NnapiConversion {
 public:
  // --to and what belongs to it.
  void add_to(CLI::App& command);
  bool is_asked_for() const { return !target_.empty(); }
  // Error of the command line if an option is there that needs --to nnapi.
  void refuse_options() const;

  // Converts, writes, and says what became of the model; `json`: as JSON.
  void run(const std::string& path, const Module& module, const OutputOptions& output, bool json);

 private:
  void choose_inputs(const Module& module);
  void report(const std::string& text) const;

  const CLI::App* command_ = nullptr;
  std::string target_, preference_ = "sustained", report_file_, calls_;
  InputOptions inputs_;
  std::string guessed_;  // of what dtype and sizes the input is that nobody named
  NnapiOptions options_;
  bool no_proof_ = false;
};

}  // namespace torchlet::cli
