# 64-bit Arm by Clang and lld, which Android's development kit has, too, with Debian's libraries.
include(${CMAKE_CURRENT_LIST_DIR}/arm64.toolchain.cmake)
set(CMAKE_CXX_COMPILER clang++-16)
set(CMAKE_CXX_COMPILER_TARGET aarch64-linux-gnu)
# The archiver of another LLVM does not read these objects; those of GNU leave them to the linker.
set(CMAKE_AR aarch64-linux-gnu-ar)
set(CMAKE_RANLIB aarch64-linux-gnu-ranlib)
