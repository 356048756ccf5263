// The rarely used half of a frame.
#include "python/tensor/frame.h"

#include <cstdlib>

namespace tarsia::python {

void Frame::on_end(void (*what)(void*), void* with) {
  Kept* kept = room_for<Kept>(1);
  *kept = {what, with, m_kept};
  m_kept = kept;
}

void* Frame::chunk(size_t bytes) {
  char* block = static_cast<char*>(std::malloc(bytes + 16));
  if (!block) throw std::bad_alloc();
  *reinterpret_cast<void**>(block) = m_chunks;
  m_chunks = block;
  return block + 16;
}

void Frame::give_back() {
  const SavedException saved;
  for (const Kept* kept = m_kept; kept; kept = kept->next) kept->what(kept->with);
  m_kept = nullptr;
  while (m_chunks) {
    void* next = *static_cast<void**>(m_chunks);
    std::free(m_chunks);
    m_chunks = next;
  }
}

}  // namespace tarsia::python
