// Opens the library that brings oneTBB, and runs steps by it.
#include "graph/flow/flow.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cfenv>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/paths.h"
#include "registry/resources/call_context.h"
#include "registry/resources/last_error.h"
#include "registry/resources/parallel.h"

namespace tarsia::graph {

namespace {

thread_local bool t_inside = false;  ///< a step of a flow runs on this thread
std::atomic<bool> s_ends{false};     ///< the process ends: oneTBB may be gone
std::atomic<int> s_process{0};       ///< who makes flows; 0: nobody has
const int s_loaded_in = ::getpid();  ///< who loaded this library
constexpr const char* k_tbb = "libtbb.so.12";

struct Library {
  FlowMake* make = nullptr;
  FlowRun* run = nullptr;
  FlowEnd* end = nullptr;
};

Library open_library() {
  const InLoader loading;
  // Where the parent of a forked child has oneTBB, for whatever reason, the child may have its memory of
  // threads that are not there.
  if (::getpid() != s_loaded_in)
    if (void* used = ::dlopen(k_tbb, RTLD_LAZY | RTLD_NOLOAD)) {
      ::dlclose(used);
      return {};
    }
  const std::string path = library_dir() + "/" + k_flow_library;
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) {
    const char* why = ::dlerror();
    log().warn("graphs run one step after the other: {}", why ? why : path);
    return {};
  }
  // Before what oneTBB does when the process ends: the later a handler is added, the earlier it runs.
  std::atexit([] { s_ends = true; });
  return {reinterpret_cast<FlowMake*>(::dlsym(handle, k_flow_make)),
          reinterpret_cast<FlowRun*>(::dlsym(handle, k_flow_run)),
          reinterpret_cast<FlowEnd*>(::dlsym(handle, k_flow_end))};
}

const Library& library() {
  static std::atomic<Library*> s_library{nullptr};
  return made_once(s_library, open_library);
}

/// One run, which several threads work on.
struct Run {
  const Flow::Step& step;
  TsanOrder& order;
  std::fenv_t numbers{};  ///< how the caller's thread rounds, and what becomes of denormals
  std::atomic<std::uint32_t> failed{k_none};
  std::atomic<bool> is_interrupted{false};
  std::mutex mutex{};
  std::int32_t code = 0;
  registry::LastError error{};

  void work(std::uint32_t s) {
    if (s > failed.load() || is_interrupted.load()) return;
    // What runs here asks the run whether it is interrupted, since it cannot ask the caller's thread.
    registry::CallFrame frame({TARSIA_CPU, 0});
    frame.context().user = this;
    frame.context().interrupted = [](void* user) -> std::int32_t {
      return static_cast<const Run*>(user)->is_interrupted.load() ? 1 : 0;
    };
    std::fenv_t before;
    std::fegetenv(&before);
    std::fesetenv(&numbers);
    t_inside = true;
    const std::int32_t result = step(s);
    t_inside = false;
    std::fesetenv(&before);
    if (!result) return;
    const std::lock_guard lock(mutex);
    if (s > failed.load()) return;
    failed = s;
    code = result;
    error = registry::last_error();
  }
};

}  // namespace

std::unique_ptr<Flow> Flow::make(std::uint32_t n, std::span<const FlowEdge> edges) {
  if (s_ends) return nullptr;
  const Library& tbb = library();
  if (!tbb.make || !tbb.run || !tbb.end) return nullptr;
  // A forked child has oneTBB's memory of its parent's threads, and not the threads.
  int first = 0;
  if (!s_process.compare_exchange_strong(first, ::getpid()) && first != ::getpid()) return nullptr;
  void* flow = tbb.make(n, edges.data(), edges.size(), registry::parallel_threads());
  return flow ? std::unique_ptr<Flow>(new Flow(flow, n, edges)) : nullptr;
}

Flow::Flow(void* flow, std::uint32_t n, std::span<const FlowEdge> edges)
    : m_flow(flow), m_process(::getpid()), m_order(n, edges) {}

Flow::~Flow() {
  if (!s_ends && m_process == ::getpid()) library().end(m_flow);  // else it is left alone
}

bool Flow::is_usable() const {
  return !t_inside && !s_ends && m_process == ::getpid();
}

Flow::Result Flow::run(const Step& step) {
  Run run{step, m_order};
  std::fegetenv(&run.numbers);
  TsanOrder::begin_run(&run);
  const bool is_complete = library().run(
      m_flow,
      [](void* with, std::uint32_t s) {
        TsanOrder::enter_run(with);
        Run& r = *static_cast<Run*>(with);
        r.order.begin_step(s);
        r.work(s);
        r.order.end_step(s);
      },
      [](void* with) {
        if (registry::is_call_interrupted()) static_cast<Run*>(with)->is_interrupted = true;
      },
      &run);
  m_order.end_run();
  if (run.is_interrupted) {
    if (registry::last_error().code != TARSIA_INTERRUPTED)
      registry::set_last_error(TARSIA_INTERRUPTED, "", "the call was interrupted");
    return {TARSIA_INTERRUPTED, k_none};
  }
  if (!is_complete) throw OutOfMemory("graph: oneTBB has no memory to run its steps");
  if (run.code) registry::last_error() = std::move(run.error);
  return {run.code, run.failed};
}

}  // namespace tarsia::graph
