# The headers that stand in for the C and C++ standard headers in device code, embedded into
# jit/worker/device_headers.cpp.
set(device_headers_inc ${CMAKE_BINARY_DIR}/generated/device_headers.inc)
file(GLOB_RECURSE device_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/jit/worker/device_headers/*)
add_custom_command(
  OUTPUT ${device_headers_inc}
  COMMAND ${CMAKE_COMMAND} -DOUT=${device_headers_inc} -DDIR=${CMAKE_SOURCE_DIR}/jit/worker/device_headers
          -P ${CMAKE_SOURCE_DIR}/cmake/embed_tree.cmake
  DEPENDS ${device_headers} ${CMAKE_SOURCE_DIR}/cmake/embed_tree.cmake)
set_source_files_properties(${CMAKE_SOURCE_DIR}/jit/worker/device_headers.cpp PROPERTIES OBJECT_DEPENDS ${device_headers_inc})

# What compiles device code, without LLVM: for the tests that need no more.
file(GLOB device_sources CONFIGURE_DEPENDS
     ${CMAKE_SOURCE_DIR}/jit/worker/nvrtc*.cpp ${CMAKE_SOURCE_DIR}/jit/worker/ptx.cpp
     ${CMAKE_SOURCE_DIR}/jit/worker/fatbin.cpp ${CMAKE_SOURCE_DIR}/jit/worker/device_compiler.cpp
     ${CMAKE_SOURCE_DIR}/jit/worker/device_features.cpp ${CMAKE_SOURCE_DIR}/jit/worker/device_headers.cpp
     ${CMAKE_SOURCE_DIR}/jit/worker/device_plan.cpp)
