# The program of the command `tarsia`. In a wheel it lies in the package, and what is put on the path is a launcher that
# knows where its Python keeps the package.
file(GLOB tool_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/*.cpp ${CMAKE_SOURCE_DIR}/tools/process/*.cpp
     ${CMAKE_SOURCE_DIR}/tools/sanitize/*.cpp ${CMAKE_SOURCE_DIR}/tools/service/*.cpp)
if(NOT tool_sources)
  return()
endif()
find_package(CLI11 REQUIRED)
add_executable(tarsia_command ${tool_sources})
set_target_properties(tarsia_command PROPERTIES OUTPUT_NAME tarsia RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin
                      BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH $ORIGIN/..)
target_include_directories(tarsia_command PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(tarsia_command PRIVATE tarsia CLI11::CLI11 nlohmann_json::nlohmann_json)
