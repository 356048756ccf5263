// The names, by the headers that declare them.
//
// The tables hold what people use most. A name that is missing in them costs a hint, and nothing else.
#include "jit/worker/source/missing_names.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "jit/standard_headers.h"
#include "jit/worker/source/names/device_names.h"
#include "jit/worker/source/names/newcomers.h"
#include "jit/worker/source/names/words.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

namespace tarsia::jit {
namespace {

struct StandardHeader {
  const char* name;
  const char* names;  // separated by blanks
};

// Names of namespace std. The first header that has a name is given.
constexpr StandardHeader k_std[] = {
    {"vector", "vector"},
    {"string",
     "string wstring u8string u16string u32string basic_string to_string stoi stol stoll stoul stoull stof "
     "stod "
     "getline char_traits"},
    {"string_view", "string_view basic_string_view"},
    {"array", "array to_array"},
    {"map", "map multimap"},
    {"unordered_map", "unordered_map unordered_multimap"},
    {"set", "set multiset"},
    {"unordered_set", "unordered_set unordered_multiset"},
    {"deque", "deque"},
    {"list", "list"},
    {"forward_list", "forward_list"},
    {"queue", "queue priority_queue"},
    {"stack", "stack"},
    {"span", "span dynamic_extent"},
    {"bitset", "bitset"},
    {"utility",
     "pair make_pair move forward swap exchange declval index_sequence make_index_sequence integer_sequence "
     "index_sequence_for in_place"},
    {"tuple", "tuple make_tuple tie get apply tuple_size tuple_element"},
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
     "invoke mem_fn"},
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
     "fpclassify asinh acosh atanh llround lrint remquo beta riemann_zeta"},
    {"complex", "complex"},
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
    {"mutex", "mutex lock_guard unique_lock scoped_lock recursive_mutex once_flag call_once timed_mutex"},
    {"shared_mutex", "shared_mutex shared_lock"},
    {"condition_variable", "condition_variable condition_variable_any"},
    {"atomic",
     "atomic atomic_flag atomic_ref memory_order memory_order_relaxed memory_order_acquire "
     "memory_order_release "
     "atomic_thread_fence"},
    {"future", "future promise async packaged_task launch shared_future"},
    {"iostream", "cout cerr cin clog endl"},
    {"ostream", "ostream"},
    {"istream", "istream"},
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
     "forward_iterator_tag"},
    {"ranges", "ranges views"},
    {"bit", "bit_cast popcount countl_zero countr_zero has_single_bit bit_ceil bit_width endian rotl rotr"},
    {"initializer_list", "initializer_list"},
    {"regex", "regex smatch regex_match regex_search regex_replace"},
    {"filesystem", "filesystem"},
    {"charconv", "from_chars to_chars"},
    {"numbers", "numbers"},
    {"source_location", "source_location"},
    {"typeinfo", "type_info bad_cast"},
    {"typeindex", "type_index"},
    {"new", "bad_alloc align_val_t nothrow launder"},
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
constexpr StandardHeader k_c[] = {
    {"cstdio",
     "printf fprintf sprintf snprintf puts putchar fputs scanf sscanf fopen fclose fread fwrite fflush fgets "
     "getchar "
     "perror FILE stdout stderr stdin EOF vprintf vsnprintf"},
    {"cmath",
     "sqrt sqrtf exp expf log logf pow powf sin sinf cos cosf tan tanf tanh tanhf asin acos atan atan2 "
     "atan2f sinh "
     "cosh fabs fabsf floor floorf ceil ceilf round roundf trunc truncf fmod fmodf erf erff erfc tgamma "
     "lgamma log2 "
     "log2f log10 log1p log1pf expm1 expm1f exp2 exp2f cbrt hypot fma fmaf fmin fmax fminf fmaxf copysign "
     "rint rintf "
     "nearbyint lround isnan isinf isfinite INFINITY NAN HUGE_VAL M_PI M_E M_SQRT2 M_PI_2 M_LN2"},
    {"cstdlib",
     "malloc calloc realloc free abort exit atexit getenv rand srand RAND_MAX qsort strtol strtod strtof "
     "strtoull "
     "strtoll atoi atof abs aligned_alloc EXIT_SUCCESS EXIT_FAILURE"},
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
     "UCHAR_MAX"},
    {"cfloat", "FLT_MAX FLT_MIN FLT_EPSILON DBL_MAX DBL_MIN DBL_EPSILON FLT_DIG DBL_DIG"},
    {"cassert", "assert static_assert"},
    {"cctype", "isalpha isdigit isspace isalnum isupper islower toupper tolower isxdigit ispunct"},
    {"ctime", "time clock time_t clock_t CLOCKS_PER_SEC clock_gettime timespec tm localtime strftime gmtime"},
    {"cerrno", "errno EINVAL ENOENT EINTR ENOMEM ERANGE EAGAIN"},
    {"cstdarg", "va_list va_start va_end va_arg"},
    {"csignal", "signal raise SIGINT SIGTERM SIGSEGV"},
    {"cinttypes", "PRId64 PRIu64 PRIx64 PRId32 PRIu32 PRIx32 PRIdPTR strtoimax"},
    {"cfenv", "fesetround fegetround feclearexcept fetestexcept FE_TONEAREST FE_DIVBYZERO FE_ALL_EXCEPT"},
    {"clocale", "setlocale localeconv LC_ALL LC_NUMERIC"},
    {"csetjmp", "jmp_buf setjmp longjmp"},
    {"cwchar", "wcslen wcscpy wprintf mbstate_t wint_t WEOF"},
    {"cwctype", "iswalpha iswdigit iswspace towupper towlower"},
};

