// CHECK and LOG. A check that fails, and LOG(FATAL), throw dmlc::Error: the caller of the op gets the message
// with its place. Warnings go to Tarsia's log; a library never prints.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

#include <dmlc/base.h>
#include <tarsia/class_op/glue/host.h>
#include <tarsia/class_op/glue/support.h>

namespace dmlc {

/// What a failed check throws.
struct Error : public std::runtime_error {
  explicit Error(const std::string& text) : std::runtime_error(text) {}
};

/// Collects the message of a failure and throws it when the statement ends.
class LogMessageFatal {
 public:
  TARSIA_DETAIL_GLUE LogMessageFatal(const char* file, int line) { m_text << file << ":" << line << ": "; }
  std::ostringstream& stream() { return m_text; }
  TARSIA_DETAIL_GLUE ~LogMessageFatal() noexcept(false) { throw Error(m_text.str()); }
  LogMessageFatal(const LogMessageFatal&) = delete;

 private:
  std::ostringstream m_text;
};

/// Collects a message for the log.
class LogMessage {
 public:
  TARSIA_DETAIL_GLUE LogMessage(const char* file, int line, bool is_warning = false)
      : m_is_warning(is_warning) {
    m_text << file << ":" << line << ": ";
  }
  std::ostream& stream() { return m_text; }
  TARSIA_DETAIL_GLUE ~LogMessage() {
    if (m_is_warning) ::mxnet::tarsia_detail::warn(m_text.str().c_str());
  }
  LogMessage(const LogMessage&) = delete;

 private:
  std::ostringstream m_text;
  bool m_is_warning;
};

/// Gives both branches of a conditional the type void.
struct LogMessageVoidify {
  void operator&(std::ostream&) {}
};

inline void InitLogging(const char*) {}

namespace tarsia_detail {
/// " (1 vs. 2)", or nothing if the comparison holds.
template <class Holds, class A, class B>
std::string* compare(const A& a, const B& b, Holds holds) {
  if (holds(a, b)) return nullptr;
  std::ostringstream text;
  text << " (" << a << " vs. " << b << ") ";
  return new std::string(text.str());
}
/// A comparison's text, if it failed. False if it holds.
class Compared {
 public:
  explicit Compared(std::string* text) : m_text(text) {}
  Compared(Compared&& other) : m_text(other.m_text) { other.m_text = nullptr; }
  ~Compared() { delete m_text; }
  explicit operator bool() const { return m_text != nullptr; }
  const std::string& text() const { return *m_text; }

 private:
  std::string* m_text;
};

// Old sources compare signed numbers with unsigned ones.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"
#define TARSIA_DETAIL_COMPARE(name, op)             \
  struct name {                                     \
    template <class A, class B>                     \
    bool operator()(const A& a, const B& b) const { \
      return a op b;                                \
    }                                               \
  };
TARSIA_DETAIL_COMPARE(Less, <)
TARSIA_DETAIL_COMPARE(Greater, >)
TARSIA_DETAIL_COMPARE(AtMost, <=)
TARSIA_DETAIL_COMPARE(AtLeast, >=)
TARSIA_DETAIL_COMPARE(Equal, ==)
TARSIA_DETAIL_COMPARE(Unequal, !=)
#undef TARSIA_DETAIL_COMPARE
#pragma GCC diagnostic pop
}  // namespace tarsia_detail
}  // namespace dmlc

#define CHECK(x) \
  if (!(x)) ::dmlc::LogMessageFatal(__FILE__, __LINE__).stream() << "Check failed: " #x << ' '
#define TARSIA_DETAIL_CHECK(holds, op, x, y)                                         \
  if (::dmlc::tarsia_detail::Compared tarsia_compared{                               \
          ::dmlc::tarsia_detail::compare((x), (y), ::dmlc::tarsia_detail::holds())}) \
  ::dmlc::LogMessageFatal(__FILE__, __LINE__).stream()                               \
      << "Check failed: " #x " " #op " " #y << tarsia_compared.text()
#define CHECK_LT(x, y) TARSIA_DETAIL_CHECK(Less, <, x, y)
#define CHECK_GT(x, y) TARSIA_DETAIL_CHECK(Greater, >, x, y)
#define CHECK_LE(x, y) TARSIA_DETAIL_CHECK(AtMost, <=, x, y)
#define CHECK_GE(x, y) TARSIA_DETAIL_CHECK(AtLeast, >=, x, y)
#define CHECK_EQ(x, y) TARSIA_DETAIL_CHECK(Equal, ==, x, y)
#define CHECK_NE(x, y) TARSIA_DETAIL_CHECK(Unequal, !=, x, y)
#define CHECK_NOTNULL(x)                                                                                 \
  ((x) == nullptr ? ::dmlc::LogMessageFatal(__FILE__, __LINE__).stream() << "Check notnull: " #x << ' ', \
   (x)            : (x))

#if defined(NDEBUG)
#define DCHECK(x) \
  while (false) CHECK(x)
#define DCHECK_LT(x, y) \
  while (false) CHECK_LT(x, y)
#define DCHECK_GT(x, y) \
  while (false) CHECK_GT(x, y)
#define DCHECK_LE(x, y) \
  while (false) CHECK_LE(x, y)
#define DCHECK_GE(x, y) \
  while (false) CHECK_GE(x, y)
#define DCHECK_EQ(x, y) \
  while (false) CHECK_EQ(x, y)
#define DCHECK_NE(x, y) \
  while (false) CHECK_NE(x, y)
#else
#define DCHECK(x) CHECK(x)
#define DCHECK_LT(x, y) CHECK_LT(x, y)
#define DCHECK_GT(x, y) CHECK_GT(x, y)
#define DCHECK_LE(x, y) CHECK_LE(x, y)
#define DCHECK_GE(x, y) CHECK_GE(x, y)
#define DCHECK_EQ(x, y) CHECK_EQ(x, y)
#define DCHECK_NE(x, y) CHECK_NE(x, y)
#endif

#define LOG_INFO ::dmlc::LogMessage(__FILE__, __LINE__)
#define LOG_WARNING ::dmlc::LogMessage(__FILE__, __LINE__, true)
#define LOG_ERROR ::dmlc::LogMessage(__FILE__, __LINE__, true)
#define LOG_FATAL ::dmlc::LogMessageFatal(__FILE__, __LINE__)
#define LOG_QFATAL LOG_FATAL
#define LOG(severity) LOG_##severity.stream()
#define LG LOG_INFO.stream()
#define VLOG(x) LOG_INFO.stream()
#define LOG_IF(severity, condition) !(condition) ? (void)0 : ::dmlc::LogMessageVoidify() & LOG(severity)
#if defined(NDEBUG)
#define DLOG(severity) true ? (void)0 : ::dmlc::LogMessageVoidify() & LOG(severity)
#else
#define DLOG(severity) LOG(severity)
#endif
