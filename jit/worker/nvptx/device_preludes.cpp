// Keeps precompiled headers of device code, and finds what they are made of.
#include "jit/worker/nvptx/device_preludes.h"

#include <algorithm>

#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendActions.h"
#include "clang/Serialization/ASTWriter.h"
#include "jit/worker/host/pragmas.h"
#include "jit/worker/nvptx/nvptx_setup.h"
#include "jit/worker/source/diagnostics.h"
#include "jit/worker/source/raw_tokens.h"

namespace tarsia::jit {
namespace {

class PreludeAction final : public clang::ASTFrontendAction {
 public:
  PreludeAction(std::string path, std::shared_ptr<clang::PCHBuffer> buffer)
      : m_path(std::move(path)), m_buffer(std::move(buffer)) {}

 protected:
  clang::TranslationUnitKind getTranslationUnitKind() override { return clang::TU_Prefix; }
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& clang,
                                                        llvm::StringRef) override {
    ignore_pragmas_of_nvcc(clang.getPreprocessor());
    return std::make_unique<clang::PCHGenerator>(
        clang.getPreprocessor(), clang.getModuleCache(), m_path, "", m_buffer, clang.getCodeGenOpts(),
        clang.getFrontendOpts().ModuleFileExtensions, /*AllowASTWithErrors=*/false,
        /*IncludeTimestamps=*/false);
  }

 private:
  std::string m_path;
  std::shared_ptr<clang::PCHBuffer> m_buffer;
};

}  // namespace

std::shared_ptr<const DevicePrelude> make_device_prelude(const std::vector<std::string>& arguments,
                                                         const std::string& path, const std::string& includes,
                                                         llvm::IntrusiveRefCntPtr<SourceFileSystem> files,
                                                         const std::vector<std::string>& users_folders) {
  files->add_text(path, includes);
  DiagnosticCollector collector("", "", false);
  auto clang = make_device_clang(arguments, files, collector);
  if (!clang) return nullptr;
  auto buffer = std::make_shared<clang::PCHBuffer>();
  clang->getFrontendOpts().ProgramAction = clang::frontend::GeneratePCH;
  PreludeAction action(path + ".pch", buffer);
  clang->ExecuteAction(action);
  if (!buffer->IsComplete) return nullptr;
  DevicePrelude prelude;
  prelude.includes = includes;
  prelude.dependencies = files->dependencies();
  for (const Dependency& dependency : prelude.dependencies)
    for (const std::string& folder : users_folders)
      if (!dependency.absent && dependency.path.starts_with(folder + "/")) return nullptr;
  prelude.pch.assign(buffer->Data.begin(), buffer->Data.end());
  return std::make_shared<const DevicePrelude>(std::move(prelude));
}

std::string leading_includes_of(const std::string& text) {
  std::string includes;
  enum { at_hash, at_word, at_angle, in_name, ended } state = at_hash;
  size_t line_end = 0;  // of the directive that is being read
  for_each_raw_token(text, [&](const clang::Token& token, size_t at) {
    if (state == in_name) {
      if (at < line_end) return;  // within <…>
      state = at_hash;
    }
    if (state == at_hash)
      state = token.is(clang::tok::hash) && token.isAtStartOfLine() ? at_word : ended;
    else if (state == at_word)
      state =
          token.is(clang::tok::raw_identifier) && token.getRawIdentifier() == "include" ? at_angle : ended;
    else if (state == at_angle) {
      state = ended;
      line_end = std::min(text.find('\n', at), text.size());
      const size_t close = text.find('>', at);
      if (!token.is(clang::tok::less) || close >= line_end) return;
      // Behind the name only a comment may stand, which is no token.
      if (text.find_first_not_of(" \t\r", close + 1) < line_end && text.compare(close + 1, 2, "//") != 0 &&
          text.find("//", close) >= line_end)
        return;
      includes += "#include " + text.substr(at, close + 1 - at) + "\n";
      state = in_name;
    }
  });
  return includes;
}

std::shared_ptr<const DevicePrelude> DevicePreludes::find(const Digest& key) {
  std::shared_ptr<const DevicePrelude> prelude;
  {
    std::lock_guard lock(m_mutex);
    const auto found = std::ranges::find_if(m_entries, [&](const Entry& entry) { return entry.key == key; });
    if (found == m_entries.end() || !found->prelude) return nullptr;
    m_entries.splice(m_entries.begin(), m_entries, found);
    prelude = found->prelude;
  }
  const bool holds = std::ranges::all_of(prelude->dependencies, [](const Dependency& dependency) {
    FileStamp stamp;
    return check(dependency, stamp) != DependencyState::changed;
  });
  if (holds) return prelude;
  std::lock_guard lock(m_mutex);
  std::erase_if(m_entries, [&](const Entry& entry) { return entry.key == key; });
  return nullptr;
}

bool DevicePreludes::is_worth_while(const Digest& key) {
  std::lock_guard lock(m_mutex);
  if (std::ranges::any_of(m_entries, [&](const Entry& entry) { return entry.key == key; })) return true;
  m_entries.push_front({key, nullptr});
  while (m_entries.size() > k_most) m_entries.pop_back();
  return false;
}

void DevicePreludes::keep(const Digest& key, std::shared_ptr<const DevicePrelude> prelude) {
  std::lock_guard lock(m_mutex);
  std::erase_if(m_entries, [&](const Entry& entry) { return entry.key == key; });
  m_entries.push_front({key, std::move(prelude)});
  while (m_entries.size() > k_most) m_entries.pop_back();
}

}  // namespace tarsia::jit
