// A module whose header is of before tarsia_mxnet_extension: its extension describes the op itself.
#include <tarsia/op.h>

namespace {

int32_t run(void*, const tarsia_op_context* c) {
  for (int64_t i = 0; i < c->inputs[0]->shape[0]; ++i)
    static_cast<float*>(c->outputs[0]->data)[i] = 3 * static_cast<const float*>(c->inputs[0]->data)[i];
  return 0;
}
const tarsia_port g_ports[] = {{"x", "", 0}};
tarsia_implementation g_forward;
tarsia_op g_op;
const tarsia_op* const g_ops[] = {&g_op};

int32_t initialize_library(int32_t (*)(int32_t), int32_t) {
  g_forward.size = sizeof(g_forward);
  g_forward.pass = TARSIA_FORWARD;
  g_forward.device_type = TARSIA_CPU;
  g_forward.requests = 1 << TARSIA_REQUEST_WRITE;
  g_forward.name = "";
  g_forward.run = &run;
  g_op.size = sizeof(g_op);
  g_op.name = "older_triple";
  g_op.description = g_op.location = "";
  g_op.inputs = g_op.outputs = g_ports;
  g_op.implementations = &g_forward;
  g_op.n_inputs = g_op.n_outputs = g_op.n_implementations = 1;
  return 0;
}
int32_t list_ops(const tarsia_op* const** ops, uint64_t* n) {
  *ops = g_ops;
  *n = 1;
  return 0;
}
const char* const* list_ignored(uint64_t* n) {
  *n = 0;
  return nullptr;
}
const tarsia_extension g_extension = {sizeof(g_extension), 0, &initialize_library, &list_ops, &list_ignored};
const tarsia_extension* extension() {
  return &g_extension;
}
__attribute__((unused)) const int g_announced = (tarsia_module_extension = &extension, 0);

}  // namespace
