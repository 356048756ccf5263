// A declared field of a struct of parameters: how its text is read, written and checked. <dmlc/parameter.h>
// includes this.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <dmlc/base.h>
#include <dmlc/logging.h>
#include <dmlc/optional.h>
#include <tarsia/class_op/glue/support.h>

#if defined(TARSIA_INLINE_SOURCE) && !defined(TARSIA_SUPPORT_OBJECT) && defined(__clang__)
#pragma clang optimize off
#endif
namespace dmlc {

/// A parameter that cannot be read, or whose value is not allowed.
struct ParamError : public Error {
  explicit ParamError(const std::string& text) : Error(text) {}
};

namespace parameter {
class ParamManager;
}

/// What is said of a field.
struct ParamFieldInfo {
  std::string name;
  std::string type;
  std::string type_info_str;
  std::string description;
  parameter::ParamManager* manager = nullptr;  ///< of its struct
};

namespace parameter {

/// How callers give a field: what becomes of it as an attribute of a Tarsia op.
enum class FieldKind { boolean, integer, floating, text, list, choice, other };

class FieldBase {
 public:
  TARSIA_DETAIL_GLUE FieldBase(const std::string& name, std::ptrdiff_t offset)
      : m_name(name), m_offset(offset) {}
  TARSIA_DETAIL_GLUE virtual ~FieldBase() {}
  const std::string& name() const { return m_name; }
  const std::string& description() const { return m_description; }
  bool has_default() const { return m_has_default; }
  /// Sets the member from a text. Throws ParamError.
  virtual void Set(void* head, const std::string& text) const = 0;
  virtual void SetDefault(void* head) const = 0;
  virtual std::string Get(const void* head) const = 0;
  /// Throws ParamError if the member's value is not allowed.
  virtual void Check(void* head) const = 0;
  virtual FieldKind kind() const = 0;
  /// Of an integer: whether some of its values fit into no int64_t.
  virtual bool is_uint64() const { return false; }
  /// Of a list: whether its numbers are floating.
  virtual bool has_floats() const { return false; }
  /// Whether "None" is a value.
  virtual bool is_optional() const { return false; }
  virtual std::vector<std::string> choices() const { return {}; }
  virtual std::string default_text() const = 0;
  /// The bounds, both included; infinite where there is none.
  virtual double lower() const { return -std::numeric_limits<double>::infinity(); }
  virtual double upper() const { return std::numeric_limits<double>::infinity(); }
  virtual std::string type_name() const = 0;
  TARSIA_DETAIL_GLUE ParamFieldInfo Info() const {
    ParamFieldInfo info;
    info.name = m_name;
    info.type = type_name();
    info.type_info_str =
        info.type + (m_has_default ? ", optional, default=" + default_text() : std::string(", required"));
    info.description = m_description;
    return info;
  }

