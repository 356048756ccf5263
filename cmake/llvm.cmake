# The target tarsia_llvm: Clang, LLD's ELF linker and LLVM's X86 and NVPTX back ends, static or (for quick developer builds) shared.
list(PREPEND CMAKE_PREFIX_PATH /usr/lib/llvm-22)
find_package(LLVM 22.1 REQUIRED CONFIG)
find_package(Clang REQUIRED CONFIG)
find_package(LLD REQUIRED CONFIG)

add_library(tarsia_llvm INTERFACE)
target_include_directories(tarsia_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${CLANG_INCLUDE_DIRS})

# Work-around: LLVM's static libraries name the shared one and Polly.
# Trigger: tarsia-compiler links Debian's static libraries of LLVM, Clang and LLD. Symptom: Clang's and LLD's bring the shared
# LLVM in as well; LLVM's want Polly, which lies in a package of its own (jit/worker/llvm_stand_ins.cpp has its entry point).
# Removal: the packages' targets name what static libraries need.
function(tarsia_drop_shared_llvm_and_polly)
  foreach(target ${CLANG_EXPORTED_TARGETS} ${LLD_EXPORTED_TARGETS} ${LLVM_AVAILABLE_LIBS})
    if(TARGET ${target})
      get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
      if(links)
        list(REMOVE_ITEM links Polly "$<LINK_ONLY:Polly>" LLVM "$<LINK_ONLY:LLVM>")
        set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${links}")
      endif()
    endif()
  endforeach()
endfunction()

# Work-around: LLVM's packages link zstd and zlib as shared libraries.
# Trigger: tarsia-compiler links LLVM statically. Symptom: it needs libraries that a bare machine lacks. (libxml2, which
# nothing here calls, goes by --as-needed.) Removal: the packages let their user choose.
function(tarsia_link_archives_of_zstd_and_zlib)
  find_library(ZSTD_ARCHIVE libzstd.a REQUIRED)
  find_library(ZLIB_ARCHIVE libz.a REQUIRED)
  set_target_properties(zstd::libzstd_shared PROPERTIES IMPORTED_LOCATION ${ZSTD_ARCHIVE})
  set_target_properties(ZLIB::ZLIB PROPERTIES IMPORTED_LOCATION ${ZLIB_ARCHIVE} IMPORTED_LOCATION_RELEASE ${ZLIB_ARCHIVE})
endfunction()

if(TARSIA_STATIC_LLVM)
  tarsia_drop_shared_llvm_and_polly()
  tarsia_link_archives_of_zstd_and_zlib()
  llvm_map_components_to_libnames(
    llvm_libs X86CodeGen X86AsmParser X86Desc X86Info NVPTXCodeGen NVPTXDesc NVPTXInfo Passes CodeGen LTO DTLTO Core Support MC Object DebugInfoDWARF Demangle Option TargetParser Coverage
    FrontendOpenMP FrontendHLSL FrontendOffloading FrontendDriver FrontendAtomic WindowsDriver)
  target_link_libraries(tarsia_llvm INTERFACE clangFrontend clangCodeGen clangSerialization clangParse clangSema clangAST clangLex
                        clangBasic lldELF lldCommon ${llvm_libs})
  # Without position independence a program of this size starts 3 ms sooner (12.5 → 9.3) and is 4 MB smaller.
  target_link_options(tarsia_llvm INTERFACE -no-pie -Wl,--gc-sections -Wl,--as-needed $<$<CONFIG:Release>:-Wl,-s>)
else()
  target_link_libraries(tarsia_llvm INTERFACE clang-cpp lldELF lldCommon LLVM)
endif()
