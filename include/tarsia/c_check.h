// Tests of ops as a C interface, which <tarsia/c_api.h> includes. The rules are those of that header.
#pragma once

#include <tarsia/c_api.h>

#include <tarsia/detail/macros_push.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Flags of tarsia_check_request.
enum {
  TARSIA_CHECK_NO_GRADIENT = 1, /* do not compare the gradient with finite differences */
  TARSIA_CHECK_EXACT_MEMORY = 2 /* tensors in memory of just their size, for AddressSanitizer */
};

/// How an op is tested. Tarsia chooses inputs that are omitted, and what is unknown in a meta. Borrowed for
/// the call.
typedef struct tarsia_check_request {
  uint32_t size;
  uint32_t n_inputs;
  const tarsia_meta* inputs;
  uint32_t n_attributes;
  uint32_t flags;
  const char* const* attribute_names;
  const char* const* attribute_texts;
  uint64_t seed;
  /* The names of inputs that the op writes to without declaring it, or their numbers, from 0. Each run gets
     them anew, and what a run leaves in them is compared as its outputs are. `size` says whether the fields
     are there. */
  const char* const* writes;
  uint32_t n_writes;
  uint32_t n_constants;
  /* The names or numbers of inputs whose gradient nobody asks for, as with the labels of a loss: backward
     gets the request "null" for it. `size` says whether the field is there. */
  const char* const* constants;
} tarsia_check_request;

/// How a check of an op ended.
typedef enum tarsia_check_status {
  TARSIA_CHECK_FAILED = 0,
  TARSIA_CHECK_PASSED = 1,
  TARSIA_CHECK_SKIPPED = 2
} tarsia_check_status;

/// The result of one check of an op.
typedef struct tarsia_check_result {
  const char* check;   /* "cpu float32: forward writes every element" */
  const char* message; /* why it failed or was skipped; else "" */
  int32_t status;      /* tarsia_check_status */
} tarsia_check_result;

/// Tests an op without any framework, on generated inputs of every dtype that it takes: inference, forward,
/// backward, the gradient against finite differences, write requests, elements that are not written, memory
/// outside of the tensors, determinism, the CPU against the GPU. Seeds the random states anew. A failed check
/// is a result, not an error. Free `*results` with tarsia_free: it is one block of `*n` results.
TARSIA_API int32_t tarsia_op_check(tarsia_op_handle* op, const tarsia_check_request* request,
                                   tarsia_check_result** results, uint64_t* n);

#ifdef __cplusplus
}
#endif

#include <tarsia/detail/macros_pop.h>
