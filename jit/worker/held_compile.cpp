// What a compile does so that others may go on behind its leading includes: it holds its parse, or writes it.
#include "jit/worker/compile.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/dependency.h"
#include "base/figures/elapsed.h"
#include "jit/worker/link/user_libraries.h"
#include "jit/worker/prelude/leading_text.h"
#include "jit/worker/source/main_text.h"
#include "jit/worker/source/source_fs.h"

namespace tarsia::jit {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

const SourceFile* Compile::held_text() {
  if (!m_worker.held.is_on() || !m_why_clang.empty() || kernels_alone() || !m_request.source_dir.empty())
    return nullptr;
  const auto is_cuda = [&](const SourceFile& file) {
    return language_of(file, m_request.cuda) == Language::cuda;
  };
  const auto found = std::ranges::find_if(m_request.files, is_cuda);
  if (found == m_request.files.end()) return nullptr;
  if (!m_leading) m_leading = leading_part(*found, m_request);
  return m_leading->empty() ? nullptr : &*found;
}

Digest Compile::held_key(const SourceFile& file) const {
  CompileRequest plain = m_request;
  plain.name.clear();
  plain.timeout_ms = plain.hold_after_ms = 0;
  plain.options.openmp = m_openmp;
  const size_t at = size_t(&file - m_request.files.data());
  plain.files[at].text = m_leading->text(file);
  plain.files[at].name = folder_of(file.name);
  return Hasher("tarsia held parse").field(encode(plain)).field(std::uint64_t(at)).finish();
}

bool Compile::hold_parse(const HostUnit& unit, SourceFileSystem& files, const LeadingParse& parse) {
  m_worker.device.await_warm_up();
  m_worker.prepared.wait();
  static_cast<void>(find_user_libraries(m_request));  // reads them, which each child would have to
  parse.prepare();
  const size_t room = MainText::room_for(unit.file->text.size());
  std::optional<std::string> next = m_worker.held.hold(held_key(*unit.file));
  if (!next) return false;
  const auto start = Clock::now();
  m_worker.device.forget_child();
  const size_t at = size_t(unit.file - m_request.files.data());
  m_next = decode_request(*next);
  m_asked = &m_next;
  m_request.name = m_next.name;
  m_request.timeout_ms = m_next.timeout_ms;
  const SourceFile first = std::exchange(m_request.files[at], prepared(m_next, m_marks_lambdas).files[at]);
  const SourceFile& file = m_request.files[at];
  const bool is_renamed = file.name != first.name;
  if (is_renamed) files.remove_text(std::string(k_source_dir) + "/" + first.name);
  // Clang goes on knowing the first one's name, and would find it where the text includes it or asks for it.
  const std::string first_name = first.name.substr(first.name.rfind('/') + 1);
  const bool names_first = is_renamed && std::ranges::any_of(std::string_view("\">"), [&](char end) {
                             return file.text.find(first_name + end) != std::string::npos;
                           });
  FileStamp stamp;
  const auto has_changed = [&](const Dependency& one) {
    return check(one, stamp) == DependencyState::changed;
  };
  if (file.text.size() > room || names_first || std::ranges::any_of(files.dependencies(), has_changed) ||
      !parse.show())
    HeldParses::refuse();
  m_result.timings.clear();
  m_result.timings.emplace_back("prelude held", milliseconds_since(start));
  return true;
}

void Compile::write_leading(const LeadingParse& parse, const SourceFileSystem& files, const Prelude& below,
                            const Digest& family, ChildWriter& writer) {
  PreludeLayer layer;
  layer.dependencies = files.dependencies();
  writer.start([&]() -> std::string {
    LeadingContent content = parse.write();
    layer.names = std::move(content.names);
    layer.macros = std::move(content.macros);
    layer.set(std::move(content.use));
    layer.warnings = std::move(content.warnings);
    if (content.pch.empty() || layer.is_hidden_by(m_request.files)) return {};
    return m_worker.preludes.serialize_leading(m_request, family, std::move(layer), below,
                                               std::move(content.pch), content.headers);
  });
}

void Compile::keep_leading(ChildWriter& writer, const Digest& family) {
  const auto start = Clock::now();
  std::optional<std::string> bytes = writer.finish();
  if (!bytes) return;
  Preludes::keep_leading(m_request, family, std::move(*bytes), m_parts);
  m_result.timings.emplace_back("leading includes written", milliseconds_since(start));
}

}  // namespace tarsia::jit
