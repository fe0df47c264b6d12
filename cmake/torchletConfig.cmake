include(${CMAKE_CURRENT_LIST_DIR}/TorchletDependencies.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/torchletTargets.cmake)
