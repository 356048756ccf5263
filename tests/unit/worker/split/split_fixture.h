// Shared by the tests of the split: a text is parsed, and its slice compared with those of other ways.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "jit/worker/host/host_compiler.h"
#include "jit/worker/prelude/child_writer.h"
#include "jit/worker/prelude/further_includes.h"
#include "jit/worker/prelude/leading_text.h"
#include "tests/unit/worker/compile_fixture.h"

namespace tarsia::jit {

class SplitTest : public CompileTest {
 protected:
  void SetUp() override {
    if (!have_cuda_headers())
      GTEST_SKIP() << "no CUDA headers on this machine (pip install nvidia-cuda-runtime)";
  }
  // Parses the text and returns the slice. A text that begins with includes is parsed once more behind those
  // of another text, as children of a held parse do it; and, if they are of folders, on top of their
  // precompiled form. The slice must be the same.
  DeviceSlice split(const std::string& text, const std::vector<SourceFile>& headers = {},
                    const std::vector<std::string>& include_dirs = {}) {
    const std::vector<LeadingPart> parts = leading_parts_of(text, headers, include_dirs);
    DeviceSlice slice = split_behind({}, text, headers, include_dirs);
    if (parts.empty()) return slice;
    for (const LeadingPart& leading : parts)
      EXPECT_EQ(texts_of(split_behind(leading, text, headers, include_dirs)), texts_of(slice));
    if (!include_dirs.empty() && headers.empty()) compare_on_top(slice, text, include_dirs);
    return slice;
  }
  // What may be held of the text: that before a small header with what it begins with, and all of it.
  std::vector<LeadingPart> leading_parts_of(const std::string& text, const std::vector<SourceFile>& headers,
                                            const std::vector<std::string>& include_dirs) {
    CompileRequest asked = request("a.cu", text);
    asked.headers = headers;
    asked.options.include_dirs = include_dirs;
    std::vector<LeadingPart> parts;
    if (LeadingPart part = leading_part(asked.files[0], asked); !part.begun.empty()) parts.push_back(part);
    if (const std::size_t end = end_of_leading_includes(text); end > 0) parts.push_back({end, {}});
    return parts;
  }
  static std::vector<std::string> texts_of(const DeviceSlice& slice) {
    std::vector<std::string> all;
    for (const SourceFile& file : slice.files) all.push_back(file.name + "\n" + file.text);
    for (const auto& file : slice.host_texts) {
      const std::string digest(file->digest.begin(), file->digest.end());
      all.push_back(file->name + "\n" + digest);
    }
    for (const Doubt& doubt : slice.doubts)
      all.push_back(doubt.file + ":" + std::to_string(doubt.first_line) + "-" +
                    std::to_string(doubt.last_line));
    for (const HostName& one : slice.refused) all.push_back(one.file + ": " + one.name);
    std::set<std::string> names;
    for (const auto& names_of_file : slice.host_names)
      for (const HostName& one : *names_of_file) names.insert(one.file + ": " + one.name);
    all.insert(all.end(), names.begin(), names.end());
    return all;
  }
  static std::vector<std::string> descriptions(const DeviceSlice& slice) {
    std::vector<std::string> all;
    for (const KernelUse& one : slice.kernels)
      all.push_back(one.name + " " + one.mangled + " " + one.signature + " " + one.location +
                    (one.overloaded ? " o" : "") + (one.defined ? " d" : ""));
    for (const KernelTemplate& one : slice.templates)
      all.push_back(one.name + " " + one.signature + " " + one.location);
    return all;
  }
  // `slice` is that of the text.
  void compare_on_top(const DeviceSlice& slice, const std::string& text,
                      const std::vector<std::string>& include_dirs) {
    for (const LeadingPart& leading : leading_parts_of(text, {}, include_dirs)) {
      SCOPED_TRACE(leading.begun);
      const DeviceSlice other = split_on_top(leading, text, include_dirs);
      if (m_pch.empty()) continue;  // the headers have variables of the device
      EXPECT_FALSE(m_needs_headers);
      EXPECT_EQ(texts_of(other), texts_of(slice));
      EXPECT_EQ(kernels(other), kernels(slice));
      EXPECT_EQ(other.takes_from_headers, slice.takes_from_headers);
      EXPECT_EQ(other.has_header_kernels, slice.has_header_kernels);
      EXPECT_EQ(descriptions(other), descriptions(slice));
    }
  }
  // The leading includes are precompiled when another text is parsed.
  DeviceSlice split_on_top(const LeadingPart& leading, const std::string& text,
                           const std::vector<std::string>& include_dirs) {
    const std::string begins = leading.text({"a.cu", text});
    if (m_precompiled != begins) precompile(leading, text, include_dirs);
    m_precompiled = begins;
    if (m_pch.empty()) return {};
    m_covered = leading.end;
    DeviceSlice slice = split_behind({}, text, {}, include_dirs);
    m_covered.reset();
    return slice;
  }
  void precompile(const LeadingPart& leading, const std::string& text,
                  const std::vector<std::string>& include_dirs) {
    ChildWriter writer;
    m_on_leading = [&](const LeadingParse& parse) {
      parse.prepare();
      writer.start([&] {
        const LeadingContent content = parse.write();
        if (content.pch.empty()) return std::string();
        return std::to_string(content.headers.size()) + " " + content.headers + content.pch + '\0';
      });
    };
    split_behind(leading, text, {}, include_dirs);
    m_on_leading = nullptr;
    const std::optional<std::string> made = writer.finish();
    m_pch.clear();
    if (!made) return;
    const std::size_t size = std::stoul(*made), at = made->find(' ') + 1;
    const auto bytes = std::make_shared<const std::string>(made->substr(at, size));
    const auto items = HeaderItems::parse(*bytes, bytes);
    ASSERT_TRUE(items);
    m_headers = std::make_shared<const HeaderItems>(*items);
    m_pch = made->substr(at + size, made->size() - at - size);
  }
  // `leading`: so much of the text is read before the rest is there.
  DeviceSlice split_behind(const LeadingPart& leading, const std::string& text,
                           const std::vector<SourceFile>& headers,
                           const std::vector<std::string>& include_dirs) {
    m_request = request("a.cu", text);
    m_request.headers = headers;
    m_request.options.include_dirs = include_dirs;
    auto files = files_of(m_request);
    HostUnit unit;
    unit.request = &m_request;
    unit.file = &m_request.files[0];
    unit.language = Language::cuda;
    unit.writes_leading = bool(m_on_leading);
    if (m_covered) {
      unit.prelude = "/tarsia/leading.pch";
      files->add_text(unit.prelude, std::string_view(m_pch).substr(0, m_pch.size() - 1));
      unit.covered = *m_covered;
      unit.headers = m_headers;
    }
    DeviceSlice slice;
    HostHooks hooks;
    hooks.on_split = [&](DeviceSlice&& made) { slice = std::move(made); };
    bool replaced = leading.empty();
    if (!leading.empty()) {
      unit.leading = leading.end;
      unit.begun = leading.begun;
      m_request.files[0].text = text.substr(0, leading.end) + "__global__ void tarsia_other();\n";
      hooks.on_leading = [&](const LeadingParse& parse) {
        if (m_on_leading)
          m_on_leading(parse);
        else
          parse.prepare();
        m_request.files[0].text = text;
        return replaced = parse.show();
      };
    }
    HostResult result = compile_host(unit, files, hooks);
    for (const Diagnostic& d : result.diagnostics)
      EXPECT_LT(int(d.severity), int(Severity::error)) << d.line << ": " << d.message;
    EXPECT_TRUE(replaced);
    m_needs_headers = result.needs_headers;
    return slice;
  }
  // How often the host's half of `before` and then of `after` is compiled.
  int host_compiles(const std::string& before, const std::string& after) {
    for (const std::string& text : {before, after}) {
      CompileResult result = compile(request("a.cu", text));
      EXPECT_TRUE(result.ok) << errors(result);
      if (!result.ok) return -1;
    }
    return parts.kept[PartKind::host];
  }
  static std::string text_of(const DeviceSlice& slice, const std::string& name = "a.cu") {
    for (const SourceFile& file : slice.files)
      if (file.name == name) return file.text;
    return "(no such file)";
  }
  static std::vector<std::string> kernels(const DeviceSlice& slice) {
    std::vector<std::string> names;
    for (const KernelUse& kernel : slice.kernels) names.push_back(kernel.name);
    return names;
  }
  CompileRequest m_request;
  std::function<void(const LeadingParse&)> m_on_leading;
  std::string m_precompiled, m_pch;  ///< what was, and its form, with a NUL
  std::shared_ptr<const HeaderItems> m_headers;
  std::optional<std::size_t> m_covered;
  bool m_needs_headers = false;
};

}  // namespace tarsia::jit
