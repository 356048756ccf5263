// The names, by what stands for them in device code.
#include "jit/worker/source/names/device_names.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

namespace tarsia::jit {
namespace {

struct Group {
  const char* names;  // separated by blanks
  const char* remedy;
};

constexpr Group k_std[] = {
    {"vector deque list forward_list map multimap set multiset unordered_map unordered_multimap "
     "unordered_set "
     "unordered_multiset queue priority_queue stack bitset valarray",
     "take a pointer and a size, or a std::array"},
    {"string wstring basic_string to_string string_view basic_string_view stoi stol stof stod getline",
     "texts are const char* there"},
    {"cout cerr clog cin endl ostream istream stringstream ostringstream istringstream fstream ifstream "
     "ofstream setw setprecision printf print println format",
     "printf writes"},
    {"function bind mem_fn", "take the functor as it is, by a template parameter"},
    {"atomic atomic_ref atomic_flag atomic_thread_fence",
     "use atomicAdd and its like, or cuda::atomic_ref of <cuda/atomic>"},
    {"mt19937 mt19937_64 random_device default_random_engine minstd_rand uniform_real_distribution "
     "uniform_int_distribution normal_distribution bernoulli_distribution poisson_distribution",
     "use curand_init and curand_uniform of <curand_kernel.h>"},
    {"thread jthread this_thread mutex lock_guard unique_lock scoped_lock condition_variable future promise "
     "async barrier latch counting_semaphore",
     "__syncthreads() and cooperative_groups join threads"},
    {"unique_ptr shared_ptr weak_ptr make_unique make_shared", "pointers are plain there"},
    {"chrono", "clock64() and globaltimer tell the time"},
    {"exception runtime_error invalid_argument out_of_range logic_error bad_alloc terminate",
     "nothing is thrown there; __trap() ends the kernel"},
    {"regex filesystem locale any variant visit system_error error_code", "leave it to the host"},
};

constexpr Group k_functions[] = {
    {"fprintf puts putchar fputs fwrite fflush perror stderr stdout", "printf writes"},
    {"abort exit _exit quick_exit raise", "__trap() ends the kernel"},
    {"rand srand random drand48", "curand_init and curand_uniform of <curand_kernel.h> draw numbers"},
    {"time clock_gettime gettimeofday", "clock64() and globaltimer tell the time"},
    {"usleep sleep nanosleep", ""},
};

constexpr llvm::StringLiteral k_builtins[] = {"threadIdx",
                                              "blockIdx",
                                              "blockDim",
                                              "gridDim",
                                              "warpSize",
                                              "__syncthreads",
                                              "__syncwarp",
                                              "__threadfence",
                                              "__threadfence_block",
                                              "__threadfence_system",
                                              "__shfl_sync",
                                              "__shfl_up_sync",
                                              "__shfl_down_sync",
                                              "__shfl_xor_sync",
                                              "__ballot_sync",
                                              "__any_sync",
                                              "__all_sync",
                                              "__activemask",
                                              "__ldg",
                                              "__expf",
                                              "__logf",
                                              "__sinf",
                                              "__cosf",
                                              "__powf",
                                              "__fdividef",
                                              "__fmaf_rn",
                                              "__popc",
                                              "__clz",
                                              "__ffs",
                                              "atomicAdd",
                                              "atomicSub",
                                              "atomicMax",
                                              "atomicMin",
                                              "atomicExch",
                                              "atomicCAS",
                                              "atomicAnd",
                                              "atomicOr",
                                              "atomicXor",
                                              "rsqrtf",
                                              "clock64",
                                              "printf"};

const Group* group_of(llvm::ArrayRef<Group> groups, llvm::StringRef name) {
  for (const Group& group : groups) {
    llvm::SmallVector<llvm::StringRef, 32> words;
    llvm::StringRef(group.names).split(words, ' ', -1, /*KeepEmpty=*/false);
    if (llvm::is_contained(words, name)) return &group;
  }
  return nullptr;
}

/// Whether it is named as the functions of CUDA's run time, of its driver and its libraries are. Some types
/// are, too, and end in _t.
bool is_of_cudas_host(llvm::StringRef name) {
  if (name.ends_with("_t")) return false;
  for (llvm::StringRef prefix : {"cuda", "cublas", "cufft", "cudnn", "cusparse", "cu"})
    if (llvm::StringRef rest = name; rest.consume_front(prefix) && !rest.empty() && llvm::isUpper(rest[0]))
      return true;
  return false;
}

}  // namespace

std::string host_only_remedy(llvm::StringRef name) {
  const Group* group = group_of(k_std, name);
  return group ? ("; std::" + name + " is not in device code: " + group->remedy).str() : std::string();
}

std::string host_function_remedy(llvm::StringRef name, bool is_known) {
  const Group* group = group_of(k_functions, name);
  if (!group && !is_known && !is_of_cudas_host(name)) return {};
  const bool is_object = name == "stderr" || name == "stdout";
  std::string remedy = is_object ? ("; " + name + " is the host's").str()
                                 : ("; " + name + " is a host function; device code cannot call it").str();
  if (group && *group->remedy) remedy += std::string(": ") + group->remedy;
  return remedy;
}

bool is_device_function(llvm::StringRef name) {
  static constexpr llvm::StringLiteral k_values[] = {"threadIdx", "blockIdx", "blockDim", "gridDim",
                                                     "warpSize"};
  return llvm::is_contained(k_builtins, name) && !llvm::is_contained(k_values, name) && name != "printf";
}

std::string near_builtin(llvm::StringRef name) {
  llvm::StringRef found;
  unsigned least = static_cast<unsigned>(name.size()) / 3 + 1;
  for (llvm::StringRef one : k_builtins) {
    unsigned edits = name.edit_distance(one, /*AllowReplacements=*/true, least);
    if (name.equals_insensitive(one)) edits = 1;
    if (edits >= least) continue;
    least = edits;
    found = one;
  }
  return found.empty() ? std::string() : ("; did you mean '" + found + "'?").str();
}

std::string incomplete_cuda_type_remedy(llvm::StringRef message) {
  static constexpr const char* k_types[] = {"array",   "tuple", "optional", "complex", "span",
                                            "variant", "pair",  "mdspan",   "bitset",  "atomic"};
  const llvm::StringRef type = message.split('"').second.split('"').first;
  if (!message.starts_with("incomplete type \"cuda::")) return {};
  llvm::StringRef name = type.take_until([](char c) { return c == '<'; });
  name = name.substr(name.rfind("::") + 2);
  if (!llvm::is_contained(k_types, name)) return {};
  if (name == "pair") name = "utility";
  return ("; #include <cuda/std/" + name + ">, where it is defined").str();
}

}  // namespace tarsia::jit