 protected:
  template <class T>
  T& member(void* head) const {
    return *reinterpret_cast<T*>(static_cast<char*>(head) + m_offset);
  }
  template <class T>
  const T& member(const void* head) const {
    return *reinterpret_cast<const T*>(static_cast<const char*>(head) + m_offset);
  }
  std::string m_name, m_description;
  std::ptrdiff_t m_offset;
  bool m_has_default = false;
};

template <class T>
struct inside {
  typedef T type;
  enum { optional = 0 };
};
template <class T>
struct inside<optional<T>> {
  typedef T type;
  enum { optional = 1 };
};

/// Whether callers may give a list: what has begin() and end(), holds numbers, and is no text.
template <class T, class = void>
struct is_list : std::false_type {
  enum { floating = 0 };
};
template <class T>
using number_in =
    typename std::enable_if<!std::is_same<T, std::string>::value,
                            typename std::decay<decltype(*std::declval<T>().begin())>::type>::type;
template <class T>
struct is_list<T, typename std::enable_if<std::is_arithmetic<number_in<T>>::value>::type> : std::true_type {
  enum { floating = std::is_floating_point<number_in<T>>::value };
};

/// Whether some values fit into no signed integer.
template <class T>
struct is_unsigned_64 : std::integral_constant<bool, std::is_integral<T>::value &&
                                                         std::is_unsigned<T>::value && sizeof(T) == 8> {};

// Reading a text into a value. False if it does not fit.
template <class T>
typename std::enable_if<std::is_integral<T>::value, bool>::type read(const std::string& text, T& value) {
  if (text == "True" || text == "true") return value = T(1), true;
  if (text == "False" || text == "false") return value = T(0), true;
  std::istringstream in(text);
  if (is_unsigned_64<T>::value && text.find('-') == text.npos) {
    unsigned long long natural = 0;
    return (in >> natural) && (in >> std::ws).eof() ? (value = static_cast<T>(natural), true) : false;
  }
  long long whole = 0;
  if (!(in >> whole) || !(in >> std::ws).eof()) return false;
  if (whole < 0 && std::is_unsigned<T>::value) return false;
  if (std::is_same<T, bool>::value ? whole != 0 && whole != 1
                                   : static_cast<long long>(static_cast<T>(whole)) != whole)
    return false;
  return value = static_cast<T>(whole), true;
}
template <class T>
typename std::enable_if<std::is_floating_point<T>::value, bool>::type read(const std::string& text,
                                                                           T& value) {
  char* end = nullptr;
  const double number = strtod(text.c_str(), &end);
  while (*end == ' ') ++end;
  if (text.empty() || *end) return false;
  value = static_cast<T>(number);
  return !(std::abs(number) < std::numeric_limits<double>::infinity() &&
           std::abs(static_cast<double>(value)) == std::numeric_limits<double>::infinity());
}
inline bool read(const std::string& text, std::string& value) {
  value = text;
  return true;
}
template <class T>
typename std::enable_if<!std::is_arithmetic<T>::value, bool>::type read(const std::string& text, T& value) {
  std::istringstream in(text);
  return (in >> value) && (in >> std::ws).eof();
}

template <class T>
std::string written(const T& value) {
  std::ostringstream out;
  out.precision(std::numeric_limits<double>::max_digits10 - (sizeof(T) == sizeof(float) ? 8 : 0));
  out << value;
  return out.str();
}
inline std::string written(const bool& value) {
  return value ? "True" : "False";
}

template <class T, class = void>
class FieldEntry;

/// What the fields of all types have. E is FieldEntry<T>: declarations are chained.
template <class E, class T>
class FieldEntryBase : public FieldBase {
 public:
  using FieldBase::FieldBase;
  E& describe(const std::string& text) { return m_description = text, self(); }
  E& set_default(const T& value) {
    m_default = value;
    m_has_default = true;
    return self();
  }
  void Set(void* head, const std::string& text) const override {
    if (!read(text, this->template member<T>(head)))
      throw ParamError("Invalid Parameter format for " + m_name + " expect " + type_name() + " but value='" +
                       text + "'");
  }
  void SetDefault(void* head) const override {
    if (!m_has_default)
      throw ParamError("Required parameter " + m_name + " of " + type_name() + " is not presented");
    this->template member<T>(head) = m_default;
  }
  std::string Get(const void* head) const override { return to_text(this->template member<T>(head)); }
  std::string default_text() const override { return m_has_default ? to_text(m_default) : std::string(); }
  void Check(void*) const override {}
  FieldKind kind() const override {
    typedef typename inside<T>::type V;
    return std::is_same<V, bool>::value          ? FieldKind::boolean
           : std::is_integral<V>::value          ? FieldKind::integer
           : std::is_floating_point<V>::value    ? FieldKind::floating
           : std::is_same<V, std::string>::value ? FieldKind::text
           : is_list<V>::value                   ? FieldKind::list
                                                 : FieldKind::other;
  }
  bool is_uint64() const override { return is_unsigned_64<typename inside<T>::type>::value; }
  bool has_floats() const override { return is_list<typename inside<T>::type>::floating; }
  bool is_optional() const override { return inside<T>::optional; }
  std::string type_name() const override {
    if (inside<T>::optional) return FieldEntry<typename inside<T>::type>(m_name, 0).type_name() + " or None";
    switch (kind()) {
      case FieldKind::boolean:
        return "boolean";
      case FieldKind::integer:
        return sizeof(T) == 8 ? (std::is_signed<T>::value ? "long" : "unsigned long")
                              : (std::is_signed<T>::value ? "int" : "int (non-negative)");
      case FieldKind::floating:
        return sizeof(T) == 4 ? "float" : "double";
      case FieldKind::text:
        return "string";
      case FieldKind::list:
        return has_floats() ? "tuple of floats" : "Shape(tuple)";
      default:
        return "a value of its type";
    }
  }

