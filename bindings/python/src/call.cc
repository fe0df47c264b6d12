#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>

#include "base/error.h"
#include "python.h"

namespace torchlet::python {
namespace {

// ---- Kept ----

std::atomic<Kept*> dropped{nullptr};

// ---- Control-C ----

std::atomic<bool> interrupted{false};
int calls_listening = 0;  // of the main thread
struct sigaction python_action;

void on_interrupt(int signal, siginfo_t* info, void* context) {
  interrupted.store(true, std::memory_order_relaxed);
  if (python_action.sa_flags & SA_SIGINFO) {
    python_action.sa_sigaction(signal, info, context);
  } else if (python_action.sa_handler != SIG_DFL && python_action.sa_handler != SIG_IGN) {
    python_action.sa_handler(signal);
  }
}

// ---- the end of the interpreter ----

std::atomic<bool> is_exiting{false};
std::atomic<int> returning{0};  // threads in a WayToGil

struct PythonSide {
  unsigned long main_thread = 0;
  nb::object getsignal, default_handler;
};
PythonSide* side = nullptr;  // for good: Python's objects must not be released after its end

void find_main_thread() {
  const nb::object main = nb::module_::import_("threading").attr("main_thread")();
  side->main_thread = nb::cast<unsigned long>(main.attr("ident"));
}

bool is_main_thread() { return PyThread_get_thread_ident() == side->main_thread; }

// Is Control-C going to be a KeyboardInterrupt on this thread?
bool interrupts_here() {
  return is_main_thread() && side->getsignal(SIGINT).is(side->default_handler);
}

// Around taking the GIL. Once the interpreter goes down, Python ends a thread that waits for the
// GIL where it stands, which C++ frames do not survive: threads that come late sleep here for good,
// as there is nothing left that they could return to, and wait_for_returning() lets the others pass.
class WayToGil {
 public:
  WayToGil() {
    ++returning;
    if (!is_exiting || is_main_thread()) return;
    --returning;
    while (true) pause();
  }
  ~WayToGil() { --returning; }
  WayToGil(const WayToGil&) = delete;
  WayToGil& operator=(const WayToGil&) = delete;
};

// On the main thread with the GIL, before the interpreter goes down.
void wait_for_returning() {
  is_exiting = true;
  const nb::gil_scoped_release released;
  while (returning > 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
}

}  // namespace

void Kept::drop() {
  next_ = dropped.load(std::memory_order_relaxed);
  while (!dropped.compare_exchange_weak(next_, this, std::memory_order_release)) {
  }
  // Soon, even if nobody calls. If there is no room for it, the next call collects.
  if (next_ == nullptr && !is_exiting) {
    Py_AddPendingCall(
        [](void*) {
          collect();
          return 0;
        },
        nullptr);
  }
}

void Kept::collect() {
  if (dropped.load(std::memory_order_relaxed) == nullptr) return;
  Kept* first = dropped.exchange(nullptr, std::memory_order_acquire);
  while (first != nullptr) delete std::exchange(first, first->next_);
}

ReleasedGil::~ReleasedGil() {
  const WayToGil way;
  PyEval_RestoreThread(state_);
}

thread_local Call* Call::current_ = nullptr;

Call::Call() : outer_(std::exchange(current_, this)), listens_(interrupts_here()) {
  if (!listens_) return;
  limits_.emplace(nullptr, 0, &interrupted);
  if (calls_listening++ > 0) return;
  interrupted = false;
  struct sigaction action {};
  action.sa_sigaction = on_interrupt;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &python_action);
}

Call::~Call() {
  current_ = outer_;
  if (listens_ && --calls_listening == 0) sigaction(SIGINT, &python_action, nullptr);
}

void Call::rethrow_python() {
  if (raised_) throw *std::exchange(raised_, std::nullopt);
  if (listens_ && interrupted && PyErr_CheckSignals() != 0) throw nb::python_error();
}

void Call::print(std::string_view line) {
  const WayToGil way;
  const nb::gil_scoped_acquire gil;
  try {
    const nb::object out = nb::module_::import_("sys").attr("stdout");
    if (!out.is_none()) out.attr("write")(text(std::string(line) + "\n"));
  } catch (nb::python_error& error) {
    if (current_ == nullptr) throw;
    current_->raised_.emplace(std::move(error));
    fail(ErrorCode::kCancelled, "sys.stdout raised an exception");
  }
}

void bind_calls() {
  side = new PythonSide();
  const nb::module_ signal = nb::module_::import_("signal");
  side->getsignal = signal.attr("getsignal");
  side->default_handler = signal.attr("default_int_handler");
  find_main_thread();
  nb::module_::import_("os").attr("register_at_fork")(nb::arg("after_in_child") =
                                                          nb::cpp_function([] {
                                                            returning = 0;  // no other thread is here
                                                            find_main_thread();
                                                          }));
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(wait_for_returning));
}

}  // namespace torchlet::python