// Names outside of std whose headers have no other form in C++.
constexpr StandardHeader k_others[] = {
    {"tarsia/elementwise.h", "TARSIA_ELEMENTWISE"},
    {"tarsia/gtest.h", "EXPECT_OP_HOLDS"},
    {"omp.h", "omp_get_max_threads omp_get_num_threads omp_get_thread_num omp_set_num_threads omp_get_wtime"},
    {"unistd.h", "usleep sleep getpid sysconf fork read write close"},
    {"pthread.h", "pthread_create pthread_join pthread_mutex_t pthread_t pthread_mutex_lock"},
    {"immintrin.h",
     "__m128 __m256 __m512 __m128i __m256i __m512i __m128d __m256d _mm_loadu_ps _mm256_loadu_ps "
     "_mm512_loadu_ps _mm256_set1_ps _mm_set1_ps _mm_malloc _mm_free _mm_prefetch"},
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

// Names of other namespaces, and the namespaces themselves where one header has all of them.
struct Namespace {
  const char* name;
  const char* header;  // null: only names of the table are known
  llvm::ArrayRef<StandardHeader> headers;
};
constexpr StandardHeader k_cooperative_groups[] = {
    {"cooperative_groups/reduce.h", "reduce plus less greater bit_and bit_or"},
    {"cooperative_groups/scan.h", "inclusive_scan exclusive_scan"},
    {"cooperative_groups/memcpy_async.h", "memcpy_async wait wait_prior"},
};
constexpr StandardHeader k_cuda[] = {
    {"cuda/pipeline", "pipeline make_pipeline pipeline_shared_state pipeline_role"},
    {"cuda/barrier", "barrier"},
    {"cuda/atomic", "atomic atomic_ref thread_scope_device thread_scope_block thread_scope_system"},
    {"cuda/semaphore", "counting_semaphore binary_semaphore"},
    {"cuda/annotated_ptr", "annotated_ptr access_property"},
    {"cuda/functional", "proclaim_return_type"},
};
constexpr StandardHeader k_thrust[] = {
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
constexpr Namespace k_namespaces[] = {
    {"tarsia", "tarsia/op.h", {}}, {"cub", "cub/cub.cuh", {}},
    {"nvcuda", "mma.h", {}},       {"cooperative_groups", "cooperative_groups.h", k_cooperative_groups},
    {"cuda", nullptr, k_cuda},     {"thrust", nullptr, k_thrust},
};

bool holds(llvm::StringRef names, llvm::StringRef name) {
  llvm::SmallVector<llvm::StringRef, 64> words;
  names.split(words, ' ', -1, /*KeepEmpty=*/false);
  return llvm::is_contained(words, name);
}

llvm::StringRef header_of(llvm::ArrayRef<StandardHeader> table, llvm::StringRef name) {
  for (const StandardHeader& header : table)
    if (holds(header.names, name)) return header.name;
  return {};
}

/// How Clang's guess at a misspelt name begins.
constexpr llvm::StringLiteral k_guess = "; did you mean '";

llvm::StringRef word_at(llvm::StringRef& text) {
  text = text.ltrim();
  const llvm::StringRef word = text.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
  text = text.drop_front(word.size());
  return word;
}

/// The version of GNU's C++ library whose headers Tarsia brings along.
constexpr llvm::StringLiteral k_own_library = "GCC 12's";

/// The standard that has a name such as "std::ranges::sort"; or empty.
llvm::StringRef standard_of_name(llvm::StringRef name) {
  if (!name.consume_front("std::")) return {};
  const llvm::StringRef standard = standard_of(name);
  return standard.empty() ? standard_of(name.split("::").first) : standard;
}

/// What to say of a name whose header is included already.
std::string newer_standard(llvm::StringRef what) {
  const llvm::StringRef standard = standard_of_name(what);
  return standard.empty() ? std::string() : ("; " + what + " needs std=\"" + standard + "\" or later").str();
}

std::string with_include(llvm::StringRef header, llvm::StringRef what, const Compiled& how,
                         llvm::StringRef text) {
  if (std::string lacking = lacking_header_remedy(header, how.system_headers); !lacking.empty())
    return ("; " + what + " is in <" + header + ">, ").str() + lacking;
  std::string name = header.str();
  if (includes(text, header) || (header.starts_with("c") && includes(text, header.drop_front().str() + ".h")))
    return newer_standard(what);
  if (how.is_c && header.starts_with("c") && is_standard_header(name.substr(1) + ".h"))
    name = name.substr(1) + ".h";
  const llvm::StringRef standard = how.is_c ? llvm::StringRef() : standard_of_name(what);
  return "; #include <" + name + ">, where " + what.str() + " is" +
         (is_newer(standard, how.standard) ? ", with std=\"" + standard.str() + "\" or later"
                                           : std::string());
}

/// The remedy for `scope`::`member`, where nothing of the namespace is known, or that member is not.
std::string scoped_remedy(llvm::StringRef scope, llvm::StringRef member, const Compiled& how,
                          llvm::StringRef text) {
  const std::string what = member.empty() ? scope.str() : (scope + "::" + member).str();
  if (scope.starts_with("std::")) {  // such as std::ranges, whose algorithms are where those of std are
    const llvm::StringRef part = scope.drop_front(5),
                          header = header_of(k_std, part == "ranges" ? member : part);
    return header.empty() ? std::string() : with_include(header, what, how, text);
  }
  if (scope == "std") {
    llvm::StringRef header = header_of(k_std, member);
    if (header.empty()) header = header_of(k_c, member);
    return header.empty() ? std::string() : with_include(header, what, how, text);
  }
  for (const Namespace& one : k_namespaces) {
    if (scope != one.name) continue;
    llvm::StringRef header = header_of(one.headers, member);
    if (header.empty() && one.header) header = one.header;
    return header.empty() ? std::string() : with_include(header, what, how, text);
  }
  return {};
}

/// "scope::member" at the start of a text; the member is empty if there is none.
std::pair<llvm::StringRef, llvm::StringRef> scoped_at(llvm::StringRef text) {
  const llvm::StringRef scope = word_at(text);
  text = text.ltrim();
  return {scope, text.consume_front("::") ? word_at(text) : llvm::StringRef()};
}

/// Whether a name is that of a function that only the host has.
bool is_of_hosts_headers(llvm::StringRef name) {
  static constexpr const char* k_hosts[] = {"cstdio",      "cstdlib", "ctime",    "csignal",
                                            "clocale",     "omp.h",   "unistd.h", "pthread.h",
                                            "cublas_v2.h", "cufft.h", "curand.h"};
  llvm::StringRef header = header_of(k_others, name);
  if (header.empty()) header = header_of(k_c, name);
  return llvm::is_contained(k_hosts, header) && !name.ends_with("_t") && !name.empty() &&
         llvm::isLower(name[0]);
}

/// The macro of Tarsia's whose argument begins at `column`, from 0, of a line; empty if none is called there.
llvm::StringRef macro_around(llvm::StringRef line, size_t column) {
  const llvm::StringRef before = line.take_front(column).rtrim();
  if (!before.ends_with("(")) return {};
  llvm::StringRef name = before.drop_back().rtrim();
  const size_t begin = name.find_last_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
  name = begin == name.npos ? name : name.drop_front(begin + 1);
  return name.starts_with("TARSIA_") ? name : llvm::StringRef();
}

/// What Clang offers in place of an unknown name; or empty.
llvm::StringRef guess_in(llvm::StringRef message) {
  return message.split(k_guess).second.split('\'').first;
}

/// The name without its scope.
llvm::StringRef last_part(llvm::StringRef name) {
  const size_t at = name.rfind("::");
  return at == name.npos ? name : name.drop_front(at + 2);
}

}  // namespace

std::string lacking_header_remedy(llvm::StringRef header, bool system_headers) {
  // What libstdc++ 12 lacks of the standard up to C++23.
  static constexpr const char* k_lacking[] = {"format",   "print",    "generator",     "mdspan",
                                              "flat_map", "flat_set", "text_encoding", "stdfloat"};
  if (system_headers || !llvm::is_contained(k_lacking, header)) return {};
  std::string text = "which the C++ library that Tarsia brings (" + k_own_library.str() + ") lacks; ";
  for (int version = 20; version > 12; --version) {
    const std::string dir = "/usr/include/c++/" + std::to_string(version);
    if (llvm::sys::fs::exists(dir + "/" + header))
      return text + "host_headers=\"system\" takes this machine's, of GCC " + std::to_string(version) +
             ", which has it";
  }
  return text +
         (header == "format" || header == "print" ? "use <cstdio> or <sstream>, or the library fmt"
                                                  : "write it without") +
         "; host_headers=\"system\" takes this machine's library, where that is of GCC " +
         (header == "format" || header == "stdfloat" ? "13" : "14") + " or later";
}

std::string missing_name_remedy(llvm::StringRef message, llvm::StringRef place, const Compiled& how,
                                llvm::StringRef text) {
  if (message == "a type specifier is required for all declarations") {
    const llvm::StringRef macro = word_at(place);
    return macro.starts_with("TARSIA_") ? "; #include <tarsia/op.h>, where " + macro.str() + " is"
                                        : std::string();
  }
  if (message == "expected namespace name") return scoped_remedy(word_at(place), "", how, text);
  bool known = false;
  for (llvm::StringRef begin :
       {"use of undeclared identifier '", "unknown type name '", "no template named '", "no member named '",
        "no type named '", "use of undeclared identifier \"", "call to undeclared library function '",
        "call to undeclared function '"})
    known |= message.starts_with(begin);
  if (!known) return {};
  llvm::StringRef name = message.split('\'').second.split('\'').first;
  const llvm::StringRef rest = message.split('\'').second.split('\'').second;
  const bool in_std = rest.starts_with(" in namespace 'std'");
  // A member of a class of std's that a newer standard has.
  if (llvm::StringRef type = rest.split(" in '").second.split('\'').first; type.consume_front("std::")) {
    type = type.take_until([](char c) { return c == '<'; });
    type.consume_front("basic_");
    const llvm::StringRef standard = standard_of((type + "::" + name).str());
    if (!standard.empty()) return ("; std::" + type + " has it with std=\"" + standard + "\" or later").str();
  }
  // The same name of another scope is Clang's answer. Any other guess is about the spelling alone.
  if (const llvm::StringRef guess = guess_in(message); !guess.empty() && last_part(guess) == name) return {};
  if (message.starts_with("no ") && !in_std && rest.contains(" in ")) {
    const llvm::StringRef scope = rest.split("namespace '").second.split('\'').first;
    return scoped_remedy(scope, name, how, text);
  }
  const auto [scope, member] = scoped_at(place);
  if (!in_std && scope == name && !member.empty())
    if (std::string remedy = scoped_remedy(scope, member, how, text); !remedy.empty()) return remedy;
  if (name.starts_with("TARSIA_") && header_of(k_others, name).empty())
    return "; #include <tarsia/op.h>, where " + name.str() + " is";
  llvm::StringRef header;
  std::string what = name.str();
  if (in_std || message.starts_with("no template named '")) {
    header = header_of(k_std, name);
    if (!header.empty()) what = "std::" + what;
  }
  if (header.empty() && !in_std) header = header_of(k_others, name);
  if (header.empty()) header = header_of(k_c, name);
  if (header.empty() && !in_std && !how.is_c)
    if (std::string remedy = newcomer_remedy(name, text); !remedy.empty()) return remedy;
  if (header.empty()) return in_std ? newer_standard("std::" + what) : std::string();
  return with_include(header, what, how, text);
}

llvm::StringRef misleading_guess(llvm::StringRef message, llvm::StringRef text) {
  const llvm::StringRef name = message.split('\'').second.split('\'').first, guess = guess_in(message);
  return last_part(guess) == name || has_word(text, last_part(guess)) ? llvm::StringRef() : guess;
}

std::string missing_device_name_remedy(const Diagnostic& diagnostic, llvm::StringRef text,
                                       bool system_headers) {
  const llvm::StringRef whole = text;
  for (int before = 1; before < diagnostic.line; ++before) text = text.split('\n').second;
  const llvm::StringRef line = text.split('\n').first, message = diagnostic.message;
  const size_t column =
      std::min(static_cast<size_t>(std::max(diagnostic.column - 1, 0)), line.size());  // from 0
  const llvm::StringRef place = line.drop_front(column);
  const auto quoted = [](llvm::StringRef text) { return text.split('"').second.split('"').first; };
  if (message.starts_with("identifier \"") && message.contains("\" is undefined")) {
    const llvm::StringRef name = quoted(message);
    if (std::string remedy = host_function_remedy(name, is_of_hosts_headers(name)); !remedy.empty())
      return remedy;
    for (const llvm::ArrayRef<StandardHeader> table :
         {llvm::ArrayRef<StandardHeader>(k_others), llvm::ArrayRef<StandardHeader>(k_c)})
      if (const llvm::StringRef header = header_of(table, name); !header.empty())
        return with_include(header, name, {.system_headers = system_headers}, whole);
    const llvm::StringRef macro = name.starts_with("TARSIA_") ? name : macro_around(line, column);
    return macro.empty() ? near_builtin(name) : "; #include <tarsia/op.h>, where " + macro.str() + " is";
  }
  if (std::string remedy = incomplete_cuda_type_remedy(message); !remedy.empty()) return remedy;
  const auto remedy_of = [&](llvm::StringRef scope, llvm::StringRef member) {
    std::string remedy = scope == "std" ? host_only_remedy(member) : std::string();
    return remedy.empty() ? scoped_remedy(scope, member, {.system_headers = system_headers}, whole) : remedy;
  };
  if (message.starts_with("name followed by \"::\" must be a class or namespace name")) {
    auto [scope, member] = scoped_at(place);
    // The message is about what stands in front of the last "::", such as this_thread.
    if (line.take_front(column).rtrim().ends_with("std::")) std::tie(scope, member) = std::pair("std", scope);
    return remedy_of(scope, member);
  }
  if (message.starts_with("namespace \"") && message.contains("\" has no member \""))
    return remedy_of(quoted(message), quoted(message.split(" has no member ").second));
  if (message.starts_with("device code does not support exception handling"))
    return ": return a value that says so, or end the kernel by __trap()";
  return {};
}

}  // namespace tarsia::jit
