// Launches kernels through the driver. On each GPU it uses the function that the runtime has for a kernel's
// stub. So kernels, variables and <<<>>> of one library share one loaded module.
//
// A launch that succeeds checks only what CUDA would misunderstand. The reason of a failure is looked for
// after the failure.
#include "registry/call/kernel.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/cuda/cubin.h"
#include "base/cuda/profiler.h"
#include "base/error.h"
#include "registry/call/arguments.h"
#include "registry/elements/tensor_math.h"
#include "registry/library/library.h"
#include "registry/library/library_kernel.h"
#include "registry/resources/call_context.h"
#include "registry/resources/recent_launches.h"

namespace tarsia::registry {

namespace {

enum FunctionAttribute {  // CUfunction_attribute
  k_max_threads = 0,
  k_shared_bytes = 1,
  k_constant_bytes = 2,
  k_local_bytes = 3,
  k_registers = 4,
  k_ptx_version = 5,
  k_binary_version = 6,
  k_max_dynamic_shared_bytes = 8,
  k_non_portable_cluster_size = 14
};
enum DeviceAttribute {  // CUdevice_attribute
  k_max_block_x = 2,
  k_max_grid_x = 5,
  k_max_shared_bytes = 8,
  k_multiprocessors = 16,
  k_threads_per_multiprocessor = 39,
  k_max_shared_optin = 97
};
enum Result { k_invalid_handle = 400, k_cooperative_too_large = 720 };

constexpr unsigned k_shared_without_asking = 48 * 1024;
constexpr unsigned k_portable_cluster = 8;
constexpr std::size_t k_few_params = 16;

const LibraryKernel& owned(const tarsia_kernel& kernel) {
  return reinterpret_cast<const LibraryKernel&>(kernel);
}

ArgumentError bad_value(const LibraryKernel& kernel, const std::string& text) {
  return ArgumentError::value_error(std::string(kernel.display_name) + ": " + text);
}

std::string extents(const std::uint32_t (&n)[3]) {
  return "(" + std::to_string(n[0]) + ", " + std::to_string(n[1]) + ", " + std::to_string(n[2]) + ")";
}

int device_attribute(int device, int attribute) {
  int value = 0;
  CuDevice handle = 0;
  check_cuda(cuda_driver().cuDeviceGet(&handle, device), "cuDeviceGet");
  check_cuda(cuda_driver().cuDeviceGetAttribute(&value, attribute, handle), "cuDeviceGetAttribute");
  return value;
}

int function_attribute(const KernelOnDevice& on, int attribute) {
  int value = 0;
  check_cuda(cuda_driver().cuFuncGetAttribute(&value, attribute, on.function), "cuFuncGetAttribute");
  return value;
}

/// Throws for extents that no GPU takes.
void check_extents(const LibraryKernel& kernel, const tarsia_launch& launch) {
  constexpr char k_axes[] = "xyz";
  constexpr std::uint32_t k_most_blocks[] = {0x7fffffff, 65535, 65535}, k_most_threads[] = {1024, 1024, 64};
  for (int i = 0; i < 3; ++i) {
    if (launch.grid[i] == 0)
      throw bad_value(kernel, "the grid " + extents(launch.grid) + " has no blocks along " + k_axes[i] +
                                  ": each extent is 1 or more; do not launch where there is nothing to do");
    if (launch.grid[i] > k_most_blocks[i])
      throw bad_value(kernel, "the grid " + extents(launch.grid) + " has more than " +
                                  std::to_string(k_most_blocks[i]) + " blocks along " + k_axes[i]);
    if (launch.block[i] == 0)
      throw bad_value(kernel, "the block " + extents(launch.block) + " has no threads along " + k_axes[i] +
                                  ": each extent is 1 or more");
    if (launch.block[i] > k_most_threads[i])
      throw bad_value(kernel, "the block " + extents(launch.block) + " has more than " +
                                  std::to_string(k_most_threads[i]) + " threads along " + k_axes[i]);
  }
  if (launch.block[0] * launch.block[1] * launch.block[2] > 1024)
    throw bad_value(kernel, "the block " + extents(launch.block) + " has " +
                                std::to_string(launch.block[0] * launch.block[1] * launch.block[2]) +
                                " threads, more than 1024");
  if (!launch.cluster[0]) return;
  for (int i = 0; i < 3; ++i)
    if (launch.cluster[i] == 0 || launch.grid[i] % launch.cluster[i] != 0)
      throw bad_value(kernel, "the grid " + extents(launch.grid) + " is no multiple of the cluster " +
                                  extents(launch.cluster) + " along " + k_axes[i]);
}

const KernelOnDevice& find_function(const LibraryKernel& kernel, int device) {
  const CudaDriver& driver = cuda_driver();
  if (!kernel.runtime)
    throw CudaError(std::string(kernel.display_name) +
                    " cannot be launched: its library does not link the CUDA runtime");
  auto made = std::make_unique<KernelOnDevice>();
  int own_shared = 0;
  made->context = cuda_primary_context(device);
  if (static_cast<std::size_t>(device) >= kernel.on_device.size())
    throw Unsupported("GPU " + std::to_string(device) + " is beyond the number of GPUs that Tarsia knows");
  {
    const CudaDeviceScope scope(device);
    const CudaRelaxedCapture relaxed;
    if (const int code = kernel.runtime->cudaGetFuncBySymbol(&made->function, kernel.kernel.stub)) {
      kernel.runtime->cudaGetLastError();
      throw CudaError(std::string(kernel.display_name) + " is not on GPU " + std::to_string(device) + ": " +
                      kernel.runtime->cudaGetErrorName(code) + ": " +
                      kernel.runtime->cudaGetErrorString(code) + (is_fatal(code) ? recent_launches() : ""));
    }
    driver.cuFuncGetAttribute(&own_shared, k_shared_bytes, made->function);
  }
  made->shared.start(k_shared_without_asking - std::min<unsigned>(own_shared, k_shared_without_asking));
  KernelOnDevice* known = nullptr;
  if (kernel.on_device[static_cast<std::size_t>(device)].compare_exchange_strong(known, made.get()))
    known = made.release();
  return *known;
}

const KernelOnDevice& on_device(const LibraryKernel& kernel, int device) {
  if (static_cast<std::size_t>(device) < kernel.on_device.size())
    if (const KernelOnDevice* known =
            kernel.on_device[static_cast<std::size_t>(device)].load(std::memory_order_acquire))
      return *known;
  return find_function(kernel, device);
}

int current_device() {
  cuda_driver();
  return std::max(0, cuda_current_device());
}

/// The GPU that a stream belongs to; -1 if the driver does not say.
int device_of_stream(void* stream) {
  CuContext context = nullptr;
  if (!stream || cuda_driver().cuStreamGetCtx(static_cast<CuStream>(stream), &context)) return -1;
  for (int i = 0; i < cuda_device_count(); ++i)
    if (cuda_primary_context(i) == context) return i;
  return -1;
}

/// Makes a context current for the calling thread while it lives.
class ContextScope {
 public:
  explicit ContextScope(CuContext context) : m_driver(cuda_driver()) {
    m_driver.cuCtxGetCurrent(&m_previous);
    m_changed = m_previous != context;
    if (m_changed) m_driver.cuCtxSetCurrent(context);
  }
  ~ContextScope() {
    if (m_changed) m_driver.cuCtxSetCurrent(m_previous);
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  const CudaDriver& driver() const { return m_driver; }

 private:
  const CudaDriver& m_driver;
  CuContext m_previous = nullptr;
  bool m_changed = false;
};

/// Raises the limit of dynamic shared memory above what a launch gets by itself.
void allow_shared(const LibraryKernel& kernel, const KernelOnDevice& on, int device, unsigned bytes) {
  if (const_cast<KernelOnDevice&>(on).shared.raise(bytes, [&] {
        return cuda_driver().cuFuncSetAttribute(on.function, k_max_dynamic_shared_bytes,
                                                static_cast<int>(bytes)) == 0;
      }))
    return;
  const int most =
      std::max(device_attribute(device, k_max_shared_optin), device_attribute(device, k_max_shared_bytes));
  const int own = function_attribute(on, k_shared_bytes);
  throw bad_value(kernel, std::to_string(bytes) + " bytes of shared memory are more than the " +
                              std::to_string(most - own) + " that GPU " + std::to_string(device) +
                              " has for it" +
                              (own ? ", beside the " + std::to_string(own) + " that it declares" : ""));
}

CuResult launch_with_attributes(const LibraryKernel& kernel, const KernelOnDevice& on,
                                const tarsia_launch& launch, void* stream, void** arguments) {
  constexpr int k_cooperative = 2, k_cluster = 4;  // CUlaunchAttributeID
  const CudaDriver& driver = cuda_driver();
  if (!driver.optional.cuLaunchKernelEx)
    throw Unsupported(std::string(kernel.display_name) +
                      ": clusters and cooperative launches need a CUDA driver of 11.8 or newer");
  CuLaunchAttribute attributes[2]{};
  unsigned n = 0;
  if (launch.cooperative) {
    attributes[n].id = k_cooperative;
    attributes[n++].number = 1;
  }
  if (launch.cluster[0]) {
    attributes[n].id = k_cluster;
    attributes[n++].extents = {launch.cluster[0], launch.cluster[1], launch.cluster[2]};
    if (launch.cluster[0] * launch.cluster[1] * launch.cluster[2] > k_portable_cluster &&
        !on.large_clusters.load(std::memory_order_relaxed) &&
        driver.cuFuncSetAttribute(on.function, k_non_portable_cluster_size, 1) == 0)
      const_cast<KernelOnDevice&>(on).large_clusters.store(true, std::memory_order_relaxed);
  }
  CuLaunchConfig config{};
  std::copy_n(launch.grid, 3, config.grid);
  std::copy_n(launch.block, 3, config.block);
  config.shared_bytes = launch.shared_bytes;
  config.stream = static_cast<CuStream>(stream);
  config.attributes = attributes;
  config.n_attributes = n;
  return driver.optional.cuLaunchKernelEx(&config, on.function, arguments, nullptr);
}

[[noreturn]] void explain_failure(const LibraryKernel& kernel, const KernelOnDevice& on, int device,
                                  const tarsia_launch& launch, void* stream, CuResult result) {
  if (!is_fatal(result)) {
    constexpr char k_axes[] = "xyz";
    for (int i = 0; i < 3; ++i) {
      const auto most_blocks = static_cast<unsigned>(device_attribute(device, k_max_grid_x + i));
      const auto most_threads = static_cast<unsigned>(device_attribute(device, k_max_block_x + i));
      if (launch.grid[i] > most_blocks)
        throw bad_value(kernel, "the grid " + extents(launch.grid) + " has more blocks along " + k_axes[i] +
                                    " than the " + std::to_string(most_blocks) + " that GPU " +
                                    std::to_string(device) + " takes");
      if (launch.block[i] > most_threads)
        throw bad_value(kernel, "the block " + extents(launch.block) + " has more threads along " +
                                    k_axes[i] + " than the " + std::to_string(most_threads) + " that GPU " +
                                    std::to_string(device) + " takes");
    }
    const unsigned threads = launch.block[0] * launch.block[1] * launch.block[2];
    const int most = function_attribute(on, k_max_threads);
    if (most > 0 && threads > static_cast<unsigned>(most))
      throw bad_value(kernel, "the block " + extents(launch.block) + " has " + std::to_string(threads) +
                                  " threads, more than the " + std::to_string(most) +
                                  " that its registers (" +
                                  std::to_string(function_attribute(on, k_registers)) +
                                  " a thread) or its __launch_bounds__ allow");
    if (const int other = device_of_stream(stream); other >= 0 && other != device)
      throw bad_value(kernel, "the stream belongs to GPU " + std::to_string(other) +
                                  ", and the launch is on GPU " + std::to_string(device) +
                                  ", where its tensors lie: pass a stream of that GPU");
    if (result == k_invalid_handle)
      throw bad_value(kernel, "the stream is none that CUDA knows on GPU " + std::to_string(device));
    if (result == k_cooperative_too_large)
      throw bad_value(
          kernel, "the grid " + extents(launch.grid) +
                      " is too large for a cooperative launch: all blocks run "
                      "at once, and GPU " +
                      std::to_string(device) + " holds " +
                      std::to_string(occupancy_of(kernel.kernel, device, threads, launch.shared_bytes).grid));
  }
  throw CudaError(std::string(kernel.display_name) + ": " + cuda_error_text(result) + " (grid " +
                  extents(launch.grid) + ", block " + extents(launch.block) +
                  (launch.shared_bytes ? ", " + std::to_string(launch.shared_bytes) + " bytes shared" : "") +
                  (launch.cluster[0] ? ", cluster " + extents(launch.cluster) : "") + ")" +
                  (is_fatal(result) ? recent_launches() : ""));
}

/// Addresses of the arguments, each in its own width, as a launch reads them.
class Arguments {
 public:
  Arguments(const tarsia_kernel& kernel, const tarsia_value* values) {
    void** all = m_few;
    std::uint64_t* narrow = m_narrow;
    if (kernel.n_params > k_few_params) {
      m_many.resize(2 * std::size_t{kernel.n_params});
      all = m_many.data();
      narrow = reinterpret_cast<std::uint64_t*>(all + kernel.n_params);
    }
    for (unsigned i = 0; i < kernel.n_params; ++i) {
      const tarsia_type& type = kernel.params[i].type;
      all[i] = const_cast<std::int64_t*>(&values[i].i);
      if (type.kind == TARSIA_KIND_NONE) {
        all[i] = const_cast<char*>(values[i].s);
      } else if (type.kind == TARSIA_KIND_FLOAT && type.dtype.bits != 64) {
        store_float(type.dtype, values[i].f, &narrow[i]);
        all[i] = &narrow[i];
      }
    }
    m_all = all;
  }
  void** addresses() { return m_all; }

