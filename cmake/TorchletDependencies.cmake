# The libraries that libtorchlet.a links. One list for two readers: the build includes this file, and so
# does the installed package, because whoever links a static library links what it uses.

include(CMakeFindDependencyMacro)

find_dependency(Threads)
find_dependency(ZLIB)
find_dependency(JPEG)
find_dependency(PNG)
find_dependency(PkgConfig)

if(NOT TARGET PkgConfig::torchlet_hwy)
  pkg_check_modules(torchlet_hwy REQUIRED QUIET IMPORTED_TARGET libhwy)
endif()

# pthreadpool ships neither a CMake package nor a .pc file.
if(NOT TARGET torchlet_pthreadpool)
  find_path(TORCHLET_PTHREADPOOL_INCLUDE pthreadpool.h REQUIRED)
  find_library(TORCHLET_PTHREADPOOL_LIBRARY pthreadpool REQUIRED)
  mark_as_advanced(TORCHLET_PTHREADPOOL_INCLUDE TORCHLET_PTHREADPOOL_LIBRARY)
  add_library(torchlet_pthreadpool UNKNOWN IMPORTED)
  set_target_properties(
    torchlet_pthreadpool PROPERTIES IMPORTED_LOCATION "${TORCHLET_PTHREADPOOL_LIBRARY}"
                                    INTERFACE_INCLUDE_DIRECTORIES "${TORCHLET_PTHREADPOOL_INCLUDE}")
endif()

set(TORCHLET_DEPENDENCIES
    PkgConfig::torchlet_hwy
    torchlet_pthreadpool
    JPEG::JPEG
    PNG::PNG
    ZLIB::ZLIB
    Threads::Threads)
