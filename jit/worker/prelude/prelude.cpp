// Makes, keeps and finds precompiled preludes.
//
// A prelude is equivalent to the text that it replaces because it is that text: the source's own leading
// includes, under options that read a header alike. Their order is kept, save among headers whose order
// cannot matter. Tarsia forces nothing else into a source, save the headers that nvcc itself puts before
// CUDA.
//
// If a shipped layer is equivalent to a part of the prelude, the prelude is built on top of it. The key
// names what was asked for. Each file is checked to be the one that was read.
//
// Macros that the options define decide how headers are read only if these mention them. So a layer's key
// names the macros that its headers depend on, and no others. Which these are is known when the headers have
// been read: a list in the cache says of which macros the layers of a kind depend.
#include "jit/worker/prelude/prelude.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "base/cuda/cuda_parts.h"
#include "base/error.h"
#include "jit/build_id.h"
#include "jit/worker/prelude/compile_prelude.h"
#include "jit/worker/prelude/leading_text.h"
#include "jit/worker/prelude/prelude_text.h"
#include "jit/worker/source/host_headers.h"

namespace tarsia::jit {
namespace {

// Bytes of layers that one worker keeps at hand, besides those of the compile that it is at.
constexpr std::size_t k_most_remembered = std::size_t{512} << 20;
// A layer of this size is mapped from the cache rather than copied.
constexpr std::size_t k_large = std::size_t{8} << 20;

bool is_about_openmp(const std::string& flag) {
  return flag == "-fno-openmp" || flag == "-fopenmp-simd";
}

// Whether one of options.cflags defines or undefines a macro, or includes a header.
bool changes_reading(const std::string& flag) {
  if (is_about_openmp(flag)) return true;  // whether headers with its pragmas are compiled anew with it
  return flag.starts_with("-U") || flag == "-fmath-errno" || flag == "-ffinite-math-only" ||
         flag == k_extended_lambda;
}

// The options that decide how a header is read. Of optimisation, headers see __OPTIMIZE__ and __NO_INLINE__
// alone. Debug information is made where a prelude is used, and so are warnings and code.
// Warnings are reported where the headers of the user's folders are read, which is in the prelude.
CompileOptions reading(CompileOptions options, bool with_warnings = false) {
  options.opt = std::min(options.opt, 2);
  options.lineinfo = options.dev = options.cell_shows = false;
  options.cell.clear();
  // These two change what headers see (__has_feature), so Clang takes no prelude that was made without.
  if (!has_checks(options, "address") && !has_checks(options, "thread")) options.debug = false;
  std::erase_if(options.cflags, [&](const std::string& flag) {
    return !changes_reading(flag) && !(with_warnings && flag.starts_with("-W"));
  });
  return options;
}

// Headers that the layers hold need not be asked for again.
std::vector<std::string> left_over(const PreludeText& text, const PreludeLayer* base) {
  std::vector<std::string> left;
  for (const std::string& include : text.free)
    if (!base || !base->met(include.substr(1, include.size() - 2))) left.push_back(include);
  left.insert(left.end(), text.ordered.begin(), text.ordered.end());
  return left;
}

// Dependencies on CUDA's headers, by their virtual paths, which are the same on every machine.
std::vector<Dependency> virtual_dependencies(const std::vector<Dependency>& real,
                                             const std::vector<std::string>& cuda_dirs) {
  std::map<std::string, Dependency> all;
  for (const Dependency& dependency : real)
    for (const std::string& dir : cuda_dirs) {
      if (!dependency.path.starts_with(dir + "/")) continue;
      const std::string path = k_cuda_dir + dependency.path.substr(dir.size());
      Dependency& known = all.try_emplace(path, Dependency{path, {}, true}).first->second;
      if (!dependency.absent) known = {path, dependency.content, false};
    }
  std::vector<Dependency> result;
  for (auto& [path, dependency] : all) result.push_back(std::move(dependency));
  return result;
}

}  // namespace

// The input has the prelude's own name. The source's folders are checked when a layer is found. The macros
// that the options define are no part of it.
Digest Preludes::settings(const CompileRequest& request, Language language, bool with_warnings) const {
  CompileRequest plain;
  plain.cuda = request.cuda;
  plain.cuda_parts = request.cuda_parts;
  plain.options = reading(request.options, with_warnings);
  plain.options.include_dirs.clear();
  Hasher hasher("tarsia prelude settings");
  hasher.field(build_id()).field(m_pack->identity());
  const std::vector<std::string> arguments = clang_arguments(plain, language, "", "");
  const auto is_define = [&](const std::string& text) {
    return std::ranges::any_of(plain.options.defines, [&](const auto& define) {
      return text == (define.second ? define.first + "=" + *define.second : define.first);
    });
  };
  for (auto at = arguments.begin(); at != arguments.end(); ++at)
    if (*at == "-D" && is_define(at[1]))
      ++at;
    else
      hasher.field(*at);
  return hasher.finish();
}

Prelude Preludes::find_shipped(const CompileRequest& request, Language language,
                               const std::vector<std::string>& includes, Digest& identity) {
  // A C++ file beside CUDA files has CUDA's folders, too. They come last and have none of the layers'
  // headers.
  CompileRequest asked;
  asked.options = request.options;
  // None of the layers' headers asks for OpenMP or for the architectures.
  asked.options.openmp = false;
  std::erase_if(asked.options.cflags, is_about_openmp);
  asked.options.archs.clear();
  asked.cuda = language == Language::cuda;
  if (asked.cuda) asked.cuda_parts = request.cuda_parts;
  const ShippedLayer* shipped = m_shipped.find(settings(asked, language), includes, request.options.defines);
  if (!shipped) return {};
  Prelude found{.top = shipped->layer, .origin = Prelude::shipped};
  if (!shipped->layer->dependencies.empty()) {
    Adopted& adopted = m_adopted[shipped];
    const std::vector<std::string>& dirs = request.cuda_parts.include_dirs;
    if (adopted.cuda_dirs != dirs || (adopted.layer && !adopted.layer->still_holds()))
      adopted = {dirs, KeptLayer::adopt(*shipped->layer, dirs)};
    if (!adopted.layer) return {};
    found.top = {adopted.layer, &adopted.layer->layer()};
  }
  if (found.top->is_hidden_by(request.files) || found.top->is_hidden_by(request.headers) ||
      found.top->is_hidden_by(request.options.include_dirs, found.absent))
    return {};
  identity = shipped->identity;
  return found;
}

namespace {

using Names = std::vector<std::string>;

/// Of a layer whose headers depend on these of the macros.
Digest key_with(const Digest& family, const Names& used, const Defines& defines) {
  if (used.empty()) return family;
  Hasher hasher("tarsia prelude with defines");
  hasher.field(family);
  for (const std::string& name : used) {
    hasher.field(name);
    for (const auto& [macro, value] : defines)
      if (macro.substr(0, macro.find('(')) == name)
        hasher.field(macro).field(std::uint64_t(value.has_value())).field(value.value_or(""));
  }
  return hasher.finish();
}

/// Of the list of macros that layers of this family depend on.
Digest key_of_list(const Digest& family) {
  return Hasher("tarsia prelude defines").field(family).finish();
}

/// Each line lists names. Empty if there is none, or if it is damaged.
std::vector<Names> read_list(const Digest& family, PartStore& parts) {
  std::vector<Names> list;
  const auto bytes = parts.find(PartKind::prelude, key_of_list(family));
  if (!bytes) return list;
  std::istringstream lines(*bytes);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    list.emplace_back(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
  }
  return list;
}

}  // namespace

std::shared_ptr<KeptLayer> Preludes::find(Digest& key, const CompileRequest& request,
                                          const PreludeLayer& wanted, PartStore& parts) {
  const Digest family = key;
  const Defines& defines = request.options.defines;
  const auto find_with = [&](const Names& used) -> std::shared_ptr<KeptLayer> {
    const Digest with = key_with(family, used, defines);
    auto kept = find_kept(with, wanted, parts);
    if (!kept || kept->layer().used != used) return nullptr;
    if (!kept->layer().fits(defines)) {
      m_misfits.emplace_back(with, kept);
      return nullptr;
    }
    key = with;
    return kept;
  };
  if (auto kept = find_with({}); kept || defines.empty()) return kept;
  std::vector<Names>& known = m_used[family];
  for (const Names& used : known)
    if (auto kept = find_with(used)) return kept;
  for (Names& used : read_list(family, parts))
    if (!used.empty() && std::ranges::find(known, used) == known.end()) {
      known.push_back(std::move(used));
      if (auto kept = find_with(known.back())) return kept;
    }
  return nullptr;
}

void Preludes::widen(const Digest& key, PreludeLayer& layer) const {
  const auto is_same = [](const Dependency& one, const Dependency& other) {
    return one.path == other.path && one.content == other.content && one.absent == other.absent;
  };
  for (const auto& [other, misfit] : m_misfits)
    if (other == key && std::ranges::equal(misfit->layer().dependencies, layer.dependencies, is_same))
      layer.set({.used = layer.used, .words = common_words(misfit->layer().words, layer.words)});
}

void Preludes::note_used(const Digest& family, const Names& used, PartStore& parts) {
  if (used.empty()) return;
  std::vector<Names> list = read_list(family, parts);
  if (std::ranges::find(list, used) != list.end()) return;
  list.push_back(used);
  std::string text;
  for (const Names& names : list) {
    for (const std::string& name : names) text += name + ' ';
    text += '\n';
  }
  parts.keep(PartKind::prelude, key_of_list(family), std::move(text));
}

std::shared_ptr<KeptLayer> Preludes::find_kept(const Digest& key, const PreludeLayer& wanted,
                                               PartStore& parts) {
  if (auto known = m_kept.find(key); known != m_kept.end()) {
    // A layer stands on the very bytes that it was made on.
    if (known->second.layer->layer().base == wanted.base && known->second.layer->still_holds()) {
      known->second.used = m_compiles;
      return known->second.layer;
    }
    m_kept.erase(known);
  }
  if (auto bytes = parts.map(PartKind::prelude, key)) {
    auto kept = KeptLayer::parse(std::move(*bytes), wanted);
    if (kept && kept->still_holds()) {
      remember(key, kept);
      return kept;
    }
  }
  return nullptr;
}

void Preludes::remember(const Digest& key, std::shared_ptr<KeptLayer> layer) {
  m_kept[key] = {std::move(layer), m_compiles};
  while (true) {
    std::size_t bytes = 0;
    auto oldest = m_kept.end();
    for (auto at = m_kept.begin(); at != m_kept.end(); ++at) {
      bytes += at->second.layer->size();
      if (at->second.used == m_compiles) continue;
      if (oldest == m_kept.end() || at->second.used < oldest->second.used) oldest = at;
    }
    if (bytes <= k_most_remembered || oldest == m_kept.end()) return;
    m_kept.erase(oldest);
  }
}

std::shared_ptr<KeptLayer> Preludes::make(const CompileRequest& request, Language language, Digest& key,
                                          PreludeLayer wanted, PartStore& parts,
                                          const MakeFiles& make_files) {
  CompileRequest asked = request;
  asked.options = reading(request.options, /*with_warnings=*/true);
  std::shared_ptr<KeptLayer> kept;
  {
    std::string pch;
    auto files = make_files();
    if (!compile_prelude(asked, language, files, wanted, pch)) return nullptr;
    // It would hold texts of the request, which the key does not name.
    if (wanted.is_hidden_by(request.files) || wanted.is_hidden_by(request.headers)) return nullptr;
    wanted.dependencies = files->dependencies();
    note_used(key, wanted.used, parts);
    key = key_with(key, wanted.used, request.options.defines);
    widen(key, wanted);
    kept = std::make_shared<KeptLayer>(PreludeLayer(wanted), std::move(pch));
  }
  parts.keep(PartKind::prelude, key, kept->serialize());
  // What the cache has mapped, several workers share.
  if (kept->size() >= k_large)
    if (auto bytes = parts.map(PartKind::prelude, key))
      // Another process may have kept one for other contents of the files since.
      if (auto mapped = KeptLayer::parse(std::move(*bytes), std::move(wanted));
          mapped && mapped->layer().pch == kept->layer().pch)
        kept = std::move(mapped);
  remember(key, kept);
  return kept;
}

/// Whether a layer leaves out the list of std templates that are not to be compiled with a source
/// (<tarsia/mxnet/std_extern.h>), though a header of the source brings it.
///
/// Work-around: Clang forgets in a prelude's upper layer what it says of templates instantiated below.
/// Trigger: that header would go into a layer above one in which these templates are instantiated already.
/// Symptom: they are compiled after all, and the source takes 30 ms more.
/// Removal: Clang keeps the explicit instantiation declarations of layered preludes.
static bool forgets_std(const PreludeLayer& layer, const std::vector<std::string>& includes) {
  return std::any_of(includes.begin(), includes.end(), [&](const std::string& include) {
    const std::string name = include.substr(1, include.size() - 2);
    return name.ends_with("lib_api.h") && !layer.met(name);
  });
}

Prelude Preludes::find_or_make(const CompileRequest& request, const SourceFile& file, Language language,
                               PartStore& parts, const MakeFiles& make_files) {
  if (language == Language::c) return {};
  ++m_compiles;
  m_misfits.clear();
  const std::vector<std::string> includes = leading_includes(file, request).includes;
  if (language == Language::cuda) return find_or_make_cuda(request, includes, parts, make_files);
  Prelude further = find_or_make_further(request, file, language, includes, parts, make_files);
  return further.top || further.needs_openmp ? further
                                             : find_or_make_cxx(request, includes, parts, make_files);
}

// The layers of headers in the request's folders, on top of what is shipped.
Prelude Preludes::find_or_make_further(const CompileRequest& request, const SourceFile& file,
                                       Language language, const std::vector<std::string>& includes,
                                       PartStore& parts, const MakeFiles& make_files) {
  const std::vector<PreludeItem> further = further_includes(file, request);
  if (further.empty()) return {};
  const PreludeText text = prelude_text(includes);
  Digest key{};
  Prelude prelude = find_shipped(request, language, text.free, key);
  const std::vector<LayerText> layers = layers_of(
      further, [&](const std::string& name) { return prelude.top && prelude.top->met(name); }, request);
  if (layers.empty()) return {};
  std::vector<std::string> left = left_over(text, prelude.top.get());
  Hasher hasher("tarsia further prelude");
  hasher.field(settings(request, language, /*with_warnings=*/true)).field(key);
  for (const std::string& dir : request.options.include_dirs) hasher.field(dir);
  key = hasher.finish();
  bool is_any = false;
  for (const LayerText& layer : layers) {
    PreludeLayer wanted;
    wanted.base = prelude.top;
    wanted.depth = prelude.top ? prelude.top->depth + 1 : 0;
    wanted.text = directives(left) + warm_up_of(left) + layer.text;
    left.clear();
    key = Hasher("tarsia further layer").field(key).field(wanted.text).finish();
    auto kept = find(key, request, wanted, parts);
    if (kept && (kept->layer().is_hidden_by(request.files) || kept->layer().is_hidden_by(request.headers)))
      break;
    const bool made = !kept;
    if (made && !(kept = make(request, language, key, wanted, parts, make_files))) break;
    if (made || prelude.origin != Prelude::made) prelude.origin = made ? Prelude::made : Prelude::kept;
    if (kept->size() == 0) {
      prelude = {};
      prelude.needs_openmp = true;
      return prelude;
    }
    is_any = true;
    prelude.top = {kept, &kept->layer()};
    prelude.covered = layer.end;
    const std::vector<Diagnostic>& warnings = kept->layer().warnings;
    prelude.warnings.insert(prelude.warnings.end(), warnings.begin(), warnings.end());
    const std::vector<std::string>& macros = kept->layer().macros;
    prelude.macros.insert(prelude.macros.end(), macros.begin(), macros.end());
  }
  return is_any ? prelude : Prelude();
}

Prelude Preludes::find_or_make_cxx(const CompileRequest& request, const std::vector<std::string>& includes,
                                   PartStore& parts, const MakeFiles& make_files) {
  constexpr Language language = Language::cxx;
  const PreludeText text = prelude_text(includes);
  if (are_cheap(text.free) && are_cheap(text.ordered)) return {};

  Digest base_identity{};
  Prelude prelude;
  prelude = find_shipped(request, language, text.free, base_identity);
  if (prelude.top && forgets_std(*prelude.top, includes)) {
    prelude = {};
    base_identity = {};
  }
  // Each cell of a session has the includes of those before it, so each include has a layer of its own.
  std::vector<std::vector<std::string>> layers;
  if (request.options.cell.empty())
    layers.push_back(left_over(text, prelude.top.get()));
  else
    for (const std::string& include : includes) layers.push_back({include});
  for (const std::vector<std::string>& headers : layers) {
    if (prelude.top && are_cheap(headers)) continue;
    if (!request.options.cell.empty() && prelude.top &&
        prelude.top->met(headers.front().substr(1, headers.front().size() - 2)))
      continue;
    PreludeLayer wanted;
    wanted.base = prelude.top;
    wanted.depth = prelude.top ? prelude.top->depth + 1 : 0;
    wanted.text = directives(headers) + warm_up_of(headers);
    Hasher hasher("tarsia prelude");
    hasher.field(settings(request, language)).field(base_identity).field(wanted.text);
    for (const std::string& dir : request.options.include_dirs) hasher.field(dir);
    Digest key = hasher.finish();
    auto kept = find(key, request, wanted, parts);
    prelude.origin = kept ? Prelude::kept : Prelude::made;
    if (!kept) kept = make(request, language, key, wanted, parts, make_files);
    base_identity = key;
    if (!kept || kept->size() == 0) {
      prelude.origin = prelude.top ? Prelude::shipped : Prelude::none;
      break;
    }
    prelude.top = {kept, &kept->layer()};
  }
  return prelude;
}

// Builds on a shipped layer, or on one for the headers that nvcc puts before every source. Each header that
// is not cheap gets a layer, in an order of our own. So sources that share some includes share their
// layers, and a new layer costs no more than its header.
Prelude Preludes::find_or_make_cuda(const CompileRequest& request, const std::vector<std::string>& includes,
                                    PartStore& parts, const MakeFiles& make_files) {
  CompileRequest plain = request;
  plain.options.include_dirs.clear();  // they do not matter: none of them hides a header of the layers
  Digest base_identity{};
  std::vector<std::string> headers = cuda_layers(includes), bracketed;
  for (const std::string& header : headers) bracketed.push_back("<" + header + ">");
  std::sort(bracketed.begin(), bracketed.end());
  Prelude prelude = find_shipped(request, Language::cuda, bracketed, base_identity);
  if (!prelude.top) headers.insert(headers.begin(), "");
  Hasher hasher("tarsia cuda prelude");
  hasher.field(settings(request, Language::cuda)).field(base_identity);
  for (const std::string& dir : request.cuda_parts.include_dirs) hasher.field(dir);
  Digest key = hasher.finish();
  bool more = false;
  for (const std::string& header : headers) {
    if (prelude.top && prelude.top->met(header)) continue;
    PreludeLayer wanted;
    wanted.base = prelude.top;
    wanted.depth = prelude.top ? prelude.top->depth + 1 : 0;
    if (!header.empty()) wanted.text = directives({"<" + header + ">"}) + warm_up_of({"<" + header + ">"});
    key = Hasher("tarsia cuda layer").field(key).field(wanted.text).finish();
    auto kept = find(key, request, wanted, parts);
    prelude.origin = kept && prelude.origin != Prelude::made ? Prelude::kept : Prelude::made;
    if (!kept) kept = make(plain, Language::cuda, key, wanted, parts, make_files);
    if (!kept || kept->size() == 0) break;
    prelude.top = {kept, &kept->layer()};
    more = true;
  }
  prelude.key = key;
  if (!more) return prelude;
  prelude.absent.clear();
  if (prelude.top->is_hidden_by(request.files) || prelude.top->is_hidden_by(request.headers) ||
      prelude.top->is_hidden_by(request.options.include_dirs, prelude.absent))
    return {};
  return prelude;
}

std::optional<Digest> Preludes::family_of_leading(const CompileRequest& request, const SourceFile& file,
                                                  const LeadingPart& part, const Prelude& below) const {
  if (!below.top || part.empty() || request.options.include_dirs.empty() || request.files.size() > 1 ||
      !request.headers.empty())
    return std::nullopt;
  Hasher hasher("tarsia leading includes");
  hasher.field(settings(request, Language::cuda, /*with_warnings=*/true)).field(below.key);
  for (const std::string& dir : request.options.include_dirs) hasher.field(dir);
  // Headers that say __BASE_FILE__ are not kept; its folder is searched for what it includes in quotes.
  return hasher.field(folder_of(file.name)).field(part.text(file)).finish();
}

Prelude Preludes::find_leading(const CompileRequest& request, const SourceFile& file, const LeadingPart& part,
                               const Prelude& below, PartStore& parts) {
  std::optional<Digest> key = family_of_leading(request, file, part, below);
  if (!key) return {};
  PreludeLayer wanted;
  wanted.base = below.top;
  wanted.depth = below.top->depth + 1;
  const auto kept = find(*key, request, wanted, parts);
  if (!kept || !kept->layer().headers || kept->layer().is_hidden_by(request.files)) return {};
  Prelude prelude = below;
  prelude.top = {kept, &kept->layer()};
  prelude.origin = Prelude::leading;
  prelude.covered = part.end;
  prelude.warnings = kept->layer().warnings;
  prelude.macros = kept->layer().macros;
  return prelude;
}

std::string Preludes::serialize_leading(const CompileRequest& request, const Digest& family,
                                        PreludeLayer layer, const Prelude& below, std::string pch,
                                        std::string_view headers) const {
  widen(key_with(family, layer.used, request.options.defines), layer);
  layer.base = below.top;
  layer.depth = below.top->depth + 1;
  return KeptLayer(std::move(layer), std::move(pch)).serialize(headers);
}

void Preludes::keep_leading(const CompileRequest& request, const Digest& family, std::string bytes,
                            PartStore& parts) {
  const Names used = KeptLayer::used_of(bytes);
  note_used(family, used, parts);
  parts.keep(PartKind::prelude, key_with(family, used, request.options.defines), std::move(bytes));
}

void Preludes::make_shipped(const std::string& path, bool with_cuda) {
  const CudaParts cuda_parts = with_cuda ? find_cuda_parts() : CudaParts();
  with_cuda = !cuda_parts.include_dirs.empty();
  ShippedPreludes::write(
      path, with_cuda,
      [&](const ShippedPreludes::Plan& plan, std::shared_ptr<const PreludeLayer> base,
          Digest& settings_of_plan) {
        CompileRequest request;
        request.options.std = plan.standard;
        request.cuda = plan.language == Language::cuda;
        if (request.cuda) request.cuda_parts = cuda_parts;
        settings_of_plan = settings(request, plan.language);
        PreludeLayer layer;
        layer.base = base;
        layer.depth = base ? base->depth + 1 : 0;
        layer.text = directives(plan.includes) + warm_up_of(plan.includes);
        std::string pch;
        auto files = llvm::makeIntrusiveRefCnt<SourceFileSystem>(m_pack);
        for (const HostHeader& header : host_headers())
          files->add_text(std::string(k_host_headers_dir) + "/" + header.name, header.text);
        files->set_cuda_dirs(request.cuda_parts.include_dirs);
        if (!compile_prelude(request, plan.language, files, layer, pch))
          throw Error("no prelude could be made of\n" + layer.text);
        layer.dependencies = virtual_dependencies(files->dependencies(), request.cuda_parts.include_dirs);
        return KeptLayer(std::move(layer), std::move(pch)).layer();
      });
}

}  // namespace tarsia::jit
