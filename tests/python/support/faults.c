/* Preloaded into a process under test: makes calls of libtarsia.so to the C library fail, one at a time, and
   moves the clock. arm(n, kind) chooses the call that fails, counted from then on; disarm() tells whether it
   was reached. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum kind { k_eio, k_eintr, k_enospc, k_short, k_die };

static atomic_int s_left = -1;
static atomic_int s_fired;
static int s_kind;
static _Atomic int64_t s_clock;

void arm(int n, int kind) {
  s_kind = kind;
  s_fired = 0;
  s_left = n;
}

int disarm(void) {
  s_left = -1;
  return s_fired;
}

void set_clock(int64_t seconds) {
  s_clock = seconds;
}

__attribute__((constructor)) static void begin(void) {
  const char* clock = getenv("FAULTS_CLOCK");
  if (clock) s_clock = atoll(clock);
}

static int from_libtarsia(const void* caller) {
  Dl_info of;
  return dladdr(caller, &of) && of.dli_fname && strstr(of.dli_fname, "libtarsia.so");
}

/* Whether the call, which libtarsia makes, is the one. `changes`: it changes what others see; `waits`:
 * signals end it. */
static int is_hit(const void* caller, int changes, int waits) {
  if (s_left < 0) return 0;
  if (!from_libtarsia(caller)) return 0;
  if (s_kind == k_eintr && !waits) return 0;
  if ((s_kind == k_die || s_kind == k_enospc) && !changes) return 0;
  if (atomic_fetch_sub(&s_left, 1) != 0) return 0;
  s_fired = 1;
  if (s_kind == k_die) _exit(9);
  errno = s_kind == k_eintr ? EINTR : s_kind == k_enospc ? ENOSPC : EIO;
  return 1;
}

#define REAL(name)               \
  static __typeof__(&name) real; \
  if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define CALLER __builtin_return_address(0)
#define FAILS(changes, waits) (s_kind != k_short && is_hit(CALLER, changes, waits))
#define IS_SHORT (s_kind == k_short && is_hit(CALLER, 0, 0))

#define OPENS(name, parameters, arguments)                         \
  int name parameters {                                            \
    REAL(name);                                                    \
    mode_t mode = 0;                                               \
    if (flags & (O_CREAT | O_TMPFILE)) {                           \
      va_list rest;                                                \
      va_start(rest, flags);                                       \
      mode = va_arg(rest, mode_t);                                 \
      va_end(rest);                                                \
    }                                                              \
    return FAILS((flags & O_CREAT) != 0, 1) ? -1 : real arguments; \
  }
OPENS(open, (const char* path, int flags, ...), (path, flags, mode))
OPENS(open64, (const char* path, int flags, ...), (path, flags, mode))

#define PLAIN(type, name, parameters, arguments, failure, changes, waits) \
  type name parameters {                                                  \
    REAL(name);                                                           \
    return FAILS(changes, waits) ? failure : real arguments;              \
  }
PLAIN(int, fstat, (int fd, struct stat* to), (fd, to), -1, 0, 0)
PLAIN(int, stat, (const char* path, struct stat* to), (path, to), -1, 0, 0)
PLAIN(int, lstat, (const char* path, struct stat* to), (path, to), -1, 0, 0)
PLAIN(int, flock, (int fd, int how), (fd, how), -1, 0, 1)
PLAIN(int, rename, (const char* from, const char* to), (from, to), -1, 1, 0)
PLAIN(int, renameat2, (int a, const char* from, int b, const char* to, unsigned flags),
      (a, from, b, to, flags), -1, 1, 0)
