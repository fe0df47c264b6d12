// How the C functions fail: what is inside throws, and the function answers with a ResultCode.
//
//   int ANeuralNetworksModel_finish(ANeuralNetworksModel* model) {
//     return answer(__func__, [&] { find<ModelObject>(model)->finish(); });
//   }
#pragma once

#include <android/NeuralNetworks.h>

#include <string>
#include <type_traits>

namespace torchlet::nn {

// What the API has a code for, and Error has not.
struct Refusal {
  int code;  // a ResultCode
  std::string message;
};

[[noreturn, gnu::cold, gnu::format(printf, 2, 3)]] void refuse(int code, const char* fmt, ...);

// UNEXPECTED_NULL if `pointer` is null.
inline void require(const void* pointer, const char* name) {
  if (!pointer) refuse(ANEURALNETWORKS_UNEXPECTED_NULL, "%s is null", name);
}

// What an Error stands for: what is wrong with a model is BAD_DATA before it runs and OP_FAILED
// while it runs.
enum class Phase { kBefore, kRun };

// The code of the exception that is being handled. `function` and its message go to stderr if
// TORCHLET_NNAPI_LOG is set.
int code_of_exception(const char* function, Phase phase) noexcept;

// To stderr if TORCHLET_NNAPI_LOG is set.
[[gnu::format(printf, 1, 2)]] void log(const char* fmt, ...) noexcept;

// Calls `body`, which gives a code or nothing.
template <typename Body>
int answer(const char* function, const Body& body) noexcept {
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return ANEURALNETWORKS_NO_ERROR;
    } else {
      return body();
    }
  } catch (...) {
    return code_of_exception(function, Phase::kBefore);
  }
}

}  // namespace torchlet::nn
