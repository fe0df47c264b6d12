# TORCHLET_STATIC: programs that need nothing at run time but a kernel, made small: every function is a section of its
# own, so that the linker leaves out what nobody calls and merges functions that came out equal.

set(BUILD_SHARED_LIBS OFF)
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
set(CMAKE_POSITION_INDEPENDENT_CODE OFF)
add_compile_options(-fno-pie -ffunction-sections -fdata-sections)
add_link_options(-static -no-pie -Wl,--gc-sections)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  add_link_options(-fuse-ld=gold -Wl,--icf=safe)
endif()

# What computes is compiled for speed, what only prepares for size.
file(GLOB fast ${CMAKE_SOURCE_DIR}/src/kernels/*.cc)
set_source_files_properties(${fast} PROPERTIES COMPILE_OPTIONS -O2)

# Debian has Highway only as a shared library; this is the part of its source that is not headers.
execute_process(COMMAND ${CMAKE_SOURCE_DIR}/scripts/debian_files.sh highway COMMAND_ERROR_IS_FATAL ANY)
set(highway ${CMAKE_SOURCE_DIR}/build/debian/highway)
add_library(torchlet_highway STATIC ${highway}/hwy/targets.cc ${highway}/hwy/print.cc
            ${highway}/hwy/per_target.cc)
target_include_directories(torchlet_highway SYSTEM PUBLIC ${highway})
