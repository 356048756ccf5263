// The check that decides whether a thread gives up its wait, as the innermost scope has it.
#include "base/interrupt.h"

#include <utility>

namespace tarsia {
namespace {
thread_local const std::function<bool()>* t_check = nullptr;
}

InterruptScope::InterruptScope(std::function<bool()> check) : m_check(std::move(check)), m_before(t_check) {
  t_check = m_check ? &m_check : nullptr;
}

InterruptScope::~InterruptScope() {
  t_check = m_before;
}

bool may_be_interrupted() {
  return t_check != nullptr;
}

bool is_interrupted() {
  return t_check && (*t_check)();
}

}  // namespace tarsia
