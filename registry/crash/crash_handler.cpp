// The handlers, and the report's first lines. Everything here runs on the stack of a handler of signals.
#include "registry/crash/crash_handler.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "registry/crash/frames.h"
#include "registry/crash/module_range.h"
#include "registry/crash/signal_text.h"
#include "registry/crash/symbolizer.h"
#include "registry/crash/thread_record.h"

namespace tarsia::registry {
namespace {

struct Watched {
  int signal;
  const char* name;
  const char* what;
};
constexpr Watched k_watched[] = {
    {SIGSEGV, "SIGSEGV", "segmentation fault"},
    {SIGBUS, "SIGBUS", "bus error"},
    {SIGFPE, "SIGFPE", "arithmetic error"},
    {SIGILL, "SIGILL", "trap or illegal instruction, as where a function ends without its return"},
    {SIGABRT, "SIGABRT", "abort"},
    {SIGTRAP, "SIGTRAP", "trap"},
    {SIGSYS, "SIGSYS", "system call that is not allowed"}};

const Watched& watched_of(int signal) {
  for (const Watched& watched : k_watched)
    if (watched.signal == signal) return watched;
  return k_watched[0];  // there are handlers for these alone
}

struct sigaction g_before[NSIG];  // what a signal did before; written before the handlers are there
std::atomic<pthread_t> g_reporter{};
std::atomic<bool> g_reported{false};
SignalFrames g_frames;  // the reporter's

// What a thread does: one of these at most, the innermost.
struct Activity {
  const LoadingModule* loading = nullptr;
  OpStep* step = nullptr;
  tarsia_call_context* call = nullptr;

  bool is_known() const { return loading || step || call; }
};

// The parts of a report, in their order. A part may crash itself, over a stack that was overwritten. It is
// left out then: the handler that runs for it goes on behind it, with what is known without it.
enum class Part { activity, stack, heading, plain_heading, frames, remarks };

// What the reporter reports.
struct Report {
  const char* what = nullptr;  // null: there is none
  const char* signal = nullptr;
  siginfo_t info{};
  ucontext_t* context = nullptr;  // of the code that the signal interrupted
  Activity activity;
  const LoadingModule* loading = nullptr;
  Part part = Part::activity;  // under way
  bool lacks_call = false, lacks_frames = false;
} g_report;

/// The innermost call under way of which something is known, and that began after `outer`; null: none.
tarsia_call_context* running_call(const ThreadRecord& record, const tarsia_call_context* outer) {
  tarsia_call_context* context = record.slot ? *record.slot : nullptr;
  for (; context && context != outer; context = context->outer)
    if (context->size >= sizeof(tarsia_call_context) && (context->function || context->op)) return context;
  return nullptr;
}

Activity activity_of(const ThreadRecord* record) {
  if (!record) return {};
  OpStep* const step = record->step;
  const LoadingModule* const loading = record->loading;
  if (loading && !(step && step->loading == loading)) return {.loading = loading};
  tarsia_call_context* const call = running_call(*record, step ? step->call : nullptr);
  if (call || !step) return {.call = call};
  return {.step = step};
}

bool is_in_a_module(const SignalFrames& frames) {
  for (std::size_t i = 0; i < frames.n_inner; ++i)
    if (find_module(frames.inner[i].pc)) return true;
  for (std::size_t i = 0; i < frames.n_outer_kept(); ++i)
    if (find_module(frames.outer_kept(i).pc)) return true;
  return false;
}

/// Whether the fault is at the end of the thread's stack.
bool is_stack_overflow(int signal, const siginfo_t& info, const ucontext_t& context,
                       const ThreadRecord* record) {
  if (signal != SIGSEGV || info.si_code <= 0) return false;
  constexpr std::uintptr_t k_near = 64 * 1024, k_guard = 1024 * 1024;
  const auto address = reinterpret_cast<std::uintptr_t>(info.si_addr);
  const auto stack = static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RSP]);
  if (address > stack + k_near || address + k_near < stack) return false;
  return !record || !record->stack_low ||
         (address < record->stack_low + k_near && address + k_guard > record->stack_low);
}

