// Turns what modules were made with into bytes and back, and compares it with this machine.
#include "pipeline/packs/made_with.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/little_endian.h"
#include "jit/build_id.h"

namespace tarsia::pipeline {
namespace {

constexpr std::uint32_t k_made_with_version = 1, k_most_folders = 64;

bool is_gone(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

}  // namespace

MadeWith MadeWith::of(const jit::CompileRequest& request) {
  const CudaParts& parts = request.cuda_parts;
  return {.build = std::string(jit::build_id()),
          .nvrtc_identity = parts.nvrtc_identity,
          .clang_identity = parts.clang_identity,
          .major = parts.major,
          .folders = parts.include_dirs};
}

std::string MadeWith::serialise() const {
  std::string bytes;
  LittleWriter out(bytes);
  out.number(k_made_with_version).text(build).text(nvrtc_identity).text(clang_identity);
  out.number(static_cast<std::uint32_t>(major));
  const auto n = static_cast<std::uint32_t>(std::min<std::size_t>(folders.size(), k_most_folders));
  out.number(n);
  for (std::uint32_t i = 0; i < n; ++i) out.text(folders[i]);
  return bytes;
}

std::optional<MadeWith> MadeWith::parse(std::string_view bytes) {
  LittleReader in(bytes);
  if (in.number<std::uint32_t>() != k_made_with_version) return std::nullopt;
  MadeWith made;
  made.build = in.text();
  made.nvrtc_identity = in.text();
  made.clang_identity = in.text();
  made.major = static_cast<int>(in.number<std::uint32_t>());
  const auto n = in.number<std::uint32_t>();
  if (n > k_most_folders) return std::nullopt;
  for (std::uint32_t i = 0; i < n && in.good(); ++i) made.folders.push_back(in.text());
  if (!in.good() || !in.at_end()) return std::nullopt;
  return made;
}

void MadeWith::lend_to(jit::CompileRequest& request) const {
  request.cuda_parts.nvrtc_identity = nvrtc_identity;
  request.cuda_parts.clang_identity = clang_identity;
  request.cuda_parts.major = major;
  request.cuda_parts.include_dirs = folders;
}

bool MissingHeaders::operator()(const Dependency& dependency) {
  if (dependency.absent) return false;
  const bool cudas = std::ranges::any_of(m_folders, [&](const std::string& folder) {
    return folder.size() > 1 && dependency.path.starts_with(folder + '/');
  });
  if (!cudas) return false;
  const auto [known, is_new] = m_gone.try_emplace(dependency.path, false);
  if (is_new) known->second = is_gone(dependency.path);
  return known->second;
}

void forget_missing_headers(const std::vector<MadeWith>& made_with, cache::OpenPack& pack) {
  std::vector<std::string> folders;
  for (const MadeWith& made : made_with)
    folders.insert(folders.end(), made.folders.begin(), made.folders.end());
  MissingHeaders is_missing(std::move(folders));
  for (auto& [kind, key, manifest] : pack.manifests)
    if (kind == cache::Kind::manifest) manifest.forget(std::ref(is_missing));  // the others have no paths yet
}

}  // namespace tarsia::pipeline
