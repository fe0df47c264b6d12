#include "neuralnetworks/api/threads.h"

#include <torchlet/threads.h>
#include <torchlet_nnapi.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "neuralnetworks/api/answer.h"

namespace torchlet::nn {
namespace {

constexpr uint32_t kMaxThreads = 256;

bool set_from_environment() {
  const char* variable = std::getenv("TORCHLET_NNAPI_THREADS");
  const std::string_view text = variable ? variable : "";
  if (text.empty()) return false;
  uint32_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count > kMaxThreads) {
    log("TORCHLET_NNAPI_THREADS: '%s' is no number of threads from 0 to %u", variable, kMaxThreads);
    return false;
  }
  set_num_threads(static_cast<int>(count));
  return true;
}

}  // namespace

void use_threads_of_environment() {
  [[maybe_unused]] static const bool once = set_from_environment();
}

}  // namespace torchlet::nn

void torchlet_nnapi_set_num_threads(uint32_t count) {
  torchlet::nn::use_threads_of_environment();  // which would count later otherwise
  const int wanted = static_cast<int>(std::min(count, torchlet::nn::kMaxThreads));
  if (wanted != torchlet::num_threads()) torchlet::set_num_threads(wanted);
}
