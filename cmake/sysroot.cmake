# tarsia-sysroot.pack: the headers that Tarsia brings along (docs/sysroot.md), beside the worker in the build folder.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_path(TARSIA_CLANG_INCLUDE stddef.h PATHS /usr/lib/llvm-22/lib/clang/22/include NO_DEFAULT_PATH REQUIRED
          DOC "Clang's own headers")
set(TARSIA_SYSROOT_PACK ${CMAKE_BINARY_DIR}/tarsia-sysroot.pack)
file(GLOB_RECURSE public_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/include/*)
add_custom_command(
  OUTPUT ${TARSIA_SYSROOT_PACK}
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/scripts/make-sysroot --output ${TARSIA_SYSROOT_PACK}
          --clang-include ${TARSIA_CLANG_INCLUDE} --include ${CMAKE_SOURCE_DIR}/include
          --licenses ${CMAKE_BINARY_DIR}/licenses --depfile ${TARSIA_SYSROOT_PACK}.d
  DEPENDS ${CMAKE_SOURCE_DIR}/scripts/make-sysroot ${public_headers}
  DEPFILE ${TARSIA_SYSROOT_PACK}.d
  COMMENT "Packing the sysroot"
  VERBATIM)
add_custom_target(sysroot ALL DEPENDS ${TARSIA_SYSROOT_PACK})

# Run-time libraries that modules may need: OpenMP's, AddressSanitizer's and ThreadSanitizer's. They travel with Tarsia. And the
# program by the name of which sanitizers start whatever explains addresses to them.
find_file(TARSIA_LIBOMP libomp.so.5 PATHS /usr/lib/llvm-22/lib NO_DEFAULT_PATH REQUIRED DOC "LLVM's OpenMP run-time library")
find_file(TARSIA_LIBTBB libtbb.so.12 PATHS /usr/lib/x86_64-linux-gnu REQUIRED DOC "oneTBB, which libtarsia-flow.so links")
set(TARSIA_RUN_TIME)
foreach(file ${TARSIA_LIBOMP} ${TARSIA_LIBTBB}
        /usr/lib/llvm-22/lib/clang/22/lib/linux/libclang_rt.asan-x86_64.so /usr/lib/llvm-22/lib/clang/22/lib/linux/libclang_rt.tsan-x86_64.so)
  file(REAL_PATH ${file} real)
  get_filename_component(name ${file} NAME)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/${name}
    COMMAND ${CMAKE_COMMAND} -E copy ${real} ${CMAKE_BINARY_DIR}/${name}
    DEPENDS ${real}
    VERBATIM)
  list(APPEND TARSIA_RUN_TIME ${CMAKE_BINARY_DIR}/${name})
endforeach()
add_custom_target(run_time ALL DEPENDS ${TARSIA_RUN_TIME})
