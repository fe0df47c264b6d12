// Random programs on the cpu device and on the reference. README.md says how to run it.
#include <sys/mman.h>
#include <sys/wait.h>
#include <torchlet/threads.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "base/error.h"
#include "check.h"
#include "generator.h"
#include "shrinker.h"

namespace torchlet::random_graphs {
namespace {

// A program that runs longer hangs: it takes milliseconds, but the machine may be busy.
constexpr unsigned kMostSeconds = 240;
// Below these shares of what ran, too little ran the fast way for the comparison to mean anything.
constexpr double kLeastPlanned = 0.98, kLeastKernels = 0.6;
constexpr int64_t kEnoughToJudge = 1000;

struct Options {
  uint64_t first = 0, count = 1500;
  int jobs = 1;
  int failures = 5;  // to stop after
  bool show = false;
};

// What a process that runs graphs reports to the one that started it.
struct Report {
  uint64_t next = 0;  // the seed that is running
  bool failed = false;
  Coverage coverage;
  char problem[4000] = "";
};

Report* shared_report() {
  void* memory =
      mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("mmap");
    std::exit(2);
  }
  return new (memory) Report;
}

void write_problem(Report& report, const std::string& problem) {
  report.failed = true;
  report.problem[problem.copy(report.problem, sizeof(report.problem) - 1)] = 0;
}

// Runs `body` in a process of its own, which may crash or hang; the process.
template <typename Body>
pid_t start(const Body& body) {
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  body();
  std::fflush(nullptr);
  _exit(0);
}

std::string name_of_end(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return signal == SIGALRM ? "hangs" : std::string("ends by ") + strsignal(signal);
  }
  return format("exits with %d", WEXITSTATUS(status));
}

// What is wrong with a program, in a process of its own; empty if nothing is.
std::string problem_of(const Program& program, Expressions& expressions) {
  static Report* const report = shared_report();
  *report = {};
  const pid_t pid = start([&] {
    alarm(kMostSeconds);
    if (const auto problem = find_difference(program, expressions, report->coverage)) {
      write_problem(*report, *problem);
    }
  });
  int status = 0;
  waitpid(pid, &status, 0);
  if (status != 0) return name_of_end(status);
  return report->failed ? report->problem : "";
}

// One process's share of the seeds: every `stride`th.
class Worker {
 public:
  Worker(const Options& options, uint64_t begin, uint64_t stride)
      : report_(shared_report()), end_(options.first + options.count), stride_(stride) {
    report_->next = begin;
  }

  pid_t pid() const { return pid_; }
  bool done() const { return report_->next >= end_; }
  const Coverage& coverage() const { return report_->coverage; }

  // Until the end or the next failure.
  void go_on() {
    report_->failed = false;
    pid_ = start([this] {
      Expressions expressions;
      for (; !done(); report_->next += stride_) {
        alarm(kMostSeconds);
        const Program program = generate(report_->next, expressions);
        if (const auto problem = find_difference(program, expressions, report_->coverage)) {
          write_problem(*report_, *problem);
          return;
        }
      }
    });
  }

  // After its process has ended. The seed that failed, and why; nothing if it was the end.
  std::optional<std::pair<uint64_t, std::string>> failure(int status) {
    if (status == 0 && !report_->failed) return std::nullopt;
    const std::string problem = status == 0 ? report_->problem : name_of_end(status);
    const uint64_t seed = report_->next;
    report_->next += stride_;
    return std::pair(seed, problem);
  }

 private:
  Report* report_;
  uint64_t end_, stride_;
  pid_t pid_ = -1;
};

void print_failure(uint64_t seed, const std::string& problem) {
  std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), problem.c_str());
  Expressions expressions;
  // Making the program runs the reference, which may be what crashes.
  const pid_t trial = start([&] {
    alarm(kMostSeconds);
    generate(seed, expressions);
  });
  int status = 0;
  waitpid(trial, &status, 0);
  if (status != 0) {
    std::printf("the reference %s while the program is made\n\n", name_of_end(status).c_str());
    return;
  }
  const Program program = generate(seed, expressions);
  if (problem_of(program, expressions).empty()) {
    std::printf("it does not fail again:\n%s\n", program.text().c_str());
    return;
  }
  const Program small = shrunk(program, expressions, [&](const Program& candidate) {
    return !problem_of(candidate, expressions).empty();
  });
  std::printf("cut down: %s\n%s\n", problem_of(small, expressions).c_str(), small.text().c_str());
  std::fflush(stdout);
}

double share(int64_t part, int64_t all) {
  return all == 0 ? 1 : static_cast<double>(part) / static_cast<double>(all);
}

bool has_enough(const char* what, int64_t part, int64_t all, double least) {
  std::printf("%.1f %% of %lld %s\n", 100 * share(part, all), static_cast<long long>(all), what);
  if (all < kEnoughToJudge || share(part, all) >= least) return true;
  std::printf("  that is too few: at least %.1f %%\n", 100 * least);
  return false;
}

int run(const Options& options) {
  std::vector<Worker> workers;
  const auto jobs = static_cast<uint64_t>(options.jobs);
  for (uint64_t i = 0; i < jobs; ++i) workers.emplace_back(options, options.first + i, jobs);
  for (Worker& worker : workers) worker.go_on();
  int failures = 0;
  for (size_t running = workers.size(); running > 0;) {
    int status = 0;
    const pid_t pid = wait(&status);
    const auto worker = std::ranges::find(workers, pid, &Worker::pid);
    if (worker == workers.end()) continue;
    const auto failure = worker->failure(status);
    const bool goes_on = failure && ++failures < options.failures && !worker->done();
    if (failure) print_failure(failure->first, failure->second);
    if (goes_on) {
      worker->go_on();
    } else {
      --running;
    }
  }
  Coverage coverage;
  for (const Worker& worker : workers) coverage += worker.coverage();
  std::printf("seeds %llu to %llu: %d failed\n", static_cast<unsigned long long>(options.first),
              static_cast<unsigned long long>(options.first + options.count - 1), failures);
  const bool is_fast =
      has_enough("runs of segments were plans", coverage.planned, coverage.segments,
                 kLeastPlanned) &
      has_enough("steps had a kernel", coverage.kernels, coverage.steps, kLeastKernels);
  return failures == 0 && is_fast ? 0 : 1;
}

void show(uint64_t seed) {
  Expressions expressions;
  std::printf("%s", generate(seed, expressions).text().c_str());
}

[[noreturn]] void usage() {
  std::fprintf(stderr,
               "usage: random_graphs [--first SEED] [--count N] [--jobs N] [--failures N]\n"
               "       random_graphs --seed SEED\n"
               "       random_graphs --show SEED\n");
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) usage();
    char* end = nullptr;
    const uint64_t number = std::strtoull(argv[i + 1], &end, 10);
    if (*end != 0) usage();
    if (name == "--first") {
      options.first = number;
    } else if (name == "--count") {
      options.count = number;
    } else if (name == "--jobs") {
      options.jobs = static_cast<int>(number);
    } else if (name == "--failures") {
      options.failures = static_cast<int>(number);
    } else if (name == "--seed" || name == "--show") {
      options.first = number;
      options.count = 1;
      options.show = name == "--show";
    } else {
      usage();
    }
  }
  return options;
}

}  // namespace
}  // namespace torchlet::random_graphs

int main(int argc, char** argv) {
  using namespace torchlet::random_graphs;
  const Options options = parse(argc, argv);
  // Processes are copied while no other thread runs.
  torchlet::set_num_threads(1);
  if (options.show) {
    show(options.first);
    return 0;
  }
  return run(options);
}