 protected:
  virtual std::string to_text(const T& value) const { return written(value); }
  E& self() { return static_cast<E&>(*this); }
  T m_default = T();
};

template <class T, class>
class FieldEntry : public FieldEntryBase<FieldEntry<T>, T> {
  typedef FieldEntryBase<FieldEntry<T>, T> Base;

 public:
  using Base::Base;
  /// Of a list: refuses numbers of 0.
  FieldEntry& enforce_nonzero() { return m_nonzero = true, *this; }
  /// Of a list: refuses other numbers of numbers.
  FieldEntry& set_expect_ndim(size_t n) { return m_ndim = n, *this; }
  void Check(void* head) const override { check_list(this->template member<T>(head), 0); }

 private:
  template <class L>
  auto check_list(const L& list, int) const -> decltype(void(*list.begin())) {
    size_t n = 0;
    for (const auto& item : list) {
      ++n;
      if (m_nonzero && item == 0)
        throw ParamError("value " + written(list) + " for Parameter " + this->m_name +
                         " has a 0, which it may not");
    }
    if (m_ndim && n != m_ndim)
      throw ParamError("value " + written(list) + " for Parameter " + this->m_name + " has to have " +
                       std::to_string(m_ndim) + " numbers");
  }
  void check_list(const T&, long) const {}
  bool m_nonzero = false;
  size_t m_ndim = 0;
};

/// Fields of numbers, which have ranges; those of integers may be choices of named values.
template <class T>
class FieldEntry<T, typename std::enable_if<std::is_arithmetic<T>::value>::type>
    : public FieldEntryBase<FieldEntry<T>, T> {
  typedef FieldEntryBase<FieldEntry<T>, T> Base;

 public:
  using Base::Base;
  FieldEntry& set_range(T lower, T upper) { return set_lower_bound(lower).set_upper_bound(upper); }
  FieldEntry& set_lower_bound(T bound) {
    m_has_lower = true;
    m_lower = bound;
    return *this;
  }
  FieldEntry& set_upper_bound(T bound) {
    m_has_upper = true;
    m_upper = bound;
    return *this;
  }
  FieldEntry& add_enum(const std::string& name, T value) {
    m_names.push_back(std::make_pair(name, value));
    return *this;
  }
  void Set(void* head, const std::string& text) const override {
    if (m_names.empty()) return Base::Set(head, text);
    for (const auto& one : m_names)
      if (one.first == text) {
        this->template member<T>(head) = one.second;
        return;
      }
    throw ParamError("Invalid Input: '" + text + "', valid values are: " + type_name() + ", for parameter " +
                     this->m_name);
  }
  void Check(void* head) const override {
    const T value = this->template member<T>(head);
    if (!(m_has_lower && value < m_lower) && !(m_has_upper && value > m_upper)) return;
    throw ParamError("value " + written(value) + " for Parameter " + this->m_name +
                     (m_has_lower && m_has_upper
                          ? " exceed bound [" + written(m_lower) + "," + written(m_upper) + "]"
                      : m_has_lower ? " should be greater equal to " + written(m_lower)
                                    : " should be smaller equal to " + written(m_upper)));
  }
  FieldKind kind() const override { return m_names.empty() ? Base::kind() : FieldKind::choice; }
  std::vector<std::string> choices() const override {
    std::vector<std::string> all;
    for (const auto& one : m_names) all.push_back(one.first);
    return all;
  }
  double lower() const override { return m_has_lower ? static_cast<double>(m_lower) : Base::lower(); }
  double upper() const override { return m_has_upper ? static_cast<double>(m_upper) : Base::upper(); }
  std::string type_name() const override {
    if (m_names.empty()) return Base::type_name();
    std::string text = "{";
    for (const auto& one : m_names) text += (text.size() > 1 ? ", '" : "'") + one.first + "'";
    return text + "}";
  }

 protected:
  std::string to_text(const T& value) const override {
    for (const auto& one : m_names)
      if (one.second == value) return one.first;
    return written(value);
  }

 private:
  bool m_has_lower = false, m_has_upper = false;
  T m_lower = T(), m_upper = T();
  std::vector<std::pair<std::string, T>> m_names;
};

/// An optional choice of named values.
template <>
class FieldEntry<optional<int>, void> : public FieldEntryBase<FieldEntry<optional<int>>, optional<int>> {
  typedef FieldEntryBase<FieldEntry<optional<int>>, optional<int>> Base;

