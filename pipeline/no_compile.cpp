// Counts scopes; asks whether the thread's current stream is capturing.
#include "pipeline/no_compile.h"

#include "base/cuda/cuda_driver.h"
#include "base/error.h"
#include "registry/resources/call_context.h"

namespace tarsia::pipeline {
namespace {

thread_local unsigned t_depth = 0;

/// A stream that the driver cannot tell about does not count as capturing: the default stream is such a one
/// while another thread captures.
bool current_stream_captures() noexcept {
  try {
    if (!is_cuda_driver_loaded() || !is_cuda_in_use()) return false;
    return is_capturing_if_known(registry::current_stream(-1)).value_or(false);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

void enter_no_compile() noexcept {
  ++t_depth;
}

bool leave_no_compile() noexcept {
  if (t_depth == 0) return false;
  --t_depth;
  return true;
}

unsigned no_compile_depth() noexcept {
  return t_depth;
}

Ban current_ban() noexcept {
  if (t_depth != 0) return Ban::caller;
  return current_stream_captures() ? Ban::capturing : Ban::none;
}

std::string ban_text(Ban ban) {
  if (ban == Ban::capturing)
    return "no compile may start while the current stream captures a CUDA graph: load it, and call what it "
           "instantiates, once before the capture begins";
  return "no compile may start within no_compile(): load it, and call what it instantiates, once outside; "
         "tarsia cache explain tells what differs from the nearest entry";
}

}  // namespace tarsia::pipeline
