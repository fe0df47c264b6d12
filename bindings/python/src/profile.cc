// torchlet.profile(): what the calls of a thread run, and how long.
#include "profile/profiler.h"

#include <array>

#include "base/error.h"
#include "kernels/peak/peak_flops.h"
#include "python.h"

namespace torchlet::python {
namespace {

class Profile {
 public:
  Profile() {
    // It listens where ProfileScope says so, and nowhere else.
    const EventScope nobody(nullptr);
    profiler_ = std::make_unique<profile::Profiler>();
  }
  ~Profile() { stop(); }

  void start() {
    thread_ = PyThread_get_thread_ident();
    stop();
    active().push_back(this);
  }
  void stop() {
    if (thread_ == PyThread_get_thread_ident()) std::erase(active(), this);
  }

  profile::Profiler& profiler() { return *profiler_; }
  void add_call(double begin, double end) {
    profiler_->record_call(begin, end);
    ++calls_;
  }

  std::string table() const {
    require_calls();
    const profile::Peaks peaks = unlocked([] {
      return profile::Peaks{kernels::measure_peak_flops() * num_threads(),
                            kernels::measure_peak_int8() * num_threads()};
    });
    return profile::table(profiler_->lines(), calls_, peaks);
  }
  std::string trace() const {
    require_calls();
    return profile::chrome_trace(std::array<const profile::Profiler*, 1>{profiler_.get()});
  }
  nb::list lines() const {
    nb::list rows;
    const nb::object type = nb::module_::import_("torchlet._values").attr("ProfileLine");
    for (const profile::Line& line : profiler_->lines()) {
      rows.append(type(text(line.kernel), text(line.device), text(line.place), text(line.shape),
                       line.flops, line.seconds));
    }
    return rows;
  }

  // Of this thread, the innermost last.
  static std::vector<Profile*>& active() {
    static thread_local std::vector<Profile*> profiles;
    return profiles;
  }

 private:
  void require_calls() const {
    if (calls_ == 0)
      fail(ErrorCode::kInvalidArgument, "nothing was called in this profile, or by another thread");
  }

  std::unique_ptr<profile::Profiler> profiler_;
  unsigned long thread_ = 0;
  size_t calls_ = 0;
};

}  // namespace

ProfileScope::ProfileScope() {
  if (Profile::active().empty()) return;
  scope_.emplace(&Profile::active().back()->profiler());
  begin_ = event_clock();
}

ProfileScope::~ProfileScope() {
  if (scope_ && !Profile::active().empty())
    Profile::active().back()->add_call(begin_, event_clock());
}

void bind_profile(nb::module_& m) {
  nb::class_<Profile>(
      m, "profile",
      "Hears what this thread's calls of models run while its `with` block lasts.\n\n"
      "    with torchlet.profile() as p:\n"
      "        model(x)\n"
      "    print(p.table())")
      .def(nb::init<>())
      .def(
          "__enter__",
          [](nb::object self) {
            nb::cast<Profile&>(self).start();
            return self;
          },
          nb::sig("def __enter__(self) -> profile"))
      .def(
          "__exit__", [](Profile& self, const nb::args&) { self.stop(); },
          nb::sig("def __exit__(self, *args: typing.Any) -> None"))
      .def(
          "table", [](const Profile& p) { return text(p.table()); },
          nb::sig("def table(self) -> str"),
          "A line each operator or step: kernel, place, shape, device, times, share of the "
          "processor's peak.")
      .def(
          "chrome_trace", [](const Profile& p) { return text(p.trace()); },
          nb::sig("def chrome_trace(self) -> str"),
          "JSON for ui.perfetto.dev and chrome://tracing.")
      .def_prop_ro(
          "lines", [](const Profile& p) { return p.lines(); },
          nb::sig("def lines(self) -> list[ProfileLine]"));
}

}  // namespace torchlet::python
