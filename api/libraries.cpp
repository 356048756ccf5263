// Libraries and the calls into them.
#include <tarsia/c_api.h>

#include "api/handles.h"
#include "api/symbolizer.h"
#include "api/text.h"
#include "base/demangle.h"
#include "registry/call/call.h"
#include "registry/crash/crash_handler.h"
#include "registry/loader.h"
#include "registry/resources/call_context.h"
#include "registry/resources/last_error.h"

using namespace tarsia;
using namespace tarsia::api;
using registry::guarded;

int32_t tarsia_load(const char* path, tarsia_library** library) {
  return guarded([&] {
    name_symbolizer();
    *library = to_c(registry::load_file(path).detach());
  });
}

void tarsia_report_double_interrupts(void) {
  registry::report_double_interrupts();
}

void tarsia_library_retain(tarsia_library* library) {
  from_c(library)->retain();
}

void tarsia_library_release(tarsia_library* library) {
  if (library) from_c(library)->release();
}

int32_t tarsia_library_unload(tarsia_library* library) {
  return guarded([&] {
    registry::OpRegistry::instance().remove(*from_c(library));
    from_c(library)->unpin();
  });
}

const char* tarsia_library_name(const tarsia_library* library) {
  return from_c(library)->name().c_str();
}

const char* tarsia_library_origin(const tarsia_library* library) {
  return origin_name(from_c(library)->origin());
}

const tarsia_function* const* tarsia_library_functions(const tarsia_library* library, uint64_t* n) {
  return give(from_c(library)->functions(), n);
}

const tarsia_kernel* const* tarsia_library_kernels(const tarsia_library* library, uint64_t* n) {
  return give(from_c(library)->kernels(), n);
}

const char* const* tarsia_library_ops(const tarsia_library* library, uint64_t* n) {
  return give(from_c(library)->op_names(), n);
}

const char* const* tarsia_library_symbols(const tarsia_library* library, uint64_t* n) {
  return give(from_c(library)->symbols(), n);
}

void* tarsia_library_symbol(const tarsia_library* library, const char* name) {
  return from_c(library)->symbol(name);
}

int32_t tarsia_readable_symbol(const char* symbol, char** name) {
  return registry::guarded([&] { *name = api::give_text(readable_symbol(symbol)); });
}

const char* tarsia_library_path(const tarsia_library* library) {
  return from_c(library)->path();
}

const tarsia_image* tarsia_library_images(const tarsia_library* library, uint64_t* n) {
  return give(from_c(library)->images(), n);
}

const tarsia_skipped* tarsia_library_skipped(const tarsia_library* library, uint64_t* n) {
  return give(from_c(library)->skipped(), n);
}

const tarsia_diagnostic* tarsia_library_warnings(const tarsia_library* library, uint64_t* n) {
  return give(from_c(library)->warnings(), n);
}

int32_t tarsia_library_export(const tarsia_library* library, const char* path) {
  return guarded([&] { from_c(library)->export_to(path); });
}

tarsia_call_context** tarsia_call_slot(void) {
  return registry::call_slot();
}

void tarsia_free_resources(tarsia_call_context* context) {
  registry::free_resources(*context);
}

int32_t tarsia_call(const tarsia_function* const* functions, uint64_t n_functions, const tarsia_value* args,
                    uint32_t n_args, tarsia_value* result) {
  int32_t code = 0;
  const int32_t refused =
      guarded([&] { code = registry::call_function({functions, n_functions}, {args, n_args}, *result); });
  return refused ? refused : code;
}

int32_t tarsia_require_gpu(const tarsia_function* function) {
  return guarded([&] { registry::require_gpu(*function); });
}

int32_t tarsia_check_launches(const tarsia_function* function) {
  return guarded([&] { registry::check_launches(*function); });
}
