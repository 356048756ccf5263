// The filter is a list of what is denied. A list of what is allowed would be stricter, and would break with
// each new C library, driver or NVRTC; what matters, files, is Landlock's.
#include "jit/worker/isolation/system_calls.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/error.h"

namespace tarsia::jit {
namespace {

// By number: the headers of the oldest supported systems do not know all.
constexpr std::uint32_t k_denied[] = {
    // Sockets. Those of a pair stay: held parses have them.
    SYS_socket, SYS_connect, SYS_bind, SYS_listen, SYS_accept, SYS_accept4,
    // Other programs.
    SYS_execve, SYS_execveat,
    // Other processes.
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, 438 /* pidfd_getfd */,
    440 /* process_madvise */, 448 /* process_mrelease */, SYS_migrate_pages, SYS_move_pages,
    // What Landlock leaves: rights, owners, times and attributes of files.
    SYS_chmod, SYS_fchmod, SYS_fchmodat, 452 /* fchmodat2 */, SYS_chown, SYS_fchown, SYS_lchown, SYS_fchownat,
    SYS_utime, SYS_utimes, SYS_futimesat, SYS_utimensat, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr,
    463 /* setxattrat */, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, 466 /* removexattrat */,
    469 /* file_setattr */, SYS_name_to_handle_at, SYS_open_by_handle_at, SYS_quotactl, 443 /* quotactl_fd */,
    // Who this process is, and where.
    SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid, SYS_setresgid, SYS_setfsuid,
    SYS_setfsgid, SYS_setgroups, SYS_capset, SYS_unshare, SYS_setns, SYS_chroot, SYS_pivot_root, SYS_mount,
    SYS_umount2, 428 /* open_tree */, 429 /* move_mount */, 430 /* fsopen */, 431 /* fsconfig */,
    432 /* fsmount */, 433 /* fspick */, 442 /* mount_setattr */,
    // Ways around a filter, and into the kernel.
    425 /* io_uring_setup */, 426 /* io_uring_enter */, 427 /* io_uring_register */, SYS_bpf,
    SYS_perf_event_open, 323 /* userfaultfd */, SYS_add_key, SYS_request_key, SYS_keyctl, SYS_init_module,
    SYS_finit_module, SYS_delete_module, SYS_kexec_load, 320 /* kexec_file_load */, SYS_reboot, SYS_swapon,
    SYS_swapoff, SYS_syslog, SYS_acct, SYS_iopl, SYS_ioperm, SYS_settimeofday, SYS_clock_settime,
    SYS_clock_adjtime, SYS_adjtimex, SYS_sethostname, SYS_setdomainname, SYS_vhangup, SYS_lookup_dcookie,
    SYS_fanotify_init,
    // What the user's processes share by numbers, which can be guessed.
    SYS_mq_open, SYS_mq_unlink, SYS_shmget, SYS_shmat, SYS_shmctl, SYS_msgget, SYS_msgctl, SYS_msgsnd,
    SYS_msgrcv, SYS_semget, SYS_semctl, SYS_semop, SYS_semtimedop};

constexpr std::uint32_t k_namespaces =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
constexpr std::uint32_t k_clone3 = 435, k_ioprio_process = 1;
constexpr std::uint32_t k_first_x32 = 0x40000000;

constexpr std::uint32_t k_allow = SECCOMP_RET_ALLOW, k_deny = SECCOMP_RET_ERRNO | EPERM,
                        k_unknown = SECCOMP_RET_ERRNO | ENOSYS;

class Program {
 public:
  void load(std::size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)); }
  /// The low half of an argument; x86 is little-endian.
  void load_argument(int number) { load(offsetof(seccomp_data, args) + std::size_t(number) * 8); }
  void give(std::uint32_t answer) { add(BPF_RET | BPF_K, answer); }
  void give_if(std::uint16_t test, std::uint32_t value, std::uint32_t answer) {
    m_steps.push_back({static_cast<std::uint16_t>(BPF_JMP | test | BPF_K), 0, 1, value});
    give(answer);
  }
  void give_unless(std::uint32_t value, std::uint32_t answer) {
    m_steps.push_back({BPF_JMP | BPF_JEQ | BPF_K, 1, 0, value});
    give(answer);
  }
  /// `with_arguments` must end with a `give`.
  template <class Steps>
  void on(std::uint32_t call, Steps with_arguments) {
    const std::size_t at = m_steps.size();
    m_steps.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 0, call});
    with_arguments();
    m_steps[at].jf = static_cast<std::uint8_t>(m_steps.size() - at - 1);
  }
  sock_fprog finish() { return {static_cast<unsigned short>(m_steps.size()), m_steps.data()}; }

 private:
  void add(int code, std::uint32_t value) {
    m_steps.push_back({static_cast<std::uint16_t>(code), 0, 0, value});
  }
  std::vector<sock_filter> m_steps;
};

void write_filter(Program& program) {
  program.load(offsetof(seccomp_data, arch));
  program.give_unless(AUDIT_ARCH_X86_64, k_deny);
  program.load(offsetof(seccomp_data, nr));
  program.give_if(BPF_JGE, k_first_x32, k_deny);
  // Threads are clones, too. Of clone3 a filter cannot see the flags, and the C library has clone as well.
  program.give_if(BPF_JEQ, k_clone3, k_unknown);
  for (const std::uint32_t call : k_denied) program.give_if(BPF_JEQ, call, k_deny);
  program.on(SYS_clone, [&] {
    program.load_argument(0);
    program.give_if(BPF_JSET, k_namespaces, k_deny);
    program.give(k_allow);
  });
  // Of this process alone.
  for (const auto& [call, argument] :
       {std::pair{SYS_prlimit64, 0}, std::pair{SYS_sched_setaffinity, 0},
        std::pair{SYS_sched_setscheduler, 0}, std::pair{SYS_sched_setparam, 0}})
    program.on(static_cast<std::uint32_t>(call), [&] {
      program.load_argument(argument);
      program.give_if(BPF_JEQ, 0, k_allow);
      program.give(k_deny);
    });
  // These take a number of their kind, too: 0 is all processes of the user to another kind.
  for (const auto& [call, process] :
       {std::pair<long, std::uint32_t>{SYS_setpriority, PRIO_PROCESS}, {SYS_ioprio_set, k_ioprio_process}})
    program.on(static_cast<std::uint32_t>(call), [&] {
      program.load_argument(0);
      program.give_unless(process, k_deny);
      program.load_argument(1);
      program.give_if(BPF_JEQ, 0, k_allow);
      program.give(k_deny);
    });
  program.on(SYS_ioctl, [&] {  // what types into a terminal
    program.load_argument(1);
    program.give_if(BPF_JEQ, TIOCSTI, k_deny);
    program.give_if(BPF_JEQ, TIOCLINUX, k_deny);
    program.give(k_allow);
  });
  program.give(k_allow);
}

}  // namespace

std::string restrict_system_calls() {
  Program program;
  write_filter(program);
  sock_fprog filter = program.finish();
  // Without the flag, kernels before 5.16 also slow the process down against speculation by others.
  constexpr unsigned k_spec_allow = 1 << 2;
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, k_spec_allow, &filter) == 0) return {};
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0) return {};
  return errno_message("seccomp, which keeps it from system calls, is not to be had here", errno);
}

}  // namespace tarsia::jit
