// Linked into modules with debug="undefined": the handlers that code compiled by -fsanitize=undefined calls
// when it meets undefined behaviour. They keep what they find; the caller of the code asks for it
// (tarsia_take_findings) and makes an error of it.
//
// The handlers' names and the layout of their data are an interface between Clang and a run-time library
// (compiler-rt/lib/ubsan/ubsan_handlers.h, ubsan_value.h, ubsan_checks.inc).
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  const char* file;
  uint32_t line, column;
} Place;

enum { k_integer = 0, k_float = 1 };

typedef struct {
  uint16_t kind;
  uint16_t info;  // integer: 2 * log2(bits) + is signed; float: bits
  char name[];    // in single quotes
} Type;

typedef uintptr_t Value;  // the value, or the address of one that is larger

enum { k_max_kept = 8, k_text = 400 };

static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;  // guards what follows
static char g_texts[k_max_kept][k_text];
static const Place* g_places[k_max_kept];  // of the texts
static unsigned g_n_kept;
static uint32_t g_n_found;  // read without the mutex, too

/// "maths.cc:7:12"
static int write_place(char* text, size_t bytes, const Place* place) {
  static const char k_folder[] = "/tarsia/src/";  // where the compiler keeps the sources that it was given
  const char* file = place->file ? place->file : "source";
  if (!strncmp(file, k_folder, sizeof k_folder - 1)) file += sizeof k_folder - 1;
  return place->column ? snprintf(text, bytes, "%s:%u:%u", file, place->line, place->column)
                       : snprintf(text, bytes, "%s:%u", file, place->line);
}

__attribute__((format(printf, 2, 3))) static void found(const Place* place, const char* format, ...) {
  pthread_mutex_lock(&g_mutex);
  __atomic_fetch_add(&g_n_found, 1, __ATOMIC_RELAXED);
  unsigned i = 0;
  while (i < g_n_kept && g_places[i] != place) ++i;
  if (i == g_n_kept && g_n_kept < k_max_kept) {
    g_places[g_n_kept] = place;
    char* const text = g_texts[g_n_kept++];
    int n = write_place(text, k_text, place);
    if (n >= 0 && n < k_text - 2) n += snprintf(text + n, k_text - n, ": ");
    va_list arguments;
    va_start(arguments, format);
    if (n >= 0 && n < k_text) vsnprintf(text + n, k_text - n, format, arguments);
    va_end(arguments);
  }
  pthread_mutex_unlock(&g_mutex);
}

/// Writes what was found since the last time, a line each, as far as it fits, and forgets it. Returns how
/// much was found. For handlers of signals, too: it gives up if the mutex is taken.
__attribute__((visibility("default"))) int32_t tarsia_take_findings(char* text, uint64_t bytes,
                                                                    int32_t wait) {
  if (!__atomic_load_n(&g_n_found, __ATOMIC_RELAXED)) return 0;
  if (wait ? pthread_mutex_lock(&g_mutex) : pthread_mutex_trylock(&g_mutex)) return 0;
  uint64_t used = 0;
  for (unsigned i = 0; i < g_n_kept; ++i) {
    const uint64_t length = strnlen(g_texts[i], k_text - 1);
    if (used + length + 2 > bytes) break;
    if (used) text[used++] = '\n';
    memcpy(text + used, g_texts[i], length);
    used += length;
  }
  if (bytes) text[used] = 0;
  const int32_t n = (int32_t)g_n_found;
  g_n_kept = 0;
  __atomic_store_n(&g_n_found, 0, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&g_mutex);
  return n;
}

/// A value as a text, in a buffer of the caller's.
typedef struct {
  char text[64];
} Shown;

static int bits_of(const Type* type) {
  return type->kind == k_integer ? 1 << (type->info >> 1) : type->info;
}

static int is_signed(const Type* type) {
  return type->kind == k_integer && (type->info & 1);
}

static __int128 integer_of(const Type* type, Value value) {
  const int bits = bits_of(type);
  if (bits > 64) {
    __int128 large;
    memcpy(&large, (const void*)value, sizeof large);
    return large;
  }
  if (is_signed(type)) return (int64_t)((uint64_t)value << (64 - bits)) >> (64 - bits);
  return (uint64_t)value;
}

static int is_negative(const Type* type, Value value) {
  return is_signed(type) && integer_of(type, value) < 0;
}

