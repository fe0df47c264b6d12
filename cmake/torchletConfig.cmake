include(${CMAKE_CURRENT_LIST_DIR}/TorchletDependencies.cmake OPTIONAL) # of the static library
include(${CMAKE_CURRENT_LIST_DIR}/torchletTargets.cmake)
if(NOT TARGET torchlet::tools)
  add_library(torchlet::tools ALIAS torchlet::torchlet)
endif()
