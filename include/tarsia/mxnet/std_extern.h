// Instantiations of the std templates that sources for MXNet's extension API use. Sources declare them; the
// object that is linked to inline sources (jit/worker/link/support/mxnet_support.cpp) defines them. A source
// does not compile members that are declared `noinline`; Clang would compile the others to inline them.
#pragma once

#if defined(TARSIA_SUPPORT_OBJECT)
#define TARSIA_MXNET_EXTERN
#define TARSIA_MXNET_MEMBER template
#else
#define TARSIA_MXNET_EXTERN extern
#define TARSIA_MXNET_MEMBER extern template __attribute__((noinline))
#endif

namespace std {

#if !defined(TARSIA_SUPPORT_OBJECT)
#define TARSIA_MXNET_VECTOR(...)                                                                          \
  TARSIA_MXNET_MEMBER __VA_ARGS__& vector<__VA_ARGS__>::at(size_t);                                       \
  TARSIA_MXNET_MEMBER const __VA_ARGS__& vector<__VA_ARGS__>::at(size_t) const;                           \
  TARSIA_MXNET_MEMBER vector<__VA_ARGS__>::vector(size_t, const allocator<__VA_ARGS__>&);                 \
  TARSIA_MXNET_MEMBER vector<__VA_ARGS__>::vector(size_t, const __VA_ARGS__&,                             \
                                                  const allocator<__VA_ARGS__>&);                         \
  TARSIA_MXNET_MEMBER void vector<__VA_ARGS__>::assign(size_t, const __VA_ARGS__&);                       \
  TARSIA_MXNET_MEMBER vector<__VA_ARGS__>::iterator vector<__VA_ARGS__>::insert(                          \
      vector<__VA_ARGS__>::const_iterator, const __VA_ARGS__&);                                           \
  TARSIA_MXNET_MEMBER vector<__VA_ARGS__>::vector(const vector<__VA_ARGS__>&);                            \
  TARSIA_MXNET_MEMBER vector<__VA_ARGS__>::vector(initializer_list<__VA_ARGS__>,                          \
                                                  const allocator<__VA_ARGS__>&);                         \
  TARSIA_MXNET_MEMBER vector<__VA_ARGS__>::~vector();                                                     \
  TARSIA_MXNET_MEMBER vector<__VA_ARGS__>& vector<__VA_ARGS__>::operator=(const vector<__VA_ARGS__>&);    \
  TARSIA_MXNET_MEMBER vector<__VA_ARGS__>& vector<__VA_ARGS__>::operator=(vector<__VA_ARGS__>&&);         \
  TARSIA_MXNET_MEMBER vector<__VA_ARGS__>& vector<__VA_ARGS__>::operator=(initializer_list<__VA_ARGS__>); \
  TARSIA_MXNET_MEMBER void vector<__VA_ARGS__>::push_back(const __VA_ARGS__&);                            \
  TARSIA_MXNET_MEMBER void vector<__VA_ARGS__>::push_back(__VA_ARGS__&&);                                 \
  TARSIA_MXNET_MEMBER void vector<__VA_ARGS__>::resize(size_t);                                           \
  TARSIA_MXNET_MEMBER void vector<__VA_ARGS__>::resize(size_t, const __VA_ARGS__&);                       \
  TARSIA_MXNET_MEMBER void vector<__VA_ARGS__>::reserve(size_t);
TARSIA_MXNET_VECTOR(int)
TARSIA_MXNET_VECTOR(unsigned int)
TARSIA_MXNET_VECTOR(int64_t)
TARSIA_MXNET_VECTOR(vector<unsigned int>)
#define TARSIA_MXNET_MAP(...)                                                                        \
  TARSIA_MXNET_MEMBER string& __VA_ARGS__<string, string>::at(const string&);                        \
  TARSIA_MXNET_MEMBER const string& __VA_ARGS__<string, string>::at(const string&) const;            \
  TARSIA_MXNET_MEMBER string& __VA_ARGS__<string, string>::operator[](const string&);                \
  TARSIA_MXNET_MEMBER string& __VA_ARGS__<string, string>::operator[](string&&);                     \
  TARSIA_MXNET_MEMBER size_t __VA_ARGS__<string, string>::count(const string&) const;                \
  TARSIA_MXNET_MEMBER __VA_ARGS__<string, string>::iterator __VA_ARGS__<string, string>::find(       \
      const string&);                                                                                \
  TARSIA_MXNET_MEMBER __VA_ARGS__<string, string>::const_iterator __VA_ARGS__<string, string>::find( \
      const string&) const;
TARSIA_MXNET_MAP(unordered_map)
TARSIA_MXNET_MAP(map)
#undef TARSIA_MXNET_MAP
typedef _Hashtable<string, pair<const string, string>, allocator<pair<const string, string> >,
                   __detail::_Select1st, equal_to<string>, hash<string>, __detail::_Mod_range_hashing,
                   __detail::_Default_ranged_hash, __detail::_Prime_rehash_policy,
                   __detail::_Hashtable_traits<true, false, true> >
    tarsia_hashtable;
TARSIA_MXNET_MEMBER tarsia_hashtable::_Hashtable(const tarsia_hashtable&);
TARSIA_MXNET_MEMBER tarsia_hashtable::_Hashtable(tarsia_hashtable&&);
TARSIA_MXNET_MEMBER tarsia_hashtable::~_Hashtable();
typedef _Rb_tree<string, pair<const string, string>, _Select1st<pair<const string, string> >, less<string> >
    tarsia_tree;
TARSIA_MXNET_MEMBER tarsia_tree::_Rb_tree(const tarsia_tree&);
TARSIA_MXNET_MEMBER tarsia_tree::~_Rb_tree();
#endif
// Work-around: libstdc++ declares no instantiations of std::string from C++20 on.
// Trigger: a C++20 source. Symptom: each compiles these, which libstdc++.so has. Removal: it declares them.
TARSIA_MXNET_MEMBER string::basic_string(const string&);
TARSIA_MXNET_MEMBER string::basic_string(string&&);
TARSIA_MXNET_MEMBER string::basic_string(const char*, const allocator<char>&);
TARSIA_MXNET_MEMBER string::~basic_string();
TARSIA_MXNET_MEMBER string& string::operator=(const string&);
TARSIA_MXNET_MEMBER string& string::operator=(string&&);
TARSIA_MXNET_MEMBER string& string::operator=(const char*);
TARSIA_MXNET_MEMBER string& string::append(const char*);
TARSIA_MXNET_MEMBER string& string::append(const string&);
TARSIA_MXNET_MEMBER int string::compare(const char*) const;
TARSIA_MXNET_MEMBER int string::compare(const string&) const;
TARSIA_MXNET_MEMBER string operator+(const char*, const string&);
TARSIA_MXNET_MEMBER string operator+(string&&, const char*);
TARSIA_MXNET_MEMBER string operator+(string&&, const string&);
TARSIA_MXNET_MEMBER string operator+(string&&, string&&);
TARSIA_MXNET_MEMBER string operator+(const string&, const char*);
TARSIA_MXNET_MEMBER string operator+(const string&, const string&);
#if !defined(TARSIA_SUPPORT_OBJECT)
TARSIA_MXNET_MEMBER ostream& endl(ostream&);
TARSIA_MXNET_MEMBER ostream& operator<<(ostream&, const char*);
TARSIA_MXNET_MEMBER ostream& operator<<(ostream&, const string&);
#endif

TARSIA_MXNET_EXTERN template class vector<int>;
TARSIA_MXNET_EXTERN template class vector<unsigned int>;
TARSIA_MXNET_EXTERN template class vector<int64_t>;
TARSIA_MXNET_EXTERN template class vector<vector<unsigned int> >;
TARSIA_MXNET_EXTERN template class _Hashtable<
    string, pair<const string, string>, allocator<pair<const string, string> >, __detail::_Select1st,
    equal_to<string>, hash<string>, __detail::_Mod_range_hashing, __detail::_Default_ranged_hash,
    __detail::_Prime_rehash_policy, __detail::_Hashtable_traits<true, false, true> >;
TARSIA_MXNET_EXTERN template class unordered_map<string, string>;
TARSIA_MXNET_EXTERN template class _Rb_tree<string, pair<const string, string>,
                                            _Select1st<pair<const string, string> >, less<string> >;
TARSIA_MXNET_EXTERN template class map<string, string>;

}  // namespace std

