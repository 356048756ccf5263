// Makes, keeps and finds precompiled preludes.
//
// A prelude is equivalent to the text that it replaces because it is that text: the source's own leading
// includes, under options that read a header alike. Their order is kept, save among headers whose order
// cannot matter. Tarsia forces nothing else into a source, save the headers that nvcc itself puts before
// CUDA.
//
// If a shipped layer is equivalent to a part of the prelude, the prelude is built on top of it. The key
// names what was asked for. Each file is checked to be the one that was read.
#include "jit/worker/prelude/prelude.h"

#include <algorithm>

#include "base/cuda/cuda_parts.h"
#include "base/error.h"
#include "jit/build_id.h"
#include "jit/worker/prelude/compile_prelude.h"
#include "jit/worker/prelude/prelude_text.h"
#include "jit/worker/source/host_headers.h"

namespace tarsia::jit {
namespace {

// Whether one of options.cflags defines or undefines a macro.
bool changes_reading(const std::string& flag) {
  return flag.starts_with("-U") || flag == "-fmath-errno" || flag == "-ffinite-math-only";
}

// The options that decide how a header is read. Of optimisation, headers see __OPTIMIZE__ and __NO_INLINE__
// alone. Debug information is made where a prelude is used, and so are warnings and code.
CompileOptions reading(CompileOptions options) {
  options.opt = std::min(options.opt, 2);
  options.lineinfo = options.dev = false;
  // These two change what headers see (__has_feature), so Clang takes no prelude that was made without.
  if (!has_checks(options, "address") && !has_checks(options, "thread")) options.debug = false;
  std::erase_if(options.cflags, [](const std::string& flag) { return !changes_reading(flag); });
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

// The input has the prelude's own name. The source's folders are checked when a layer is found.
Digest Preludes::settings(const CompileRequest& request, Language language) const {
  CompileRequest plain;
  plain.cuda = request.cuda;
  plain.cuda_parts = request.cuda_parts;
  plain.options = reading(request.options);
  plain.options.include_dirs.clear();
  Hasher hasher("tarsia prelude settings");
  hasher.field(build_id()).field(m_pack->identity());
  for (const std::string& argument : clang_arguments(plain, language, "", "")) hasher.field(argument);
  return hasher.finish();
}

Prelude Preludes::find_shipped(const CompileRequest& request, Language language,
                               const std::vector<std::string>& includes, Digest& identity) {
  // A C++ file beside CUDA files has CUDA's folders, too. They come last and have none of the layers'
  // headers.
  CompileRequest asked;
  asked.options = request.options;
  asked.options.openmp = false;  // none of the layers' headers asks for it
  asked.cuda = language == Language::cuda;
  if (asked.cuda) asked.cuda_parts = request.cuda_parts;
  const ShippedLayer* shipped = m_shipped.find(settings(asked, language), includes);
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

std::shared_ptr<KeptLayer> Preludes::find(const Digest& key, const PreludeLayer& wanted, PartStore& parts) {
  if (auto known = m_kept.find(key); known != m_kept.end()) {
    if (known->second->still_holds()) return known->second;
    m_kept.erase(known);
  } else if (auto bytes = parts.find(PartKind::prelude, key)) {
    auto kept = KeptLayer::parse(std::move(*bytes), wanted);
    if (kept && kept->still_holds()) return m_kept[key] = kept;
  }
  return nullptr;
}

std::shared_ptr<KeptLayer> Preludes::make(const CompileRequest& request, Language language, const Digest& key,
                                          PreludeLayer wanted, PartStore& parts,
                                          const MakeFiles& make_files) {
  CompileRequest asked = request;
  asked.options = reading(request.options);
  std::string pch;
  auto files = make_files();
  if (!compile_prelude(asked, language, files, wanted, pch)) return nullptr;
  wanted.dependencies = files->dependencies();
  auto kept = std::make_shared<KeptLayer>(std::move(wanted), std::move(pch));
  parts.keep(PartKind::prelude, key, kept->serialize());
  return m_kept[key] = kept;
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
  const std::vector<std::string> includes = leading_includes(file, request);
  if (language == Language::cuda) return find_or_make_cuda(request, includes, parts, make_files);
  const PreludeText text = prelude_text(includes);
  if (are_cheap(text.free) && are_cheap(text.ordered)) return {};

  Digest base_identity{};
  Prelude prelude;
  prelude = find_shipped(request, language, text.free, base_identity);
  if (prelude.top && forgets_std(*prelude.top, includes)) {
    prelude = {};
    base_identity = {};
  }
  const std::vector<std::string> left = left_over(text, prelude.top.get());
  if (prelude.top && are_cheap(left)) return prelude;

  PreludeLayer wanted;
  wanted.base = prelude.top;
  wanted.depth = prelude.top ? prelude.top->depth + 1 : 0;
  wanted.text = directives(left) + warm_up_of(left);
  Hasher hasher("tarsia prelude");
  hasher.field(settings(request, language)).field(base_identity).field(wanted.text);
  for (const std::string& dir : request.options.include_dirs) hasher.field(dir);
  const Digest key = hasher.finish();
  auto kept = find(key, wanted, parts);
  prelude.origin = kept ? Prelude::kept : Prelude::made;
  if (!kept) kept = make(request, language, key, wanted, parts, make_files);
  if (kept)
    prelude.top = {kept, &kept->layer()};
  else
    prelude.origin = prelude.top ? Prelude::shipped : Prelude::none;
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
    auto kept = find(key, wanted, parts);
    prelude.origin = kept && prelude.origin != Prelude::made ? Prelude::kept : Prelude::made;
    if (!kept) kept = make(plain, Language::cuda, key, wanted, parts, make_files);
    if (!kept) break;
    prelude.top = {kept, &kept->layer()};
    more = true;
  }
  if (!more) return prelude;
  prelude.absent.clear();
  if (prelude.top->is_hidden_by(request.files) || prelude.top->is_hidden_by(request.headers) ||
      prelude.top->is_hidden_by(request.options.include_dirs, prelude.absent))
    return {};
  return prelude;
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