const char* what_happened(const Watched& watched, const siginfo_t& info, bool overflow) {
  if (overflow) return "stack overflow";
  if (watched.signal != SIGFPE) return watched.what;
  switch (info.si_code) {
    case FPE_INTDIV:
      return "integer division by zero";
    case FPE_INTOVF:
      return "integer overflow";
    default:
      return watched.what;
  }
}

bool has_address(int signal, const siginfo_t& info) {
  return (signal == SIGSEGV || signal == SIGBUS) && info.si_code > 0 && info.si_code != SI_KERNEL;
}

/// ", source:3 (model.py:17)", or nothing. `location` is a text in its module.
void write_location(SignalText& text, const char* location) {
  if (!location || !*location) return;
  text.add(", ").add(location);
  if (const ModuleRecord* module = find_module(reinterpret_cast<std::uintptr_t>(location)))
    add_origin(text, location, module->origins);
}

// Of this thread, on which a crash of its code is reported; reached without an allocation.
[[gnu::tls_model("initial-exec")]] thread_local constinit const char* t_note = nullptr;

/// ", in float f(const float *x, int n), source:3", and a line of what it was called with.
void write_call(SignalText& text, const tarsia_call_context& context) {
  if (context.function) {
    const tarsia_function& function = *context.function;
    text.add(" in ").add(function.signature && *function.signature ? function.signature : function.name);
    write_location(text, function.location);
    text.add("\n");
    if (context.n_args) {
      text.add("  called with ");
      add_arguments(text, context);
      text.add("\n");
    }
    return;
  }
  text.add(" in op ").quoted(context.op->name);
  if (context.op_call) text.add(context.op_call->pass == TARSIA_BACKWARD ? ", backward" : ", forward");
  write_location(text, context.op->location);
  text.add("\n");
  if (!context.op_call) return;
  text.add("  called with ");
  add_tensors(text, context);
  text.add("\n");
}

/// " in op 'scale', inference, source:3", and a line of what it was asked about.
void write_step(SignalText& text, const OpStep& step) {
  text.add(" in op ").quoted(step.op->name).add(", ").add(step.name);
  write_location(text, step.op->location);
  text.add("\n");
  if (!step.info || (!step.info->n_inputs && !step.info->n_attributes)) return;
  text.add("  called with ");
  add_bind_info(text, *step.op, *step.info);
  text.add("\n");
}

void write_where(SignalText& text, const Activity& activity) {
  if (activity.loading) {
    text.add(" while ").quoted(activity.loading->name);
    text.add(activity.loading->is_leaving ? " was unloaded, in its destructors and exit handlers\n"
                                          : " was loaded, in its static initialisers\n");
    return;
  }
  if (activity.step) {
    write_step(text, *activity.step);
    return;
  }
  if (activity.call) {
    write_call(text, *activity.call);
    return;
  }
  for (std::size_t i = 0; i < g_frames.n_inner; ++i)
    if (const ModuleRecord* module = find_module(g_frames.inner[i].pc)) {
      text.add(" in library ")
          .quoted(module->name)
          .add(", outside of calls: in a thread, a destructor or an exit handler of its own\n");
      return;
    }
  text.add("\n");
}

/// What the modules' own checks found, which may be why the process crashes.
void write_findings(SignalText& text) {
  for_each_checked_module(
      [](const ModuleRecord& module, void* user) {
        static char s_findings[4096];  // one report at a time
        const auto take = module.take_findings.load();
        if (!take || !take(s_findings, sizeof s_findings, 0)) return;
        auto& to = *static_cast<SignalText*>(user);
        to.add("  undefined behaviour before: ").add(s_findings).add("\n");
      },
      &text);
}

void write_heading(const Report& report, const Activity* activity) {
  SignalText text(report_descriptor());
  text.add("tarsia: ").add(report.what).add(" (").add(report.signal);
  if (has_address(report.info.si_signo, report.info))
    text.add(" at address ").hex(reinterpret_cast<std::uintptr_t>(report.info.si_addr));
  text.add(")");
  if (!activity) {
    text.add("\n");
    return;
  }
  write_where(text, *activity);
  text.add(t_note);
  write_findings(text);
}

