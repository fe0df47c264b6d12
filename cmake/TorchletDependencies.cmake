# The libraries that libtorchlet.a links. One list for two readers: the build includes this file, and so
# does the installed package, because whoever links a static library links what it uses.

include(CMakeFindDependencyMacro)

find_dependency(Threads)
find_dependency(ZLIB)
set(torchlet_codecs "")
if(TORCHLET_CODECS)
  find_dependency(JPEG)
  find_dependency(PNG)
  set(torchlet_codecs JPEG::JPEG PNG::PNG)
endif()

if(TARGET torchlet_highway)
  set(torchlet_hwy_target torchlet_highway)
else()
  find_dependency(PkgConfig)
  if(NOT TARGET PkgConfig::torchlet_hwy)
    pkg_check_modules(torchlet_hwy REQUIRED QUIET IMPORTED_TARGET libhwy)
  endif()
  set(torchlet_hwy_target PkgConfig::torchlet_hwy)
endif()

set(TORCHLET_DEPENDENCIES
    ${torchlet_hwy_target}
    ${torchlet_codecs}
    ZLIB::ZLIB
    Threads::Threads)
