# TORCHLET_STATIC: programs that need nothing at run time but a kernel, made small: every function is a section of its
# own, so that the linker leaves out what nobody calls and merges functions that came out equal.

set(BUILD_SHARED_LIBS OFF)
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
set(CMAKE_POSITION_INDEPENDENT_CODE OFF)
add_compile_options(-fno-pie -ffunction-sections -fdata-sections)
add_link_options(-static -no-pie -Wl,--gc-sections)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  add_link_options(-fuse-ld=gold -Wl,--icf=safe)
  # The program is compiled as one when it is linked; the sections that gold works with are made only then.
  set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
  add_link_options(-ffunction-sections -fdata-sections)
  # With a frame pointer the tables for exceptions need not follow every push.
  add_compile_options(-fno-omit-frame-pointer)
  # No exception passes through these libraries in C: copies without tables for exceptions.
  foreach(library JPEG:jpeg PNG:png ZLIB:z)
    string(REGEX MATCH "(.+):(.+)" library ${library})
    set(copy ${CMAKE_BINARY_DIR}/lib${CMAKE_MATCH_2}.a)
    find_library(torchlet_${CMAKE_MATCH_2} ${CMAKE_MATCH_2} REQUIRED)
    execute_process(COMMAND ${CMAKE_OBJCOPY} --remove-section=.eh_frame ${torchlet_${CMAKE_MATCH_2}} ${copy}
                            COMMAND_ERROR_IS_FATAL ANY)
    set(${CMAKE_MATCH_1}_LIBRARY_RELEASE ${copy} CACHE FILEPATH "Without tables for exceptions" FORCE)
  endforeach()
endif()

# What computes is compiled for speed, what only prepares for size.
file(GLOB fast ${CMAKE_SOURCE_DIR}/src/kernels/*.cc)
set_source_files_properties(${fast} PROPERTIES COMPILE_OPTIONS "-O2;-fno-lto;-fomit-frame-pointer")
# Its assembly names symbols that link-time optimisation does not see, and its loops are not to call themselves.
set_source_files_properties(cmake/left_out.cc PROPERTIES COMPILE_OPTIONS "-fno-lto;-fno-builtin;-ffreestanding")

# Debian has Highway only as a shared library; this is the part of its source that is not headers.
execute_process(COMMAND ${CMAKE_SOURCE_DIR}/scripts/debian_files.sh highway COMMAND_ERROR_IS_FATAL ANY)
set(highway ${CMAKE_SOURCE_DIR}/build/debian/highway)
add_library(torchlet_highway STATIC ${highway}/hwy/targets.cc ${highway}/hwy/print.cc
            ${highway}/hwy/per_target.cc)
target_include_directories(torchlet_highway SYSTEM PUBLIC ${highway})
