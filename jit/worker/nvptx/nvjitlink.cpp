// Opens nvJitLink, looks up its functions and makes cubins through them.
#include "jit/worker/nvptx/nvjitlink.h"

#include <dlfcn.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "base/error.h"

namespace tarsia::jit {

/// The functions used, with the prototypes of nvJitLink.h.
struct NvJitLink::Api {
  using Handle = struct Opaque*;
  int (*create)(Handle*, uint32_t count, const char** options);
  int (*destroy)(Handle*);
  int (*add_data)(Handle, int type, const void* data, size_t size, const char* name);
  int (*complete)(Handle);
  int (*cubin_size)(Handle, size_t*);
  int (*cubin)(Handle, void*);
  int (*error_size)(Handle, size_t*);
  int (*error)(Handle, char*);
  int (*info_size)(Handle, size_t*);
  int (*info)(Handle, char*);
};

namespace {

/// Of nvJitLinkResult and nvJitLinkInputType.
enum { k_success = 0, k_ptx = 2 };

constexpr char k_remedy[] = "; install it with `pip install nvidia-nvjitlink`";

/// The functions carry the version that a program was built for; those of a major's first release are in all
/// that follow.
template <class Function>
void symbol(void* library, const std::string& path, const std::string& name, Function*& function) {
  for (const char* version : {"_13_0", "_12_0", "_14_0"})
    if (void* found = ::dlsym(library, ("__nvJitLink" + name + version).c_str())) {
      function = reinterpret_cast<Function*>(found);
      return;
    }
  throw LoadError(path + " has no function nvJitLink" + name + k_remedy);
}

}  // namespace

NvJitLink::NvJitLink(const std::string& path) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* why = ::dlerror();
    throw LoadError("cannot open nvJitLink: " + std::string(why ? why : path) + k_remedy);
  }
  auto api = std::make_unique<Api>();
  symbol(library, path, "Create", api->create);
  symbol(library, path, "Destroy", api->destroy);
  symbol(library, path, "AddData", api->add_data);
  symbol(library, path, "Complete", api->complete);
  symbol(library, path, "GetLinkedCubinSize", api->cubin_size);
  symbol(library, path, "GetLinkedCubin", api->cubin);
  symbol(library, path, "GetErrorLogSize", api->error_size);
  symbol(library, path, "GetErrorLog", api->error);
  symbol(library, path, "GetInfoLogSize", api->info_size);
  symbol(library, path, "GetInfoLog", api->info);
  m_api = api.release();  // as long as the library: for ever
}

const NvJitLink& NvJitLink::open(const std::string& path) {
  static auto& mutex = *new std::mutex;
  static auto& libraries = *new std::map<std::string, std::unique_ptr<NvJitLink>>;
  std::lock_guard lock(mutex);
  std::unique_ptr<NvJitLink>& library = libraries[path];
  if (!library) library.reset(new NvJitLink(path));
  return *library;
}

NvJitLinkOutput NvJitLink::compile(const std::string& ptx, const std::vector<std::string>& options) const {
  std::vector<const char*> texts;
  for (const std::string& option : options) texts.push_back(option.c_str());
  NvJitLinkOutput output;
  Api::Handle handle = nullptr;
  const int created = m_api->create(&handle, static_cast<uint32_t>(texts.size()), texts.data());
  const auto log = [&](auto size_of, auto get) {
    size_t size = 0;
    if (!handle || size_of(handle, &size) != k_success || size == 0) return;
    std::string text(size, '\0');
    if (get(handle, text.data()) == k_success) output.log += text.c_str();
  };
  if (created == k_success) {
    size_t size = 0;
    // The NUL behind the text counts: nvJitLink reads up to it.
    const bool done = m_api->add_data(handle, k_ptx, ptx.c_str(), ptx.size() + 1, "ptx") == k_success &&
                      m_api->complete(handle) == k_success && m_api->cubin_size(handle, &size) == k_success &&
                      size != 0;
    if (done) {
      output.cubin.resize(size);
      output.ok = m_api->cubin(handle, output.cubin.data()) == k_success;
    }
  }
  log(m_api->error_size, m_api->error);
  log(m_api->info_size, m_api->info);
  if (handle) m_api->destroy(&handle);
  if (!output.ok && output.log.empty())
    output.log = "nvJitLink failed without a message (" + std::to_string(created) + ")";
  return output;
}

}  // namespace tarsia::jit
