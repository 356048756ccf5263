// MX_ERROR_MSG: the messages of a library about an error. A message belongs to the call in which it was
// written.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/mxnet/std.h>

#include <mutex>

namespace mxnet {
namespace ext {

/// The messages of one call, on its stack, or those of the library's own threads outside of any call.
class TARSIA_MXNET_HIDDEN MXerrorMsgs {
 public:
  /// Returns where the messages of this thread go.
  TARSIA_MXNET_SUPPORT static MXerrorMsgs* get() { return current() ? current() : &strays(); }

  TARSIA_MXNET_SUPPORT std::stringstream& add(const char* file_, int line_) {
    std::unique_lock<std::mutex> lock_(mutex());
    m_texts.push_back(new std::stringstream());
    m_places.push_back(file_);
    m_lines.push_back(line_);
    return *m_texts.back();
  }
  int size() { return static_cast<int>(m_texts.size()); }
  TARSIA_MXNET_SUPPORT const std::string* get(int i_) {
    m_last = text(static_cast<size_t>(i_));
    return &m_last;
  }

  /// Returns all messages, as in "a (file:1); b (file:2)", those outside of calls included, and forgets them.
  TARSIA_MXNET_SUPPORT std::string take() {
    std::string all_ = take_own();
    if (this != &strays()) {
      const std::string more_ = strays().take_own();
      if (!all_.empty() && !more_.empty()) all_ += "; ";
      all_ += more_;
    }
    return all_;
  }

  MXerrorMsgs() = default;
  MXerrorMsgs(const MXerrorMsgs&) = delete;
  MXerrorMsgs& operator=(const MXerrorMsgs&) = delete;
  TARSIA_MXNET_SUPPORT ~MXerrorMsgs() {
    for (std::stringstream* text_ : m_texts) delete text_;
  }

  /// The innermost call of this thread.
  TARSIA_MXNET_SUPPORT static MXerrorMsgs*& current() {
    static thread_local MXerrorMsgs* current_ = nullptr;
    return current_;
  }

 private:
  TARSIA_MXNET_SUPPORT static MXerrorMsgs& strays() {
    static MXerrorMsgs strays_;
    return strays_;
  }
  TARSIA_MXNET_SUPPORT static std::mutex& mutex() {
    static std::mutex mutex_;
    return mutex_;
  }
  TARSIA_MXNET_SUPPORT std::string text(size_t i_) {
    std::string text_ = m_texts[i_]->str();
    while (!text_.empty() && (text_.back() == '\n' || text_.back() == ' ')) text_.pop_back();
    return text_ + " (" + m_places[i_] + ":" + tarsia_detail::number(m_lines[i_]) + ")";
  }
  TARSIA_MXNET_SUPPORT std::string take_own() {
    std::unique_lock<std::mutex> lock_(mutex());
    std::string all_;
    for (size_t i_ = 0; i_ < m_texts.size(); ++i_) {
      all_ += (i_ ? "; " : "") + text(i_);
      delete m_texts[i_];
    }
    m_texts.clear();
    m_places.clear();
    m_lines.clear();
    return all_;
  }

  std::vector<std::stringstream*> m_texts;
  std::vector<const char*> m_places;
  std::vector<int> m_lines;
  std::string m_last;
};

}  // namespace ext
}  // namespace mxnet

/// Writes why a function is about to return MX_FAIL: `MX_ERROR_MSG << "…"`.
#define MX_ERROR_MSG ::mxnet::ext::MXerrorMsgs::get()->add(__FILE__, __LINE__)

#include <tarsia/detail/macros_pop.h>