 private:
  void** m_all;
  void* m_few[k_few_params];
  std::uint64_t m_narrow[k_few_params];
  std::vector<void*> m_many;
};

}  // namespace

void launch_values(const tarsia_kernel& described, const tarsia_launch& launch, const tarsia_value* values) {
  const LibraryKernel& kernel = owned(described);
  const ProfilerRange range("launch", described.name);
  check_extents(kernel, launch);
  int device = launch.device;
  if (device < 0 && launch.has_stream) device = device_of_stream(launch.stream);
  if (device < 0) device = current_device();
  const KernelOnDevice& on = on_device(kernel, device);
  void* stream = launch.has_stream ? launch.stream : current_stream(device);
  Arguments arguments(described, values);
  const ContextScope scope(on.context);
  if (launch.shared_bytes > on.shared.get()) [[unlikely]]
    allow_shared(kernel, on, device, launch.shared_bytes);
  const CuResult result = launch.cluster[0] || launch.cooperative
                              ? launch_with_attributes(kernel, on, launch, stream, arguments.addresses())
                              : scope.driver().cuLaunchKernel(
                                    on.function, launch.grid[0], launch.grid[1], launch.grid[2],
                                    launch.block[0], launch.block[1], launch.block[2], launch.shared_bytes,
                                    static_cast<CuStream>(stream), arguments.addresses(), nullptr);
  if (result) [[unlikely]]
    explain_failure(kernel, on, device, launch, stream, result);
  note_launch(kernel.display_name, device);
  if (debug_sync()) [[unlikely]]
    wait_for_debugging(kernel.display_name, stream);
}

void launch_kernel(const tarsia_kernel& kernel, const tarsia_launch& launch,
                   std::span<const tarsia_value> args) {
  ValueFace face;
  tarsia_value* values = nullptr;
  match(face, kernel, args, values);
  tarsia_launch placed = launch;
  if (placed.device < 0) placed.device = face.gpu();
  launch_values(kernel, placed, values);
}

tarsia_kernel_attributes attributes_of(const tarsia_kernel& described, int device) {
  const LibraryKernel& kernel = owned(described);
  tarsia_kernel_attributes found{};
  found.size = sizeof(found);
  if (device >= 0 || (kernel.runtime && cuda_device_count() > 0)) {
    const KernelOnDevice& on = on_device(kernel, device >= 0 ? device : current_device());
    const ContextScope scope(on.context);
    found.registers = function_attribute(on, k_registers);
    found.shared_bytes = function_attribute(on, k_shared_bytes);
    found.constant_bytes = function_attribute(on, k_constant_bytes);
    found.local_bytes = function_attribute(on, k_local_bytes);
    found.max_threads = function_attribute(on, k_max_threads);
    found.ptx_version = function_attribute(on, k_ptx_version);
    found.binary_version = function_attribute(on, k_binary_version);
    return found;
  }
  for (const tarsia_image& image : kernel.library->images()) {
    if (std::strcmp(image.file, described.file ? described.file : "") != 0) continue;
    const std::string arch = image.arch;
    if (!arch.starts_with("sm_")) continue;
    const auto resources =
        kernel_resources({static_cast<const char*>(image.data), image.bytes}, described.symbol);
    const int version = std::atoi(arch.c_str() + 3);
    if (!resources || version < found.binary_version) continue;
    found.registers = resources->registers;
    found.shared_bytes = resources->shared_bytes;
    found.constant_bytes = resources->constant_bytes;
    found.local_bytes = resources->local_bytes;
    found.binary_version = found.ptx_version = version;
    // 65536 registers a block, handed out by the warp of 32 threads in units of 256.
    const int warp = std::max(256, (resources->registers * 32 + 255) / 256 * 256);
    found.max_threads = std::min(1024, 65536 / warp / 4 * 4 * 32);
    if (resources->max_threads) found.max_threads = std::min(found.max_threads, resources->max_threads);
  }
  if (!found.binary_version)
    throw NotFound(std::string(kernel.display_name) + ": its library has no machine code that tells");
  return found;
}

tarsia_occupancy occupancy_of(const tarsia_kernel& described, int device, unsigned threads,
                              unsigned shared_bytes) {
  const LibraryKernel& kernel = owned(described);
  if (device < 0) device = current_device();
  const KernelOnDevice& on = on_device(kernel, device);
  const ContextScope scope(on.context);
  if (shared_bytes > on.shared.get()) allow_shared(kernel, on, device, shared_bytes);
  int blocks = 0;
  check_cuda(scope.driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(
                 &blocks, on.function, static_cast<int>(threads), shared_bytes),
             kernel.display_name);
  tarsia_occupancy found{};
  found.size = sizeof(found);
  found.blocks = static_cast<std::uint32_t>(blocks);
  found.grid = found.blocks * static_cast<std::uint32_t>(device_attribute(device, k_multiprocessors));
  found.fraction =
      double(blocks) * ((threads + 31) / 32 * 32) / device_attribute(device, k_threads_per_multiprocessor);
  return found;
}

unsigned suggested_block(const tarsia_kernel& described, int device, unsigned shared_bytes, unsigned limit) {
  const LibraryKernel& kernel = owned(described);
  if (device < 0) device = current_device();
  const KernelOnDevice& on = on_device(kernel, device);
  const ContextScope scope(on.context);
  if (shared_bytes > on.shared.get()) allow_shared(kernel, on, device, shared_bytes);
  int grid = 0, block = 0;
  check_cuda(scope.driver().cuOccupancyMaxPotentialBlockSize(&grid, &block, on.function, nullptr,
                                                             shared_bytes, static_cast<int>(limit)),
             kernel.display_name);
  return static_cast<unsigned>(block);
}

}  // namespace tarsia::registry
