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
