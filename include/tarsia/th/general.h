/* What TH/THGeneral.h declares: errors, memory, small macros. Valid C and C++. Errors end the call of the
   function that Tarsia runs, and its caller gets them in its own language. */
#ifndef TARSIA_TH_GENERAL_H
#define TARSIA_TH_GENERAL_H

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __cplusplus
#define TARSIA_TH_BEGIN extern "C" {
#define TARSIA_TH_END }
#define TH_EXTERNC extern "C"
#else
#define TARSIA_TH_BEGIN
#define TARSIA_TH_END
#define TH_EXTERNC extern
#endif
#define TH_API TH_EXTERNC
#define TARSIA_TH_HIDDEN __attribute__((visibility("hidden")))

TARSIA_TH_BEGIN
/* Ends the call with an error: the text as of printf, behind it the place. `argument` is the number of the
   argument that is wrong, from 1; 0: none is. */
TARSIA_TH_HIDDEN __attribute__((noreturn, format(printf, 4, 5))) void tarsia_th_fail(const char* file,
                                                                                     int line, int argument,
                                                                                     const char* format, ...);
/* Ends the call if `error`, a cudaError_t, is not 0. `text` is the runtime's own. */
TARSIA_TH_HIDDEN void tarsia_th_check_cuda(int error, const char* text, const char* file, int line);
TARSIA_TH_HIDDEN void* THAlloc(ptrdiff_t bytes);
TARSIA_TH_HIDDEN void* THRealloc(void* memory, ptrdiff_t bytes);
TARSIA_TH_HIDDEN void THFree(void* memory);
TARSIA_TH_END

#define THError(...) tarsia_th_fail(__FILE__, __LINE__, 0, __VA_ARGS__)
#define THArgError(argument_, ...) tarsia_th_fail(__FILE__, __LINE__, (argument_), __VA_ARGS__)
#define THArgCheck(condition_, argument_, ...)                                               \
  do {                                                                                       \
    if (!(condition_)) tarsia_th_fail(__FILE__, __LINE__, (int)(argument_), "" __VA_ARGS__); \
  } while (0)
#define THAssertMsg(condition_, ...)                                          \
  do {                                                                        \
    if (!(condition_)) tarsia_th_fail(__FILE__, __LINE__, 0, "" __VA_ARGS__); \
  } while (0)
#define THAssert(condition_)                                                                        \
  do {                                                                                              \
    if (!(condition_)) tarsia_th_fail(__FILE__, __LINE__, 0, "assertion '%s' failed", #condition_); \
  } while (0)

#define TH_INDEX_BASE 0
#define TH_OMP_OVERHEAD_THRESHOLD 100000
#define TH_CONCAT_STRING_2(x_, y_) TH_CONCAT_STRING_2_EXPAND(x_, y_)
#define TH_CONCAT_STRING_2_EXPAND(x_, y_) #x_ #y_
#define TH_CONCAT_2(x_, y_) TH_CONCAT_2_EXPAND(x_, y_)
#define TH_CONCAT_2_EXPAND(x_, y_) x_##y_
#define TH_CONCAT_3(x_, y_, z_) TH_CONCAT_3_EXPAND(x_, y_, z_)
#define TH_CONCAT_3_EXPAND(x_, y_, z_) x_##y_##z_
#define TH_CONCAT_4(x_, y_, z_, w_) TH_CONCAT_4_EXPAND(x_, y_, z_, w_)
#define TH_CONCAT_4_EXPAND(x_, y_, z_, w_) x_##y_##z_##w_

#ifndef THMin
#define THMin(a_, b_) ((a_) < (b_) ? (a_) : (b_))
#endif
#ifndef THMax
#define THMax(a_, b_) ((a_) > (b_) ? (a_) : (b_))
#endif
#ifndef M_PI
#define M_PI 3.14159265358979323846
#endif

#endif
