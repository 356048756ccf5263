// `tarsia show`: prints the code that the compiler made of a source.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>

#include "tools/commands.h"
#include "tools/library.h"
#include "tools/opening.h"
#include "tools/process/programs.h"
#include "tools/process/temporary.h"
#include "tools/report.h"
#include "tools/show_ir.h"

namespace tarsia::tools {
namespace {

namespace fs = std::filesystem;

/// Runs a program and returns what it prints. Throws if it fails.
std::string output_of(const std::vector<std::string>& words) {
  std::string quoted;
  for (const std::string& word : words) {
    quoted += quoted.empty() ? "'" : " '";
    for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    quoted += '\'';
  }
  FILE* const pipe = ::popen((quoted + " 2>&1").c_str(), "r");
  if (!pipe) throw std::runtime_error("cannot run " + words[0]);
  std::string text;
  std::array<char, 4096> chunk;
  for (std::size_t n; (n = std::fread(chunk.data(), 1, chunk.size(), pipe)) > 0;)
    text.append(chunk.data(), n);
  const int status = ::pclose(pipe);
  if (status != 0) throw std::runtime_error(words[0] + " failed: " + text.substr(0, 400));
  return text;
}

bool is_wanted(const ShowCommand& command, const std::string& text) {
  if (command.names.empty()) return true;
  for (const std::string& name : command.names)
    if (text.find(name) != std::string::npos) return true;
  return false;
}

/// Whether a kernel or function of this symbol, as the compiler spells it, is asked for.
bool is_wanted_symbol(const ShowCommand& command, const std::string& symbol) {
  return is_wanted(command, readable_symbol(symbol)) || is_wanted(command, symbol);
}

/// The head of a text of device code, and those of its parts that are asked for. `symbol_of` gives the symbol
/// of the part that begins with a line; none begins with other lines.
std::string wanted_parts(const ShowCommand& command, std::string_view text,
                         std::string (*symbol_of)(std::string_view line), bool& any) {
  std::string shown;
  bool show = true;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (const std::string symbol = symbol_of(line); !symbol.empty()) {
      show = is_wanted_symbol(command, symbol);
      any |= show;
    }
    if (show) shown.append(line).append("\n");
  }
  return shown;
}

/// ".visible .entry NAME(", ".func  (.param …) NAME(", ".weak .func NAME("; declarations end with it.
std::string ptx_symbol(std::string_view line) {
  if (const std::size_t global = line.find(".globl"); global != line.npos) {  // stands above, as a comment
    line.remove_prefix(std::min(line.find_first_not_of(" \t", global + 6), line.size()));
    return std::string(line.substr(0, line.find_first_of(" \t")));
  }
  std::size_t at = line.find(".entry ");
  if (at == line.npos) at = line.find(".func ");
  if (!line.starts_with('.') || line.starts_with(".extern") || at == line.npos) return {};
  line.remove_prefix(line.find(' ', at));
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  if (line.starts_with('(')) line.remove_prefix(std::min(line.find(')') + 1, line.size()));
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return std::string(line.substr(0, line.find_first_of("( \t")));
}

/// "//------ .text.NAME  ------", the head of a section, and ".section .text.NAME,…".
std::string sass_symbol(std::string_view line) {
  constexpr std::string_view k_text = ".text.";
  const std::size_t name = line.find(k_text);
  if (name == line.npos || !(line.starts_with("//---") || line.find(".section") < name)) return {};
  line.remove_prefix(name + k_text.size());
  return std::string(line.substr(0, line.find_first_of(",\" \t")));
}

/// "'a' or 'b'".
std::string quoted(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : " or '") + name + "'";
  return text;
}

void need_function(const ShowCommand& command, bool any) {
  if (any) return;
  throw std::runtime_error("there is no function to show" +
                           (command.names.empty() ? "" : " that is called " + quoted(command.names)));
}

void need_any(const ShowCommand& command, bool any) {
  if (!any && !command.names.empty())
    throw std::runtime_error("there is no kernel " + quoted(command.names) + " to show");
}

void print_ptx(const tarsia_library* library, const ShowCommand& command) {
  uint64_t n = 0;
  const tarsia_image* images = tarsia_library_images(library, &n);
  bool any = false, any_wanted = false;
  for (uint64_t i = 0; i < n; ++i) {
    if (std::strncmp(images[i].arch, "compute_", 8) != 0) continue;
    any = true;
    std::string_view text(static_cast<const char*>(images[i].data), images[i].bytes);
    text = text.substr(0, text.find('\0'));
    std::printf("// PTX of %s for %s\n%s\n", images[i].file, images[i].arch,
                wanted_parts(command, text, ptx_symbol, any_wanted).c_str());
  }
  if (!any) throw std::runtime_error("there is no PTX: the source has no kernels");
  need_any(command, any_wanted);
}

