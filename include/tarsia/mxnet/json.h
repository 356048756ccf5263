// The JSON classes of MXNet's extension API, for ops that read their subgraph.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/mxnet/messages.h>
#include <tarsia/mxnet/std.h>

#define MX_STR_SUBGRAPH_SYM_JSON "subgraph_sym_json"
#define MX_STR_DTYPE "__ext_dtype__"
#define MX_STR_SHAPE "__ext_shape__"
#define MX_STR_EXTRA_INPUTS "__ext_extra_inputs__"

// As in std_extern.h.
#if defined(TARSIA_MXNET_LINKED)
namespace mxnet {
namespace ext {
struct JsonVal;
}
}  // namespace mxnet
namespace std {
typedef _Rb_tree<mxnet::ext::JsonVal, pair<const mxnet::ext::JsonVal, mxnet::ext::JsonVal>,
                 _Select1st<pair<const mxnet::ext::JsonVal, mxnet::ext::JsonVal> >,
                 less<mxnet::ext::JsonVal> >
    tarsia_json_tree;
#if !defined(TARSIA_SUPPORT_OBJECT)
TARSIA_MXNET_VECTOR(mxnet::ext::JsonVal)
TARSIA_MXNET_MEMBER tarsia_json_tree::_Rb_tree(const tarsia_json_tree&);
TARSIA_MXNET_MEMBER tarsia_json_tree::_Rb_tree(tarsia_json_tree&&);
TARSIA_MXNET_MEMBER tarsia_json_tree::~_Rb_tree();
TARSIA_MXNET_MEMBER tarsia_json_tree& tarsia_json_tree::operator=(const tarsia_json_tree&);
TARSIA_MXNET_MEMBER mxnet::ext::JsonVal& map<mxnet::ext::JsonVal, mxnet::ext::JsonVal>::operator[](
    const mxnet::ext::JsonVal&);
TARSIA_MXNET_MEMBER mxnet::ext::JsonVal& map<mxnet::ext::JsonVal, mxnet::ext::JsonVal>::operator[](
    mxnet::ext::JsonVal&&);
TARSIA_MXNET_MEMBER const mxnet::ext::JsonVal& map<mxnet::ext::JsonVal, mxnet::ext::JsonVal>::at(
    const mxnet::ext::JsonVal&) const;
TARSIA_MXNET_MEMBER map<mxnet::ext::JsonVal, mxnet::ext::JsonVal>::iterator
map<mxnet::ext::JsonVal, mxnet::ext::JsonVal>::find(const mxnet::ext::JsonVal&);
#endif
}  // namespace std
#endif

namespace mxnet {
namespace ext {

/// What a JSON value is.
enum JsonType { ERR, STR, NUM, LIST, MAP };

/// A JSON value. Numbers are integers. A text that is not JSON becomes a value of type ERR.
struct JsonVal {
  /// Makes a value: an empty one of a type, a text or a number.
  TARSIA_MXNET_SUPPORT JsonVal() : type(ERR), num(-1) {}
  TARSIA_MXNET_SUPPORT JsonVal(JsonType type_) : type(type_), num(-1) {}
  TARSIA_MXNET_SUPPORT JsonVal(std::string text_) : type(STR), num(-1), str(std::move(text_)) {}
  TARSIA_MXNET_SUPPORT JsonVal(int number_) : type(NUM), num(number_), str(tarsia_detail::number(number_)) {}
  TARSIA_MXNET_SUPPORT JsonVal(JsonType type_, int number_, std::string text_)
      : type(type_), num(number_), str(std::move(text_)) {}

  TARSIA_MXNET_SUPPORT bool operator<(const JsonVal& o_) const {
    if (type != o_.type) return type < o_.type;
    switch (type) {
      case STR:
        return str < o_.str;
      case NUM:
        return num < o_.num;
      case LIST:
        return list < o_.list;
      case MAP:
        return map < o_.map;
      default:
        return false;
    }
  }

  /// Writes the value as JSON.
  TARSIA_MXNET_SUPPORT std::string dump() const {
    std::string text_;
    write(text_);
    return text_;
  }
  /// Prints the value for people.
  TARSIA_MXNET_SUPPORT std::string toString() const { return dump(); }

