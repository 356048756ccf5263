// Which header declares a name: tables of what people use most. A name that is missing in them costs a hint,
// and nothing else.
#include "jit/worker/source/names/headers_of_names.h"

#include "jit/worker/source/names/newcomers.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace tarsia::jit {
namespace {

struct Header {
  const char* name;
  const char* names;  // separated by blanks
};

// Names of namespace std. The first header that has a name is given, unless the text includes another one.
constexpr Header k_of_std[] = {
    {"vector", "vector erase erase_if"},
    {"string",
     "string wstring u8string u16string u32string basic_string to_string stoi stol stoll stoul stoull stof "
     "stod "
     "getline char_traits erase erase_if"},
    {"string_view", "string_view basic_string_view"},
    {"array", "array to_array"},
    {"map", "map multimap erase_if"},
    {"unordered_map", "unordered_map unordered_multimap erase_if"},
    {"set", "set multiset erase_if"},
    {"unordered_set", "unordered_set unordered_multiset erase_if"},
    {"deque", "deque erase erase_if"},
    {"list", "list erase erase_if"},
    {"forward_list", "forward_list erase erase_if"},
    {"queue", "queue priority_queue"},
    {"stack", "stack"},
    {"span", "span dynamic_extent"},
    {"bitset", "bitset"},
    {"utility",
     "pair make_pair move forward swap exchange declval index_sequence make_index_sequence integer_sequence "
     "index_sequence_for in_place as_const to_underlying unreachable cmp_less cmp_equal "
     "piecewise_construct"},
    {"tuple",
     "tuple make_tuple tie get apply tuple_size tuple_element make_from_tuple tuple_cat forward_as_tuple"},
    {"optional", "optional nullopt make_optional"},
    {"variant", "variant visit monostate holds_alternative get_if"},
    {"any", "any any_cast make_any"},
    {"memory",
     "make_unique_for_overwrite allocate_shared default_delete dynamic_pointer_cast static_pointer_cast "
     "const_pointer_cast owner_less uninitialized_copy uninitialized_fill uninitialized_move destroy_at "
     "construct_at pointer_traits to_address assume_aligned align bad_weak_ptr unique_ptr shared_ptr "
     "weak_ptr make_unique make_shared allocator addressof enable_shared_from_this "
     "allocator_traits"},
    {"functional",
     "placeholders bind_front identity negate modulus logical_and logical_or logical_not bit_and bit_or "
     "bit_xor not_equal_to greater_equal less_equal not_fn function bind ref cref hash plus minus multiplies "
     "divides less greater equal_to reference_wrapper "
     "invoke mem_fn invoke_r move_only_function"},
    {"algorithm",
     "sort stable_sort partial_sort nth_element min max minmax clamp fill fill_n copy copy_n copy_if "
     "move_backward "
     "transform for_each find find_if count count_if any_of all_of none_of reverse rotate shuffle unique "
     "remove remove_if replace min_element max_element minmax_element lower_bound upper_bound binary_search "
     "equal_range equal generate generate_n partition merge is_sorted sample search find_if_not "
     "find_first_of "
     "adjacent_find mismatch swap_ranges iter_swap replace_if replace_copy reverse_copy rotate_copy "
     "unique_copy remove_copy_if copy_backward partition_copy partition_point stable_partition "
     "is_partitioned inplace_merge includes set_union set_intersection set_difference "
     "set_symmetric_difference push_heap pop_heap make_heap sort_heap is_heap is_permutation "
     "next_permutation prev_permutation lexicographical_compare is_sorted_until for_each_n "
     "partial_sort_copy shift_left shift_right find_end search_n"},
    {"numeric",
     "accumulate iota inner_product reduce transform_reduce partial_sum inclusive_scan exclusive_scan gcd "
     "lcm "
     "midpoint adjacent_difference"},
    {"cmath",
     "sqrt exp log pow sin cos tan asin acos atan atan2 sinh cosh tanh fabs floor ceil round lround trunc "
     "fmod "
     "erf erfc tgamma lgamma log2 log10 log1p expm1 exp2 cbrt hypot fma isnan isinf isfinite fmin fmax "
     "copysign "
     "nearbyint rint lerp remainder ilogb ldexp frexp modf scalbn logb nextafter fdim signbit isnormal "
     "fpclassify asinh acosh atanh llround lrint remquo beta riemann_zeta cyl_bessel_i cyl_bessel_j "
     "cyl_bessel_k cyl_neumann sph_bessel sph_neumann sph_legendre legendre assoc_legendre laguerre "
     "assoc_laguerre hermite expint ellint_1 ellint_2 ellint_3 comp_ellint_1 comp_ellint_2 comp_ellint_3"},
    {"complex", "complex norm conj polar real imag arg proj"},
    {"random",
     "mt19937 mt19937_64 random_device uniform_real_distribution uniform_int_distribution "
     "normal_distribution "
     "bernoulli_distribution default_random_engine seed_seq minstd_rand minstd_rand0 ranlux24 ranlux48 "
     "knuth_b "
     "poisson_distribution exponential_distribution gamma_distribution binomial_distribution "
     "geometric_distribution discrete_distribution lognormal_distribution cauchy_distribution "
     "chi_squared_distribution student_t_distribution weibull_distribution generate_canonical"},
    {"chrono", "chrono"},
    {"thread", "thread jthread this_thread"},
    {"stop_token", "stop_token stop_source stop_callback"},
    {"latch", "latch"},
    {"barrier", "barrier"},
    {"semaphore", "counting_semaphore binary_semaphore"},
    {"mutex",
     "mutex lock_guard unique_lock scoped_lock recursive_mutex once_flag call_once timed_mutex defer_lock "
     "adopt_lock try_to_lock recursive_timed_mutex"},
    {"shared_mutex", "shared_mutex shared_lock shared_timed_mutex"},
    {"condition_variable", "condition_variable condition_variable_any"},
    {"atomic",
     "atomic atomic_flag atomic_ref memory_order memory_order_relaxed memory_order_acquire "
     "memory_order_release "
     "atomic_thread_fence kill_dependency"},
    {"future", "future promise async packaged_task launch shared_future"},
    {"iostream", "cout cerr cin clog endl wcout wcerr wcin wclog iostream"},
    {"ostream", "ostream flush ends endl"},
    {"istream", "istream ws iostream"},
    {"sstream", "stringstream ostringstream istringstream"},
    {"fstream", "fstream ifstream ofstream"},
    {"iomanip", "setw setprecision setfill setbase put_time get_time quoted setiosflags put_money"},
    {"ios",
     "fixed scientific hexfloat hex dec oct boolalpha noboolalpha showpos left right ios_base ios "
     "streamsize streampos"},
    {"iosfwd", "streamoff"},
    {"streambuf", "streambuf basic_streambuf"},
    {"spanstream", "spanstream ispanstream ospanstream"},
    {"syncstream", "osyncstream"},
    {"locale", "locale isalpha toupper"},
    {"codecvt", "codecvt_utf8"},
    {"compare", "strong_ordering weak_ordering partial_ordering compare_three_way"},
    {"coroutine", "coroutine_handle suspend_always suspend_never coroutine_traits"},
    {"memory_resource", "pmr"},
    {"scoped_allocator", "scoped_allocator_adaptor"},
    {"valarray", "valarray slice gslice"},
    {"ratio", "ratio ratio_add micro milli kilo mega giga nano"},
    {"stdexcept",
     "runtime_error invalid_argument out_of_range logic_error domain_error length_error overflow_error "
     "range_error underflow_error"},
    {"exception", "exception terminate exception_ptr current_exception rethrow_exception"},
    {"system_error", "error_code system_error errc"},
    {"limits", "numeric_limits"},
    {"type_traits",
     "is_same is_same_v enable_if enable_if_t conditional conditional_t decay_t remove_reference_t "
     "remove_cv_t "
     "remove_cvref_t is_integral_v is_floating_point_v is_arithmetic_v is_pointer_v is_base_of_v is_void_v "
     "common_type_t invoke_result_t true_type false_type integral_constant is_constant_evaluated "
     "is_trivially_copyable_v make_unsigned_t underlying_type_t void_t is_integral is_floating_point "
     "is_arithmetic is_pointer is_base_of is_void is_convertible is_convertible_v is_const_v is_class_v "
     "is_enum_v is_array_v is_function_v is_signed_v is_unsigned_v is_reference_v is_constructible_v "
     "is_default_constructible_v is_copy_constructible_v is_move_constructible_v is_trivial_v "
     "is_standard_layout_v is_empty_v is_final_v is_abstract_v is_invocable_v is_invocable_r_v is_unsigned "
     "is_signed is_const is_trivially_copyable add_pointer_t add_const_t add_lvalue_reference_t "
     "remove_pointer_t remove_const_t remove_extent_t make_signed_t bool_constant negation_v conjunction_v "
     "disjunction_v conjunction disjunction negation common_type type_identity_t type_identity rank_v "
     "extent_v has_unique_object_representations_v alignment_of_v remove_reference remove_cv decay "
     "remove_pointer is_enum is_class"},
    {"concepts",
     "integral floating_point same_as convertible_to invocable derived_from signed_integral "
     "unsigned_integral common_with assignable_from swappable destructible constructible_from "
     "default_initializable move_constructible copy_constructible equality_comparable totally_ordered "
     "movable copyable semiregular regular predicate relation regular_invocable"},
    {"iterator",
     "back_inserter distance advance next prev begin end size data iterator_traits reverse_iterator "
     "istream_iterator ostream_iterator front_inserter inserter make_reverse_iterator "
     "make_move_iterator move_iterator rbegin rend cbegin cend ssize empty random_access_iterator "
     "forward_iterator input_iterator bidirectional_iterator contiguous_iterator iter_value_t "
     "istreambuf_iterator ostreambuf_iterator random_access_iterator_tag input_iterator_tag "
     "forward_iterator_tag counted_iterator default_sentinel default_sentinel_t unreachable_sentinel "
     "sentinel_for projected"},
    {"ranges",
     "ranges views ranges::range ranges::subrange ranges::view ranges::view_interface ranges::sized_range "
     "ranges::input_range ranges::output_range ranges::forward_range ranges::bidirectional_range "
     "ranges::random_access_range ranges::contiguous_range ranges::viewable_range ranges::common_range "
     "ranges::borrowed_range ranges::range_value_t ranges::range_reference_t ranges::range_difference_t "
     "ranges::iterator_t ranges::sentinel_t ranges::iota_view ranges::ref_view ranges::dangling"},
    {"bit",
     "bit_cast popcount countl_zero countl_one countr_zero countr_one has_single_bit bit_ceil bit_floor "
     "bit_width endian rotl rotr byteswap"},
    {"initializer_list", "initializer_list"},
    {"regex", "regex smatch regex_match regex_search regex_replace"},
    {"filesystem", "filesystem"},
    {"charconv", "from_chars to_chars"},
    {"numbers", "numbers"},
    {"source_location", "source_location"},
    {"typeinfo", "type_info bad_cast"},
    {"typeindex", "type_index"},
    {"new",
     "bad_alloc align_val_t nothrow launder hardware_destructive_interference_size "
     "hardware_constructive_interference_size"},
    {"cstddef", "byte nullptr_t max_align_t ptrdiff_t"},
    {"execution", "execution"},
    {"expected", "expected unexpected"},
    {"format", "format format_to vformat make_format_args formatter"},
    {"print", "print println"},
    {"generator", "generator"},
    {"mdspan", "mdspan extents"},
    {"flat_map", "flat_map"},
    {"flat_set", "flat_set"},
};

// Names of C's library, which its headers declare outside of std too.
constexpr Header k_of_c[] = {
    {"cstdio",
     "printf fprintf sprintf snprintf puts putchar fputs scanf sscanf fopen fclose fread fwrite fflush fgets "
     "getchar "
     "perror FILE stdout stderr stdin EOF vprintf vsnprintf BUFSIZ"},
    {"cmath",
     "sqrt sqrtf exp expf log logf pow powf sin sinf cos cosf tan tanf tanh tanhf asin acos atan atan2 "
     "atan2f sinh "
     "cosh fabs fabsf floor floorf ceil ceilf round roundf trunc truncf fmod fmodf erf erff erfc tgamma "
     "lgamma log2 "
     "log2f log10 log1p log1pf expm1 expm1f exp2 exp2f cbrt hypot fma fmaf fmin fmax fminf fmaxf copysign "
     "rint rintf "
     "nearbyint lround isnan isinf isfinite INFINITY NAN HUGE_VAL M_PI M_E M_SQRT2 M_PI_2 M_LN2 "
     "nan nanf float_t double_t"},
    {"cstdlib",
     "malloc calloc realloc free abort exit atexit getenv rand srand RAND_MAX qsort strtol strtod strtof "
     "strtoull "
     "strtoll atoi atof abs aligned_alloc EXIT_SUCCESS EXIT_FAILURE labs llabs div ldiv lldiv div_t mbstowcs "
     "wcstombs posix_memalign"},
    {"cstring",
     "memcpy memset memmove memcmp memchr strlen strcmp strncmp strcpy strncpy strcat strchr strrchr strstr "
     "strerror strdup"},
    {"cstdint",
     "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t intmax_t "
     "uintmax_t "
     "INT8_MAX INT16_MAX INT32_MAX INT64_MAX UINT8_MAX UINT16_MAX UINT32_MAX UINT64_MAX INT32_MIN INT64_MIN "
     "SIZE_MAX int_fast32_t uint_fast32_t"},
    {"cstddef", "size_t ptrdiff_t NULL offsetof max_align_t"},
    {"climits",
     "INT_MAX INT_MIN LONG_MAX LONG_MIN UINT_MAX ULONG_MAX LLONG_MAX LLONG_MIN CHAR_BIT SHRT_MAX CHAR_MAX "
     "UCHAR_MAX PATH_MAX"},
    {"cfloat", "FLT_MAX FLT_MIN FLT_EPSILON DBL_MAX DBL_MIN DBL_EPSILON FLT_DIG DBL_DIG"},
    {"cassert", "assert static_assert"},
    {"cctype", "isalpha isdigit isspace isalnum isupper islower toupper tolower isxdigit ispunct"},
    {"ctime",
     "time clock time_t clock_t CLOCKS_PER_SEC clock_gettime timespec tm localtime strftime gmtime "
     "CLOCK_MONOTONIC CLOCK_REALTIME clockid_t nanosleep"},
    {"cerrno", "errno EINVAL ENOENT EINTR ENOMEM ERANGE EAGAIN"},
    {"cstdarg", "va_list va_start va_end va_arg"},
    {"csignal", "signal raise SIGINT SIGTERM SIGSEGV"},
    {"cinttypes", "PRId64 PRIu64 PRIx64 PRId32 PRIu32 PRIx32 PRIdPTR strtoimax"},
    {"cfenv",
     "fesetround fegetround feclearexcept fetestexcept FE_TONEAREST FE_DIVBYZERO FE_ALL_EXCEPT fenv_t "
     "fexcept_t"},
    {"clocale", "setlocale localeconv LC_ALL LC_NUMERIC"},
    {"csetjmp", "jmp_buf setjmp longjmp"},
    {"cwchar", "wcslen wcscpy wprintf mbstate_t wint_t WEOF"},
    {"cwctype", "iswalpha iswdigit iswspace towupper towlower"},
};

// Names outside of std whose headers have no other form in C++.
constexpr Header k_outside[] = {
    {"tarsia/op.h",
     "TARSIA_OP TARSIA_EXPORT TARSIA_DISPATCH TARSIA_GRID_LOOP TARSIA_HOST_DEVICE TARSIA_IMPLEMENTATION"},
    {"tarsia/elementwise.h", "TARSIA_ELEMENTWISE"},
    {"omp.h", "omp_get_max_threads omp_get_num_threads omp_get_thread_num omp_set_num_threads omp_get_wtime"},
    {"unistd.h", "usleep sleep getpid sysconf fork read write close"},
    {"fcntl.h", "open O_RDONLY O_WRONLY O_RDWR O_CREAT"},
    {"sys/mman.h",
     "mmap munmap mprotect PROT_READ PROT_WRITE MAP_PRIVATE MAP_ANONYMOUS MAP_SHARED MAP_FAILED"},
    {"sys/stat.h", "stat fstat lstat mkdir"},
    {"sys/time.h", "gettimeofday timeval"},
    {"sys/types.h", "ssize_t off_t pid_t"},
    {"dlfcn.h", "dlopen dlsym dlclose dlerror RTLD_NOW RTLD_LAZY RTLD_GLOBAL RTLD_LOCAL"},
    {"semaphore.h", "sem_t sem_init sem_wait sem_post sem_destroy"},
    {"alloca.h", "alloca"},
    {"pthread.h", "pthread_create pthread_join pthread_mutex_t pthread_t pthread_mutex_lock"},
    {"curand_kernel.h",
     "curandState curandState_t curandStateXORWOW_t curandStatePhilox4_32_10_t curandStateMRG32k3a_t "
     "curandStateSobol32_t curand_init curand curand4 curand_uniform curand_uniform4 curand_uniform_double "
     "curand_normal curand_normal2 curand_normal4 curand_normal_double curand_log_normal curand_poisson "
     "skipahead skipahead_sequence"},
    {"curand.h", "curandGenerator_t curandStatus_t curandCreateGenerator curandGenerateUniform"},
    {"cublas_v2.h", "cublasHandle_t cublasStatus_t cublasCreate cublasSgemm cublasDgemm cublasGemmEx"},
    {"cublasLt.h", "cublasLtHandle_t cublasLtMatmul"},
    {"cufft.h", "cufftHandle cufftComplex cufftPlan1d cufftExecC2C"},
    {"cusparse.h", "cusparseHandle_t cusparseCreate"},
    {"cusolverDn.h", "cusolverDnHandle_t cusolverDnCreate"},
    {"cudnn.h", "cudnnHandle_t cudnnCreate"},
    {"nccl.h", "ncclComm_t ncclAllReduce"},
    {"cuda.h",
     "CUdevice CUcontext CUmodule CUfunction CUdeviceptr CUresult cuInit cuLaunchKernel CUtensorMap"},
    {"cuda_fp8.h", "__nv_fp8_e4m3 __nv_fp8_e5m2 __nv_fp8x2_e4m3 __nv_fp8x4_e4m3 __nv_fp8_storage_t"},
    {"cuda_fp4.h", "__nv_fp4_e2m1 __nv_fp4x2_e2m1"},
    {"cuComplex.h", "cuComplex cuFloatComplex cuDoubleComplex make_cuComplex cuCmulf"},
    {"cuda_pipeline.h", "__pipeline_memcpy_async __pipeline_commit __pipeline_wait_prior"},
    {"cuda_fp16.h", "__half half __half2 half2 __float2half __half2float"},
    {"cuda_bf16.h", "__nv_bfloat16 nv_bfloat16 __nv_bfloat162 __float2bfloat16 __bfloat162float"},
};

// How the names of the CPU's own functions and types begin. All are in <immintrin.h>.
constexpr llvm::StringLiteral k_intrinsics[] = {"_mm_",   "_mm256_", "_mm512_", "__m128",
                                                "__m256", "__m512",  "__mmask"};

// Names of other namespaces. Where one header has a whole namespace, that is what it is said to have if the
// name is not among these: it may be misspelt.
struct Namespace {
  const char* name;
  const char* header;  // null: only names of the table are known
  llvm::ArrayRef<Header> headers;
};
constexpr Header k_of_tarsia[] = {
    {"tarsia/op.h",
     "Tensor StridedTensor Context BindInfo Stream Device DType Dims Meta Request Sparse InnerOp RandomRange "
     "Message TypeError ValueError IndexError OpDefinition cpu gpu never blocks assign dtype bytes_of "
     "cpu_device gpu_device is_gpu device_count check_interrupt interrupted empty empty_like unify "
     "unify_dtype reserve_random"},
    {"tarsia/tarsia.h", "Library Options Graph"},
    {"tarsia/repl.h", "repl"},
};
constexpr Header k_of_cub[] = {
    {"cub/cub.cuh",
     "BlockReduce BlockScan BlockLoad BlockStore BlockRadixSort BlockMergeSort BlockExchange BlockHistogram "
     "BlockDiscontinuity BlockShuffle WarpReduce WarpScan WarpLoad WarpStore WarpExchange WarpMergeSort "
     "DeviceReduce DeviceScan DeviceSelect DevicePartition DeviceRadixSort DeviceMergeSort "
     "DeviceSegmentedReduce DeviceSegmentedRadixSort DeviceSegmentedSort DeviceHistogram "
     "DeviceRunLengthEncode DeviceFor DeviceCopy DeviceMemcpy DeviceTransform DoubleBuffer KeyValuePair"},
};
constexpr Header k_nvcuda[] = {{"mma.h", "wmma"}};
constexpr Header k_cooperative_groups[] = {
    {"cooperative_groups.h",
     "this_thread_block this_grid this_cluster this_thread tiled_partition coalesced_threads "
     "labeled_partition binary_partition thread_block thread_group thread_block_tile grid_group "
     "cluster_group coalesced_group sync thread_rank group_size"},
    {"cooperative_groups/reduce.h", "reduce plus less greater bit_and bit_or"},
    {"cooperative_groups/scan.h", "inclusive_scan exclusive_scan"},
    {"cooperative_groups/memcpy_async.h", "memcpy_async wait wait_prior"},
};
constexpr Header k_of_cuda[] = {
    {"cuda/pipeline", "pipeline make_pipeline pipeline_shared_state pipeline_role"},
    {"cuda/barrier", "barrier"},
    {"cuda/atomic", "atomic atomic_ref thread_scope_device thread_scope_block thread_scope_system"},
    {"cuda/semaphore", "counting_semaphore binary_semaphore"},
    {"cuda/annotated_ptr", "annotated_ptr access_property"},
    {"cuda/functional", "proclaim_return_type"},
};
constexpr Header k_of_thrust[] = {
    {"thrust/device_vector.h", "device_vector"},
    {"thrust/host_vector.h", "host_vector"},
    {"thrust/device_ptr.h", "device_ptr device_pointer_cast raw_pointer_cast"},
    {"thrust/sort.h", "sort stable_sort sort_by_key stable_sort_by_key is_sorted"},
    {"thrust/reduce.h", "reduce reduce_by_key"},
    {"thrust/transform.h", "transform transform_if"},
    {"thrust/transform_reduce.h", "transform_reduce"},
    {"thrust/scan.h", "inclusive_scan exclusive_scan inclusive_scan_by_key exclusive_scan_by_key"},
    {"thrust/copy.h", "copy copy_if copy_n"},
    {"thrust/fill.h", "fill fill_n"},
    {"thrust/sequence.h", "sequence"},
    {"thrust/for_each.h", "for_each for_each_n"},
    {"thrust/unique.h", "unique unique_by_key unique_copy"},
    {"thrust/remove.h", "remove remove_if remove_copy_if"},
    {"thrust/count.h", "count count_if"},
    {"thrust/extrema.h", "max_element min_element minmax_element"},
    {"thrust/binary_search.h", "lower_bound upper_bound binary_search"},
    {"thrust/gather.h", "gather gather_if"},
    {"thrust/scatter.h", "scatter scatter_if"},
    {"thrust/inner_product.h", "inner_product"},
    {"thrust/functional.h", "plus minus multiplies maximum minimum less greater"},
    {"thrust/tuple.h", "tuple make_tuple get"},
    {"thrust/pair.h", "pair make_pair"},
    {"thrust/complex.h", "complex"},
    {"thrust/execution_policy.h", "device host seq"},
    {"thrust/system/cuda/execution_policy.h", "cuda"},
    {"thrust/iterator/counting_iterator.h", "counting_iterator make_counting_iterator"},
    {"thrust/iterator/zip_iterator.h", "zip_iterator make_zip_iterator"},
    {"thrust/iterator/transform_iterator.h", "transform_iterator make_transform_iterator"},
    {"thrust/iterator/constant_iterator.h", "constant_iterator make_constant_iterator"},
};
constexpr Namespace k_known_namespaces[] = {
    {"tarsia", nullptr, k_of_tarsia}, {"cub", "cub/cub.cuh", k_of_cub},
    {"nvcuda", "mma.h", k_nvcuda},    {"cooperative_groups", "cooperative_groups.h", k_cooperative_groups},
    {"cuda", nullptr, k_of_cuda},     {"thrust", nullptr, k_of_thrust},
};

llvm::StringRef first_header_of(llvm::ArrayRef<Header> table, llvm::StringRef name) {
  for (const Header& header : table)
    if (holds_name(header.names, name)) return header.name;
  return {};
}

}  // namespace

