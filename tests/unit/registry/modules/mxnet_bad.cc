// C symbols of a library for MXNet's extension API whose one op does not hold together: which way, BAD says.
#include <cstdint>

namespace {
const char* g_cpu[] = {"cpu", "cpu"};
const char* g_tpu[] = {"tpu"};
void* g_functions[] = {reinterpret_cast<void*>(1), reinterpret_cast<void*>(2)};
void* const g_some = reinterpret_cast<void*>(3);
}  // namespace

extern "C" {
int initialize(int) { return 1; }
int _opVersion() { return 11; }
int _opRegSize() { return 1; }
void _opRegGet(int, const char** name, int* is_subgraph, const char*** fwd_ctx, void*** fwd, int* n_fwd, const char***,
               void***, int* n_bwd, const char***, void***, int* n_create, void** parse, void** type, void** stype,
               void** shape, void** mutate) {
  *name = "bad_op";
  *is_subgraph = BAD == 5;
  *fwd_ctx = BAD == 3 ? g_tpu : g_cpu;
  *fwd = g_functions;
  *n_fwd = BAD == 1 ? 0 : BAD == 2 ? 2 : 1;
  *n_bwd = *n_create = 0;
  *parse = BAD == 6 ? nullptr : g_some;
  *type = BAD == 7 ? nullptr : g_some;
  *shape = BAD == 4 ? nullptr : g_some;
  *stype = *mutate = nullptr;
}
void _opCallFree(void*) {}
int _opCallParseAttrs(...) { return 0; }
int _opCallInferShape(...) { return 0; }
int _opCallInferType(...) { return 0; }
#if BAD != 8
int _opCallInferSType(...) { return 0; }
#endif
int _opCallFCompute(...) { return 0; }
int _opCallMutateInputs(...) { return 0; }
int _opCallCreateOpState(...) { return 0; }
int _opCallDestroyOpState(...) { return 0; }
int _opCallFStatefulCompute(...) { return 0; }
int _msgSize() { return 0; }
int _msgGet(int, const char**) { return 0; }
}
