# Targets of libFuzzer, for scripts/fuzz alone: TARSIA_FUZZ=ON with Clang and TARSIA_SANITIZE=…,fuzzer-no-link.
foreach(name entry manifest protocol remote)
  add_executable(fuzz_${name} ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_${name}.cpp)
  target_link_libraries(fuzz_${name} PRIVATE tarsia_cache tarsia_jit)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
endforeach()
