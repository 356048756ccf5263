// A clone that shares the memory and makes the parent wait, as vfork and posix_spawn do: a fork would copy
// the page tables of a process that may hold a terabyte of mappings. The child has a stack of its own, and
// makes calls of the kernel alone.
#include "registry/crash/bare_process.h"

#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

namespace tarsia::registry {
namespace {

/// For functions of the child, whose end no sanitizer would see.
#define TARSIA_IN_CHILD __attribute__((noinline, no_sanitize("address"), no_sanitize("thread")))

/// What the kernel takes for `struct sigaction`.
struct KernelAction {
  std::size_t handler, flags, restorer, mask;
};
constexpr std::size_t k_mask_bytes = sizeof(KernelAction::mask);

[[noreturn]] TARSIA_IN_CHILD void become(const BareProgram* program) {
  // A handler of the parent's would run on the parent's memory. Some numbers refuse, as they should.
  for (int number = 1; number < NSIG; ++number) {
    KernelAction action{};
    if (::syscall(SYS_rt_sigaction, number, nullptr, &action, k_mask_bytes) != 0 ||
        action.handler == reinterpret_cast<std::size_t>(SIG_IGN))
      continue;
    action = {};
    ::syscall(SYS_rt_sigaction, number, &action, nullptr, k_mask_bytes);
  }
  const std::size_t none = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, k_mask_bytes);
  if (::syscall(SYS_dup2, program->input, STDIN_FILENO) == STDIN_FILENO &&
      ::syscall(SYS_dup2, program->output, STDOUT_FILENO) == STDOUT_FILENO)
    ::syscall(SYS_execve, program->path, program->arguments, program->environment);
  for (;;) ::syscall(SYS_exit_group, 127);
}

/// The child calls `become` and never comes back. Work-around: AddressSanitizer's vfork writes over memory in
/// a handler of signals.
/// Trigger: vfork on an alternate stack. The C library's fork and clone are replaced as well, by
/// ThreadSanitizer. Symptom: a fault in libc's memset: the report of a crash loses its frames, and the
/// sanitizer's own report names that place. Removal: its vfork asks on which stack the thread is.
long clone_onto(void* stack_top, const BareProgram& program) {
  constexpr unsigned long k_flags = CLONE_VM | CLONE_VFORK | SIGCHLD;
  long result = SYS_clone;
  register unsigned long no_tid asm("r10") = 0;
  register const BareProgram* argument asm("r8") = &program;  // where CLONE_SETTLS would have its own
  register void (*entry)(const BareProgram*) asm("r9") = become;
  asm volatile(
      "syscall\n\t"
      "testq %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xorl %%ebp, %%ebp\n\t"  // the outermost frame
      "movq %%r8, %%rdi\n\t"
      "callq *%%r9\n\t"
      "hlt\n"
      "1:"
      : "+a"(result)
      : "D"(k_flags), "S"(stack_top), "d"(0L), "r"(no_tid), "r"(argument), "r"(entry)
      : "rcx", "r11", "memory", "cc");
  return result;
}

}  // namespace

pid_t start_bare(const BareProgram& program) noexcept {
  alignas(16) static char s_stack[16 * 1024];  // that of the handler may be small
  std::size_t before = 0;
  const std::size_t all = ~std::size_t{0};
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, k_mask_bytes);
  const long child = clone_onto(s_stack + sizeof s_stack, program);
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, nullptr, k_mask_bytes);
  return child > 0 ? static_cast<pid_t>(child) : -1;
}

}  // namespace tarsia::registry
