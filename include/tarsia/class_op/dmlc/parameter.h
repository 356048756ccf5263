// dmlc::Parameter: structs of parameters that declare their fields and read them from texts.
#pragma once

#include <tarsia/class_op/glue/parameter_field.h>

#if defined(TARSIA_INLINE_SOURCE) && !defined(TARSIA_SUPPORT_OBJECT) && defined(__clang__)
#pragma clang optimize off
#endif
namespace dmlc {

namespace parameter {

enum ParamInitOption { kAllowUnknown, kAllMatch, kAllowHidden };

/// The declared fields of one struct of parameters.
class ParamManager {
 public:
  typedef std::vector<std::pair<std::string, std::string>> Texts;

  TARSIA_DETAIL_GLUE ~ParamManager() {
    for (FieldBase* field : m_fields) delete field;
  }
  const std::vector<FieldBase*>& fields() const { return m_fields; }
  TARSIA_DETAIL_GLUE FieldBase* Find(const std::string& name) const {
    const auto found = m_by_name.find(name);
    return found == m_by_name.end() ? nullptr : found->second;
  }
  void set_name(const std::string& name) { m_name = name; }
  const std::string& name() const { return m_name; }
  /// The first mistake of the declaration; "" if there is none.
  const std::string& fault() const { return m_fault; }

  /// Adds a field. It owns it.
  TARSIA_DETAIL_GLUE void Add(const std::string& name, FieldBase* field) {
    m_fields.push_back(field);
    name_it(name, field);
  }
  TARSIA_DETAIL_GLUE void AddAlias(const std::string& name, const std::string& alias) {
    if (FieldBase* field = Find(name))
      name_it(alias, field);
    else
      fault("has an alias '" + alias + "' of '" + name + "', which it does not declare");
  }

  /// Sets all fields from the texts, and those without one to their defaults.
  template <class Iterator>
  void Init(void* head, Iterator begin, Iterator end, Texts* unknown, ParamInitOption option) const {
    std::set<const FieldBase*> given;
    for (Iterator at = begin; at != end; ++at) {
      const FieldBase* field = Find(at->first);
      if (!field) {
        const std::string& key = at->first;
        const bool is_hidden =
            key.size() > 4 && key.compare(0, 2, "__") == 0 && key.compare(key.size() - 2, 2, "__") == 0;
        if (unknown) {
          unknown->push_back(std::make_pair(std::string(at->first), std::string(at->second)));
        } else if (option == kAllMatch || (option == kAllowHidden && !is_hidden)) {
          throw ParamError("Cannot find argument '" + key + "', Possible Arguments:\n----------------\n" +
                           describe_all());
        }
        continue;
      }
      if (!given.insert(field).second)
        throw ParamError("parameter '" + field->name() + "' of " + m_name + " is given twice: leave one out");
      field->Set(head, at->second);
      field->Check(head);
    }
    for (const FieldBase* field : m_fields)
      if (!given.count(field)) field->SetDefault(head);
  }
  TARSIA_DETAIL_GLUE std::map<std::string, std::string> Dict(const void* head) const {
    std::map<std::string, std::string> all;
    for (const FieldBase* field : m_fields) all[field->name()] = field->Get(head);
    return all;
  }
  TARSIA_DETAIL_GLUE std::vector<ParamFieldInfo> Infos() const {
    std::vector<ParamFieldInfo> infos;
    for (const FieldBase* field : m_fields) infos.push_back(field->Info());
    return infos;
  }
  TARSIA_DETAIL_GLUE std::string describe_all() const {
    std::string text;
    for (const ParamFieldInfo& info : Infos())
      text += info.name + " : " + info.type_info_str + "\n    " + info.description + "\n";
    return text;
  }

