// Keeps a Clang that has begun, and the one that the last cell has used up.
#include "jit/worker/next_cell.h"

#include <exception>
#include <utility>

#include "jit/worker/compile.h"

namespace tarsia::jit {

std::unique_ptr<HostClang> NextCell::take(const Digest& key) {
  wait();
  if (!m_begun.clang || m_key != key) return nullptr;
  return std::move(m_begun.clang);
}

void NextCell::begin(const Expected& expected, WorkerState& worker) {
  m_begun.reset();
  try {
    NoParts parts;
    Compile compile(expected.request, parts, worker);
    m_begun = {expected.prelude, compile.begin_host(expected.prelude, m_key)};
  } catch (const std::exception&) {  // the cell will tell
    m_begun.reset();
  }
}

void NextCell::expect(const CompileRequest& request, const Prelude& prelude, bool beside,
                      WorkerState& worker) {
  wait();
  Expected expected{request, prelude};
  expected.request.headers.clear();
  for (SourceFile& file : expected.request.files) file.text.clear();
  m_expected.reset();
  if (!beside || !m_beside.start([this, &worker, expected] { begin(expected, worker); }))
    m_expected = std::move(expected);
}

void NextCell::spend(std::unique_ptr<HostClang> spent, Prelude prelude) {
  wait();
  m_spent.reset();
  m_spent = {std::move(prelude), std::move(spent)};
}

void NextCell::make_ready(WorkerState& worker) {
  if (const auto expected = std::exchange(m_expected, std::nullopt)) {
    wait();
    m_spent.reset();
    begin(*expected, worker);
  } else if (m_spent.clang && !m_beside.start([this] { m_spent.reset(); })) {
    m_spent.reset();
  }
}

}  // namespace tarsia::jit