/// Writes the report from a part on that is behind what it is about.
void write_report(Part from) {
  Report& at = g_report;
  if (from <= Part::heading) {
    at.part = Part::heading;
    write_heading(at, &at.activity);
  } else if (from == Part::plain_heading) {
    at.part = Part::plain_heading;
    write_heading(at, nullptr);
  }
  if (from <= Part::frames) {
    at.part = Part::frames;
    write_frames(g_frames, at.loading);
  }
  at.part = Part::remarks;
  SignalText text(report_descriptor());
  if (at.lacks_frames) text.add("tarsia: the frames of a crash cannot be read: the stack is damaged\n");
  if (at.lacks_call) text.add("tarsia: what the call was given cannot be read\n");
}

/// The report has crashed itself.
void report_less() {
  Report& at = g_report;
  if (!at.what) return;
  switch (at.part) {
    case Part::activity:
      at.lacks_call = true;
      at.part = Part::stack;
      collect_frames(*at.context, g_frames);
      return write_report(Part::plain_heading);
    case Part::stack:
      at.lacks_frames = true;
      g_frames.clear();
      g_frames.add({static_cast<std::uintptr_t>(at.context->uc_mcontext.gregs[REG_RIP]), true});
      return write_report(at.lacks_call ? Part::plain_heading : Part::heading);
    case Part::heading:
      at.lacks_call = true;
      return write_report(Part::plain_heading);
    case Part::plain_heading:
    case Part::frames:
      at.lacks_frames = true;
      return write_report(Part::remarks);
    case Part::remarks:
      return;
  }
}

/// Another thread reports, and then ends the process: who ended it now would cut the report off.
void wait_for_reporter() {
  for (int i = 0; i < 2'000; ++i) {
    const pthread_t reporter = g_reporter;
    if (reporter == pthread_t{} || reporter == ::pthread_self()) return;
    const timespec a_moment{0, 10'000'000};
    ::nanosleep(&a_moment, nullptr);
  }
}

/// Lets one thread at a time through. False: this thread is in the report already, which itself crashed.
bool begin_report() {
  pthread_t none{};
  if (g_reporter.compare_exchange_strong(none, ::pthread_self())) return true;
  if (none == ::pthread_self()) return false;
  wait_for_reporter();
  none = pthread_t{};
  return g_reporter.compare_exchange_strong(none, ::pthread_self());
}

void end_report() {
  g_reporter = pthread_t{};
}

/// What would have happened without us. `comes_again`: the fault does, when the handler returns.
void chain(int signal, siginfo_t* info, void* context, bool comes_again) {
  const struct sigaction& before = g_before[signal];
  if (before.sa_flags & SA_SIGINFO) {
    before.sa_sigaction(signal, info, context);
    return;
  }
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
    return;
  }
  if (before.sa_handler == SIG_IGN && info->si_code <= 0) return;
  struct sigaction normal{};
  normal.sa_handler = SIG_DFL;
  ::sigaction(signal, &normal, nullptr);
  // What was sent must be sent again, and behind a trap the code would go on.
  if (!comes_again || info->si_code <= 0 || signal == SIGTRAP || signal == SIGSYS)
    ::syscall(SYS_tgkill, ::getpid(), ::gettid(), signal);
}

/// A report that crashes must come back to its handler.
///
/// Work-around: ThreadSanitizer calls handlers with all signals blocked.
/// Trigger: a handler of signals, whatever its flags say. Symptom: a crash within it ends the process without
/// a report. Removal: ThreadSanitizer calls handlers with the mask that their flags ask for.
void let_crashes_come() {
  std::uint64_t mask = 0;
  for (const Watched& watched : k_watched) mask |= std::uint64_t{1} << (watched.signal - 1);
  ::syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &mask, nullptr, sizeof mask);
}

