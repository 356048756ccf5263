// The main file's bytes while Clang reads them.
#include "jit/worker/source/main_text.h"

#include <algorithm>

namespace tarsia::jit {
namespace {

// It stands behind the leading includes until they have been read, and the user's text thereafter.
constexpr std::string_view k_behind_leading = "#pragma tarsia leading\n";

}  // namespace

MainText::MainText(const SourceFile& file, std::optional<std::size_t> leading, std::string_view ending)
    : m_file(file),
      m_leading(leading.value_or(0)),
      m_ending(ending),
      m_bytes((leading ? room_for(size()) : size()) + ending.size(), ' ') {
  if (!leading) {
    show_all();
    return;
  }
  m_bytes.replace(0, m_leading, file.text, 0, m_leading);
  m_bytes.replace(m_leading, k_behind_leading.size(), k_behind_leading);
}

void MainText::show_all() {
  std::fill(m_bytes.begin() + std::ptrdiff_t(m_leading), m_bytes.end(), ' ');
  m_bytes.replace(m_leading, size() - m_leading, m_file.text, m_leading, size() - m_leading);
  m_bytes.replace(size(), m_ending.size(), m_ending);
}

}  // namespace tarsia::jit
