// From a file to a Library: all ways in which a program's code gets new code.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/file.h"
#include "base/origin.h"
#include "base/text_origin.h"
#include "registry/library/library.h"
#include "registry/resources/ref.h"

namespace tarsia::registry {

/// The bytes of a library to load, and its names.
struct ModuleFile {
  UniqueFd file;  ///< private to the library: nobody writes to it any more
  /// Where `file` lies in the file system, so that debuggers and profilers can open it; empty: in memory.
  std::string file_path = {};
  std::string path;  ///< for messages: the file's, or the library's name
  std::string name;
  std::string key = {};  ///< names the content, for preload(); empty: none has it
  Origin origin = Origin::prebuilt;
  std::vector<Diagnostic> warnings;
  std::vector<std::string> library_dirs =
      {};                                ///< where libraries lie that it needs (base/machine/run_path.h)
  std::vector<TextOrigin> origins = {};  ///< of the source's texts, for reports of crashes
};

/// Maps a module, attaches it, and registers its ops. This runs the module's own code: its static objects and
/// its registrations. From any thread, several at once.
///
/// Throws LoadError, naming `path`, for what the dynamic linker refuses, for a module of another ABI, for ops
/// that do not hold together and for what the module's code throws; Error or ResourceLimit where its file
/// cannot be read. Nothing is then left behind: neither ops nor mappings.
Ref<Library> load_module(ModuleFile module);

/// Loads a library built ahead of time, from a private copy in memory: the file may be replaced, changed or
/// removed at any time afterwards. Symbolic links are followed. Throws as load_module() does, and LoadError
/// for what is no regular file.
Ref<Library> load_file(const std::string& path);

/// Registers the ops that a module's code has declared since it was loaded. Throws LoadError; nothing is then
/// registered.
void add_late_ops(const Ref<Library>& library);

}  // namespace tarsia::registry