namespace __gnu_cxx {
TARSIA_MXNET_MEMBER int __stoa<long, int, char, int>(long (*)(const char*, char**, int), const char*,
                                                     const char*, size_t*, int);
TARSIA_MXNET_MEMBER long __stoa<long, long, char, int>(long (*)(const char*, char**, int), const char*,
                                                       const char*, size_t*, int);
TARSIA_MXNET_MEMBER float __stoa<float, float, char>(float (*)(const char*, char**), const char*, const char*,
                                                     size_t*);
TARSIA_MXNET_MEMBER double __stoa<double, double, char>(double (*)(const char*, char**), const char*,
                                                        const char*, size_t*);
}  // namespace __gnu_cxx

#if !defined(TARSIA_SUPPORT_OBJECT)
namespace mxnet {
namespace ext {
namespace tarsia_detail {
/// Never called and never compiled. The templates that it uses are instantiated when this header is
/// precompiled, not in each source.
template <class T_>
__attribute__((gnu_inline, noinline)) inline void instantiate(std::vector<T_> v_, const T_& x_) {
  std::vector<T_> w_ = {x_, x_};
  w_ = v_;
  w_ = std::move(v_);
  w_ = {x_};
  w_.push_back(x_);
  w_.push_back(T_(x_));
  w_.emplace_back(x_);
  w_.resize(w_.size() + 1);
  w_.resize(2, x_);
  w_.at(0) = w_[0];
  w_.at(1) = const_cast<const std::vector<T_>&>(w_).at(v_.size());
  for (const T_& y_ : w_)
    if (!w_.empty())
      w_.back() = w_.front(), w_.reserve(w_.capacity()), w_.pop_back(), w_.insert(w_.end(), y_);
  w_.assign(2, x_);
  w_.insert(w_.begin(), x_);
  w_.clear();
}
template <class M_>
__attribute__((gnu_inline, noinline)) inline void instantiate_map(const M_& m_, const std::string& k_) {
  M_ copy_(m_), other_(std::move(copy_));
  copy_["key"] = copy_.at(k_) + m_.at(k_);
  copy_.insert(std::pair<const std::string, std::string>(k_, "value"));
  if (m_.find(k_) == m_.end() || m_.count("key") == 0 || m_.empty() || m_.size()) copy_.erase(k_);
  for (const auto& entry_ : m_) copy_[entry_.first] = entry_.second;
  for (auto at_ = m_.begin(); at_ != m_.end(); ++at_) copy_[at_->first] = at_->second;
}
__attribute__((gnu_inline, noinline)) inline void instantiate_all(const std::string& text_) {
  instantiate<int>(std::vector<int>(3), 1);
  instantiate<unsigned>(std::vector<unsigned>(3, 2u), 1);
  instantiate<int64_t>(std::vector<int64_t>(), 1);
  instantiate<std::vector<unsigned> >(std::vector<std::vector<unsigned> >(3), std::vector<unsigned>());
  instantiate<std::string>(std::vector<std::string>(), text_);
  instantiate_map(std::unordered_map<std::string, std::string>(), text_);
  instantiate_map(std::map<std::string, std::string>(), text_);
  if (text_ == "a" || "b" == text_ || text_ != "c" || text_.compare("d") == 0 || text_ == text_)
    std::cout << text_ << "text" << 1 << 1u << 1l << 1ul << 1.0f << 1.0 << 'c' << std::endl;
  std::string more_("text"), less_;
  more_ += text_ + "b" + text_.substr(1) + std::to_string(1);
  less_ = "c";
  less_ = more_;
  const int n_ = std::stoi(text_) + static_cast<int>(std::stol(text_)) + static_cast<int>(std::stof(text_)) +
                 static_cast<int>(std::stod(text_)) + static_cast<int>(std::stoul(text_));
  if (n_ || more_.empty() || more_.find("x") == std::string::npos) throw std::runtime_error(more_ + "d");
}
}  // namespace tarsia_detail
}  // namespace ext
}  // namespace mxnet
#endif
