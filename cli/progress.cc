#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "cli/text.h"

namespace torchlet::cli {
namespace {

constexpr double kQuiet = 1, kBetweenDrawings = 0.1;  // seconds

// "0:07", "12:30"
std::string minutes(double seconds) {
  const auto whole = static_cast<int>(std::min(seconds, 1e6));
  return format("%d:%02d", whole / 60, whole % 60);
}

}  // namespace

Progress::Progress(std::string what)
    : what_(std::move(what)),
      start_(now()),
      stage_start_(start_),
      terminal_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() { clear(); }

void Progress::clear() {
  if (shown_) std::fprintf(stderr, "\r\x1b[K");
}

void Progress::stage(std::string what) {
  what_ = std::move(what);
  stage_start_ = now();
  drawn_ = 0;
}

void Progress::update(double fraction) {
  constexpr int kWidth = 30;
  const double time = now();
  if (!terminal_ || time - start_ < kQuiet || time - drawn_ < kBetweenDrawings) return;
  drawn_ = time;
  clear();
  shown_ = true;
  fraction = std::clamp(fraction, 0.0, 1.0);
  const auto filled = static_cast<size_t>(fraction * kWidth);
  const double spent = time - stage_start_;
  const std::string left = fraction > 0.02 ? minutes(spent / fraction - spent) + " left" : "";
  std::fprintf(stderr, "\r%s [%s%s] %3.0f %%  %s", what_.c_str(), std::string(filled, '#').c_str(),
               std::string(kWidth - filled, ' ').c_str(), fraction * 100, left.c_str());
}

}  // namespace torchlet::cli
