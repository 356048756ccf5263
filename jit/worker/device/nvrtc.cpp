// Opens the library of NVRTC, looks up its functions and runs programs through them.
#include "jit/worker/device/nvrtc.h"

#include <dlfcn.h>

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>

#include "base/error.h"

namespace tarsia::jit {

/// The functions used, with the prototypes of nvrtc.h; those after `get_lowered_name` may be absent.
struct Nvrtc::Api {
  using Program = struct Opaque*;
  const char* (*get_error_string)(int);
  int (*version)(int*, int*);
  int (*get_num_supported_archs)(int*);
  int (*get_supported_archs)(int*);
  int (*create_program)(Program*, const char* text, const char* name, int count, const char* const* headers,
                        const char* const* names);
  int (*destroy_program)(Program*);
  int (*compile_program)(Program, int count, const char* const* options);
  int (*get_ptx_size)(Program, size_t*);
  int (*get_ptx)(Program, char*);
  int (*get_cubin_size)(Program, size_t*);
  int (*get_cubin)(Program, char*);
  int (*get_program_log_size)(Program, size_t*);
  int (*get_program_log)(Program, char*);
  int (*add_name_expression)(Program, const char*);
  int (*get_lowered_name)(Program, const char*, const char**);
  int (*set_pch_heap_size)(size_t);
  int (*set_flow_callback)(Program, int (*)(void*, void*), void*);
};

namespace {

/// Those values of nvrtcResult that matter here.
enum { k_success = 0, k_out_of_memory = 1, k_invalid_option = 5, k_compilation = 6, k_cancelled = 16 };

template <class Function>
void symbol(void* library, const std::string& path, const char* name, Function*& function,
            bool needed = true) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  if (needed && !function)
    throw LoadError(path + " has no function " + name +
                    ": it is too old or no NVRTC; install one with `pip install nvidia-cuda-nvrtc`");
}

// Work-around: NVRTC opens its builtins by their bare name.
// Trigger: NVRTC comes from one of NVIDIA's wheels that leave it to luck whether the name is found.
// Symptom: NVRTC does not find the library that lies beside it. A library of that name that is open already
// is what it gets.
// Removal: all supported wheels of NVRTC find their own builtins.
void open_builtins(const std::string& nvrtc) {
  std::error_code ec;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(nvrtc).parent_path(), ec))
    if (entry.path().filename().string().starts_with("libnvrtc-builtins.so."))
      ::dlopen(entry.path().c_str(), RTLD_LAZY | RTLD_LOCAL);
}

}  // namespace

Nvrtc::Nvrtc(const std::string& path) {
  open_builtins(path);
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* why = ::dlerror();
    throw LoadError("cannot open NVRTC: " + std::string(why ? why : path) +
                    "; install it with `pip install nvidia-cuda-nvrtc`");
  }
  auto api = std::make_unique<Api>();
  symbol(library, path, "nvrtcGetErrorString", api->get_error_string);
  symbol(library, path, "nvrtcVersion", api->version);
  symbol(library, path, "nvrtcGetNumSupportedArchs", api->get_num_supported_archs);
  symbol(library, path, "nvrtcGetSupportedArchs", api->get_supported_archs);
  symbol(library, path, "nvrtcCreateProgram", api->create_program);
  symbol(library, path, "nvrtcDestroyProgram", api->destroy_program);
  symbol(library, path, "nvrtcCompileProgram", api->compile_program);
  symbol(library, path, "nvrtcGetPTXSize", api->get_ptx_size);
  symbol(library, path, "nvrtcGetPTX", api->get_ptx);
  symbol(library, path, "nvrtcGetCUBINSize", api->get_cubin_size);
  symbol(library, path, "nvrtcGetCUBIN", api->get_cubin);
  symbol(library, path, "nvrtcGetProgramLogSize", api->get_program_log_size);
  symbol(library, path, "nvrtcGetProgramLog", api->get_program_log);
  symbol(library, path, "nvrtcAddNameExpression", api->add_name_expression);
  symbol(library, path, "nvrtcGetLoweredName", api->get_lowered_name);
  symbol(library, path, "nvrtcSetPCHHeapSize", api->set_pch_heap_size, false);
  symbol(library, path, "nvrtcSetFlowCallback", api->set_flow_callback, false);
  m_api = api.release();  // as long as the library: for ever

  int count = 0;
  if (m_api->version(&m_major, &m_minor) != k_success || m_api->get_num_supported_archs(&count) != k_success)
    throw LoadError(path + " does not tell its version; is libnvrtc-builtins beside it?");
  m_architectures.resize(count);
  m_api->get_supported_archs(m_architectures.data());
}