  /// Reads a text.
  TARSIA_MXNET_SUPPORT static JsonVal parse(const std::string& json_) {
    unsigned at_ = 0;
    return parse(json_, &at_);
  }
  TARSIA_MXNET_SUPPORT static JsonVal parse(const std::string& json_, unsigned* at_) {
    skip_blanks(json_, at_);
    if (*at_ >= json_.size()) return fail("the text ends too early");
    const char first_ = json_[*at_];
    if (first_ == '"') return ++*at_, parse_string(json_, at_);
    if (first_ == '[') return ++*at_, parse_list(json_, at_);
    if (first_ == '{') return ++*at_, parse_map(json_, at_);
    if (first_ == '-' || is_digit(first_)) return parse_num(json_, at_);
    return fail("an unexpected character");
  }
  /// Reads a string from after the opening quote.
  TARSIA_MXNET_SUPPORT static JsonVal parse_string(const std::string& json_, unsigned* at_) {
    JsonVal value_(STR);
    for (; *at_ < json_.size(); ++*at_) {
      char c_ = json_[*at_];
      if (c_ == '"') return ++*at_, value_;
      if (c_ == '\\' && *at_ + 1 < json_.size()) {
        value_.str += c_;  // escapes are kept as they are written, and written back so
        c_ = json_[++*at_];
      }
      value_.str += c_;
    }
    return fail("a string without end");
  }
  TARSIA_MXNET_SUPPORT static JsonVal parse_num(const std::string& json_, unsigned* at_) {
    JsonVal value_(NUM);
    while (*at_ < json_.size() &&
           (is_digit(json_[*at_]) || std::string("+-.eE").find(json_[*at_]) != std::string::npos))
      value_.str += json_[(*at_)++];
    value_.num = atoi(value_.str.c_str());
    return value_;
  }
  /// Reads a list from after the opening bracket.
  TARSIA_MXNET_SUPPORT static JsonVal parse_list(const std::string& json_, unsigned* at_) {
    JsonVal value_(LIST);
    for (;;) {
      skip_blanks(json_, at_, ',');
      if (*at_ >= json_.size()) return fail("a list without end");
      if (json_[*at_] == ']') return ++*at_, value_;
      value_.list.push_back(parse(json_, at_));
      if (value_.list.back().type == ERR) return JsonVal();
    }
  }
  /// Reads a map from after the opening brace.
  TARSIA_MXNET_SUPPORT static JsonVal parse_map(const std::string& json_, unsigned* at_) {
    JsonVal value_(MAP);
    for (;;) {
      skip_blanks(json_, at_, ',');
      if (*at_ >= json_.size()) return fail("a map without end");
      if (json_[*at_] == '}') return ++*at_, value_;
      const JsonVal key_ = parse(json_, at_);
      skip_blanks(json_, at_, ':');
      const JsonVal item_ = key_.type == ERR ? JsonVal() : parse(json_, at_);
      if (item_.type == ERR) return JsonVal();
      value_.map[key_] = item_;
    }
  }

  JsonType type;                   ///< which of the others counts
  int num;                         ///< of NUM
  std::string str;                 ///< of STR, and the number's text
  std::vector<JsonVal> list;       ///< of LIST
  std::map<JsonVal, JsonVal> map;  ///< of MAP

 private:
  TARSIA_MXNET_SUPPORT static bool is_digit(char c_) { return c_ >= '0' && c_ <= '9'; }
  TARSIA_MXNET_SUPPORT static void skip_blanks(const std::string& json_, unsigned* at_, char more_ = ' ') {
    while (*at_ < json_.size() &&
           (json_[*at_] == more_ || std::string(" \t\r\n").find(json_[*at_]) != std::string::npos))
      ++*at_;
  }
  TARSIA_MXNET_SUPPORT static JsonVal fail(const char* why_) {
    MX_ERROR_MSG << "JSON cannot be read: " << why_;
    return JsonVal();
  }
  TARSIA_MXNET_SUPPORT void write(std::string& text_) const {
    bool first_ = true;
    switch (type) {
      case ERR:
        text_ += "null";
        break;
      case STR:
        text_ += '"' + str + '"';
        break;
      case NUM:
        text_ += str.empty() ? tarsia_detail::number(num) : str;
        break;
      case LIST:
        text_ += '[';
        for (const JsonVal& item_ : list) {
          if (!first_) text_ += ", ";
          first_ = false;
          item_.write(text_);
        }
        text_ += ']';
        break;
      case MAP:
        text_ += '{';
        for (const std::pair<const JsonVal, JsonVal>& item_ : map) {
          if (!first_) text_ += ", ";
          first_ = false;
          item_.first.write(text_);
          text_ += ": ";
          item_.second.write(text_);
        }
        text_ += '}';
        break;
    }
  }
};

}  // namespace ext
}  // namespace mxnet

