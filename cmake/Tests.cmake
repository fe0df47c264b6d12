# Unit tests. src/<stage>/**/*_test.cc becomes one program <stage>_test; each of its cases is one ctest entry.
# Tests run in the root of the checkout, so a fixture is simply "tests/fixtures/<name>".

find_package(GTest REQUIRED)
include(GoogleTest)

# Seconds for a test; sanitizers take many times as long.
set(TORCHLET_TEST_TIMEOUT 120)
if(TORCHLET_SANITIZE)
  set(TORCHLET_TEST_TIMEOUT 1200)
endif()

function(torchlet_add_stage_test stage)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${stage}/*_test.cc)
  if(NOT sources)
    return()
  endif()
  add_executable(${stage}_test ${sources})
  target_include_directories(${stage}_test PRIVATE ${CMAKE_SOURCE_DIR}/src)
  if(stage MATCHES "^(device|prepare)$")
    target_include_directories(${stage}_test PRIVATE ${CMAKE_SOURCE_DIR}/neuralnetworks/include)
  endif()
  target_link_libraries(${stage}_test PRIVATE torchlet::torchlet ${TORCHLET_DEPENDENCIES}
                                              nlohmann_json::nlohmann_json GTest::gtest_main)
  gtest_discover_tests(
    ${stage}_test
    TEST_PREFIX ${stage}/
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    DISCOVERY_MODE PRE_TEST
    PROPERTIES TIMEOUT ${TORCHLET_TEST_TIMEOUT} LABELS ${stage})
endfunction()
