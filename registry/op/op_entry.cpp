// Joins the implementations of an op and its extensions.
#include "registry/op/op_entry.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace tarsia::registry {

namespace {

bool is_replaced_by(const tarsia_implementation& one, const tarsia_op& later) {
  return *one.name && std::ranges::any_of(implementations_of(later), [&](const tarsia_implementation& other) {
    return other.pass == one.pass && other.device_type == one.device_type &&
           !std::strcmp(other.name, one.name);
  });
}

}  // namespace

OpEntry::OpEntry(const tarsia_op* declared, Ref<Library> library, std::vector<Extension> extensions)
    : m_declared(declared), m_library(std::move(library)), m_op(declared) {
  if (extensions.empty()) return;
  for (const tarsia_implementation& one : implementations_of(*declared)) {
    m_implementations.push_back(one);
    m_owners.push_back(m_library.get());
  }
  bool is_sparse = false;
  for (size_t k = 0; k < extensions.size(); ++k) {
    const size_t before = m_implementations.size();
    for (const tarsia_implementation& one : implementations_of(*extensions[k].op)) {
      const auto replaces = [&](const Extension& later) { return is_replaced_by(one, *later.op); };
      if (std::any_of(extensions.begin() + static_cast<long>(k) + 1, extensions.end(), replaces)) continue;
      m_implementations.push_back(one);
      m_owners.push_back(extensions[k].library.get());
      is_sparse |= one.storage_any != 0;
    }
    if (m_implementations.size() > before) m_extensions.push_back(extensions[k]);
  }
  std::memcpy(&m_extended, declared, std::min<size_t>(declared->size, sizeof m_extended));
  m_extended.size = sizeof m_extended;
  m_extended.implementations = m_implementations.data();
  m_extended.n_implementations = static_cast<std::uint32_t>(m_implementations.size());
  if (is_sparse) m_extended.flags |= TARSIA_OP_INFERS_STORAGE;
  m_op = &m_extended;
}

const Library& OpEntry::library_of(const tarsia_implementation& implementation) const {
  const std::ptrdiff_t i = &implementation - m_implementations.data();
  return m_owners.empty() ? *m_library : *m_owners[static_cast<size_t>(i)];
}

}  // namespace tarsia::registry
