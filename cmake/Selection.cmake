# TORCHLET_OPERATORS, TORCHLET_DEVICES, TORCHLET_CONTAINERS: what a build for certain models holds. The files that include
# src/base/selection.h read it from a header made here; all others are compiled as they always are.

set(selection ${CMAKE_BINARY_DIR}/selection.inc)
if(TORCHLET_OPERATORS OR NOT "${TORCHLET_DEVICES}" STREQUAL "cpu;nnapi" OR NOT "${TORCHLET_CONTAINERS}" STREQUAL "pt;ptl;ff")
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(listed ${TORCHLET_OPERATORS})
  if(listed AND EXISTS "${listed}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${listed})
  endif()
  execute_process(
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/scripts/select_operators.py "--operators=${listed}"
            "--cxx=${CMAKE_CXX_COMPILER}" "--devices=${TORCHLET_DEVICES}" "--containers=${TORCHLET_CONTAINERS}"
            --output ${selection}
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "the operators, devices or containers that were asked for cannot be built")
  endif()
  # Headers that include it are named here; scripts/check_includes.py allows no others.
  foreach(source IN LISTS sources)
    file(STRINGS ${source} includes REGEX "#include \"(base/selection|device/[a-z]+/lower/lowering)\\.h\"" LIMIT_COUNT 1)
    if(includes)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS TORCHLET_SELECTION="${selection}")
      set_property(SOURCE ${source} APPEND PROPERTY OBJECT_DEPENDS ${selection})
    endif()
  endforeach()
endif()