#if defined(TARSIA_MXNET_LINKED)
namespace std {
TARSIA_MXNET_EXTERN template class vector<mxnet::ext::JsonVal>;
TARSIA_MXNET_EXTERN template class _Rb_tree<
    mxnet::ext::JsonVal, pair<const mxnet::ext::JsonVal, mxnet::ext::JsonVal>,
    _Select1st<pair<const mxnet::ext::JsonVal, mxnet::ext::JsonVal> >, less<mxnet::ext::JsonVal> >;
TARSIA_MXNET_EXTERN template class map<mxnet::ext::JsonVal, mxnet::ext::JsonVal>;
}  // namespace std
#if !defined(TARSIA_SUPPORT_OBJECT)
namespace mxnet {
namespace ext {
namespace tarsia_detail {
__attribute__((gnu_inline, noinline)) inline void instantiate_json(const JsonVal& value_) {
  instantiate<JsonVal>(std::vector<JsonVal>(), value_);
  JsonVal copy_(value_), other_(std::move(copy_));
  copy_ = other_;
  copy_ = std::move(other_);
  copy_.map[value_] = copy_.map[JsonVal(1)];
  if (copy_.map.find(value_) != copy_.map.end()) copy_ = value_.map.at(copy_);
  for (const std::pair<const JsonVal, JsonVal>& item_ : value_.map) copy_ = item_.second;
}
}  // namespace tarsia_detail
}  // namespace ext
}  // namespace mxnet
#endif
#endif

namespace mxnet {
namespace ext {

/// The reader of JSON up to library version 7.
struct JsonParser {
  TARSIA_MXNET_SUPPORT JsonVal parse_to_json(const std::string& json_) { return JsonVal::parse(json_); }
  TARSIA_MXNET_SUPPORT JsonVal parse(const std::string& json_, unsigned* at_) {
    return JsonVal::parse(json_, at_);
  }
  TARSIA_MXNET_SUPPORT JsonVal parse_string(const std::string& json_, unsigned* at_) {
    return JsonVal::parse_string(json_, at_);
  }
  TARSIA_MXNET_SUPPORT JsonVal parse_num(const std::string& json_, unsigned* at_) {
    return JsonVal::parse_num(json_, at_);
  }
  TARSIA_MXNET_SUPPORT JsonVal parse_list(const std::string& json_, unsigned* at_) {
    return JsonVal::parse_list(json_, at_);
  }
  TARSIA_MXNET_SUPPORT JsonVal parse_map(const std::string& json_, unsigned* at_) {
    return JsonVal::parse_map(json_, at_);
  }
  TARSIA_MXNET_SUPPORT std::string dump(const JsonVal& value_) { return value_.dump(); }
  TARSIA_MXNET_SUPPORT std::string json_val_string(const JsonVal& value_) { return value_.toString(); }
  TARSIA_MXNET_SUPPORT void print_json_val(const JsonVal& value_) {
    std::cout << value_.toString() << std::endl;
  }
};

/// Returns part `index_` of a text like "[[1,2],[3]]", as in "[1,2]"; empty if there is no such part.
TARSIA_MXNET_SUPPORT std::string getShapeAt(const std::string& shapes_, unsigned index_) {
  size_t at_ = 0;
  for (unsigned i_ = 0;; ++i_) {
    at_ = shapes_.find('[', at_ + 1);
    if (at_ == std::string::npos) return std::string();
    if (i_ == index_) return shapes_.substr(at_, shapes_.find(']', at_) + 1 - at_);
  }
}
/// Returns part `index_` of a text like "[0,1]", as in "0"; empty if there is no such part.
TARSIA_MXNET_SUPPORT std::string getDtypeAt(const std::string& dtypes_, unsigned index_) {
  size_t begin_ = 0;
  for (unsigned i_ = 0;; ++i_) {
    const size_t end_ = dtypes_.find_first_of(",]", begin_ + 1);
    if (end_ == std::string::npos) return std::string();
    if (i_ == index_) return dtypes_.substr(begin_ + 1, end_ - begin_ - 1);
    begin_ = end_;
  }
}

}  // namespace ext
}  // namespace mxnet

#include <tarsia/detail/macros_pop.h>
