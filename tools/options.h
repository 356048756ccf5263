// The compiler options of the command line.
#pragma once

#include <tarsia/c_api.h>

#include <string>
#include <vector>

#include "tools/sources.h"

namespace CLI {
class App;
}

namespace tarsia::tools {

/// As tarsia.load_inline's arguments of the same names.
struct CompileOptions {
  std::string std = "c++20";
  int opt = 2;
  std::vector<std::string> defines;  ///< "NAME" or "NAME=VALUE"
  std::vector<std::string> include_dirs;
  std::vector<std::string> libraries;
  std::vector<std::string> library_dirs;
  std::vector<std::string> archs;
  bool ptx = false;
  bool fast_math = false;
  bool debug = false;
  bool lineinfo = false;
  std::string host_headers = "own";
  double timeout = 0;  ///< seconds; 0: the default
  bool verbose = false;
};

/// Lets `command` take them.
void add_compile_options(CLI::App& command, CompileOptions& options);

/// What is handed to the C ABI: a source under options. Borrows from both, which must outlive it.
class Request {
 public:
  Request(const Sources& sources, const CompileOptions& options, const std::string& name);
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  const std::vector<tarsia_file>& files() const { return m_files; }
  const tarsia_options* options() const { return &m_options; }

 private:
  std::vector<tarsia_file> m_files;
  std::vector<std::string> m_define_texts;  ///< names and values in turn
  std::vector<tarsia_define> m_defines;
  std::vector<const char*> m_include_dirs, m_libraries, m_library_dirs, m_archs;
  tarsia_options m_options;
};

}  // namespace tarsia::tools
