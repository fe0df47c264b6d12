# cmake --install: headers, library, command, and what CMake and pkg-config need to find them.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/torchlet)

# torchlet::torchlet runs models, torchlet::tools prepares them, too. The static library is both; who links it links what it
# uses, too.
if(BUILD_SHARED_LIBS)
  set_target_properties(torchlet_shared PROPERTIES EXPORT_NAME torchlet)
  set_target_properties(torchlet_tools_shared PROPERTIES EXPORT_NAME tools)
  install(TARGETS torchlet_shared torchlet_tools_shared EXPORT torchletTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  set(pc_requires Requires.private)
else()
  install(TARGETS torchlet EXPORT torchletTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES cmake/TorchletDependencies.cmake DESTINATION ${package_dir})
  set(pc_requires Requires)
endif()
if(TARGET torchlet_cli)
  install(TARGETS torchlet_cli speed_benchmark_torch RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY include/torchlet DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

install(EXPORT torchletTargets NAMESPACE torchlet:: DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/torchletConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
configure_file(cmake/torchletConfig.cmake.in torchletConfig.cmake @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/torchletConfig.cmake ${CMAKE_BINARY_DIR}/torchletConfigVersion.cmake
        DESTINATION ${package_dir})

# The .pc file finds its prefix from where it lies, so that an installed tree can be moved.
file(RELATIVE_PATH pc_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
set(pc_codecs "")
if(TORCHLET_CODECS)
  set(pc_codecs " libjpeg libpng")
endif()
configure_file(cmake/torchlet.pc.in torchlet.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/torchlet.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
