# Debian's cross compiler for x86 of 32 bits and the libraries of scripts/debian_files.sh. What it makes runs on x86-64 itself.
# The instructions are those that Android's ABI "x86" has.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR i686)
set(CMAKE_CXX_COMPILER i686-linux-gnu-g++)
set(CMAKE_C_COMPILER i686-linux-gnu-gcc)
set(CMAKE_CXX_FLAGS_INIT "-march=i686 -mssse3 -mfpmath=sse -Wno-psabi")

set(sysroot ${CMAKE_CURRENT_LIST_DIR}/../build/debian/sysroot-i386)
include_directories(SYSTEM ${sysroot}/usr/include/i386-linux-gnu)
set(CMAKE_LIBRARY_ARCHITECTURE i386-linux-gnu)
set(CMAKE_FIND_ROOT_PATH ${sysroot})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
