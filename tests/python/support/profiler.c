/* A profiler's library for tests: takes NVTX's ranges and appends what it is told to the file of
   PROFILER_RECORD. Where NVIDIA's headers are at hand, its types and numbers are checked against theirs.
   PROFILER_REFUSES makes it take none. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct attributes {
  uint16_t version, size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type, reserved;
  uint64_t payload;
  int32_t message_type;
  const char* message;
};
struct callbacks {
  size_t size;
  int (*functions_of)(int module, void*** places, unsigned* count);
};
struct version_info {
  size_t size;
  uint32_t version, reserved;
  void (*set_version)(uint32_t);
};
enum { k_callbacks = 1, k_version = 3, k_core2 = 5, k_push = 4, k_pop = 5, k_create = 12, k_initialize = 15 };

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define SAME(ours, theirs) _Static_assert((size_t)(ours) == (size_t)(theirs), #theirs)
SAME(sizeof(struct attributes), sizeof(nvtxEventAttributes_t));
SAME(offsetof(struct attributes, message_type), offsetof(nvtxEventAttributes_t, messageType));
SAME(offsetof(struct attributes, message), offsetof(nvtxEventAttributes_t, message));
SAME(sizeof(struct callbacks), sizeof(NvtxExportTableCallbacks));
SAME(sizeof(struct version_info), sizeof(NvtxExportTableVersionInfo));
SAME(k_callbacks, NVTX_ETID_CALLBACKS);
SAME(k_version, NVTX_ETID_VERSIONINFO);
SAME(k_core2, NVTX_CB_MODULE_CORE2);
SAME(k_push, NVTX_CBID_CORE2_DomainRangePushEx);
SAME(k_pop, NVTX_CBID_CORE2_DomainRangePop);
SAME(k_create, NVTX_CBID_CORE2_DomainCreateA);
SAME(k_initialize, NVTX_CBID_CORE2_Initialize);
SAME(3, NVTX_VERSION);
SAME(1, NVTX_MESSAGE_TYPE_ASCII);
#endif

static int s_domain;
static __thread int s_depth;

static void say(const char* what, const char* text) {
  char line[512];
  const int n = snprintf(line, sizeof line, "%*s%s %s\n", s_depth, "", what, text);
  const int file = open(getenv("PROFILER_RECORD"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (write(file, line, (size_t)n) != n) abort();
  close(file);
}

static int push(void* domain, const struct attributes* range) {
  if (domain != &s_domain || range->version != 3 || range->size != sizeof *range || range->message_type != 1)
    abort();
  say("begin", range->message);
  return s_depth++;
}

static int pop(void* domain) {
  if (domain != &s_domain) abort();
  --s_depth;
  say("end", "");
  return s_depth;
}

static void* create(const char* name) {
  say("domain", name);
  return &s_domain;
}

static void initialize(const void* reserved) {
  say("initialize", reserved ? "?" : "");
}

int InitializeInjectionNvtx2(const void* (*table_of)(uint32_t)) {
  if (getenv("PROFILER_REFUSES")) return 0;
  const struct callbacks* callbacks = table_of(k_callbacks);
  const struct version_info* version = table_of(k_version);
  if (callbacks->size < sizeof *callbacks || version->version != 3 || table_of(2) || table_of(99)) abort();
  version->set_version(3);
  /* As Nsight Systems does, it asks for all modules and looks at their sizes. */
  static const unsigned sizes[] = {0, 16, 9, 15, 7, 16, 7};
  for (int module = 0; module < 8; ++module) {
    void** places = NULL;
    unsigned count = 0;
    const int known = callbacks->functions_of(module, &places, &count);
    if (known != (module >= 1 && module <= 6)) abort();
    if (!known) continue;
    if (count != sizes[module] || places[0] != NULL || places[count] != NULL) abort();
    for (unsigned i = 1; i < count; ++i) *(void**)places[i] = NULL;
  }
  void** places = NULL;
  callbacks->functions_of(k_core2, &places, NULL);
  *(void**)places[k_push] = (void*)push;
  *(void**)places[k_pop] = (void*)pop;
  *(void**)places[k_create] = (void*)create;
  *(void**)places[k_initialize] = (void*)initialize;
  return 1;
}
