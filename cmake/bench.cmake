# One Google Benchmark program per bench/*.cpp.
find_package(benchmark REQUIRED)
file(GLOB bench_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bench/*.cpp)
foreach(source IN LISTS bench_sources)
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE tarsia_pipeline benchmark::benchmark)
endforeach()
# It fills its cache by the tests' worker.
if(TARGET bench_cache AND TARGET test_worker)
  add_dependencies(bench_cache test_worker)
endif()
# A program that holds the compiler.
if(TARGET tarsia_worker)
  add_executable(bench_worker bench/worker/bench_worker.cpp)
  target_link_libraries(bench_worker PRIVATE tarsia_worker)
  target_compile_options(bench_worker PRIVATE -fno-rtti -Wno-unused-parameter)
  add_dependencies(bench_worker sysroot)
endif()