 private:
  TARSIA_DETAIL_GLUE void name_it(const std::string& name, FieldBase* field) {
    if (!m_by_name.insert(std::make_pair(name, field)).second)
      fault("declares the parameter '" + name + "' twice: leave one out");
  }
  TARSIA_DETAIL_GLUE void fault(const std::string& text) {
    if (m_fault.empty()) m_fault = text;
  }
  std::string m_name, m_fault;
  std::vector<FieldBase*> m_fields;
  std::map<std::string, FieldBase*> m_by_name;
};

#if defined(TARSIA_DETAIL_GLUE_TEMPLATE)
TARSIA_DETAIL_GLUE_TEMPLATE void ParamManager::Init(void*, ParamManager::Texts::const_iterator,
                                                    ParamManager::Texts::const_iterator, ParamManager::Texts*,
                                                    ParamInitOption) const;
#endif

/// Runs a struct's declaration once.
template <class P>
struct ParamManagerSingleton {
  ParamManager manager;
  explicit ParamManagerSingleton(const std::string& name) {
    manager.set_name(name);
    P declared;
    declared.__DECLARE__(this);
  }
};

}  // namespace parameter

/// A base of structs of parameters.
template <class P>
struct Parameter {
 public:
  /// Sets the fields from pairs of texts. Throws ParamError that names the field.
  template <class Container>
  void Init(const Container& texts, parameter::ParamInitOption option = parameter::kAllowHidden) {
    P::__MANAGER__()->Init(head(), texts.begin(), texts.end(), nullptr, option);
  }
  /// The same; gives back the pairs that no field takes.
  template <class Container>
  std::vector<std::pair<std::string, std::string>> InitAllowUnknown(const Container& texts) {
    std::vector<std::pair<std::string, std::string>> unknown;
    P::__MANAGER__()->Init(head(), texts.begin(), texts.end(), &unknown, parameter::kAllowUnknown);
    return unknown;
  }
  /// The values of all fields as texts.
  std::map<std::string, std::string> __DICT__() const {
    return P::__MANAGER__()->Dict(static_cast<const P*>(this));
  }
  static std::vector<ParamFieldInfo> __FIELDS__() {
    std::vector<ParamFieldInfo> infos = P::__MANAGER__()->Infos();
    for (ParamFieldInfo& info : infos) info.manager = P::__MANAGER__();
    return infos;
  }
  static std::string __DOC__() { return P::__MANAGER__()->describe_all(); }

 protected:
  template <class T>
  parameter::FieldEntry<T>& DECLARE(parameter::ParamManagerSingleton<P>* manager, const std::string& name,
                                    T& member) {
    auto* entry = new parameter::FieldEntry<T>(
        name, reinterpret_cast<const char*>(&member) - reinterpret_cast<const char*>(head()));
    manager->manager.Add(name, entry);
    return *entry;
  }

 private:
  P* head() { return static_cast<P*>(this); }
};

/// An environment variable as a value, or the default. The text is read as a parameter's.
template <class T>
T GetEnv(const char* name, T otherwise) {
  const char* text = getenv(name);
  if (!text || !*text) return otherwise;
  T value;
  parameter::FieldEntry<T> entry(name, 0);
  entry.Set(&value, text);
  return value;
}

}  // namespace dmlc
#if defined(TARSIA_INLINE_SOURCE) && !defined(TARSIA_SUPPORT_OBJECT) && defined(__clang__)
#pragma clang optimize on
#endif

#define DMLC_DECLARE_PARAMETER(Type)                     \
  static ::dmlc::parameter::ParamManager* __MANAGER__(); \
  void __DECLARE__(::dmlc::parameter::ParamManagerSingleton<Type>* manager)
#define DMLC_DECLARE_FIELD(Field) this->DECLARE(manager, #Field, Field)
#define DMLC_DECLARE_ALIAS(Field, Alias) manager->manager.AddAlias(#Field, #Alias)
#define DMLC_REGISTER_PARAMETER(Type)                                       \
  ::dmlc::parameter::ParamManager* Type::__MANAGER__() {                    \
    static ::dmlc::parameter::ParamManagerSingleton<Type> singleton(#Type); \
    return &singleton.manager;                                              \
  }                                                                         \
  static_assert(true, "")
