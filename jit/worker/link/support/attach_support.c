// Linked into every module: its entry, by which Tarsia asks what the module holds.
//
// Modules with <tarsia/detail/adapter.h> in them have the same entry from there; this one is for those that
// have only adapter_light.h, which would take longer to compile with it.
#include <tarsia/abi.h>

#define HIDDEN __attribute__((weak, visibility("hidden")))

HIDDEN const struct tarsia_host* tarsia_module_host;
HIDDEN const struct tarsia_op* const* (*tarsia_module_ops)(uint64_t* n);
HIDDEN const tarsia_extension* (*tarsia_module_extension)(void);
HIDDEN extern const tarsia_function* const __start_tarsia_functions[];
HIDDEN extern const tarsia_function* const __stop_tarsia_functions[];
HIDDEN extern const tarsia_kernel* const __start_tarsia_kernels[];
HIDDEN extern const tarsia_kernel* const __stop_tarsia_kernels[];
HIDDEN extern const tarsia_global* const __start_tarsia_globals[];
HIDDEN extern const tarsia_global* const __stop_tarsia_globals[];
HIDDEN extern const tarsia_kernel_template* const __start_tarsia_templates[];
HIDDEN extern const tarsia_kernel_template* const __stop_tarsia_templates[];
HIDDEN extern const tarsia_skipped __start_tarsia_skipped[];
HIDDEN extern const tarsia_skipped __stop_tarsia_skipped[];
HIDDEN extern void* tarsia_managed_pointer(void** slot);
HIDDEN extern const tarsia_image tarsia_images[];
HIDDEN extern const uint64_t tarsia_n_images;
HIDDEN int32_t tarsia_take_launch_error(void);

__attribute__((weak, visibility("default"))) const tarsia_module* tarsia_module_attach(
    const struct tarsia_host* host) {
  static tarsia_module module;
  uint64_t n_ops = 0;
  tarsia_module_host = host;
  module.abi_version = TARSIA_ABI_VERSION;
  module.size = sizeof(module);
  module.functions = __start_tarsia_functions;
  module.functions_end = __stop_tarsia_functions;
  if (tarsia_module_ops) module.ops = tarsia_module_ops(&n_ops);
  module.ops_end = module.ops + n_ops;
  module.kernels = __start_tarsia_kernels;
  module.kernels_end = __stop_tarsia_kernels;
  module.images = tarsia_images;
  module.n_images = &tarsia_n_images ? tarsia_n_images : 0;
  module.skipped = __start_tarsia_skipped;
  module.n_skipped = (uint64_t)(__stop_tarsia_skipped - __start_tarsia_skipped);
  if (tarsia_module_extension) module.extension = tarsia_module_extension();
  module.take_launch_error = tarsia_take_launch_error;
  module.globals = __start_tarsia_globals;
  module.globals_end = __stop_tarsia_globals;
  module.managed_pointer = tarsia_managed_pointer;
  module.templates = __start_tarsia_templates;
  module.templates_end = __stop_tarsia_templates;
  return &module;
}
