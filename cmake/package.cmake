# The installed package: histories, checkers and models, for programs of one's own:
#   find_package(assay REQUIRED) and target_link_libraries(mine PRIVATE assay::checkers).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/assay)

foreach(target checkers checkers_history)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME assay_${target})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/assay>)
endforeach()
install(TARGETS checkers checkers_history EXPORT assay
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT checkers)
install(DIRECTORY checkers DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/assay COMPONENT checkers
        FILES_MATCHING PATTERN "*.h"
        PATTERN "testing_*" EXCLUDE PATTERN "*oracle*.h" EXCLUDE PATTERN "random_histories.h" EXCLUDE
        PATTERN "reg_sim.h" EXCLUDE PATTERN "testdata" EXCLUDE PATTERN "example" EXCLUDE)
install(EXPORT assay NAMESPACE assay:: FILE assay-targets.cmake DESTINATION ${package_dir} COMPONENT checkers)

# What the libraries link must be found again: X::y by the package X; an imported target of our own
# making (of a library that brings no config) as it was found here.
set(config "include(CMakeFindDependencyMacro)\n")
set(found)
foreach(target checkers_history checkers)
  get_target_property(links ${target} LINK_LIBRARIES)
  foreach(link ${links})
    if(link MATCHES "^([A-Za-z0-9_]+)::" AND NOT CMAKE_MATCH_1 IN_LIST found)
      list(APPEND found ${CMAKE_MATCH_1})
      string(APPEND config "find_dependency(${CMAKE_MATCH_1})\n")
    elseif(TARGET "${link}" AND NOT link MATCHES "::")
      get_target_property(imported ${link} IMPORTED)
      get_target_property(type ${link} TYPE)
      set(location FALSE)
      if(NOT type STREQUAL INTERFACE_LIBRARY)
        get_target_property(location ${link} IMPORTED_LOCATION)
      endif()
      if(imported AND type STREQUAL INTERFACE_LIBRARY)
        get_target_property(archives ${link} INTERFACE_LINK_LIBRARIES)
        string(APPEND config "if(NOT TARGET ${link})\n  add_library(${link} INTERFACE IMPORTED)\n"
               "  set_target_properties(${link} PROPERTIES INTERFACE_LINK_LIBRARIES \"${archives}\")\nendif()\n")
      elseif(imported AND location)
        string(APPEND config "if(NOT TARGET ${link})\n  add_library(${link} UNKNOWN IMPORTED)\n"
               "  set_target_properties(${link} PROPERTIES IMPORTED_LOCATION \"${location}\")\nendif()\n")
      endif()
    endif()
  endforeach()
endforeach()
string(APPEND config "include(\${CMAKE_CURRENT_LIST_DIR}/assay-targets.cmake)\n")
file(WRITE ${PROJECT_BINARY_DIR}/assay-config.cmake "${config}")
write_basic_package_version_file(${PROJECT_BINARY_DIR}/assay-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/assay-config.cmake ${PROJECT_BINARY_DIR}/assay-config-version.cmake
        DESTINATION ${package_dir} COMPONENT checkers)

set(flags)
if(ASSAY_SANITIZE)
  set(flags -fsanitize=${ASSAY_SANITIZE})
endif()
add_test(NAME AModelOfOnesOwnIsBuiltAgainstTheInstalledPackage
         COMMAND ${PROJECT_SOURCE_DIR}/checkers/models/example/test.sh ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}
                 ${CMAKE_CXX_COMPILER} "${flags}")
set_tests_properties(AModelOfOnesOwnIsBuiltAgainstTheInstalledPackage PROPERTIES LABELS checkers TIMEOUT 300)
