// LOG and CHECK. On the host a failed check throws; in a kernel on a GPU it prints and ends the kernel.
#pragma once

#include <tarsia/mobula/common.h>

#if !defined(__CUDA_ARCH__)
#include <cstdio>
#include <sstream>
#include <stdexcept>
#include <string>
#else
#if !defined(__CUDACC_RTC__)
#include <cstdio>
#endif
#endif

namespace mobula {
namespace tarsia_detail {

#if !defined(__CUDA_ARCH__)

/// A message that is written, or thrown, when it is complete.
class Message {
 public:
  Message(const char* kind, bool is_fatal, const char* file, int line) : m_is_fatal(is_fatal) {
    if (!is_fatal) m_text << '[' << kind << "] ";
    m_text << file << ':' << line << ' ';
  }
  ~Message() noexcept(false) {
    if (m_is_fatal) throw std::runtime_error(m_text.str());
    m_text << '\n';
    std::fputs(m_text.str().c_str(), stdout);
    std::fflush(stdout);
  }
  template <typename T>
  Message& operator<<(const T& part) {
    m_text << part;
    return *this;
  }

 private:
  std::ostringstream m_text;
  bool m_is_fatal;
};

#else

class Message {
 public:
  __device__ Message(const char* kind, bool is_fatal, const char* file, int line) : m_is_fatal(is_fatal) {
    printf("[%s] %s:%d ", kind, file, line);
  }
  __device__ ~Message() {
    printf("\n");
    if (m_is_fatal) __trap();
  }
  __device__ Message& operator<<(const char* part) { return printf("%s", part), *this; }
  __device__ Message& operator<<(char part) { return printf("%c", part), *this; }
  __device__ Message& operator<<(const void* part) { return printf("%p", part), *this; }
  __device__ Message& operator<<(float part) { return printf("%g", part), *this; }
  __device__ Message& operator<<(double part) { return printf("%g", part), *this; }
  __device__ Message& operator<<(unsigned long long part) { return printf("%llu", part), *this; }
  template <typename T>
  __device__ Message& operator<<(const T& part) {
    return printf("%lld", static_cast<long long>(part)), *this;
  }

 private:
  bool m_is_fatal;
};

#endif

/// Makes a statement of a message.
struct Statement {
  TARSIA_MOBULA_BOTH void operator&(const Message&) const {}
};

}  // namespace tarsia_detail
}  // namespace mobula

#if !defined(LOG)
#define LOG_INFO ::mobula::tarsia_detail::Message("INFO", false, __FILE__, __LINE__)
#define LOG_WARNING ::mobula::tarsia_detail::Message("WARNING", false, __FILE__, __LINE__)
#define LOG_FATAL ::mobula::tarsia_detail::Message("FATAL", true, __FILE__, __LINE__)
/// A stream for a message: LOG(INFO), LOG(WARNING), or LOG(FATAL), which throws.
#define LOG(KIND) LOG_##KIND
#endif

#if !defined(CHECK)
/// Throws unless a condition holds.
#define CHECK(x) (x) ? (void)0 : ::mobula::tarsia_detail::Statement() & LOG(FATAL) << "check failed: " #x " "
/// Throws unless two values compare; the message has both.
#define CHECK_BINARY_OP(op, x, y)                                                                           \
  ((x)op(y)) ? (void)0                                                                                      \
             : ::mobula::tarsia_detail::Statement() & LOG(FATAL) << "check failed: " #x " " #op " " #y ": " \
                                                                 << (x) << " vs " << (y) << ' '
#define CHECK_EQ(x, y) CHECK_BINARY_OP(==, x, y)
#define CHECK_NE(x, y) CHECK_BINARY_OP(!=, x, y)
#define CHECK_LE(x, y) CHECK_BINARY_OP(<=, x, y)
#define CHECK_GE(x, y) CHECK_BINARY_OP(>=, x, y)
#define CHECK_LT(x, y) CHECK_BINARY_OP(<, x, y)
#define CHECK_GT(x, y) CHECK_BINARY_OP(>, x, y)
#endif