static Shown shown(const Type* type, Value value) {
  Shown result = {"a value"};
  if (type->kind == k_integer) {
    __int128 number = integer_of(type, value);
    unsigned __int128 rest = number;
    const int negative = is_negative(type, value);
    if (negative) rest = -rest;
    char digits[48];
    int n = 0;
    do digits[n++] = (char)('0' + (int)(rest % 10));
    while (rest /= 10);
    int at = 0;
    if (negative) result.text[at++] = '-';
    while (n) result.text[at++] = digits[--n];
    result.text[at] = 0;
  } else if (type->kind == k_float) {
    double number = 0;
    long double wide;
    float narrow;
    const int bits = bits_of(type);
    if (bits == 32) {
      memcpy(&narrow, &value, sizeof narrow);
      number = narrow;
    } else if (bits == 64) {
      memcpy(&number, &value, sizeof number);
    } else if (bits == 80 || bits == 128) {
      memcpy(&wide, (const void*)value, 10);
      number = (double)wide;
    } else {
      return result;
    }
    snprintf(result.text, sizeof result.text, "%.9g", number);
  }
  return result;
}

#define HANDLER __attribute__((visibility("hidden"), used)) void

typedef struct {
  Place place;
  const Type* type;
} PlaceAndType;

typedef struct {
  Place place;
  const Type* type;
  uint8_t log_alignment;
  uint8_t check;
} TypeMismatch;

HANDLER __ubsan_handle_type_mismatch_v1(TypeMismatch* data, Value pointer) {
  static const char* const k_checks[] = {"load of",
                                         "store to",
                                         "reference binding to",
                                         "member access within",
                                         "member call on",
                                         "constructor call on",
                                         "downcast of",
                                         "downcast of",
                                         "upcast of",
                                         "cast to virtual base of",
                                         "_Nonnull binding to",
                                         "dynamic operation on"};
  const char* check = data->check < sizeof k_checks / sizeof *k_checks ? k_checks[data->check] : "use of";
  const uintptr_t alignment = (uintptr_t)1 << data->log_alignment;
  if (!pointer)
    found(&data->place, "%s null pointer of type %s", check, data->type->name);
  else if (pointer & (alignment - 1))
    found(&data->place, "%s misaligned address 0x%zx for type %s, which requires %zu byte alignment", check,
          (size_t)pointer, data->type->name, (size_t)alignment);
  else
    found(&data->place, "%s address 0x%zx with insufficient space for an object of type %s", check,
          (size_t)pointer, data->type->name);
}

typedef struct {
  Place place, assumption;
  const Type* type;
} AlignmentAssumption;

HANDLER __ubsan_handle_alignment_assumption(AlignmentAssumption* data, Value pointer, Value alignment,
                                            Value offset) {
  found(&data->place, "assumption of %zu byte alignment for pointer of type %s failed: 0x%zx",
        (size_t)alignment, data->type->name, (size_t)(pointer - offset));
}

static void overflow(PlaceAndType* data, Value left, const char* sign, Value right) {
  found(&data->place, "%s integer overflow: %s %s %s cannot be represented in type %s",
        is_signed(data->type) ? "signed" : "unsigned", shown(data->type, left).text, sign,
        shown(data->type, right).text, data->type->name);
}

HANDLER __ubsan_handle_add_overflow(PlaceAndType* data, Value left, Value right) {
  overflow(data, left, "+", right);
}
HANDLER __ubsan_handle_sub_overflow(PlaceAndType* data, Value left, Value right) {
  overflow(data, left, "-", right);
}
HANDLER __ubsan_handle_mul_overflow(PlaceAndType* data, Value left, Value right) {
  overflow(data, left, "*", right);
}
HANDLER __ubsan_handle_negate_overflow(PlaceAndType* data, Value value) {
  found(&data->place, "negation of %s cannot be represented in type %s", shown(data->type, value).text,
        data->type->name);
}
HANDLER __ubsan_handle_divrem_overflow(PlaceAndType* data, Value left, Value right) {
  if (is_signed(data->type) && integer_of(data->type, right) == -1)
    found(&data->place, "division of %s by -1 cannot be represented in type %s", shown(data->type, left).text,
          data->type->name);
  else
    found(&data->place, "division by zero");
}

