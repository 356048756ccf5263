// Declares the compiler options for CLI11, and turns them into tarsia_options.
#include "tools/options.h"

#include <CLI/CLI.hpp>
#include <cmath>

namespace tarsia::tools {

void add_compile_options(CLI::App& command, CompileOptions& o) {
  const auto list = [&](const char* names, std::vector<std::string>& values, const char* type,
                        const char* text) {
    // One value for each time it is given: what follows is a file.
    return command.add_option(names, values, text)->allow_extra_args(false)->type_name(type);
  };
  command.add_option("--std", o.std, "The C++ standard: c++11, c++14, c++17, c++20, c++23")
      ->capture_default_str();
  command.add_option("-O", o.opt, "Optimisation, 0 to 3")
      ->capture_default_str()
      ->check(CLI::Range(0, 3))
      ->type_name("LEVEL");
  list("-D", o.defines, "NAME[=VALUE]", "Define a macro");
  list("-I", o.include_dirs, "DIR", "Look for headers there");
  list("-l", o.libraries, "NAME",
       "Link a library: its bare name, or a path. Those in NVIDIA's wheels are found too");
  list("-L", o.library_dirs, "DIR", "Look for libraries there");
  list("--arch", o.archs, "ARCH",
       "GPU architecture, as in sm_90; by default those of the GPUs present, else sm_90")
      ->delimiter(',');
  command.add_flag("--ptx", o.ptx, "Bring PTX along, for newer GPUs");
  command.add_flag("--fast-math", o.fast_math, "Trade exactness for speed");
  command.add_flag("-g,--debug", o.debug, "Debug information");
  command.add_flag("--lineinfo", o.lineinfo, "Line numbers for profilers");
  command.add_option("--host-headers", o.host_headers, "Whose C and C++ headers: own (Tarsia's) or system")
      ->check(CLI::IsMember({"own", "system"}))
      ->capture_default_str();
  command.add_option("--timeout", o.timeout, "End the compile after so many seconds")
      ->check(CLI::Range(0.0, 4e6))
      ->type_name("SECONDS");
  command.add_flag("-v,--verbose", o.verbose, "Tell what is done, and how long it takes");
}

namespace {

std::vector<const char*> pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> list;
  for (const std::string& text : texts) list.push_back(text.c_str());
  return list;
}

}  // namespace

Request::Request(const Sources& sources, const CompileOptions& options, const std::string& name)
    : m_files(sources.files()),
      m_include_dirs(pointers(sources.include_dirs())),
      m_libraries(pointers(options.libraries)),
      m_library_dirs(pointers(options.library_dirs)),
      m_archs(pointers(options.archs)) {
  for (const std::string& dir : options.include_dirs) m_include_dirs.push_back(dir.c_str());
  m_define_texts.reserve(2 * options.defines.size());
  for (const std::string& define : options.defines) {
    const std::size_t equals = define.find('=');
    const bool has_value = equals != std::string::npos;
    m_define_texts.push_back(define.substr(0, equals));
    m_define_texts.push_back(has_value ? define.substr(equals + 1) : "");
    m_defines.push_back(
        {m_define_texts.rbegin()[1].c_str(), has_value ? m_define_texts.back().c_str() : nullptr});
  }
  tarsia_options_init(&m_options);
  m_options.name = name.c_str();
  m_options.host_headers = options.host_headers == "system";
  m_options.include_dirs = m_include_dirs.data();
  m_options.n_include_dirs = m_include_dirs.size();
  m_options.defines = m_defines.data();
  m_options.n_defines = m_defines.size();
  m_options.libraries = m_libraries.data();
  m_options.n_libraries = m_libraries.size();
  m_options.library_dirs = m_library_dirs.data();
  m_options.n_library_dirs = m_library_dirs.size();
  m_options.std = options.std.c_str();
  m_options.opt = options.opt;
  m_options.ptx = options.ptx;
  m_options.archs = m_archs.data();
  m_options.n_archs = m_archs.size();
  m_options.fast_math = options.fast_math;
  m_options.debug = options.debug;
  m_options.lineinfo = options.lineinfo;
  m_options.timeout_ms = static_cast<uint32_t>(std::ceil(options.timeout * 1000));
}

}  // namespace tarsia::tools