PLAIN(int, statfs, (const char* path, struct statfs* to), (path, to), -1, 0, 0)
PLAIN(int, fstatfs, (int fd, struct statfs* to), (fd, to), -1, 0, 0)
PLAIN(int, futimens, (int fd, const struct timespec times[2]), (fd, times), -1, 1, 0)
PLAIN(int, rmdir, (const char* path), (path), -1, 1, 0)
PLAIN(ssize_t, readlink, (const char* path, char* to, size_t size), (path, to, size), -1, 0, 0)
PLAIN(struct dirent*, readdir, (DIR * folder), (folder), NULL, 0, 0)
PLAIN(int, socket, (int domain, int type, int protocol), (domain, type, protocol), -1, 0, 0)
PLAIN(int, connect, (int fd, __CONST_SOCKADDR_ARG to, socklen_t size), (fd, to, size), -1, 0, 1)
PLAIN(int, access, (const char* path, int how), (path, how), -1, 0, 0)
PLAIN(int, unlink, (const char* path), (path), -1, 1, 0)
PLAIN(int, mkdir, (const char* path, mode_t mode), (path, mode), -1, 1, 0)
PLAIN(int, ftruncate, (int fd, off_t size), (fd, size), -1, 1, 1)
PLAIN(int, fchmod, (int fd, mode_t mode), (fd, mode), -1, 1, 0)
PLAIN(int, memfd_create, (const char* name, unsigned flags), (name, flags), -1, 0, 0)
PLAIN(void*, mmap, (void* at, size_t size, int protection, int flags, int fd, off_t offset),
      (at, size, protection, flags, fd, offset), MAP_FAILED, 0, 0)
PLAIN(DIR*, opendir, (const char* path), (path), NULL, 0, 0)
PLAIN(int, pipe2, (int ends[2], int flags), (ends, flags), -1, 0, 0)
PLAIN(int, socketpair, (int domain, int type, int protocol, int ends[2]), (domain, type, protocol, ends), -1,
      0, 0)
PLAIN(int, poll, (struct pollfd * all, nfds_t n, int timeout), (all, n, timeout), -1, 0, 1)
PLAIN(ssize_t, sendmsg, (int fd, const struct msghdr* message, int flags), (fd, message, flags), -1, 0, 1)
PLAIN(ssize_t, recvmsg, (int fd, struct msghdr* message, int flags), (fd, message, flags), -1, 0, 1)

#define COUNTED(name, parameters, arguments, halved, changes) \
  ssize_t name parameters {                                   \
    REAL(name);                                               \
    if (IS_SHORT && size > 1) return real halved;             \
    return FAILS(changes, 1) ? -1 : real arguments;           \
  }
COUNTED(read, (int fd, void* to, size_t size), (fd, to, size), (fd, to, size / 2), 0)
COUNTED(pread, (int fd, void* to, size_t size, off_t at), (fd, to, size, at), (fd, to, size / 2, at), 0)
COUNTED(write, (int fd, const void* from, size_t size), (fd, from, size), (fd, from, size / 2), 1)
COUNTED(pwrite, (int fd, const void* from, size_t size, off_t at), (fd, from, size, at),
        (fd, from, size / 2, at), 1)
COUNTED(send, (int fd, const void* from, size_t size, int flags), (fd, from, size, flags),
        (fd, from, size / 2, flags), 0)
COUNTED(recv, (int fd, void* to, size_t size, int flags), (fd, to, size, flags), (fd, to, size / 2, flags), 0)

/* Commands that take a number, a pointer or nothing look alike to a caller. */
int fcntl(int fd, int command, ...) {
  REAL(fcntl);
  va_list rest;
  va_start(rest, command);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  return FAILS(0, command == F_SETLKW) ? -1 : real(fd, command, argument);
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  REAL(clock_gettime);
  const int result = real(clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += s_clock;
  return result;
}

time_t time(time_t* to) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (to) *to = now.tv_sec;
  return now.tv_sec;
}

int gettimeofday(struct timeval* restrict to, void* restrict zone) {
  REAL(gettimeofday);
  const int result = real(to, zone);
  if (result == 0) to->tv_sec += s_clock;
  return result;
}