typedef struct {
  Place place;
  const Type *left, *right;
} Shift;

HANDLER __ubsan_handle_shift_out_of_bounds(Shift* data, Value left, Value right) {
  if (is_negative(data->right, right))
    found(&data->place, "shift exponent %s is negative", shown(data->right, right).text);
  else if (integer_of(data->right, right) >= bits_of(data->left))
    found(&data->place, "shift exponent %s is too large for %d-bit type %s", shown(data->right, right).text,
          bits_of(data->left), data->left->name);
  else if (is_negative(data->left, left))
    found(&data->place, "left shift of negative value %s", shown(data->left, left).text);
  else
    found(&data->place, "left shift of %s by %s places cannot be represented in type %s",
          shown(data->left, left).text, shown(data->right, right).text, data->left->name);
}

typedef struct {
  Place place;
  const Type *array, *index;
} OutOfBounds;

HANDLER __ubsan_handle_out_of_bounds(OutOfBounds* data, Value index) {
  found(&data->place, "index %s out of bounds for type %s", shown(data->index, index).text,
        data->array->name);
}

HANDLER __ubsan_handle_local_out_of_bounds(void) {
  static const Place k_unknown;
  found(&k_unknown, "access out of bounds of a local array");
}

/// Nothing can be run behind it. What was found is said where the process's last words go, and a crash
/// follows, which Tarsia reports.
static _Noreturn void die(void) {
  char text[k_max_kept * k_text];
  if (tarsia_take_findings(text, sizeof text, 1)) {
    static const char k_begin[] = "tarsia: undefined behaviour: ";
    if (write(STDERR_FILENO, k_begin, sizeof k_begin - 1) < 0 ||
        write(STDERR_FILENO, text, strlen(text)) < 0 || write(STDERR_FILENO, "\n", 1) < 0)
      abort();
  }
  abort();
}

__attribute__((noreturn)) HANDLER __ubsan_handle_builtin_unreachable(PlaceAndType* data) {
  found(&data->place, "execution reached an unreachable program point");
  die();
}
__attribute__((noreturn)) HANDLER __ubsan_handle_missing_return(PlaceAndType* data) {
  found(&data->place, "execution reached the end of a value-returning function without returning a value");
  die();
}

HANDLER __ubsan_handle_vla_bound_not_positive(PlaceAndType* data, Value bound) {
  found(&data->place, "variable length array bound evaluates to non-positive value %s",
        shown(data->type, bound).text);
}

typedef struct {
  Place place;
  const Type *from, *to;
} FloatCast;

HANDLER __ubsan_handle_float_cast_overflow(FloatCast* data, Value from) {
  found(&data->place, "%s is outside the range of representable values of type %s",
        shown(data->from, from).text, data->to->name);
}

HANDLER __ubsan_handle_load_invalid_value(PlaceAndType* data, Value value) {
  found(&data->place, "load of value %s, which is not a valid value for type %s",
        shown(data->type, value).text, data->type->name);
}

typedef struct {
  Place place;
  uint8_t kind;
} InvalidBuiltin;

HANDLER __ubsan_handle_invalid_builtin(InvalidBuiltin* data) {
  if (data->kind == 2)
    found(&data->place, "assumption is violated during execution");
  else
    found(&data->place, "passing zero to __builtin_%s(), which is not a valid argument",
          data->kind ? "clz" : "ctz");
}

HANDLER __ubsan_handle_nonnull_return_v1(Place* attribute, Place* place) {
  (void)attribute;
  found(place, "null pointer returned from function declared to never return null");
}

typedef struct {
  Place place, attribute;
  int argument;
} NonnullArgument;

HANDLER __ubsan_handle_nonnull_arg(NonnullArgument* data) {
  found(&data->place, "null pointer passed as argument %d, which is declared to never be null",
        data->argument);
}

HANDLER __ubsan_handle_pointer_overflow(Place* place, Value base, Value result) {
  if (!base && !result)
    found(place, "applying zero offset to null pointer");
  else if (!base)
    found(place, "applying non-zero offset %zu to null pointer", (size_t)result);
  else if (!result)
    found(place, "applying non-zero offset to non-null pointer 0x%zx produced null pointer", (size_t)base);
  else
    found(place, "pointer index expression with base 0x%zx overflowed to 0x%zx", (size_t)base,
          (size_t)result);
}
