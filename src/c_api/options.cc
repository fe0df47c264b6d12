#include <cmath>

#include "base/error.h"
#include "c_api/handles.h"

using namespace torchlet;
using namespace torchlet::c_api;

torchlet_status torchlet_options_new(torchlet_options** options) {
  return guarded([&] { given(options, "options") = new torchlet_options; });
}

void torchlet_options_free(torchlet_options* options) { delete options; }

torchlet_status torchlet_options_set_devices(torchlet_options* options, const char* devices) {
  return guarded([&] {
    std::string_view left = given_text(devices, "devices");
    std::vector<std::string> names;
    for (;;) {
      const size_t comma = left.find(',');
      names.emplace_back(left.substr(0, comma));
      if (comma == std::string_view::npos) break;
      left.remove_prefix(comma + 1);
    }
    given(options, "options").options.devices = std::move(names);
  });
}

torchlet_status torchlet_options_set_precision(torchlet_options* options, const char* precision) {
  return guarded([&] {
    Options& own = given(options, "options").options;
    own.precision = parse_precision(given_text(precision, "precision"));
  });
}

torchlet_status torchlet_options_set_preference(torchlet_options* options, const char* preference) {
  return guarded([&] {
    Options& own = given(options, "options").options;
    own.preference = parse_preference(given_text(preference, "preference"));
  });
}

torchlet_status torchlet_options_set_footprint(torchlet_options* options, const char* footprint) {
  return guarded([&] {
    Options& own = given(options, "options").options;
    own.footprint = parse_footprint(given_text(footprint, "footprint"));
  });
}

torchlet_status torchlet_options_set_cache_dir(torchlet_options* options, const char* folder) {
  return guarded([&] {
    Options& own = given(options, "options").options;
    own.cache_dir = given_text(folder, "folder");
  });
}

torchlet_status torchlet_options_set_allow_unsupported(torchlet_options* options, int allow) {
  return guarded([&] { given(options, "options").options.allow_unsupported = allow != 0; });
}

torchlet_status torchlet_options_set_memory_limit(torchlet_options* options, size_t bytes) {
  return guarded([&] { given(options, "options").options.memory_limit = bytes; });
}

torchlet_status torchlet_options_set_time_limit(torchlet_options* options, double seconds) {
  return guarded([&] {
    if (!(seconds >= 0) || std::isinf(seconds)) {
      fail(ErrorCode::kInvalidArgument, "a time limit of %g seconds", seconds);
    }
    given(options, "options").options.time_limit = seconds;
  });
}
