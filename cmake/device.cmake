# tarsia_device: what compiles device code, without LLVM. The worker links it, and so do tests that need no more.
# The headers that stand in for the C and C++ standard headers in device code are embedded into device_headers.cpp.
set(device_dir ${CMAKE_SOURCE_DIR}/jit/worker/device)
set(device_headers_inc ${CMAKE_BINARY_DIR}/generated/device_headers.inc)
file(GLOB_RECURSE device_headers CONFIGURE_DEPENDS ${device_dir}/device_headers/*)
add_custom_command(
  OUTPUT ${device_headers_inc}
  COMMAND ${CMAKE_COMMAND} -DOUT=${device_headers_inc} -DDIR=${device_dir}/device_headers
          -P ${CMAKE_SOURCE_DIR}/cmake/embed_texts.cmake
  DEPENDS ${device_headers} ${CMAKE_SOURCE_DIR}/cmake/embed_texts.cmake)
set_source_files_properties(${device_dir}/device_headers.cpp PROPERTIES OBJECT_DEPENDS ${device_headers_inc})

file(GLOB device_sources CONFIGURE_DEPENDS ${device_dir}/*.cpp)
add_library(tarsia_device STATIC ${device_sources})
target_link_libraries(tarsia_device PUBLIC tarsia_jit)
