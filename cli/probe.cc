#include "cli/probe.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/error.h"
#include "cli/files.h"
#include "cli/inputs.h"
#include "cli/text.h"
#include "device/registry.h"
#include "prepare/tune.h"

namespace torchlet::cli {
namespace {

constexpr char kThisProgram[] = "/proc/self/exe";
constexpr size_t kMostText = 64 << 10;

// This process's command line, with --probe behind the command's name.
std::vector<std::string> probe_command(const std::string& device) {
  int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail(ErrorCode::kIo, "/proc/self/cmdline: %s", std::strerror(errno));
  std::string line;
  char buffer[4096];
  for (ssize_t count; (count = read(fd, buffer, sizeof buffer)) > 0;) {
    line.append(buffer, static_cast<size_t>(count));
  }
  close(fd);
  std::vector<std::string> words;
  for (size_t at = 0; at < line.size(); at += words.back().size() + 1) {
    words.push_back(line.c_str() + at);
  }
  TORCHLET_ASSERT(words.size() >= 2);
  words.insert(words.begin() + 2, {"--probe", device});
  return words;
}

// A process that gives away what it writes on standard error, and is gone at the end.
class Child {
 public:
  explicit Child(const std::vector<std::string>& words) {
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    int pipe_ends[2];
    if (pipe2(pipe_ends, O_CLOEXEC) != 0) fail(ErrorCode::kIo, "pipe: %s", std::strerror(errno));
    pid_ = fork();
    if (pid_ == 0) {
      // Nothing here takes memory or a lock: other threads of the parent may hold one.
      setpgid(0, 0);
      const rlimit none{0, 0};
      setrlimit(RLIMIT_CORE, &none);
      const int nothing = open("/dev/null", O_RDWR);
      dup2(nothing, 0);
      dup2(nothing, 1);
      dup2(pipe_ends[1], 2);
      execv(kThisProgram, arguments.data());
      _exit(127);
    }
    close(pipe_ends[1]);
    errors_ = pipe_ends[0];
    if (pid_ < 0) {
      close(errors_);
      fail(ErrorCode::kIo, "fork: %s", std::strerror(errno));
    }
  }
  ~Child() {
    if (!is_over_) {
      kill(-pid_, SIGKILL);
      kill(pid_, SIGKILL);
      waitpid(pid_, &status_, 0);
    }
    close(errors_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // False if it still runs after so many seconds.
  bool wait(double seconds) {
    for (const double end = now() + seconds; now() < end;) {
      read_errors();
      if (waitpid(pid_, &status_, WNOHANG) == pid_) {
        is_over_ = true;
        read_errors();
        return true;
      }
    }
    return false;
  }
  int status() const { return status_; }
  const std::string& errors() const { return text_; }

 private:
  void read_errors() {
    constexpr int kPollMs = 10;
    pollfd waiting{errors_, POLLIN, 0};
    while (poll(&waiting, 1, is_over_ ? 0 : kPollMs) > 0 && (waiting.revents & POLLIN)) {
      char buffer[4096];
      const ssize_t count = read(errors_, buffer, sizeof buffer);
      if (count <= 0) return;
      if (text_.size() < kMostText) text_.append(buffer, static_cast<size_t>(count));
    }
    // Closed by a child that still runs: nothing to wait for but the clock.
    if (!is_over_ && (waiting.revents & POLLHUP)) usleep(kPollMs * 1000);
  }

  pid_t pid_ = -1;
  int errors_ = -1, status_ = 0;
  bool is_over_ = false;
  std::string text_;
};

// The last line that is an error of this program's.
std::string told_error(const std::string& text) {
  constexpr std::string_view kBegin = "torchlet: error: ";
  const size_t at = text.rfind(kBegin);
  if (at == std::string::npos) return "";
  return text.substr(at + kBegin.size(), text.find('\n', at) - at - kBegin.size());
}

// Why the device is no good for the command; empty if it is.
std::string problem_of(const std::string& device, double limit) {
  Child child(probe_command(device));
  if (!child.wait(limit)) return format("it did not answer within %g s", limit);
  if (WIFSIGNALED(child.status())) {
    return std::string("it crashed its process: ") + strsignal(WTERMSIG(child.status()));
  }
  const int status = WEXITSTATUS(child.status());
  if (status == 0) return "";
  const std::string error = told_error(child.errors());
  return error.empty() ? format("its process ended with status %d", status) : error;
}

}  // namespace

void ProbeOptions::add_to(CLI::App& command) {
  command.add_option("--probe", probed_)->group("");
  command
      .add_option("--device-limit", limit_,
                  "How long the first runs on a device may take, in a process of its own")
      ->check(above_zero())
      ->type_name("SECONDS")
      ->capture_default_str();
  command
      .add_option("--min-sqnr", min_sqnr_,
                  "What answers of a device have to reach against the processor's, to be right")
      ->type_name("DB")
      ->capture_default_str();
}

void ProbeOptions::run_probe(const Module& module, const std::string& method,
                             const std::vector<Value>& inputs) const {
  prepare::TuneOptions options;
  options.method = method;
  options.min_sqnr = min_sqnr_;
  prepare::try_device(module, inputs, probed_, options);
}

std::vector<device::DroppedDevice> ProbeOptions::drop_bad(std::vector<std::string>& devices) const {
  std::vector<device::DroppedDevice> dropped;
  std::erase_if(devices, [&](const std::string& name) {
    std::string problem = problem_of(name, limit_);
    if (problem.empty()) return false;
    dropped.push_back({name, "", std::move(problem)});
    return true;
  });
  return dropped;
}

}  // namespace torchlet::cli
