#include "cli/labels.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "base/error.h"
#include "cli/files.h"

namespace torchlet::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBlank = " \t\r";

[[noreturn]] void misfit(const std::string& why) { fail(ErrorCode::kInvalidArgument, why); }

std::string quoted(const std::string& text) { return "'" + text + "'"; }

std::string counted(size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlank);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

void check_class(int64_t label, size_t classes, const std::string& where) {
  if (label >= 0 && static_cast<size_t>(label) < classes) return;
  misfit(where + " has the label " + std::to_string(label) + ", but the model's classes are 0 to " +
         std::to_string(classes - 1));
}

// ---- a file ----

struct LabelLine {
  std::string path;  // empty if the line is a number alone
  int64_t label;
};

std::vector<LabelLine> lines_of(const std::string& file, size_t classes) {
  const std::string text = read_file(file);
  std::vector<LabelLine> lines;
  size_t number = 0;
  for (size_t at = 0; at < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = trimmed(std::string_view(text).substr(at, end - at));
    at = end + 1;
    if (line.empty()) continue;
    const std::string where = "line " + std::to_string(number + 1) + " of " + quoted(file);
    const size_t split = line.find_last_of(" \t,;");
    const auto label = whole_number(split == line.npos ? line : line.substr(split + 1));
    if (!label) misfit(where + " does not end with the number of a class");
    check_class(*label, classes, where);
    const std::string_view path = split == line.npos ? "" : line.substr(0, split);
    lines.push_back(
        {std::string(trimmed(path.substr(0, path.find_last_not_of(" \t,;") + 1))), *label});
    if (lines.back().path.empty() != lines.front().path.empty()) {
      misfit(where + (lines.back().path.empty() ? " has no path" : " has a path") +
             ", unlike the first");
    }
  }
  if (lines.empty()) misfit("there are no labels in " + quoted(file));
  return lines;
}

std::vector<std::vector<int64_t>> by_order(const std::string& file,
                                           const std::vector<LabelLine>& lines,
                                           const std::vector<size_t>& rows) {
  size_t all = 0;
  for (const size_t count : rows) all += count;
  if (lines.size() != all) {
    misfit(quoted(file) + " has " + counted(lines.size(), "label") + " for " + counted(all, "row") +
           " of scores, which the inputs give");
  }
  std::vector<std::vector<int64_t>> labels;
  auto next = lines.begin();
  for (const size_t count : rows) {
    std::vector<int64_t>& of_call = labels.emplace_back();
    for (size_t i = 0; i < count; ++i) of_call.push_back((next++)->label);
  }
  return labels;
}

// Does `path` end with the whole names of `end`?
bool ends_with_path(const fs::path& path, const fs::path& end) {
  auto a = path.end(), b = end.end();
  while (b != end.begin()) {
    if (a == path.begin() || *--a != *--b) return false;
  }
  return true;
}

std::vector<std::vector<int64_t>> by_path(const std::string& file,
                                          const std::vector<LabelLine>& lines,
                                          const std::vector<CallSource>& sources,
                                          const std::vector<size_t>& rows) {
  std::multimap<std::string, std::pair<fs::path, int64_t>> by_name;
  for (const LabelLine& line : lines) {
    const fs::path path = fs::path(line.path).lexically_normal();
    by_name.emplace(path.filename().string(), std::pair(path, line.label));
  }
  std::vector<std::vector<int64_t>> labels;
  for (size_t i = 0; i < sources.size(); ++i) {
    const std::string& input = sources[i].file;
    if (input.empty()) misfit(quoted(file) + " names paths, but bundled inputs have none");
    const fs::path path = fs::absolute(input).lexically_normal();
    std::set<int64_t> found;
    const auto [begin, end] = by_name.equal_range(path.filename().string());
    for (auto at = begin; at != end; ++at) {
      const auto& [end_of_path, label] = at->second;
      const bool is_it = path == fs::absolute(end_of_path).lexically_normal();
      if (is_it || ends_with_path(path, end_of_path)) found.insert(label);
    }
    if (found.empty()) misfit(quoted(file) + " has no label for " + quoted(input));
    if (found.size() > 1) misfit(quoted(file) + " has several labels for " + quoted(input));
    labels.emplace_back(rows[i], *found.begin());
  }
  return labels;
}

// ---- folders ----

// The name of the folder of its class; empty if the file lies in none.
std::string class_of(const CallSource& source) {
  if (source.folder.empty()) return {};
  const fs::path below = fs::path(source.file).lexically_relative(source.folder);
  return std::distance(below.begin(), below.end()) > 1 ? below.begin()->string() : std::string();
}

std::vector<std::vector<int64_t>> by_folder(const std::vector<CallSource>& sources,
                                            const std::vector<size_t>& rows, size_t classes) {
  std::set<std::string> folders, names;
  for (const CallSource& source : sources) {
    if (class_of(source).empty()) {
      misfit("--labels folders needs inputs as FOLDER/CLASS/FILE, where FOLDER is named; " +
             (source.file.empty() ? "bundled ones are none" : quoted(source.file) + " is not"));
    }
    folders.insert(source.folder);
  }
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.is_directory()) names.insert(entry.path().filename().string());
    }
  }
  if (names.size() != classes) {
    misfit("there are " + counted(names.size(), "folder") + " of classes in " +
           quoted(*folders.begin()) + ", but the model has " + std::to_string(classes) +
           " classes; add empty folders or name a file of labels");
  }
  std::vector<std::vector<int64_t>> labels;
  for (size_t i = 0; i < sources.size(); ++i) {
    const auto number = std::distance(names.begin(), names.find(class_of(sources[i])));
    labels.emplace_back(rows[i], static_cast<int64_t>(number));
  }
  return labels;
}

}  // namespace

std::vector<std::vector<int64_t>> labels_of_inputs(const std::string& labels,
                                                   const std::vector<CallSource>& sources,
                                                   const std::vector<size_t>& rows,
                                                   size_t classes) {
  if (labels == "folders") return by_folder(sources, rows, classes);
  const std::vector<LabelLine> lines = lines_of(labels, classes);
  return lines[0].path.empty() ? by_order(labels, lines, rows)
                               : by_path(labels, lines, sources, rows);
}

}  // namespace torchlet::cli
