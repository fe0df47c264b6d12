#include "nnapi/library.h"

#include <dlfcn.h>
#include <torchlet/threads.h>

#include <filesystem>

#include "base/error.h"

namespace torchlet::nnapi {
namespace {

constexpr char kName[] = "libneuralnetworks.so";

// Where the code of this very function was loaded from. A program is told of by the name that it
// was called by: no path, where the shell found it by PATH.
std::filesystem::path own_folder() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<const void*>(&own_folder), &info) || !info.dli_fname) return {};
  std::filesystem::path code = info.dli_fname;
  if (!code.has_parent_path()) code = "/proc/self/exe";
  std::error_code ignored;
  return std::filesystem::canonical(code, ignored).parent_path();
}

void* open_library() {
  const int flags = RTLD_NOW | RTLD_LOCAL;
  if (void* found = dlopen(kName, flags)) return found;
  std::string tried = dlerror();
  const std::filesystem::path folder = own_folder();
  // Installed side by side, and as the build leaves it.
  for (const auto& path : {folder / kName, folder / "neuralnetworks" / kName}) {
    if (void* found = dlopen(path.c_str(), flags)) return found;
    tried += std::string("; ") + dlerror();
  }
  fail(ErrorCode::kUnsupported,
       "there is no NNAPI here; on Linux, put %s beside Torchlet's library or into "
       "LD_LIBRARY_PATH (%s)",
       kName, tried.c_str());
}

Library load() {
  void* handle = open_library();
  Library made;
  const auto find = [&](auto& function, const char* name, bool is_required) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    if (!function && is_required) {
      fail(ErrorCode::kUnsupported, "%s has no function %s", kName, name);
    }
  };
#define TORCHLET_NNAPI_FIND(name) find(made.name, "ANeuralNetworks" #name, true);
  TORCHLET_NNAPI_REQUIRED(TORCHLET_NNAPI_FIND)
#undef TORCHLET_NNAPI_FIND
#define TORCHLET_NNAPI_FIND(name) find(made.name, "ANeuralNetworks" #name, false);
  TORCHLET_NNAPI_OPTIONAL(TORCHLET_NNAPI_FIND)
#undef TORCHLET_NNAPI_FIND
  find(made.set_num_threads, "torchlet_nnapi_set_num_threads", false);
  return made;
}

const char* name_of(int result_code) {
  switch (result_code) {
#define TORCHLET_NNAPI_CODE(name) \
  case ANEURALNETWORKS_##name:    \
    return "ANEURALNETWORKS_" #name;
    TORCHLET_NNAPI_CODE(OUT_OF_MEMORY)
    TORCHLET_NNAPI_CODE(INCOMPLETE)
    TORCHLET_NNAPI_CODE(UNEXPECTED_NULL)
    TORCHLET_NNAPI_CODE(BAD_DATA)
    TORCHLET_NNAPI_CODE(OP_FAILED)
    TORCHLET_NNAPI_CODE(BAD_STATE)
    TORCHLET_NNAPI_CODE(UNMAPPABLE)
    TORCHLET_NNAPI_CODE(OUTPUT_INSUFFICIENT_SIZE)
    TORCHLET_NNAPI_CODE(UNAVAILABLE_DEVICE)
    TORCHLET_NNAPI_CODE(MISSED_DEADLINE_TRANSIENT)
    TORCHLET_NNAPI_CODE(MISSED_DEADLINE_PERSISTENT)
    TORCHLET_NNAPI_CODE(RESOURCE_EXHAUSTED_TRANSIENT)
    TORCHLET_NNAPI_CODE(RESOURCE_EXHAUSTED_PERSISTENT)
    TORCHLET_NNAPI_CODE(DEAD_OBJECT)
#undef TORCHLET_NNAPI_CODE
    default:
      return "an unknown error";
  }
}

}  // namespace

const Library& library() {
  // A library that was not found may be there the next time.
  static const Library loaded = load();
  return loaded;
}

int64_t feature_level() {
  const Library& api = library();
  if (api._getRuntimeFeatureLevel) return api._getRuntimeFeatureLevel();
  if (api.Event_createFromSyncFenceFd) return ANEURALNETWORKS_FEATURE_LEVEL_4;
  if (api.Execution_compute) return ANEURALNETWORKS_FEATURE_LEVEL_3;
  if (api.Model_relaxComputationFloat32toFloat16) return ANEURALNETWORKS_FEATURE_LEVEL_2;
  return ANEURALNETWORKS_FEATURE_LEVEL_1;
}

// The first five are Android's versions of the API, 27 to 31; then they are counted from a million.
int64_t number_of_level(int64_t feature_level) {
  return feature_level < 1'000'000 ? feature_level - 26 : feature_level - 1'000'000;
}

void share_threads() {
  const Library& api = library();
  if (api.set_num_threads) api.set_num_threads(static_cast<uint32_t>(num_threads()));
}

std::vector<NamedDevice> devices() {
  const Library& api = library();
  std::vector<NamedDevice> found;
  uint32_t count = 0;
  if (!api._getDeviceCount || !api._getDevice || !api.Device_getName || !api.Device_getVersion ||
      !api.Device_getType || !api.Device_getFeatureLevel) {
    return found;
  }
  check(api._getDeviceCount(&count), "count its devices");
  for (uint32_t i = 0; i < count; ++i) {
    ANeuralNetworksDevice* device = nullptr;
    const char *name = "", *version = "";
    check(api._getDevice(i, &device), "show a device");
    check(api.Device_getName(device, &name), "tell a device's name");
    check(api.Device_getVersion(device, &version), "tell a device's version");
    int32_t type = ANEURALNETWORKS_DEVICE_UNKNOWN;
    check(api.Device_getType(device, &type), "tell a device's type");
    int64_t level = 0;
    check(api.Device_getFeatureLevel(device, &level), "tell a device's level");
    found.push_back({device, name, version, type, level});
  }
  return found;
}

void check(int result_code, const char* what) {
  if (result_code == ANEURALNETWORKS_NO_ERROR) return;
  fail(ErrorCode::kRuntime, "NNAPI cannot %s: %s", what, name_of(result_code));
}

}  // namespace torchlet::nnapi
