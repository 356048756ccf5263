// Adds, replaces, finds and removes ops by name.
#include "registry/op/op_registry.h"

#include <tarsia/detail/spelling.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "registry/op/choice.h"
#include "registry/op/op_description.h"

namespace tarsia::registry {

namespace {

/// Whether this thread is within a provider.
thread_local constinit bool t_provides = false;

class ProviderScope {
 public:
  ProviderScope() { t_provides = true; }
  ~ProviderScope() { t_provides = m_before; }
  ProviderScope(const ProviderScope&) = delete;
  ProviderScope& operator=(const ProviderScope&) = delete;

 private:
  const bool m_before = t_provides;
};

}  // namespace

OpRegistry& OpRegistry::instance() {
  static std::atomic<OpRegistry*> s_registry{nullptr};
  return made_once(s_registry, [] { return OpRegistry(); });
}

std::vector<Extension> OpRegistry::extensions_of(const std::vector<Added>& added, std::string_view op) {
  std::vector<Extension> extensions;
  for (const Added& one : added)
    if (one.op == op) extensions.push_back(one.extension);
  return extensions;
}

OpRegistry::Change OpRegistry::change_by(const Ref<Library>& library) const {
  Change change;
  std::map<std::string, Ref<OpEntry>, std::less<>> ops;
  {
    std::lock_guard lock(m_mutex);
    ops = m_ops;
    change.added = m_added;
  }
  const auto known = [&](const std::string& name) {
    const auto changed = change.entries.find(name);
    if (changed != change.entries.end()) return changed->second;
    const auto it = ops.find(name);
    return it == ops.end() ? Ref<OpEntry>() : it->second;
  };
  for (const tarsia_op* op : library->ops()) {
    if (is_extension(*op)) continue;
    const std::string name = op->name, now = signature_of(*op);
    // What other libraries added to the op of this name.
    std::vector<Extension> kept;
    std::erase_if(change.added, [&](const Added& one) {
      if (one.op != name) return false;
      std::string reason;
      if (one.signature != now) reason = "the op had another signature: " + one.signature;
      kept.push_back(one.extension);
      try {
        if (reason.empty())
          check_implementations(OpEntry(op, library, kept).op(), *one.extension.op,
                                one.extension.library->name());
      } catch (const Error& e) {
        reason = e.what();
      }
      if (reason.empty()) return false;
      kept.pop_back();
      std::string names = names_of(*one.extension.op, TARSIA_FORWARD, 0);
      if (names.empty()) names = names_of(*one.extension.op, TARSIA_BACKWARD, 0);
      change.warnings.push_back("op '" + name + "' loses the implementation " + names + " that library '" +
                                one.extension.library->name() + "' added" + located(*one.extension.op) +
                                ": " + reason);
      return true;
    });
    if (const Ref<OpEntry> replaced = known(name)) {
      const std::string before = signature_of(replaced->op());
      if (before != now)
        change.warnings.push_back("op '" + name + "' replaces that of library '" +
                                  replaced->library().name() + "', which has another signature: " + before +
                                  located(replaced->op()) + ", now " + now + located(*op));
    }
    change.entries[name] = Ref<OpEntry>::adopt(new OpEntry(op, library, std::move(kept)));
  }
  for (const tarsia_op* op : library->ops()) {
    if (!is_extension(*op)) continue;
    Ref<OpEntry> base = known(op->name);
    try {
      if (!base) base = find(op->name);  // the provider may have it; then the registry has changed
    } catch (const NotFound& e) {
      throw LoadError(library->name() + ": TARSIA_IMPLEMENTATION of op '" + op->name + "'" + located(*op) +
                      ": " + e.what());
    }
    change.added.push_back({op->name, signature_of(base->declared()), {op, library}});
    Ref<OpEntry> entry = Ref<OpEntry>::adopt(
        new OpEntry(&base->declared(), base->shared_library(), extensions_of(change.added, op->name)));
    check_implementations(entry->op(), *op, library->name());
    std::erase_if(change.added, [&](const Added& one) {  // those of which nothing is left
      return one.op == op->name && std::ranges::none_of(entry->extensions(), [&](const Extension& extension) {
               return extension.op == one.extension.op;
             });
    });
    change.entries[op->name] = std::move(entry);
  }
  return change;
}

void OpRegistry::add(const Ref<Library>& library, const std::function<void(const std::string&)>& warn) {
  if (library->ops().empty()) return;
  std::map<std::string_view, const tarsia_op*> declared;
  for (const tarsia_op* op : library->ops()) {
    check_op(*op, library->name());
    if (is_extension(*op)) continue;
    const auto [first, is_new] = declared.emplace(op->name, op);
    if (!is_new)
      throw LoadError(library->name() + ": op '" + op->name + "' is registered twice, at " +
                      first->second->location + " and at " + op->location + ": give one another name");
  }
  Change change;
  std::set<std::string> told;
  for (bool done = false; !done;) {  // again if another thread was faster
    const std::uint64_t before = generation();
    change = change_by(library);
    if (t_provides) {
      const std::vector<std::string> there = names();
      std::erase_if(change.entries,
                    [&](const auto& one) { return std::ranges::binary_search(there, one.first); });
      change.warnings.clear();
    }
    for (const std::string& text : change.warnings)
      if (told.insert(text).second) warn(text);
    std::lock_guard lock(m_mutex);
    if (generation() != before) continue;
    for (auto& [name, entry] : change.entries) std::swap(m_ops[name], entry);
    std::swap(m_added, change.added);
    m_generation.fetch_add(1, std::memory_order_release);
    done = true;
  }
  // After the swaps, `change` holds the replaced ops. They are released at the end.
  for (const auto& [name, entry] : change.entries)
    if (entry && &entry->library() != library.get() && declared.contains(name))
      log().info("op '{}': that of {} replaces that of {}", name, library->name(), entry->library().name());
}

void OpRegistry::remove(const Library& library) {
  std::vector<Ref<OpEntry>> removed;  // outlive the lock: the last reference runs foreign code
  std::vector<Added> added;
  std::lock_guard lock(m_mutex);
  std::set<std::string> changed;
  for (auto it = m_added.begin(); it != m_added.end();) {
    if (it->extension.library.get() == &library) {
      changed.insert(it->op);
      added.push_back(std::move(*it));
      it = m_added.erase(it);
    } else {
      ++it;
    }
  }
  for (auto it = m_ops.begin(); it != m_ops.end();) {
    if (&it->second->library() == &library) {
      removed.push_back(std::move(it->second));
      it = m_ops.erase(it);
      continue;
    }
    if (changed.contains(it->first)) {
      const OpEntry& entry = *it->second;
      Ref<OpEntry> without = Ref<OpEntry>::adopt(
          new OpEntry(&entry.declared(), entry.shared_library(), extensions_of(m_added, it->first)));
      removed.push_back(std::exchange(it->second, std::move(without)));
    }
    ++it;
  }
  if (!removed.empty()) m_generation.fetch_add(1, std::memory_order_release);
}

Ref<OpEntry> OpRegistry::found_or_null(std::string_view name) const {
  std::lock_guard lock(m_mutex);
  const auto it = m_ops.find(name);
  return it == m_ops.end() ? Ref<OpEntry>() : it->second;
}

Ref<OpEntry> OpRegistry::find_registered(std::string_view name) const {
  if (Ref<OpEntry> found = found_or_null(name)) return found;
  throw_not_found(name);
}

Ref<OpEntry> OpRegistry::find(std::string_view name) const {
  if (Ref<OpEntry> found = found_or_null(name)) return found;
  const Provider provide = m_provider.load(std::memory_order_acquire);
  bool provided = false;
  if (provide) {
    const ProviderScope scope;
    provided = provide(name);
  }
  if (provided) return find_registered(name);
  throw_not_found(name);
}

void OpRegistry::throw_not_found(std::string_view name) const {
  std::lock_guard lock(m_mutex);
  std::string text = "there is no op '" + std::string(name) + "'";
  if (m_ops.empty()) {
    text += ": load a library that registers it first";
  } else {
    detail::NearestWord nearest(name);
    for (const auto& [known, entry] : m_ops) nearest.compare(known);
    if (!nearest.found().empty()) text += "; there is '" + nearest.found() + "'";
    text += " (" + std::to_string(m_ops.size()) + (m_ops.size() == 1 ? " op is" : " ops are") +
            " registered): load the library that registers it first";
  }
  throw NotFound(text);
}

std::vector<std::string> OpRegistry::names() const {
  std::lock_guard lock(m_mutex);
  std::vector<std::string> names;
  for (const auto& [name, entry] : m_ops) names.push_back(name);
  return names;
}

}  // namespace tarsia::registry