void print_sass(const tarsia_library* library, const ShowCommand& command) {
  uint64_t n = 0;
  const tarsia_image* images = tarsia_library_images(library, &n);
  const auto is_code = [](const tarsia_image& image) { return std::strncmp(image.arch, "sm_", 3) == 0; };
  if (std::none_of(images, images + n, is_code))
    throw std::runtime_error(n == 0 ? "there is no GPU code: the source has no kernels"
                                    : "there is no machine code of the GPU, only PTX: NVRTC or nvJitLink, "
                                      "which make it, was not found");
  const std::string program = find_program("nvdisasm", cuda_folders());
  if (program.empty())
    throw std::runtime_error(
        "there is no nvdisasm to show machine code with: pip install nvidia-cuda-nvdisasm, or set CUDA_HOME "
        "to a toolkit that "
        "has it");
  const TemporaryFolder folder;
  bool any = false;
  for (uint64_t i = 0; i < n; ++i) {
    if (!is_code(images[i])) continue;
    const std::string path = folder.file("code.cubin");
    std::ofstream(path, std::ios::binary)
        .write(static_cast<const char*>(images[i].data), static_cast<std::streamsize>(images[i].bytes));
    std::printf("// machine code of %s for %s\n%s\n", images[i].file, images[i].arch,
                wanted_parts(command, output_of({program, "-c", path}), sass_symbol, any).c_str());
  }
  need_any(command, any);
}

/// Whether a function is asked for. Without names, what Tarsia puts beside the source's functions is of no
/// interest.
bool is_shown(const ShowCommand& command, const std::string& name) {
  if (!command.names.empty()) return is_wanted(command, name);
  return !(name.starts_with("tarsia_") || name.starts_with("__") || name.starts_with("_init") ||
           name.starts_with("_fini") || name == "atexit" || name == "call" || name == "finalize" ||
           name.find("tarsia::detail::") != std::string::npos);
}

void export_to(const std::string& path, const tarsia_library* library) {
  if (tarsia_library_export(library, path.c_str()) != 0)
    throw std::runtime_error(tarsia_last_error()->message);
}

void print_asm(const tarsia_library* library, const ShowCommand& command) {
  const std::string program = find_program("objdump", {});
  if (program.empty())
    throw std::runtime_error("there is no objdump to show machine code with: install binutils");
  const TemporaryFolder folder;
  const std::string path = folder.file("library.so");
  export_to(path, library);
  std::vector<std::string> words{program, "-d", "-C", "--no-show-raw-insn", "-j", ".text"};
  if (command.options.options.lineinfo || command.options.options.debug) words.emplace_back("-l");
  words.push_back(path);
  std::string text = output_of(words);
  // A block of lines for each function, headed by "ADDRESS <NAME>:".
  bool shown = false, any = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    const std::size_t open = line.find(" <");
    if (!line.empty() && line[0] != ' ' && open != std::string::npos && line.ends_with(">:")) {
      const std::string name = line.substr(open + 2, line.size() - open - 4);
      shown = is_shown(command, name);
      if (shown) std::printf("%s%s:\n", any ? "\n" : "", name.c_str());
      any |= shown;
    } else if (shown && !line.empty()) {
      std::printf("%s\n", line.c_str());
    }
  }
  need_function(command, any);
}

void print_registers(const tarsia_library* library, const ShowCommand& command) {
  uint64_t n = 0;
  const tarsia_kernel* const* kernels = tarsia_library_kernels(library, &n);
  if (n == 0) throw std::runtime_error("there are no kernels whose registers could be counted");
  std::printf("%9s %9s %9s %9s %11s  kernel\n", "registers", "shared", "local", "constant", "max threads");
  for (uint64_t i = 0; i < n; ++i) {
    if (!is_wanted(command, kernels[i]->name)) continue;
    tarsia_kernel_attributes a{};
    a.size = sizeof(a);
    if (tarsia_kernel_get_attributes(kernels[i], -1, &a) != 0)
      throw std::runtime_error(tarsia_last_error()->message);
    std::printf("%9d %9d %9d %9d %11d  %s\n", a.registers, a.shared_bytes, a.local_bytes, a.constant_bytes,
                a.max_threads, kernels[i]->signature);
  }
}

}  // namespace

int show(ShowCommand command) {
  const Sources sources = sources_for(command.file);
  command.options.options.ptx |= command.ptx;
  if (command.ir) command.options.options.cflags.emplace_back("-emit-llvm");
  int exit = k_done;
  const tarsia_library* library = open_library(command.file, command.options, sources, exit);
  if (!library) return exit;
  if (command.ptx) print_ptx(library, command);
  if (command.sass) print_sass(library, command);
  if (command.assembly) print_asm(library, command);
  if (command.ir) {
    const TemporaryFolder folder;
    const std::string path = folder.file("library.so");
    export_to(path, library);
    need_function(command, print_ir(path, [&](const std::string& name) { return is_shown(command, name); }));
  }
  if (command.registers) print_registers(library, command);
  if (!command.ptx && !command.sass && !command.assembly && !command.ir && !command.registers)
    print_listing(library, command.file, sources);
  return k_done;
}

}  // namespace tarsia::tools
