// How long work tells how far it is.
#pragma once

#include <string>

namespace torchlet::cli {

// A bar on standard error, shown if the work takes over a second and standard error is a terminal;
// gone when it is destroyed, so that what is printed then begins at the line's start.
//
//   Progress progress("calibrating");
//   for (size_t i = 0; i < n; ++i, progress.update(i / double(n))) ...
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // What is done now; its bar begins empty.
  void stage(std::string what);
  // 0 to 1, of this stage. May be called as often as is convenient.
  void update(double fraction);

 private:
  void clear();

  std::string what_;
  double start_;        // of the work
  double stage_start_;  // of the stage
  double drawn_ = 0;    // when the bar was drawn last
  bool terminal_;
  bool shown_ = false;
};

}  // namespace torchlet::cli
