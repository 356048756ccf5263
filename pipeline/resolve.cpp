// From a source to a request: paths, CUDA's parts, architectures and the CPU, as this machine has them. And
// from a request to its result, which may take a second request.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <limits>
#include <type_traits>

#include "base/cuda/cuda_driver.h"
#include "base/cuda/cuda_parts.h"
#include "base/cuda/profiler.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/machine/cpu.h"
#include "base/number_setting.h"
#include "pipeline/failures.h"
#include "pipeline/pipeline.h"
#include "pipeline/source_kind.h"

namespace tarsia::pipeline {
namespace {

std::string absolute(const std::string& path) {
  if (path[0] == '/') return path;
  char here[PATH_MAX];
  if (::getcwd(here, sizeof here) == nullptr)
    throw Error(errno_message("the working directory is unknown", errno));
  return std::string(here) + '/' + path;
}

/// As the compiler understands a folder of headers: it takes ".." off by the path's text and looks at no
/// links.
std::string plain(const std::string& folder) {
  const bool is_plain = folder.find("/.") == folder.npos && folder.find("//") == folder.npos;
  if (is_plain && (folder.size() == 1 || !folder.ends_with('/'))) return folder;
  std::string path = std::filesystem::path(folder).lexically_normal().string();
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

/// The folder among these that holds all of the texts as files: those of a source that was read from there,
/// as tarsia.load and the command do. "" if none does.
std::string folder_of(const std::vector<std::string>& folders,
                      const std::vector<std::pair<std::string_view, std::string_view>>& texts) {
  for (const std::string& folder : folders) {
    const auto is_there = [&](const auto& text) {
      const std::string path = folder + '/' + std::string(text.first);
      UniqueFd file;
      struct stat status;
      std::string bytes;
      return open_regular(path, file, status, Links::follow) == 0 &&
             read_all(file.get(), bytes, text.second.size() + 1) == 0 && bytes == text.second;
    };
    if (!folder.empty() && std::ranges::all_of(texts, is_there)) return absolute(folder);
  }
  return {};
}

/// The headers that a compile looked for in vain; none if it went well.
std::vector<std::string> missing_headers(const jit::CompileResult& result) {
  std::vector<std::string> names;
  if (result.ok) return names;
  for (const jit::Diagnostic& one : result.diagnostics) {
    const std::size_t end = one.message.find("' file not found");
    if (one.message.starts_with("'") && end != one.message.npos)
      names.push_back(one.message.substr(1, end - 1));
  }
  return names;
}

bool has_any_of(const CudaParts& parts, const std::vector<std::string>& headers) {
  return std::ranges::any_of(headers, [&](const std::string& name) {
    return std::ranges::any_of(parts.include_dirs, [&](const std::string& folder) {
      std::error_code error;
      return std::filesystem::is_regular_file(folder + '/' + name, error);
    });
  });
}

}  // namespace

jit::CompileRequest Pipeline::resolve(Source source, Stores& stores, std::string* lacks) {
  jit::CompileRequest request;
  request.name = std::move(source.name);
  request.options = std::move(source.options);
  request.timeout_ms = static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(source.timeout.count(), 0, std::numeric_limits<std::uint32_t>::max()));
  request.hold_after_ms = static_cast<std::uint32_t>(
      number_setting({.variable = "TARSIA_HOLD_AFTER_MS",
                      .otherwise = request.hold_after_ms,
                      .least = 0,
                      .most = std::numeric_limits<std::uint32_t>::max(),
                      .what = "time",
                      .wanted = "a whole number of milliseconds (300; 0 for all includes)"}));
  jit::for_each_option(request.options, [](const OptionRow& row, auto& value) {
    if constexpr (std::is_same_v<decltype(value), std::vector<std::string>&>)
      for (std::string& path : value)
        if (row.kind == OptionKind::dirs || (row.kind == OptionKind::paths && path.find('/') != path.npos))
          path = absolute(path);
  });
  for (std::string& folder : request.options.include_dirs) folder = plain(folder);

  if (request.options.march.empty())
    request.host_cpu = cpu_level();
  else if (request.options.march == k_native_cpu)
    request.host_cpu = cpu_identity();

  const SourceKind kind = kind_of(source.files, source.headers);
  request.cuda = kind == SourceKind::cuda;
  if (kind != SourceKind::host) {
    const std::shared_ptr<const CudaFindings> findings = cuda_findings();
    if (request.cuda && !findings->missing.empty()) {
      if (!lacks) throw NotFound("the source holds CUDA, and this machine lacks " + findings->missing);
      *lacks = findings->missing;
    }
    request.cuda_parts = findings->parts;
    // It is searched in any case. As one of the source's folders it would make CUDA's headers the source's
    // own.
    if (request.cuda)
      std::erase_if(request.options.include_dirs,
                    [&](const std::string& folder) { return has_headers_in(request.cuda_parts, folder); });
  } else if (!request.options.libraries.empty()) {
    // One of the libraries may be NVIDIA's.
    request.cuda_parts.library_dirs = find_cuda_parts().library_dirs;
  }
  if (!request.cuda) {
    request.options.archs.clear();
    request.options.ptx = false;
  } else if (request.options.archs.empty()) {
    request.options.archs = m_archs.defaults(stores.disk, [&] {
      // A worker answers, so that CUDA need not be initialised here. An image without a compiler has none.
      try {
        return cuda_initialised() ? cuda_architectures() : m_pool.archs();
      } catch (const NotFound&) {
        return cuda_architectures();
      }
    });
  }
  request.files = std::move(source.files);
  request.headers = std::move(source.headers);
  if (jit::keeps_lines(request.options)) {
    std::vector<std::pair<std::string_view, std::string_view>> texts;
    for (const auto* group : {&request.files, &request.headers})
      for (const jit::SourceFile& file : *group) texts.emplace_back(file.name, file.text);
    request.source_dir = folder_of(request.options.include_dirs, texts);
    if (request.source_dir.empty()) request.source_dir = stores.disk.keep_copies(texts);
  }
  return request;
}

jit::CompileResult Pipeline::compile_in_worker(const jit::CompileRequest& request, Stores& stores) {
  const ProfilerRange range("compile", named(request).c_str());
  try {
    jit::CompileResult result = m_pool.compile(request, stores.parts);
    const std::vector<std::string> missing = missing_headers(result);
    if (missing.empty() || !request.cuda_parts.include_dirs.empty()) return result;
    // Host code may reach CUDA's headers through one on disk, which nobody reads before the compiler does.
    jit::CompileRequest again = request;
    again.cuda_parts = find_cuda_parts();
    return has_any_of(again.cuda_parts, missing) ? m_pool.compile(again, stores.parts) : result;
  } catch (const CompilerCrashed& crash) {
    // Work-around: NVRTC crashes on texts that nvcc takes.
    // Trigger: some device code. Symptom: the worker, in which NVRTC runs, dies by a signal. Removal: NVRTC
    // reports an error in its place, or takes the text.
    if (!request.cuda || request.options.device_compiler != "auto") throw;
    log().warn("{}: {}; it is compiled again, with Clang for its device code", named(request), crash.what());
    jit::CompileRequest again = request;
    again.options.device_compiler = "clang";
    again.after_crash = true;
    try {
      jit::CompileResult result = m_pool.compile(again, stores.parts);
      if (result.ok) return result;
    } catch (const CompilerCrashed&) {
      log().debug("{}: it crashed with Clang, too", named(request));
    }
    throw;
  }
}

}  // namespace tarsia::pipeline
