#pragma once

#include <cstdint>

namespace torchlet::kernels {

// What kernels keep in the second-level cache is measured for one of 1 MB or more, `bytes` of it.
// Of a smaller one, if the system reports it, this is the same share. Any other unit will do, too.
int64_t cached(int64_t bytes);
// For tests: its size in bytes, 0 for one that nobody knows. Not while kernels run.
void set_cache(int64_t size);

// From one row to the next, in elements of which a cache line holds `line`: at least `count`, and
// an odd number of lines, since rows an even number apart share cache sets, and all of them at 4
// KB.
constexpr int64_t odd_lines(int64_t count, int64_t line) {
  return ((count + line - 1) / line | 1) * line;
}

}  // namespace torchlet::kernels
