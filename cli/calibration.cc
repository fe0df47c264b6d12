#include "cli/calibration.h"

#include <torchlet/bundled_inputs.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "tensor/npy.h"

namespace torchlet::cli {
namespace {

namespace fs = std::filesystem;

std::string suffix_of(const fs::path& path) {
  std::string suffix = path.extension().string();
  std::ranges::transform(suffix, suffix.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return suffix;
}

bool is_picture(const fs::path& path) {
  const std::string suffix = suffix_of(path);
  return suffix == ".png" || suffix == ".jpg" || suffix == ".jpeg";
}

bool is_array(const fs::path& path) { return suffix_of(path) == ".npy"; }

std::vector<fs::path> files_of(const std::string& source) {
  std::error_code error;
  if (!fs::is_directory(source, error)) {
    if (!fs::exists(source, error)) fail(ErrorCode::kIo, "there is no file '" + source + "'");
    return {source};
  }
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(source)) {
    if (entry.is_regular_file() && (is_array(entry.path()) || is_picture(entry.path()))) {
      files.push_back(entry.path());
    }
  }
  if (files.empty()) {
    fail(ErrorCode::kInvalidArgument, "there is no .npy, PNG or JPEG file in '" + source + "'");
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

CalibrationCalls calibration_calls(const Module& module, const std::string& method,
                                   const std::vector<std::string>& sources,
                                   const PictureOptions& pictures) {
  CalibrationCalls result;
  const auto arguments = module.get_method(method).arguments();
  const bool takes_list = !arguments.empty() && arguments[0].type == "List[Tensor]";
  const auto add = [&](const Tensor& tensor, CallSource source) {
    const Value value(tensor);
    result.calls.push_back({takes_list ? Value::list({value}) : value});
    result.sources.push_back(std::move(source));
  };
  for (const std::string& source : sources) {
    if (source == "bundled") {
      for (auto& call : bundled_inputs(module, method)) {
        result.calls.push_back(std::move(call));
        result.sources.emplace_back();
      }
      continue;
    }
    std::error_code error;
    const std::string folder = fs::is_directory(source, error) ? source : "";
    for (const fs::path& file : files_of(source)) {
      if (is_array(file)) {
        add(load_npy(file.string()), {file.string(), folder});
      } else if (is_picture(file)) {
        add(load_image(file.string(), pictures.steps(module)), {file.string(), folder});
      } else {
        fail(ErrorCode::kInvalidArgument, "'" + file.string() + "' is no .npy, PNG or JPEG file");
      }
    }
  }
  return result;
}

}  // namespace torchlet::cli
