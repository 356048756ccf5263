# The build id: a hash over everything that decides what bytes the compiler makes. libtarsia and the
# worker both carry it; a worker of another build is refused, and every cache key holds it.
file(GLOB_RECURSE build_id_inputs CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/base/* ${CMAKE_SOURCE_DIR}/jit/* ${CMAKE_SOURCE_DIR}/include/*
  ${CMAKE_SOURCE_DIR}/cmake/compiler.cmake ${CMAKE_SOURCE_DIR}/cmake/device.cmake ${CMAKE_SOURCE_DIR}/cmake/llvm.cmake
  ${CMAKE_SOURCE_DIR}/cmake/embed_*.cmake)
if(TARSIA_BUILD_COMPILER AND TARSIA_SYSROOT_PACK)
  list(APPEND build_id_inputs ${TARSIA_SYSROOT_PACK})
endif()
foreach(llvm_file lib/cmake/llvm/LLVMConfigVersion.cmake include/llvm/Support/VCSRevision.h)
  if(EXISTS /usr/lib/llvm-22/${llvm_file})
    list(APPEND build_id_inputs /usr/lib/llvm-22/${llvm_file})
  endif()
endforeach()
list(SORT build_id_inputs)
list(JOIN build_id_inputs "\n" build_id_list)
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/generated/build_id_inputs.txt CONTENT "${build_id_list}\n")
set(build_id_header ${CMAKE_BINARY_DIR}/generated/tarsia_build_id.h)
add_custom_command(
  OUTPUT ${build_id_header}
  COMMAND ${CMAKE_COMMAND} -DINPUTS=${CMAKE_BINARY_DIR}/generated/build_id_inputs.txt
          -DSOURCE_DIR=${CMAKE_SOURCE_DIR} -DBINARY_DIR=${CMAKE_BINARY_DIR} -DOUTPUT=${build_id_header}
          "-DSALT=${PROJECT_VERSION} ${CMAKE_BUILD_TYPE} ${TARSIA_SANITIZE}"
          -P ${CMAKE_SOURCE_DIR}/cmake/write_build_id.cmake
  DEPENDS ${build_id_inputs} ${CMAKE_BINARY_DIR}/generated/build_id_inputs.txt
          ${CMAKE_SOURCE_DIR}/cmake/write_build_id.cmake
  COMMENT "Hashing the compiler's sources into the build id"
  VERBATIM)
add_custom_target(tarsia_build_id DEPENDS ${build_id_header})
add_dependencies(tarsia_jit tarsia_build_id)

# Whatever of Tarsia is linked into the worker may decide what it makes. A source that the id leaves out would let a
# new compiler take the entries of an old one for its own.
function(tarsia_check_build_id)
  set(pending tarsia-compiler)
  set(seen)
  while(pending)
    list(POP_FRONT pending target)
    if(NOT TARGET ${target} OR target IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${target})
    get_target_property(libraries ${target} LINK_LIBRARIES)
    get_target_property(interface_libraries ${target} INTERFACE_LINK_LIBRARIES)
    get_target_property(sources ${target} SOURCES)
    list(APPEND pending ${libraries} ${interface_libraries})
    list(FILTER pending INCLUDE REGEX "^tarsia")
    foreach(source IN LISTS sources)
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR} NORMALIZE)
      cmake_path(IS_PREFIX CMAKE_BINARY_DIR ${source} is_generated)
      if(NOT is_generated AND EXISTS ${source} AND NOT source IN_LIST build_id_inputs)
        message(FATAL_ERROR "${source} is part of tarsia-compiler by way of ${target}, and cmake/build_id.cmake leaves "
                            "it out of the build id: add its folder to build_id_inputs")
      endif()
    endforeach()
  endwhile()
endfunction()
if(TARSIA_BUILD_COMPILER)
  cmake_language(DEFER CALL tarsia_check_build_id)
endif()
