// What is known of headers by their names, and which of them are a request's own.
#pragma once

#include <string>
#include <string_view>

#include "jit/compile.h"

namespace tarsia::jit {

/// Of a directive's "<name>" or "\"name\"", without "./".
std::string_view name_of(std::string_view include);

/// Whether Clang reads the header faster than it opens a precompiled form.
bool is_cheap(std::string_view name);

/// Headers of Tarsia and of the standards. The standards say that their order and number do not matter, save
/// for <cassert>, which follows NDEBUG, and no include changes that.
bool is_free(std::string_view name);

/// Every CUDA source begins with these, so including them again adds nothing.
bool is_of_cuda_runtime(std::string_view name);

/// Quoted includes that mean the system's headers, or Tarsia's, unless the request has one of that name.
bool is_known_quoted(std::string_view name);

/// Other headers of the C library and the compiler. They are read in place and define nothing that a layer
/// asks for.
bool is_known_c(std::string_view name);

/// Headers of CUDA's own that do not depend on any order either.
bool is_cuda(std::string_view name);

/// Headers of Tarsia for class operators, whichever way they are named.
bool is_class_op(std::string_view name);

/// What a header's include in quotes names, if it lies beside that header: its name in the same folder of the
/// request.
std::string beside(std::string_view header, std::string_view include);

/// The text of the request that has this name; null if none has.
const SourceFile* own_file(const CompileRequest& request, std::string_view name);

/// Whether an include, as "<name>" or "\"name\"", may mean a text of the request in the folder of the text
/// that includes it.
bool may_lie_beside(const CompileRequest& request, std::string_view include);

/// The folder of the request in which a header is found; empty if none has it.
std::string folder_with(const CompileRequest& request, std::string_view name);

}  // namespace tarsia::jit
