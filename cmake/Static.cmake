# TORCHLET_STATIC: programs that need nothing at run time but a kernel; beside them libtorchlet.so as an app on Android gets it,
# with the C++ library inside. TORCHLET_SELF_CONTAINED: shared libraries that hold Highway, libjpeg, libpng and zlib, hidden.

# The zlib of Apple's systems and of Android is a part of them, and a small build (docs/small.md), which has no other library,
# takes that of any system.
if(NOT APPLE AND NOT ANDROID AND (TORCHLET_STATIC OR TORCHLET_CODECS))
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
endif()
if(TORCHLET_STATIC)
  string(APPEND CMAKE_EXE_LINKER_FLAGS " -static")
  string(APPEND CMAKE_SHARED_LINKER_FLAGS " -static-libstdc++ -static-libgcc")
endif()

# Debian has Highway only as a shared library; this is the part of its source that is not headers.
execute_process(COMMAND ${CMAKE_SOURCE_DIR}/scripts/debian_files.sh highway COMMAND_ERROR_IS_FATAL ANY)
set(highway ${CMAKE_SOURCE_DIR}/build/debian/highway)
add_library(torchlet_highway STATIC ${highway}/hwy/targets.cc ${highway}/hwy/print.cc
            ${highway}/hwy/per_target.cc)
target_include_directories(torchlet_highway SYSTEM PUBLIC ${highway})

# For a shared library with libpng.a in it, which takes the address of `stderr` in a way that shared libraries cannot:
# stderr.cc has one for it.
function(torchlet_wrap_stderr target)
  target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/stderr.cc)
  target_link_options(${target} PRIVATE -Wl,--wrap=stderr)
endfunction()
