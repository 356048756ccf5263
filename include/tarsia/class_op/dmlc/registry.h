// What a registration says of a function: its description and its arguments.
#pragma once

#include <string>
#include <vector>

#include <dmlc/base.h>
#include <dmlc/logging.h>
#include <dmlc/parameter.h>

namespace dmlc {

/// A registration of a function of type F. E is the registration: calls can be chained.
template <class E, class F>
class FunctionRegEntryBase {
 public:
  std::string name;
  std::string description;
  std::vector<ParamFieldInfo> arguments;
  F body;
  std::string return_type;

  E& set_body(F function) {
    body = function;
    return self();
  }
  E& describe(const std::string& text) {
    description = text;
    return self();
  }
  E& add_argument(const std::string& argument, const std::string& type, const std::string& text) {
    ParamFieldInfo info;
    info.name = argument;
    info.type = info.type_info_str = type;
    info.description = text;
    arguments.push_back(info);
    return self();
  }
  E& add_arguments(const std::vector<ParamFieldInfo>& all) {
    arguments.insert(arguments.end(), all.begin(), all.end());
    return self();
  }
  E& set_return_type(const std::string& type) {
    return_type = type;
    return self();
  }

 protected:
  E& self() { return *static_cast<E*>(this); }
};

}  // namespace dmlc

#define DMLC_REGISTRY_FILE_TAG(tag) static_assert(true, "")
#define DMLC_REGISTRY_LINK_TAG(tag) static_assert(true, "")
#define DMLC_REGISTRY_ENABLE(type) static_assert(true, "")
