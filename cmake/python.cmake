# The extension tarsia._tarsia, and the package ready to import from the build folder: PYTHONPATH=<build>/python.
# One build for the stable ABI from Python 3.12 on, an ordinary one before, and one for each free-threaded Python
# (scripts/check-pythons builds them all).
if(NOT TARSIA_BUILD_PYTHON)
  return()
endif()
if(CMAKE_VERSION VERSION_GREATER_EQUAL 3.26)
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS Development.SABIModule)
else()
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
  # nanobind builds for the stable ABI where this target is. An older CMake does not know it, and the ABI must not hang on
  # CMake's version: on Linux an extension links no library of Python's, so there is nothing to find.
  add_library(Python::SABIModule INTERFACE IMPORTED)
endif()
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_dir
                OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE nanobind_missing)
if(nanobind_missing)
  message(FATAL_ERROR "TARSIA_BUILD_PYTHON needs nanobind: ${Python_EXECUTABLE} -m pip install nanobind")
endif()
find_package(nanobind CONFIG REQUIRED PATHS ${nanobind_dir} NO_DEFAULT_PATH)

file(GLOB_RECURSE python_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/*.cpp)
nanobind_add_module(tarsia_python STABLE_ABI FREE_THREADED NB_STATIC NB_SUPPRESS_WARNINGS NOMINSIZE ${python_sources})
set_target_properties(tarsia_python PROPERTIES
  OUTPUT_NAME _tarsia
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/python/tarsia
  BUILD_RPATH_USE_ORIGIN ON
  BUILD_WITH_INSTALL_RPATH ON
  INSTALL_RPATH $ORIGIN)
target_include_directories(tarsia_python PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(tarsia_python PRIVATE tarsia)
if(TARSIA_UNITY_BUILD)
  # A folder at a time, but for the files that define a type of Python's: they repeat the names of its slots.
  set_target_properties(tarsia_python PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(folder call core expression op tensor)
    set(sources ${python_sources})
    list(FILTER sources INCLUDE REGEX "/python/${folder}/")
    list(FILTER sources EXCLUDE REGEX "/(bound_op|expression|function|kernel|op|tensor)\\.cpp$")
    set_source_files_properties(${sources} PROPERTIES UNITY_GROUP ${folder})
  endforeach()
  get_target_property(libraries tarsia_python LINK_LIBRARIES)
  list(FILTER libraries INCLUDE REGEX "^nanobind")
  set_target_properties(${libraries} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
endif()

# The package in the build folder: links to its files and folders and to what lies beside it in a wheel.
set(package_source ${CMAKE_SOURCE_DIR}/python/tarsia)
set(package ${CMAKE_BINARY_DIR}/python/tarsia)
file(GLOB python_files CONFIGURE_DEPENDS ${package_source}/*.py ${package_source}/*.pyi ${package_source}/py.typed)
file(GLOB python_folders CONFIGURE_DEPENDS LIST_DIRECTORIES true ${package_source}/_* ${package_source}/mobula)
list(FILTER python_folders EXCLUDE REGEX "\\.pyi?$|__pycache__$")
file(MAKE_DIRECTORY ${package})
file(GLOB linked LIST_DIRECTORIES true ${package}/*.py ${package}/*.pyi ${package}/_* ${package}/mobula)
foreach(link IN LISTS linked)  # one whose source was renamed would dangle
  if(IS_SYMLINK ${link})
    file(REMOVE ${link})
  endif()
endforeach()
foreach(file IN LISTS python_files python_folders)
  get_filename_component(name ${file} NAME)
  file(CREATE_LINK ${file} ${package}/${name} SYMBOLIC)
endforeach()
add_custom_command(TARGET tarsia_python POST_BUILD
  COMMAND ${CMAKE_COMMAND} -E create_symlink $<TARGET_FILE:tarsia> ${CMAKE_BINARY_DIR}/python/tarsia/$<TARGET_FILE_NAME:tarsia>
  COMMAND ${CMAKE_COMMAND} -E create_symlink $<TARGET_FILE_DIR:tarsia>/libtarsia-flow.so ${CMAKE_BINARY_DIR}/python/tarsia/libtarsia-flow.so
  COMMAND ${CMAKE_COMMAND} -E create_symlink ${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/python/tarsia/include)
cmake_language(DEFER CALL add_dependencies wheel tarsia_python)
# The .py files come into a wheel by scikit-build-core's wheel.packages.
if(SKBUILD)
  install(TARGETS tarsia_python LIBRARY DESTINATION tarsia COMPONENT wheel)
endif()
