# tarsia-compiler: the worker program that holds Clang, LLD and (by dlopen) NVRTC.
include(cmake/llvm.cmake)

set(worker_sources)
foreach(room "" source/ cell/ split/ types/ exports/ code/ host/ prelude/ nvptx/ link/ isolation/)
  file(GLOB room_sources CONFIGURE_DEPENDS jit/worker/${room}*.cpp)
  list(APPEND worker_sources ${room_sources})
endforeach()
file(GLOB names_sources CONFIGURE_DEPENDS jit/worker/source/macros/*.cpp jit/worker/source/names/*.cpp)
list(APPEND worker_sources ${names_sources})
list(FILTER worker_sources EXCLUDE REGEX "jit/worker/main\\.cpp$")
if(NOT TARSIA_STATIC_LLVM)
  list(FILTER worker_sources EXCLUDE REGEX "jit/worker/llvm_stand_ins\\.cpp$")
endif()

# Texts that become part of the worker: headers it serves from memory.
set(embedded_inc)
foreach(part host_headers nvptx_headers)
  set(texts_dir ${CMAKE_SOURCE_DIR}/jit/worker/source/host_headers)
  if(part STREQUAL nvptx_headers)
    set(texts_dir ${CMAKE_SOURCE_DIR}/jit/worker/nvptx/headers)
  endif()
  file(GLOB_RECURSE texts CONFIGURE_DEPENDS ${texts_dir}/*)
  add_custom_command(
    OUTPUT ${CMAKE_BINARY_DIR}/generated/${part}.inc
    COMMAND ${CMAKE_COMMAND} -DOUT=${CMAKE_BINARY_DIR}/generated/${part}.inc -DDIR=${texts_dir}
            -P ${CMAKE_SOURCE_DIR}/cmake/embed_texts.cmake
    DEPENDS ${texts} ${CMAKE_SOURCE_DIR}/cmake/embed_texts.cmake)
  list(APPEND embedded_inc ${CMAKE_BINARY_DIR}/generated/${part}.inc)
endforeach()

# Objects that are linked into every module, kept as bytes in the worker.
find_program(CLANG_22 NAMES clang-22 HINTS /usr/lib/llvm-22/bin REQUIRED)
set(c_support module_support attach_support cuda_support launch_support driver_support main_support undefined_support)
set(cxx_support initializer_support op_support session_support mxnet_support mxnet_graph_support class_op_support th_support
    math_support)
set(support_objects ${c_support} ${cxx_support} cpuinfo)
set(support_inc)
foreach(part ${c_support})
  add_custom_command(
    OUTPUT ${CMAKE_BINARY_DIR}/generated/${part}.o
    COMMAND ${CLANG_22} -c -O2 -fPIC -fvisibility=hidden -fexceptions
            -I${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/jit/worker/link/support/${part}.c -o ${CMAKE_BINARY_DIR}/generated/${part}.o
    DEPENDS ${CMAKE_SOURCE_DIR}/jit/worker/link/support/${part}.c ${CMAKE_SOURCE_DIR}/include/tarsia/abi.h)
  list(APPEND support_inc ${CMAKE_BINARY_DIR}/generated/${part}.o)
endforeach()
# What of Tarsia's headers needs not be compiled with each source.
# Work-around: Clang leaves out a complete constructor that is like the base's.
# Trigger: these objects define constructors that are marked `used`, and sources call complete ones by name. Symptom: the
# symbol is undefined when a source is linked. Removal: Clang emits both symbols of such a constructor.
file(GLOB_RECURSE public_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/include/*.h)
foreach(part ${cxx_support})
  add_custom_command(
    OUTPUT ${CMAKE_BINARY_DIR}/generated/${part}.o
    COMMAND ${CLANG_22} -c -std=c++20 -O2 -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections
            -Xclang -mno-constructor-aliases -I${CMAKE_SOURCE_DIR}/include -I${CMAKE_SOURCE_DIR}/include/tarsia/class_op
            ${CMAKE_SOURCE_DIR}/jit/worker/link/support/${part}.cpp -o ${CMAKE_BINARY_DIR}/generated/${part}.o
    DEPENDS ${CMAKE_SOURCE_DIR}/jit/worker/link/support/${part}.cpp ${public_headers})
  list(APPEND support_inc ${CMAKE_BINARY_DIR}/generated/${part}.o)
endforeach()
# GCC's run-time library holds what __builtin_cpu_supports and target_clones read, for static linking alone.
execute_process(COMMAND ${CMAKE_C_COMPILER} -print-libgcc-file-name OUTPUT_VARIABLE libgcc OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
add_custom_command(
  OUTPUT ${CMAKE_BINARY_DIR}/generated/cpuinfo.o
  COMMAND ${CMAKE_AR} x ${libgcc} cpuinfo.o
  WORKING_DIRECTORY ${CMAKE_BINARY_DIR}/generated
  DEPENDS ${libgcc})
list(APPEND support_inc ${CMAKE_BINARY_DIR}/generated/cpuinfo.o)
list(JOIN support_objects "," support_names)
add_custom_command(
  OUTPUT ${CMAKE_BINARY_DIR}/generated/support_objects.S
  COMMAND ${CMAKE_COMMAND} -DOUT=${CMAKE_BINARY_DIR}/generated/support_objects.S -DDIR=${CMAKE_BINARY_DIR}/generated
          -DNAMES=${support_names} -P ${CMAKE_SOURCE_DIR}/cmake/embed_objects.cmake
  DEPENDS ${support_inc} ${CMAKE_SOURCE_DIR}/cmake/embed_objects.cmake)
# What linker.cpp declares of it.
set(declarations)
foreach(part ${support_objects})
  string(APPEND declarations "extern const char tarsia_${part}_begin[], tarsia_${part}_end[];\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/support_objects.inc CONTENT "${declarations}" @ONLY)
enable_language(ASM)
set_source_files_properties(${CMAKE_BINARY_DIR}/generated/support_objects.S PROPERTIES OBJECT_DEPENDS "${support_inc}")

add_library(tarsia_worker STATIC ${worker_sources} ${embedded_inc}
            ${CMAKE_BINARY_DIR}/generated/support_objects.S)
target_include_directories(tarsia_worker SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${CLANG_INCLUDE_DIRS})
target_compile_options(tarsia_worker PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti -Wno-unused-parameter>)
target_link_libraries(tarsia_worker PUBLIC tarsia_device tarsia_jit)
target_link_libraries(tarsia_worker PUBLIC tarsia_llvm)
include(${CMAKE_SOURCE_DIR}/cmake/worker_with_clang.cmake)

add_executable(tarsia-compiler jit/worker/main.cpp)
target_link_libraries(tarsia-compiler PRIVATE tarsia_worker)
# Also for libraries that it opens, such as NVRTC: jit/worker/isolation/interposed.cpp.
foreach(function open open64 openat openat64 fopen fopen64 opendir)
  target_link_options(tarsia-compiler PRIVATE -Wl,--export-dynamic-symbol=${function})
endforeach()

# The preludes that lie beside the worker, made by itself (docs/preludes.md).
set(TARSIA_PRELUDES_PACK ${CMAKE_BINARY_DIR}/tarsia-preludes.pack)
add_custom_command(
  OUTPUT ${TARSIA_PRELUDES_PACK}
  COMMAND tarsia-compiler --make-preludes ${TARSIA_PRELUDES_PACK} $<$<NOT:$<BOOL:${TARSIA_CUDA_PRELUDES}>>:--without-cuda>
  COMMAND_EXPAND_LISTS
  DEPENDS tarsia-compiler ${TARSIA_SYSROOT_PACK}
  COMMENT "Precompiling the preludes"
  VERBATIM)
add_custom_target(preludes ALL DEPENDS ${TARSIA_PRELUDES_PACK})
