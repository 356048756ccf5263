// Clang for the next cell of a session, made ready before anybody waits for it.
#pragma once

#include <memory>
#include <optional>

#include "base/hash.h"
#include "jit/compile.h"
#include "jit/worker/host/host_compiler.h"
#include "jit/worker/prelude/prelude.h"
#include "jit/worker/side_thread.h"

namespace tarsia::jit {

struct WorkerState;

/// What a session's next cell will probably ask for: the options and the prelude of this one. Used by the
/// thread that compiles. A thread of its own works beside that one, on what the two do not share. No process
/// may be forked then: wait() comes first.
class NextCell {
 public:
  /// The Clang that has begun under this key, which names all that it has begun with. Null if there is none.
  std::unique_ptr<HostClang> take(const Digest& key);

  /// A cell has this request and this prelude. `beside`: starts to make its successor's Clang ready now.
  /// Otherwise make_ready() does it.
  void expect(const CompileRequest& request, const Prelude& prelude, bool beside, WorkerState& worker);
  /// The cell's Clang is not needed any more.
  void spend(std::unique_ptr<HostClang> spent, Prelude prelude);
  /// Does what is left to do, while nobody waits for this thread.
  void make_ready(WorkerState& worker);

  /// Returns when no thread works on it.
  void wait() { m_beside.wait(); }

 private:
  struct Expected {
    CompileRequest request;  ///< without its texts
    Prelude prelude;
  };
  /// Makes a Clang for it.
  void begin(const Expected& expected, WorkerState& worker);

  std::optional<Expected> m_expected;
  /// A Clang, and what it reads.
  struct Begun {
    Prelude prelude;
    std::unique_ptr<HostClang> clang;
    void reset() {
      clang.reset();
      prelude = {};
    }
  };
  Begun m_spent, m_begun;
  Digest m_key{};  ///< of m_begun; names its prelude by the address
  SideThread m_beside;
};

}  // namespace tarsia::jit
