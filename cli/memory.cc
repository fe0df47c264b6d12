#include "cli/memory.h"

#include <sys/resource.h>
#include <torchlet/memory.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "base/error.h"

namespace torchlet::cli {
namespace {

// The number behind `name` in a line of /proc, which counts KiB, as bytes; 0 in other lines.
uint64_t kib_behind(std::string_view name, std::string_view line) {
  if (!line.starts_with(name)) return 0;
  line.remove_prefix(std::min(line.find_first_not_of(" \t", name.size()), line.size()));
  uint64_t kib = 0;
  std::from_chars(line.data(), line.data() + line.size(), kib);
  return kib * 1024;
}

// "7f00-7f10 rw-p 00000000 fe:00 123   /usr/lib/libc.so.6": the file or "[heap]", often nothing.
bool begins_mapping(std::string_view line) {
  const size_t dash = line.find_first_not_of("0123456789abcdef");
  return dash != std::string_view::npos && dash > 0 && line[dash] == '-';
}
std::string_view mapped_name(std::string_view line) {
  for (int field = 0; field < 5; ++field) {
    line.remove_prefix(std::min(line.find(' '), line.size()));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  }
  return line;
}

uint64_t positive(int64_t bytes) { return static_cast<uint64_t>(std::max<int64_t>(0, bytes)); }

}  // namespace

uint64_t peak_memory() {
  // getrusage() counts what the process was before exec(), too.
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (const uint64_t peak = kib_behind("VmHWM:", line)) return peak;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
  return static_cast<uint64_t>(usage.ru_maxrss);
#else
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
#endif
}

void forget_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

MemoryReport report_memory(const std::string& model, const MemoryPhases& peaks) {
  std::ifstream smaps("/proc/self/smaps");
  if (!smaps) {
    fail(ErrorCode::kUnsupported, "--memory reads /proc/self/smaps, which only Linux has");
  }
  MemoryReport report{.peaks = peaks};
  std::error_code failed;
  const std::string path = std::filesystem::canonical(model, failed).string();
  enum class Of { kCode, kModel, kNothing } of = Of::kNothing;
  uint64_t anonymous = 0;
  for (std::string line; std::getline(smaps, line);) {
    if (begins_mapping(line)) {
      const std::string_view name = mapped_name(line);
      of = !name.starts_with('/') ? Of::kNothing : name == path ? Of::kModel : Of::kCode;
    } else if (of == Of::kModel) {
      report.model_mapped += kib_behind("Size:", line);
      report.model_file += kib_behind("Rss:", line);
    } else {
      (of == Of::kCode ? report.code : anonymous) += kib_behind("Rss:", line);
    }
  }
  const MemoryFigures figures = memory_figures();
  report.packed_weights = positive(figures.packed_weights);
  report.activations = positive(figures.activations);
  report.tensors = positive(figures.tensors);
  report.idle = positive(figures.idle);
  const uint64_t known =
      report.packed_weights + report.activations + report.tensors + report.idle;
  report.rest = anonymous - std::min(anonymous, known);
  report.largest_plan = positive(figures.largest_plan);
  report.largest_plan_alive = positive(figures.largest_plan_alive);
  return report;
}

std::string text_of(const MemoryReport& report) {
  std::string text;
  const auto line = [&](const char* name, uint64_t bytes, const std::string& note = "") {
    text += format("  %-24s %8.1f", name, static_cast<double>(bytes) * 1e-6);
    text += (note.empty() ? "" : "   " + note) + "\n";
  };
  const auto megabytes = [](uint64_t bytes) {
    return format("%.1f", static_cast<double>(bytes) * 1e-6);
  };
  text += "memory at most, MB\n";
  line("while it loaded", report.peaks.load);
  line("compiled and ran first", report.peaks.first_run);
  line("ran on", report.peaks.steady);
  text += "memory now, MB\n";
  line("code and libraries", report.code);
  line("model file", report.model_file, "of " + megabytes(report.model_mapped) + " mapped");
  line("packed weights", report.packed_weights);
  line("activations", report.activations,
       "the largest plan takes " + megabytes(report.largest_plan) + ", " +
           megabytes(report.largest_plan_alive) + " of them alive at the same time");
  line("tensors", report.tensors);
  line("idle memory of tensors", report.idle);
  line("the rest", report.rest, "program, operators, plans, stacks");
  return text;
}

Json json_of(const MemoryReport& report) {
  return {{"peak_load_bytes", report.peaks.load},
          {"peak_first_run_bytes", report.peaks.first_run},
          {"peak_steady_bytes", report.peaks.steady},
          {"code_bytes", report.code},
          {"model_file_bytes", report.model_file},
          {"model_mapped_bytes", report.model_mapped},
          {"packed_weights_bytes", report.packed_weights},
          {"activations_bytes", report.activations},
          {"largest_plan_bytes", report.largest_plan},
          {"largest_plan_alive_bytes", report.largest_plan_alive},
          {"tensors_bytes", report.tensors},
          {"idle_bytes", report.idle},
          {"rest_bytes", report.rest}};
}

}  // namespace torchlet::cli
