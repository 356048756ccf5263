// NVTX 3 without its headers: the application's side of the interface between an application and a profiler.
// The profiler names its library in the environment. The library is given a function that returns tables:
// places for functions, by module and number. It writes its functions into those places that it implements.
// Types, numbers and sizes are those of nvtx3/nvtxDetail/nvtxTypes.h and nvToolsExt.h.
#include "base/cuda/profiler.h"

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>

#include "base/fork.h"
#include "base/log.h"

namespace tarsia {
namespace {

constexpr std::uint32_t k_version = 3;
constexpr std::size_t k_most_functions = 16;

using Function = void (*)();

/// A module's functions: their places, and a null behind them.
struct Module {
  unsigned count;  ///< of places, with the first, which is none's
  std::array<Function, k_most_functions> functions{};
  std::array<Function*, k_most_functions + 1> places{};
};

/// By their numbers: (none), core, CUDA, OpenCL, CUDA's runtime, core 2, synchronisation.
std::array<Module, 7> s_modules{{{0}, {16}, {9}, {15}, {7}, {16}, {7}}};
constexpr int k_core2 = 5;

// Places in core 2.
constexpr int k_push = 4, k_pop = 5, k_create_domain = 12, k_initialize = 15;

struct Attributes {
  std::uint16_t version = k_version;
  std::uint16_t size = 48;
  std::uint32_t category = 0;
  std::int32_t color_type = 0;
  std::uint32_t color = 0;
  std::int32_t payload_type = 0;
  std::int32_t reserved = 0;
  std::uint64_t payload = 0;
  std::int32_t message_type = 1;  // bytes that end with a null
  const char* message = nullptr;
};
static_assert(sizeof(Attributes) == 48 && offsetof(Attributes, message) == 40);

int functions_of(int module, Function*** places, unsigned* count) {
  if (module < 1 || module >= static_cast<int>(s_modules.size())) return 0;
  Module& one = s_modules[static_cast<std::size_t>(module)];
  if (places) *places = one.places.data();
  if (count) *count = one.count;
  return 1;
}

struct Callbacks {
  std::size_t size = sizeof(Callbacks);
  int (*functions_of)(int, Function***, unsigned*) = tarsia::functions_of;
};

struct VersionInfo {
  std::size_t size = sizeof(VersionInfo);
  std::uint32_t version = k_version, reserved = 0;
  void (*set_version_of_injection)(std::uint32_t) = [](std::uint32_t) {};
};

const void* table_of(std::uint32_t id) {
  static constinit const Callbacks s_callbacks;
  static constinit const VersionInfo s_version;
  return id == 1 ? static_cast<const void*>(&s_callbacks) : id == 3 ? &s_version : nullptr;
}

using Initialize = int (*)(const void* (*)(std::uint32_t));

template <class Type>
Type function(int place) {
  return reinterpret_cast<Type>(s_modules[k_core2].functions[static_cast<std::size_t>(place)]);
}

void* s_domain = nullptr;
std::atomic<ForkRenewedMutex*> s_mutex{nullptr};

/// Whether the library at the path takes ranges from now on. It then stays loaded.
bool attach(const char* path) {
  for (Module& one : s_modules)
    for (unsigned i = 1; i < one.count; ++i) one.places[i] = &one.functions[i];
  const InLoader loading;
  void* const library = ::dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = ::dlerror();
    log().warn("the profiler's library of NVTX_INJECTION64_PATH cannot be loaded: {}", why ? why : path);
    return false;
  }
  const auto initialize = reinterpret_cast<Initialize>(::dlsym(library, "InitializeInjectionNvtx2"));
  const bool attached = initialize != nullptr && initialize(table_of) != 0 && function<Function>(k_push) &&
                        function<Function>(k_pop);
  if (!attached) {
    // It is not unloaded: it may have started threads.
    log().info("the profiler's library {} takes no ranges", path);
    return false;
  }
  if (const auto start = function<void (*)(const void*)>(k_initialize)) start(nullptr);
  if (const auto create = function<void* (*)(const char*)>(k_create_domain)) s_domain = create("Tarsia");
  return true;
}

}  // namespace

namespace detail {

std::atomic<Profiler> g_profiler{Profiler::unknown};

bool find_profiler() {
  Profiler known = g_profiler.load(std::memory_order_acquire);
  if (known != Profiler::unknown) return known == Profiler::attached;
  // The library may do anything as it starts, even fork.
  ForkRenewedMutex& mutex = made_once(s_mutex, [] { return ForkRenewedMutex(); });
  mutex.lock();
  known = g_profiler.load(std::memory_order_acquire);
  if (known == Profiler::unknown) {
    const char* const path = std::getenv("NVTX_INJECTION64_PATH");
    known = path && *path && attach(path) ? Profiler::attached : Profiler::none;
    g_profiler.store(known, std::memory_order_release);
  }
  mutex.unlock();
  return known == Profiler::attached;
}

bool begin_range(const char* what, std::string_view name) {
  std::string message = what;
  if (!name.empty()) message.append(1, ' ').append(name);
  Attributes attributes;
  attributes.message = message.c_str();
  function<int (*)(void*, const Attributes*)>(k_push)(s_domain, &attributes);
  return true;
}

void end_range() {
  function<int (*)(void*)>(k_pop)(s_domain);
}

}  // namespace detail

}  // namespace tarsia
