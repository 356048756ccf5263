// What declarations of ops are given: names, functions and attributes. op_define.h puts them together.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/detail/op_attributes.h>
#include <tarsia/detail/plain_list.h>

#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__)
#pragma clang optimize off
#endif
#pragma GCC visibility push(hidden)
namespace tarsia {
namespace detail {

/// Checks the name that TARSIA_OP got, and returns it.
template <bool without_quotes_, bool at_namespace_scope_>
constexpr const char* op_name(const char* name_) {
  static_assert(without_quotes_, "tarsia: write TARSIA_OP(name), without quotes");
  static_assert(at_namespace_scope_,
                "tarsia: TARSIA_OP stands at namespace scope; inside of a function it registers nothing");
  return name_;
}

/// Whether a declaration can call what it got with these arguments. Its assertions say what it takes, where
/// the compiler would name a line of these headers.
template <class F_, class... A_>
struct CanCall {
  template <class G_>
  static auto test(int)
      -> decltype(static_cast<void>((*static_cast<G_*>(nullptr))(static_cast<A_ (*)()>(nullptr)()...)),
                  char());
  template <class G_>
  static long test(...);
  static constexpr bool value = sizeof(test<F_>(0)) == sizeof(char);
};

/// Whether what a declaration got is nothing to call: a null pointer, or an empty std::function.
template <class F_>
auto is_nothing(const F_& f_, int) -> decltype(f_.operator bool()) {
  return !f_.operator bool();
}
template <class F_>
bool is_nothing(F_* const& f_, int) {
  return !f_;
}
template <class F_>
bool is_nothing(const F_&, long) {
  return false;
}

TARSIA_DETAIL_SUPPORT tarsia_value* new_value(tarsia_value v_) {
  return new tarsia_value(v_);
}

/// The default of a member. If the author reads the type, the default stays in the struct.
template <class M_>
decltype(attribute_type<M_>::read_by_author(), static_cast<tarsia_value*>(nullptr)) default_of_member(
    const M_&, int) {
  return nullptr;
}
template <class M_>
tarsia_value* default_of_member(const M_& x_, long) {
  return new_value(attribute_type<M_>::default_of(x_));
}

/// Declared attributes, with what they own.
class AttributeList : public PlainList<tarsia_attribute> {
 public:
  TARSIA_DETAIL_SUPPORT AttributeList() {}
  AttributeList(const AttributeList&) = delete;
  TARSIA_DETAIL_SUPPORT ~AttributeList() {
    for (uint32_t i_ = 0; i_ < n; ++i_) {
      drop_default(items[i_]);
      delete[] items[i_].choices;
    }
    delete[] items;
  }
  /// Adds one, which owns its default. A null default: callers must give it, unless its type is optional.
  TARSIA_DETAIL_SUPPORT void add(const char* name_, tarsia_type type_, const tarsia_value* default_,
                                 int32_t (*check_)(void*, const char*)) {
    tarsia_attribute& a_ = PlainList<tarsia_attribute>::add();
    a_.size = sizeof(tarsia_attribute);
    a_.name = name_;
    a_.description = "";
    a_.type = type_;
    a_.default_value = default_;
    a_.check = check_;
    if (check_) a_.flags |= TARSIA_ATTRIBUTE_CUSTOM;
    if (!default_ && !(type_.flags & TARSIA_TYPE_OPTIONAL)) a_.flags |= TARSIA_ATTRIBUTE_REQUIRED;
  }
  /// Takes the last one's default away.
  TARSIA_DETAIL_SUPPORT void drop_default() { drop_default(last()); }

 private:
  TARSIA_DETAIL_SUPPORT static void drop_default(tarsia_attribute& attribute_) {
    if (attribute_.default_value) free_value(*attribute_.default_value);
    delete attribute_.default_value;
    attribute_.default_value = nullptr;
  }
};

}  // namespace detail
}  // namespace tarsia
#pragma GCC visibility pop
#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__)
#pragma clang optimize on
#endif

#include <tarsia/detail/macros_pop.h>

// Inside a function, the definition would begin when the function is called, long after the library's ops
// were listed.
#if defined(__clang__) || !defined(__CUDACC__)
#define TARSIA_DETAIL_AT_NAMESPACE_SCOPE (__builtin_FUNCTION()[0] == 0)
#else  // nvcc's front end has no such constant
#define TARSIA_DETAIL_AT_NAMESPACE_SCOPE true
#endif

#define TARSIA_DETAIL_OP_NAME(text_) \
  ::tarsia::detail::op_name<(text_)[0] != '"', TARSIA_DETAIL_AT_NAMESPACE_SCOPE>(text_)