void on_crash(int signal, siginfo_t* info, void* pointer) {
  const int saved_errno = errno;
  let_crashes_come();
  auto& context = *static_cast<ucontext_t*>(pointer);
  if (g_reporter == ::pthread_self()) {
    g_reported = true;
    report_less();
    errno = saved_errno;
    if (g_report.what)  // other handlers are told of the crash that was reported
      return chain(g_report.info.si_signo, &g_report.info, g_report.context, false);
  }
  if (g_reported) wait_for_reporter();
  if (!g_reported && begin_report()) {
    const ThreadRecord* record = find_thread_record();
    const Watched& watched = watched_of(signal);
    g_report = {.what = what_happened(watched, *info, is_stack_overflow(signal, *info, context, record)),
                .signal = watched.name,
                .info = *info,
                .context = &context,
                .activity = {},
                .loading = record ? record->loading.load() : nullptr};
    g_report.activity = activity_of(record);
    g_report.part = Part::stack;
    collect_frames(context, g_frames);
    // While this thread waited, another may have reported its own.
    if (!g_reported && (g_report.activity.is_known() || is_in_a_module(g_frames))) {
      g_reported = true;
      write_report(Part::heading);
    }
    end_report();
  }
  errno = saved_errno;
  chain(signal, info, pointer, true);
}

std::uint64_t now_ns() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

void on_interrupt(int signal, siginfo_t* info, void* pointer) {
  constexpr std::uint64_t k_soon = 1'000'000'000;
  const int saved_errno = errno;
  const ThreadRecord* record = find_thread_record();
  const Activity activity = activity_of(record);
  if (activity.call || activity.step) {
    std::uint64_t& before = activity.call ? activity.call->interrupt_ns : activity.step->interrupt_ns;
    const std::uint64_t now = now_ns();
    if (before && now - before < k_soon && begin_report()) {
      if (crashes_are_reported()) {
        auto& context = *static_cast<ucontext_t*>(pointer);
        g_report = {.what = "interrupted twice",
                    .signal = "SIGINT",
                    .info = *info,
                    .context = &context,
                    .activity = activity,
                    .loading = record->loading,
                    .part = Part::stack};
        collect_frames(context, g_frames);
        write_report(Part::heading);
      }
      struct sigaction normal{};
      normal.sa_handler = SIG_DFL;
      ::sigaction(SIGINT, &normal, nullptr);
      ::syscall(SYS_tgkill, ::getpid(), ::gettid(), SIGINT);
      return;  // where SIGINT is blocked in a handler, it comes now
    }
    before = now;
  }
  errno = saved_errno;
  chain(signal, info, pointer, true);
}

void take_over(int signal, void (*handler)(int, siginfo_t*, void*), int flags) {
  struct sigaction ours{};
  ours.sa_sigaction = handler;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | flags;
  ::sigemptyset(&ours.sa_mask);
  ::sigaction(signal, nullptr, &g_before[signal]);
  ::sigaction(signal, &ours, nullptr);
}

}  // namespace

const char* set_crash_note(const char* text) noexcept {
  return std::exchange(t_note, text);
}

bool crashes_are_reported() noexcept {
  static std::atomic<int> s_are{-1};  // -1: nobody has asked
  int are = s_are.load(std::memory_order_relaxed);
  if (are < 0) {
    const char* asked = std::getenv("TARSIA_CRASH_REPORT");
    const std::string_view text = asked ? asked : "";
    are = text != "0" && text != "off" && text != "no" && text != "false";
    s_are.store(are, std::memory_order_relaxed);
  }
  return are != 0;
}

void report_crashes() noexcept {
  static std::atomic<bool> s_done{false};
  if (!crashes_are_reported() || s_done.exchange(true)) return;
  for (const Watched& watched : k_watched) take_over(watched.signal, on_crash, SA_NODEFER);
}

void report_double_interrupts() noexcept {
  struct sigaction present;
  (void)crashes_are_reported();  // the handler must not be the first to ask
  if (::sigaction(SIGINT, nullptr, &present) != 0) return;
  if (present.sa_flags & SA_SIGINFO ? present.sa_sigaction == on_interrupt
                                    : present.sa_handler == SIG_DFL || present.sa_handler == SIG_IGN)
    return;
  take_over(SIGINT, on_interrupt, present.sa_flags & SA_RESTART);
}

}  // namespace tarsia::registry
