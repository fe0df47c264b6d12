// `stderr` for libpng.a (Static.cmake).
#include <cstdio>

extern "C" {
extern FILE* __real_stderr;
[[gnu::visibility("hidden")]] FILE* __wrap_stderr = nullptr;
}

[[gnu::constructor]] static void find_stderr() { __wrap_stderr = __real_stderr; }