const Nvrtc& Nvrtc::open(const std::string& path) {
  // Never destroyed, since a thread may be compiling when the process ends.
  static auto& mutex = *new std::mutex;
  static auto& libraries = *new std::map<std::string, std::unique_ptr<Nvrtc>>;
  if (path.empty())
    throw LoadError(
        "NVRTC, which compiles kernels, was not found: install it with `pip install nvidia-cuda-nvrtc`, or "
        "set "
        "TARSIA_CUDA_HOME to a CUDA toolkit; `tarsia doctor` tells what is there");
  std::lock_guard lock(mutex);
  std::unique_ptr<Nvrtc>& library = libraries[path];
  if (!library) library.reset(new Nvrtc(path));
  return *library;
}

NvrtcOutput Nvrtc::compile(const NvrtcJob& job) const {
  std::vector<const char*> texts, names, options;
  for (const SourceFile& header : job.headers) {
    texts.push_back(header.text.c_str());
    names.push_back(header.name.c_str());
  }
  for (const std::string& option : job.options) options.push_back(option.c_str());

  NvrtcOutput output;
  auto refused = [&](int result) {
    using Status = NvrtcOutput::Status;
    output.status_text = m_api->get_error_string(result);
    output.status = result == k_success          ? Status::ok
                    : result == k_compilation    ? Status::failed
                    : result == k_invalid_option ? Status::bad_option
                    : result == k_out_of_memory  ? Status::out_of_memory
                    : result == k_cancelled      ? Status::cancelled
                                                 : Status::internal;
    return result != k_success;
  };

  Api::Program program = nullptr;
  if (refused(m_api->create_program(&program, job.text.c_str(), job.name.c_str(),
                                    static_cast<int>(texts.size()), texts.data(), names.data())))
    return output;
  struct Guard {
    const Api* api;
    Api::Program* program;
    ~Guard() { api->destroy_program(program); }
  } guard{m_api, &program};

  for (const std::string& expression : job.expressions)
    m_api->add_name_expression(program, expression.c_str());
  if (job.cancelled && m_api->set_flow_callback)
    m_api->set_flow_callback(
        program, [](void* flag, void*) { return int(static_cast<const std::atomic<bool>*>(flag)->load()); },
        const_cast<std::atomic<bool>*>(job.cancelled));
  const bool failed =
      refused(m_api->compile_program(program, static_cast<int>(options.size()), options.data()));

  auto bytes = [&](std::string& into, auto size_of, auto get, bool drop_nul) {
    size_t size = 0;
    if (size_of(program, &size) != k_success || size == 0) return;
    into.resize(size);
    if (get(program, into.data()) != k_success) into.clear();
    while (drop_nul && !into.empty() && into.back() == '\0') into.pop_back();
  };
  bytes(output.log, m_api->get_program_log_size, m_api->get_program_log, true);
  // Work-around: NVRTC's front end calls it an error of the source when memory runs out. Trigger: device code
  // that takes more memory than the worker may have, before code is made. Symptom: NVRTC_ERROR_COMPILATION.
  // Removal: NVRTC_ERROR_OUT_OF_MEMORY in its place.
  if (failed && output.log.find("catastrophic error: out of memory") != std::string::npos)
    output.status = NvrtcOutput::Status::out_of_memory;
  if (failed) return output;
  bytes(output.cubin, m_api->get_cubin_size, m_api->get_cubin, false);
  bytes(output.ptx, m_api->get_ptx_size, m_api->get_ptx, true);
  for (const std::string& expression : job.expressions) {
    const char* lowered = nullptr;
    if (m_api->get_lowered_name(program, expression.c_str(), &lowered) != k_success) lowered = nullptr;
    output.lowered.emplace_back(lowered ? lowered : "");
  }
  return output;
}

bool Nvrtc::set_pch_heap(size_t bytes) const {
  return m_api->set_pch_heap_size && m_api->set_pch_heap_size(bytes) == k_success;
}

}  // namespace tarsia::jit
