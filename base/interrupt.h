// Giving up a wait: for faces whose user may press Ctrl-C while a compile goes on.
#pragma once

#include <functional>

namespace tarsia {

/// While it lives, `check` is asked now and then by waits of this thread that may take long; once it gives
/// true, the wait ends with Interrupted. The innermost counts.
class InterruptScope {
 public:
  explicit InterruptScope(std::function<bool()> check);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  std::function<bool()> m_check;
  const std::function<bool()>* m_before;
};

/// Whether waits of this thread have to ask.
bool may_be_interrupted();
/// Asks. False without a scope.
bool is_interrupted();

}  // namespace tarsia