bool holds_name(llvm::StringRef names, llvm::StringRef name) {
  llvm::SmallVector<llvm::StringRef, 64> words;
  names.split(words, ' ', -1, /*KeepEmpty=*/false);
  return llvm::is_contained(words, name);
}

llvm::StringRef std_header_of(llvm::StringRef name, llvm::StringRef text) {
  for (const Header& header : k_of_std)
    if (holds_name(header.names, name) && jit::includes(text, llvm::StringRef(header.name)))
      return header.name;
  return first_header_of(k_of_std, name);
}

llvm::StringRef c_header_of(llvm::StringRef name) {
  return first_header_of(k_of_c, name);
}

llvm::StringRef intrinsic_prefix(llvm::StringRef name) {
  for (const llvm::StringRef begin : k_intrinsics)
    if (name.starts_with(begin)) return begin;
  return {};
}

llvm::StringRef other_header_of(llvm::StringRef name) {
  return intrinsic_prefix(name).empty() ? first_header_of(k_outside, name) : llvm::StringRef("immintrin.h");
}

NamespaceHeader header_within(llvm::StringRef scope, llvm::StringRef member) {
  for (const Namespace& one : k_known_namespaces) {
    if (scope != one.name) continue;
    if (const llvm::StringRef header = first_header_of(one.headers, member); !header.empty())
      return {header, true};
    return {one.header ? one.header : llvm::StringRef(), false};
  }
  return {};
}

}  // namespace tarsia::jit
