# TORCHLET_OPERATORS, TORCHLET_DEVICES, TORCHLET_CONTAINERS, TORCHLET_FEATURES, TORCHLET_PASSES: what a build for certain models holds. The files that include
# src/base/selection.h read it from a header made here; all others are compiled as they always are.

set(selection ${CMAKE_BINARY_DIR}/selection.inc)
if(TORCHLET_OPERATORS OR NOT "${TORCHLET_DEVICES}" STREQUAL "cpu;nnapi" OR NOT "${TORCHLET_CONTAINERS}" STREQUAL "pt;ptl;ff"
   OR NOT "${TORCHLET_FEATURES}" STREQUAL "all" OR TORCHLET_PASSES)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(listed ${TORCHLET_OPERATORS})
  if(listed AND EXISTS "${listed}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${listed})
  endif()
  execute_process(
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/scripts/select_operators.py "--operators=${listed}"
            "--cxx=${CMAKE_CXX_COMPILER}" "--devices=${TORCHLET_DEVICES}" "--containers=${TORCHLET_CONTAINERS}"
            "--features=${TORCHLET_FEATURES}" "--passes=${TORCHLET_PASSES}" --output ${selection}
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "the operators, devices or containers that were asked for cannot be built")
  endif()
  file(STRINGS ${CMAKE_BINARY_DIR}/selection.sources readers)
  list(TRANSFORM readers PREPEND ${CMAKE_SOURCE_DIR}/src/)
  set_property(SOURCE ${readers} APPEND PROPERTY COMPILE_DEFINITIONS TORCHLET_SELECTION="${selection}")
  set_property(SOURCE ${readers} APPEND PROPERTY OBJECT_DEPENDS ${selection})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # All operators are looked up in a selection of nearly all.
    set_property(SOURCE ${CMAKE_SOURCE_DIR}/src/ops/core/registry.cc APPEND PROPERTY COMPILE_OPTIONS -fconstexpr-steps=100000000)
  endif()
endif()
