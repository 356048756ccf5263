# A precompiled header of the build itself, for the tests alone: GoogleTest and the standard library, which take half of the
# time of a test's compilation. Of the product, the worker alone has one (worker_with_clang.cmake), for it hides a missing
# #include, and g++ 12 warns of system headers that come precompiled. None of Tarsia's own headers are in it, so an edit costs
# what it touches.
if(TARGET test_unit_base AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  set(headers)
  foreach(header gmock/gmock.h gtest/gtest.h algorithm array atomic chrono condition_variable cstring filesystem fstream functional
          map memory mutex optional set sstream string string_view thread unordered_map utility vector)
    list(APPEND headers "$<$<COMPILE_LANGUAGE:CXX>:<${header}$<ANGLE-R>>")
  endforeach()
  target_precompile_headers(test_unit_base PRIVATE ${headers})
  # Work-around: g++ warns of code of the standard library that comes precompiled.
  # Trigger: a precompiled header; g++ forgets that it came from the system's folder. Symptom: -Warray-bounds and
  # -Wstringop-overflow about std::string, -Wdangling-else about GoogleTest's macros, errors in CI. Removal: the oldest supported g++ no longer does it.
  set(precompiled_warnings $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>
      $<$<CXX_COMPILER_ID:GNU>:-Wno-dangling-else>)
  target_compile_options(test_unit_base PRIVATE ${precompiled_warnings})
  set(tested cache jit registry graph pipeline session device worker_device worker api)
  if(COMMAND compile_with_clang AND TARGET test_unit_worker)
    compile_with_clang(test_unit_worker gmock/gmock.h gtest/gtest.h)   # LLVM's headers take g++ 20 seconds
    list(REMOVE_ITEM tested worker)
  endif()
  foreach(name IN LISTS tested)
    if(TARGET test_unit_${name})
      target_precompile_headers(test_unit_${name} REUSE_FROM test_unit_base)
      target_compile_options(test_unit_${name} PRIVATE ${precompiled_warnings})
    endif()
  endforeach()
endif()
