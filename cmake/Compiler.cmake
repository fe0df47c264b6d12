# Compiler settings shared by every target of the project.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON) # libtorchlet.so, and libtorchlet.a goes into shared libraries, too
set(CMAKE_CXX_VISIBILITY_PRESET hidden) # include/torchlet/export.h marks what libtorchlet.so shows
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON) # clang-tidy and editors

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# MinSizeRel: what runs once for each model or each set of shapes is compiled for its size, and each function is a section of
# its own, so that the linker drops those that nobody calls. No precompiled headers: builds of several sets of operators then
# share all other objects through ccache.
set(CMAKE_CXX_FLAGS_MINSIZEREL "-Os -DNDEBUG -ffunction-sections -fdata-sections")
if(CMAKE_BUILD_TYPE STREQUAL "MinSizeRel")
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON CACHE BOOL "")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # The whole library is compiled again when it is linked; only what may throw has tables for that.
    set(CMAKE_CXX_FLAGS_MINSIZEREL
        "-Oz -flto -fwhole-program-vtables -fvirtual-function-elimination -fno-asynchronous-unwind-tables -fno-unwind-tables -DNDEBUG")
    add_link_options(-fuse-ld=lld -Wl,-O2 -Wl,--icf=safe -Wl,-mllvm,-inline-threshold=-15 -Wl,-mllvm,-enable-merge-functions)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
      # Code that is repeated is moved into functions of its own; their tables would take more than that saves.
      add_link_options(-Wl,-mllvm,-homogeneous-prolog-epilog -Wl,-mllvm,-machine-outliner-reruns=2 -Wl,-Bsymbolic)
      find_package(Python3 REQUIRED COMPONENTS Interpreter)
      set(TORCHLET_SHARED_LINKER_LAUNCHER ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/link_for_size.py)
    else()
      add_link_options(-mno-outline)
    endif()
    if(NOT ANDROID)
      add_link_options(-Wl,-z,pack-relative-relocs) # glibc 2.36
    elseif(ANDROID_PLATFORM_LEVEL GREATER_EQUAL 28)
      add_link_options(-Wl,--pack-dyn-relocs=android+relr)
    endif()
  endif()
endif()

add_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees overlaps in plain std::string concatenation (GCC bug 105329).
  add_compile_options(-Wno-restrict)
endif()
if(TORCHLET_WERROR)
  add_compile_options(-Werror)
endif()

# A float expression must round the same with every compiler and on every processor: the kernels say where
# they want a fused multiply-add. errno is never read after a math call, so the calls may be inlined.
add_compile_options(-ffp-contract=off -fno-math-errno)

# Android devices may have pages of 16 KB; only what is aligned to them loads there. arm64 has pages of 64 KB elsewhere, and
# its linker's own alignment.
if(NOT APPLE)
  add_link_options(-Wl,-z,max-page-size=16384)
else()
  add_compile_definitions(_REENTRANT) # for lgamma_r
endif()

# Debug information is compressed: every test has it, and that took gigabytes.
if(TORCHLET_SANITIZE)
  add_compile_options(-fsanitize=${TORCHLET_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer -gz)
  add_link_options(-fsanitize=${TORCHLET_SANITIZE} -gz)
endif()

# ccache, told to see paths relative to the checkout, so that several checkouts share their objects, and to trust
# precompiled headers.
find_program(TORCHLET_CCACHE ccache)
mark_as_advanced(TORCHLET_CCACHE)
if(TORCHLET_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=time_macros,pch_defines ${TORCHLET_CCACHE})
endif()

find_program(TORCHLET_LLD ld.lld)
mark_as_advanced(TORCHLET_LLD)
if(TORCHLET_LLD AND NOT CMAKE_CROSSCOMPILING) # a cross compiler does not look for it
  add_link_options(-fuse-ld=lld)
endif()
