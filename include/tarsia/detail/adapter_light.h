// The light form of abi.h and adapter.h, for generated text whose exported functions are all C-style. It has
// no templates and takes a twentieth of the time to parse. Its layouts are those of abi.h
// (tests/unit/registry/call/test_adapter_light.cpp compares them). Different translation units of one module
// may use different forms.
//
// A function `float ns::f(const float* x, int n = 1)` of "relu.cu:12" is exported by
//
// clang-format off
//   TARSIA_LIGHT_PLAIN static int tarsia_call_0(const tarsia_light_value* a, unsigned n, tarsia_light_value* r) {
//     TARSIA_LIGHT_TRY
//     if (n == 1) r->f = ::ns::f((const float*)a[0].p); else
//     r->f = ::ns::f((const float*)a[0].p, (int)a[1].i);
//     r->kind = 3;
//     TARSIA_LIGHT_CATCH
//   }
//   static const tarsia_light_param tarsia_params_0[] = {{"x", {6, 2, 0, 2, 32, 1, 0}}, {"n", {2, 0, 0, 0, 32, 1, 0}}};
//   TARSIA_LIGHT_EXPORT(0, "ns::f", "float ns::f(const float *x, int n = 1)", "relu.cu:12", 2, 1, 0,
//                       TARSIA_LIGHT_TYPE(3, 0, 0, 2, 32, 1, 0))
// clang-format on
//
// where the numbers are tarsia_kind, tarsia_type.flags, n_elements, dtype code, bits, lanes. A string
// parameter is a[i].s. A function with a string result ends with `return TARSIA_LIGHT_STRING(r, text, n)`.
#if !defined(TARSIA_ADAPTER_LIGHT_H)
#define TARSIA_ADAPTER_LIGHT_H

#define TARSIA_LIGHT_SECTION(section_) __attribute__((retain, used, unused, section(section_)))
// Adapters move a few words, so they are not optimised: optimising them, with a copy of the user's function
// inlined, would take the compiler longer than the function itself.
#if defined(__clang__)
#define TARSIA_LIGHT_PLAIN __attribute__((optnone, noinline))
#else
#define TARSIA_LIGHT_PLAIN
#endif
#define TARSIA_LIGHT_TYPE(...) {__VA_ARGS__}
#if defined(__EXCEPTIONS)
#define TARSIA_LIGHT_TRY try {
#define TARSIA_LIGHT_CATCH         \
  return 0;                        \
  }                                \
  catch (...) {                    \
    return TARSIA_LIGHT_CAPTURE(); \
  }
#else
#define TARSIA_LIGHT_TRY {
#define TARSIA_LIGHT_CATCH \
  return 0;                \
  }
#endif
#if defined(TARSIA_ADAPTER_H)

// The text has included a header of Tarsia that includes abi.h and the module's entry.
typedef tarsia_value tarsia_light_value;
typedef tarsia_type tarsia_light_type;
typedef tarsia_param tarsia_light_param;
typedef tarsia_function tarsia_light_function;
typedef tarsia_skipped tarsia_light_skipped;
#define TARSIA_LIGHT_CAPTURE tarsia_module_host->capture_exception
#define TARSIA_LIGHT_STRING(r_, text_, n_) tarsia_module_host->result_string(r_, text_, n_)

#else

#define TARSIA_LIGHT_CAPTURE tarsia_module_host->tarsia_capture
#define TARSIA_LIGHT_STRING(r_, text_, n_) tarsia_module_host->tarsia_string(r_, text_, n_)

struct tarsia_light_value {
  union {
    long long i;
    unsigned long long u;
    double f;
    const char* s;
    void* p;
  };
  unsigned kind, size;
};
struct tarsia_light_type {
  unsigned char kind, flags;
  unsigned short n;
  unsigned char code, bits;
  unsigned short lanes;
  const tarsia_light_type* elements;
};
struct tarsia_light_param {
  const char* name;
  tarsia_light_type type;
};
struct tarsia_light_function {
  unsigned size, flags;
  const char *name, *signature, *location;
  unsigned n_params, n_required;
  const tarsia_light_param* params;
  tarsia_light_type result;
  int (*call)(const tarsia_light_value*, unsigned, tarsia_light_value*);
};
struct tarsia_light_skipped {
  const char *name, *reason;
};
struct tarsia_light_host {
  unsigned abi_version, size;
  int (*tarsia_capture)();
  int (*tarsia_set_error)(int, const char*);
  int (*tarsia_last_error)(const char**);
  int (*tarsia_string)(tarsia_light_value*, const char*, unsigned long long);
};

/// Defined in the module by jit/worker/link/support/attach_support.c.
extern "C" const tarsia_light_host* tarsia_module_host __attribute__((visibility("hidden")));

#endif

#define TARSIA_LIGHT_EXPORT(k_, name_, signature_, location_, n_, required_, flags_, result_) \
  static const tarsia_light_function tarsia_function_##k_ = {sizeof(tarsia_light_function),   \
                                                             flags_,                          \
                                                             name_,                           \
                                                             signature_,                      \
                                                             location_,                       \
                                                             n_,                              \
                                                             required_,                       \
                                                             tarsia_params_##k_,              \
                                                             result_,                         \
                                                             &tarsia_call_##k_};              \
  TARSIA_LIGHT_SECTION("tarsia_functions")                                                    \
  static const tarsia_light_function* tarsia_function_entry_##k_ = &tarsia_function_##k_;

#define TARSIA_LIGHT_SKIPPED(k_, name_, reason_) \
  TARSIA_LIGHT_SECTION("tarsia_skipped") static tarsia_light_skipped tarsia_skipped_##k_ = {name_, reason_};

#endif
