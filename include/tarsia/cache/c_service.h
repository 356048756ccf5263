// A node's service as a C interface, which <tarsia/c_api.h> includes: docs/service.md.
#pragma once

#include <tarsia/c_api.h>

#include <tarsia/detail/macros_push.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The most compilers that a service keeps.
enum { TARSIA_MAX_SERVICE_WORKERS = 256 };

/// Fill with zeros and set `size`; zero means the default of each field.
typedef struct tarsia_serve_options {
  uint32_t size;       /* sizeof(tarsia_serve_options) */
  const char* socket;  /* the path of the Unix socket to make, in a folder of this user; always set */
  uint32_t workers;    /* compilers; one for each core */
  uint32_t per_client; /* compilers that one process has at a time; all */
  uint32_t queue;      /* requests that wait, beyond which processes are told that it is busy; 64 */
  int32_t stop;        /* a descriptor: the function returns once it can be read */
} tarsia_serve_options;

/// Keeps compilers warm and lends them to processes of this user that have the socket's path in
/// TARSIA_SERVICE. Blocks until `stop` can be read; then ends the compilers and removes the socket. Errors:
/// TARSIA_ERROR if the socket cannot be had; TARSIA_NOT_FOUND without a compiler; TARSIA_ARGUMENT_VALUE for
/// more than TARSIA_MAX_SERVICE_WORKERS.
TARSIA_API int32_t tarsia_serve(const tarsia_serve_options* options);

#ifdef __cplusplus
}
#endif

#include <tarsia/detail/macros_pop.h>
