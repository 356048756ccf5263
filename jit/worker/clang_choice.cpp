// Clang's device compile beside NVRTC's.
#include "jit/worker/clang_choice.h"

#include <future>
#include <utility>

namespace tarsia::jit {

/// The compile that may run beside NVRTC's.
struct ClangChoice::Beside {
  std::atomic<bool> cancelled{false};
  std::atomic<bool> is_decided{false};
  std::promise<Symbols> left_out;
  std::shared_future<NvptxResult> result;  ///< not valid before it begins
  /// Lets it go on. False if that was decided before.
  bool decide(Symbols symbols) {
    if (is_decided.exchange(true)) return false;
    left_out.set_value(std::move(symbols));
    return true;
  }
  ~Beside() {
    cancelled = true;
    decide({});
    if (result.valid()) result.wait();
  }
};

std::shared_ptr<ClangChoice::Beside> ClangChoice::make_beside() {
  return std::make_shared<Beside>();
}

void ClangChoice::start() const {
  if (m_beside->result.valid()) return;
  const auto left_out = [symbols = m_beside->left_out.get_future().share()] { return symbols.get(); };
  m_beside->result =
      std::async(std::launch::async, [compile = compile, left_out, &cancelled = m_beside->cancelled] {
        return compile({}, left_out, &cancelled);
      }).share();
}

NvptxResult ClangChoice::result_without(Symbols kernels, const std::atomic<bool>* cancelled) const {
  if (m_beside->result.valid() && m_beside->decide(kernels)) return m_beside->result.get();
  return compile({}, [&] { return kernels; }, cancelled);
}

NvptxResult ClangChoice::result(const Symbols& kernels, const std::atomic<bool>* cancelled) const {
  if (m_beside->result.valid() && m_beside->decide({})) return m_beside->result.get();
  return compile(kernels, nullptr, cancelled);
}

void ClangChoice::cancel() const {
  m_beside->cancelled = true;
  m_beside->decide({});
}

}  // namespace tarsia::jit
