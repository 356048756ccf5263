// The names, by the headers that declare them.
//
// The tables hold what people use most. A name that is missing in them costs a hint, and nothing else.
#include "jit/worker/source/missing_names.h"

#include "jit/standard_headers.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

namespace tarsia::jit {
namespace {

struct Header {
  const char* name;
  const char* names;  // separated by blanks
};

// Names of namespace std. The first header that has a name is given.
constexpr Header k_std[] = {
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
     "unique_ptr shared_ptr weak_ptr make_unique make_shared allocator addressof enable_shared_from_this "
     "allocator_traits"},
    {"functional",
     "function bind ref cref hash plus minus multiplies divides less greater equal_to reference_wrapper "
     "invoke mem_fn"},
    {"algorithm",
     "sort stable_sort partial_sort nth_element min max minmax clamp fill fill_n copy copy_n copy_if "
     "move_backward "
     "transform for_each find find_if count count_if any_of all_of none_of reverse rotate shuffle unique "
     "remove remove_if replace min_element max_element minmax_element lower_bound upper_bound binary_search "
     "equal_range equal generate generate_n partition merge is_sorted"},
    {"numeric",
     "accumulate iota inner_product reduce transform_reduce partial_sum inclusive_scan exclusive_scan gcd "
     "lcm "
     "midpoint adjacent_difference"},
    {"cmath",
     "sqrt exp log pow sin cos tan asin acos atan atan2 sinh cosh tanh fabs floor ceil round lround trunc "
     "fmod "
     "erf erfc tgamma lgamma log2 log10 log1p expm1 exp2 cbrt hypot fma isnan isinf isfinite fmin fmax "
     "copysign "
     "nearbyint rint lerp"},
    {"complex", "complex"},
    {"random",
     "mt19937 mt19937_64 random_device uniform_real_distribution uniform_int_distribution "
     "normal_distribution "
     "bernoulli_distribution default_random_engine seed_seq"},
    {"chrono", "chrono"},
    {"thread", "thread jthread this_thread"},
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
    {"iomanip", "setw setprecision setfill fixed put_time"},
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
     "is_trivially_copyable_v make_unsigned_t underlying_type_t void_t"},
    {"concepts", "integral floating_point same_as convertible_to invocable derived_from"},
    {"iterator",
     "back_inserter distance advance next prev begin end size data iterator_traits reverse_iterator "
     "istream_iterator ostream_iterator"},
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
constexpr Header k_c[] = {
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
    {"cinttypes", "PRId64 PRIu64 PRIx64 PRId32"},
};

// Names outside of std whose headers have no other form in C++.
constexpr Header k_others[] = {
    {"tarsia/elementwise.h", "TARSIA_ELEMENTWISE"},
    {"tarsia/gtest.h", "EXPECT_OP_HOLDS"},
    {"omp.h", "omp_get_max_threads omp_get_num_threads omp_get_thread_num omp_set_num_threads omp_get_wtime"},
    {"unistd.h", "usleep sleep getpid sysconf fork read write close"},
    {"pthread.h", "pthread_create pthread_join pthread_mutex_t pthread_t pthread_mutex_lock"},
    {"immintrin.h",
     "__m128 __m256 __m512 __m128i __m256i __m512i __m128d __m256d _mm_loadu_ps _mm256_loadu_ps "
     "_mm512_loadu_ps _mm256_set1_ps _mm_set1_ps _mm_malloc _mm_free _mm_prefetch"},
    {"cuda_fp16.h", "__half half __half2 half2 __float2half __half2float"},
    {"cuda_bf16.h", "__nv_bfloat16 nv_bfloat16 __nv_bfloat162 __float2bfloat16 __bfloat162float"},
};

bool holds(llvm::StringRef names, llvm::StringRef name) {
  llvm::SmallVector<llvm::StringRef, 64> words;
  names.split(words, ' ', -1, /*KeepEmpty=*/false);
  return llvm::is_contained(words, name);
}

template <size_t n>
llvm::StringRef header_of(const Header (&table)[n], llvm::StringRef name) {
  for (const Header& header : table)
    if (holds(header.names, name)) return header.name;
  return {};
}

llvm::StringRef word_at(llvm::StringRef& text) {
  text = text.ltrim();
  const llvm::StringRef word = text.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
  text = text.drop_front(word.size());
  return word;
}

/// The version of GNU's C++ library whose headers Tarsia brings along.
constexpr llvm::StringLiteral k_own_library = "GCC 12's";

std::string with_include(llvm::StringRef header, llvm::StringRef what, bool is_c, bool system_headers) {
  if (std::string lacking = lacking_header_remedy(header, system_headers); !lacking.empty())
    return ("; " + what + " is in <" + header + ">, ").str() + lacking;
  std::string name = header.str();
  if (is_c && header.starts_with("c") && is_standard_header(name.substr(1) + ".h"))
    name = name.substr(1) + ".h";
  return "; #include <" + name + ">, where " + what.str() + " is";
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

std::string missing_name_remedy(llvm::StringRef message, llvm::StringRef place, bool is_c,
                                bool system_headers) {
  if (message == "a type specifier is required for all declarations") {
    const llvm::StringRef macro = word_at(place);
    return macro.starts_with("TARSIA_") ? "; #include <tarsia/op.h>, where " + macro.str() + " is"
                                        : std::string();
  }
  bool known = false;
  for (llvm::StringRef begin :
       {"use of undeclared identifier '", "unknown type name '", "no template named '", "no member named '",
        "no type named '", "use of undeclared identifier \"", "call to undeclared library function '",
        "call to undeclared function '"})
    known |= message.starts_with(begin);
  if (!known) return {};
  llvm::StringRef name = message.split('\'').second.split('\'').first;
  const llvm::StringRef rest = message.split('\'').second.split('\'').second;
  if (rest.contains("did you mean")) return {};
  const bool in_std = rest.starts_with(" in namespace 'std'");
  if (message.starts_with("no ") && !in_std && rest.contains(" in ")) return {};

  llvm::StringRef text = place;
  if (name == "std" || name == "tarsia") {
    if (word_at(text) != name || !(text = text.ltrim()).consume_front("::")) return {};
    const llvm::StringRef member = word_at(text);
    if (name == "tarsia") return "; #include <tarsia/op.h>, where tarsia::" + member.str() + " is";
    llvm::StringRef header = header_of(k_std, member);
    if (header.empty()) header = header_of(k_c, member);
    return header.empty() ? std::string()
                          : with_include(header, ("std::" + member).str(), is_c, system_headers);
  }
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
  if (header.empty()) return {};
  return with_include(header, what, is_c, system_headers);
}

}  // namespace tarsia::jit
