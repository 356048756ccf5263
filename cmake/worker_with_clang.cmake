# Clang compiles the worker, on top of a precompiled header of LLVM's and Clang's headers. g++ spends most of its time on reading
# these, and the worker is four fifths of the build's work. Builds with a sanitizer have g++'s runtimes, so there it is g++. They
# also tell what the precompiled header hides: a missing #include.
if(TARSIA_SANITIZE OR CMAKE_DISABLE_PRECOMPILE_HEADERS)
  return()
endif()
get_filename_component(clang_bin ${CLANG_22} DIRECTORY)
find_program(CLANGXX_22 NAMES clang++-22 clang++ HINTS ${clang_bin} REQUIRED)
# A launcher gets the whole command, the compiler's name first. CMake lets the precompiled header include itself, and where there is
# one from before, Clang would take that.
list(JOIN ccache_command " " launcher)
# compile_with_clang(TARGET HEADER...): a target of C++ alone, over LLVM's and Clang's headers and these, precompiled.
function(compile_with_clang target)
  set(precompiled ${CMAKE_BINARY_DIR}/CMakeFiles/${target}.dir/cmake_pch.hxx.gch)
  set(script ${CMAKE_BINARY_DIR}/generated/compile_${target})
  file(CONFIGURE OUTPUT ${script} @ONLY CONTENT [=[#!/bin/sh
shift
case " $* " in *" c++-header "*) rm -f "@precompiled@" ;; esac
exec @launcher@ @CLANGXX_22@ "$@"
]=])
  file(CHMOD ${script} FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER ${script})
  set(headers)
  foreach(header algorithm array atomic chrono filesystem functional map memory mutex optional set string string_view unordered_map
          utility vector nlohmann/json.hpp
          clang/AST/ASTContext.h clang/AST/Attr.h clang/AST/DeclCXX.h clang/AST/DeclTemplate.h clang/AST/ExprCXX.h
          clang/AST/DynamicRecursiveASTVisitor.h clang/Basic/SourceManager.h clang/CodeGen/ModuleBuilder.h
          clang/Frontend/CompilerInstance.h clang/Frontend/FrontendActions.h clang/Lex/Preprocessor.h clang/Sema/Sema.h
          clang/Serialization/ASTWriter.h llvm/IR/Constants.h llvm/IR/IRBuilder.h llvm/IR/Module.h ${ARGN})
    list(APPEND headers "$<$<COMPILE_LANGUAGE:CXX>:<${header}$<ANGLE-R>>")
  endforeach()
  target_precompile_headers(${target} PRIVATE ${headers})
  # -W… that g++ alone knows are no fault here. ccache keeps precompiled headers that have no time in them. The precompiled header
  # holds what its own templates need; else each file makes those functions anew (clang++ -ftime-trace: 4,800, half of its time).
  # Work-around: Clang warns of code of libstdc++ that comes precompiled.
  # Trigger: std::stable_sort; a precompiled header loses the pragma with which libstdc++ 12 silences a warning about itself. Symptom:
  # -Wdeprecated-declarations, an error in CI. Removal: the oldest supported libstdc++ does not use get_temporary_buffer.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-unknown-warning-option>
                                           $<$<COMPILE_LANGUAGE:CXX>:-Wno-deprecated-declarations>
                                           "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>"
                                           $<$<COMPILE_LANGUAGE:CXX>:-fpch-instantiate-templates>)
endfunction()
compile_with_clang(tarsia_worker)
