// Clang's device compile beside NVRTC's.
#include "jit/worker/clang_choice.h"

#include <future>
#include <utility>

namespace tarsia::jit {

struct ClangChoice::Started {
  std::atomic<bool> cancelled{false};
  std::atomic<bool> is_decided{false};
  std::promise<Symbols> left_out;
  std::shared_future<NvptxResult> result;
  /// Lets it go on. False if that was decided before.
  bool decide(Symbols symbols) {
    if (is_decided.exchange(true)) return false;
    left_out.set_value(std::move(symbols));
    return true;
  }
  ~Started() {
    cancelled = true;
    decide({});
    if (result.valid()) result.wait();
  }
};

void ClangChoice::start() {
  if (m_started) return;
  m_started = std::make_shared<Started>();
  const auto left_out = [symbols = m_started->left_out.get_future().share()] { return symbols.get(); };
  m_started->result =
      std::async(std::launch::async, [compile = compile, left_out, &cancelled = m_started->cancelled] {
        return compile({}, left_out, &cancelled);
      }).share();
}

NvptxResult ClangChoice::result_without(Symbols kernels, const std::atomic<bool>* cancelled) const {
  if (m_started && m_started->decide(kernels)) return m_started->result.get();
  return compile({}, [&] { return kernels; }, cancelled);
}

NvptxResult ClangChoice::result(const Symbols& kernels, const std::atomic<bool>* cancelled) const {
  if (m_started && m_started->decide({})) return m_started->result.get();
  return compile(kernels, nullptr, cancelled);
}

void ClangChoice::cancel() const {
  if (!m_started) return;
  m_started->cancelled = true;
  m_started->decide({});
}

}  // namespace tarsia::jit
