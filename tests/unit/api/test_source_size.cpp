// Sources that are too large are refused before a byte of them is read or copied.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <tarsia/tarsia.h>

#include <string>
#include <string_view>

namespace {

/// A text that nobody may read.
class Unreadable {
 public:
  explicit Unreadable(std::size_t bytes)
      : m_bytes(bytes),
        m_memory(::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Unreadable() { ::munmap(m_memory, m_bytes); }
  Unreadable(const Unreadable&) = delete;
  const char* text() const { return static_cast<const char*>(m_memory); }
  std::size_t bytes() const { return m_bytes; }
  std::string_view view() const { return {text(), m_bytes}; }

 private:
  std::size_t m_bytes;
  void* m_memory;
};

void expect_refused(int32_t code) {
  EXPECT_EQ(code, TARSIA_INVALID_SOURCE);
  EXPECT_NE(std::string(tarsia_last_error()->message).find("larger than 64 MiB"), std::string::npos);
}

TEST(SourceSize, is_checked_before_any_text_is_read) {
  const Unreadable text(std::size_t{1} << 30);
  const tarsia_file file{"a.cc", text.text(), text.bytes()};
  tarsia_library* library = nullptr;
  expect_refused(tarsia_load_inline(&file, 1, nullptr, &library));
  expect_refused(tarsia_compile(&file, 1, nullptr, "/nonexistent/out.so"));
  EXPECT_THROW(tarsia::load_inline(text.view()), tarsia::InvalidSource);
}

TEST(SourceSize, counts_headers_and_files_together) {
  const Unreadable half(TARSIA_MAX_SOURCE_BYTES / 2 + 4096);
  const tarsia_file files[] = {{"a.cc", half.text(), half.bytes()}, {"b.h", half.text(), half.bytes()}};
  tarsia_library* library = nullptr;
  expect_refused(tarsia_load_inline(files, 2, nullptr, &library));
  tarsia_options options;
  tarsia_options_init(&options);
  options.headers = files + 1;
  options.n_headers = 1;
  expect_refused(tarsia_load_inline(files, 1, &options, &library));
}

TEST(SourceSize, sums_do_not_wrap_around) {
  const tarsia_file files[] = {{"a.cc", "", ~uint64_t{0}}, {"b.cc", "", 2}};
  tarsia_library* library = nullptr;
  expect_refused(tarsia_load_inline(files, 2, nullptr, &library));
}

}  // namespace