 public:
  using Base::Base;
  FieldEntry& add_enum(const std::string& name, int value) {
    m_names.push_back(std::make_pair(name, value));
    return *this;
  }
  void Set(void* head, const std::string& text) const override {
    if (m_names.empty() || text == "None") return Base::Set(head, text);
    for (const auto& one : m_names)
      if (one.first == text) {
        member<optional<int>>(head) = one.second;
        return;
      }
    throw ParamError("Invalid Input: '" + text + "', valid values are: " + type_name() + ", for parameter " +
                     m_name);
  }
  std::vector<std::string> choices() const override {
    std::vector<std::string> all;
    if (m_names.empty()) return all;
    all.push_back("None");
    for (const auto& one : m_names) all.push_back(one.first);
    return all;
  }
  FieldKind kind() const override { return m_names.empty() ? FieldKind::integer : FieldKind::choice; }
  bool is_optional() const override { return true; }
  std::string type_name() const override {
    if (m_names.empty()) return "int or None";
    std::string text = "{None";
    for (const auto& one : m_names) text += ", '" + one.first + "'";
    return text + "}";
  }

 protected:
  std::string to_text(const optional<int>& value) const override {
    for (const auto& one : m_names)
      if (value && one.second == *value) return one.first;
    return written(value);
  }

 private:
  std::vector<std::pair<std::string, int>> m_names;
};

// The fields of most parameters. They are not optimised here, so Clang does not look into them either.
#if defined(TARSIA_DETAIL_GLUE_TEMPLATE)
#define TARSIA_DETAIL_FIELD(...)                                                          \
  TARSIA_DETAIL_GLUE_TEMPLATE class FieldEntryBase<FieldEntry<__VA_ARGS__>, __VA_ARGS__>; \
  TARSIA_DETAIL_GLUE_TEMPLATE class FieldEntry<__VA_ARGS__>;
TARSIA_DETAIL_FIELD(bool)
TARSIA_DETAIL_FIELD(int)
TARSIA_DETAIL_FIELD(unsigned int)
TARSIA_DETAIL_FIELD(int64_t)
TARSIA_DETAIL_FIELD(uint64_t)
TARSIA_DETAIL_FIELD(float)
TARSIA_DETAIL_FIELD(double)
TARSIA_DETAIL_FIELD(std::string)
TARSIA_DETAIL_GLUE_TEMPLATE class FieldEntryBase<FieldEntry<optional<int>>, optional<int>>;
#undef TARSIA_DETAIL_FIELD
#endif

}  // namespace parameter
}  // namespace dmlc
#if defined(TARSIA_INLINE_SOURCE) && !defined(TARSIA_SUPPORT_OBJECT) && defined(__clang__)
#pragma clang optimize on
#endif
