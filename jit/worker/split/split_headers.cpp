// Leaves out the headers that a slice does not need.
#include "jit/worker/split/split_headers.h"

#include <tarsia/detail/spelling.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

#include "jit/rough_text.h"

namespace tarsia::jit {
namespace {

bool is_behind_hash(std::string_view text, size_t begin) {
  const size_t at = text.substr(0, begin).find_last_not_of(" \t");
  return at != text.npos && text[at] == '#';
}

// Whether the header's name stands behind the word "include"; else macros make it.
bool has_header_name(std::string_view text, size_t at) {
  at = text.find_first_not_of(" \t", at);
  return at != text.npos && (text[at] == '<' || text[at] == '"');
}

// Calls visit(word, its place) for each identifier outside of comments, strings and names of headers.
template <class Visit>
void for_each_word_of_code(std::string_view text, const Visit& visit) {
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '/' && i + 1 < text.size() && (text[i + 1] == '/' || text[i + 1] == '*')) {
      const bool line = text[i + 1] == '/';
      const size_t end = text.find(line ? "\n" : "*/", i + 2);
      i = end == text.npos ? text.size() : end + (line ? 0 : 2);
    } else if (c == '"') {
      for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i) i += text[i] == '\\';
      ++i;
    } else if (detail::is_identifier_part(c)) {
      const size_t begin = i;
      while (i < text.size() && detail::is_identifier_part(text[i])) ++i;
      const std::string_view word = text.substr(begin, i - begin);
      if (word.starts_with("include") && is_behind_hash(text, begin) && has_header_name(text, i))
        i = std::min(text.find('\n', i), text.size());
      else if (!detail::is_digit(c))
        visit(word, begin);
    } else {
      ++i;
    }
  }
}

/// Headers of CUDA and of C, by the beginnings of their names, and what is in the names that they declare.
struct Known {
  std::string_view header;
  std::vector<std::string_view> names;
  bool idle = false;  ///< not to be read by NVRTC unless it is named: it costs seconds, or is the host's
};

const std::vector<Known>& known_headers() {
  static const std::vector<Known> s_known = {
      {"thrust/", {"thrust"}, true},
      {"cub/", {"cub"}, true},
      {"cuda/", {"cuda"}, true},
      {"cublas", {"cublas"}, true},
      {"cusparse", {"cusparse"}, true},
      {"cusolver", {"cusolver"}, true},
      {"cufft", {"cufft"}, true},
      {"cudnn", {"cudnn"}, true},
      {"cuda.h",
       {"CUtensorMap", "CUdevice", "CUtexObject", "CUsurfObject", "CUcontext", "CUstream", "CUevent"}},
      {"cuda_fp16.h", {"half"}},
      {"cuda_bf16.h", {"bfloat16"}},
      {"cuda_fp8.h", {"__nv_fp8"}},
      {"cuda_fp6.h", {"__nv_fp6"}},
      {"cuda_fp4.h", {"__nv_fp4"}},
      {"curand_kernel.h", {"curand"}},
      {"cooperative_groups.h", {"cooperative_groups"}},
      {"mma.h", {"wmma"}},
      {"cuComplex.h", {"cuComplex", "cuFloatComplex", "cuDoubleComplex"}},
      {"math_constants.h", {"CUDART_"}},
      {"cfloat", {"FLT_", "DBL_"}},
      {"float.h", {"FLT_", "DBL_"}},
      {"climits", {"_MAX", "_MIN"}},
      {"limits.h", {"_MAX", "_MIN"}},
      {"cmath", {"M_", "INFINITY", "NAN", "HUGE_VAL"}},
      {"math.h", {"M_", "INFINITY", "NAN", "HUGE_VAL"}},
      {"cassert", {"assert"}},
      {"assert.h", {"assert"}},
      {"cstdint", {"_t"}},
      {"stdint.h", {"_t"}}};
  return s_known;
}

using MetWordSet = std::set<std::string, std::less<>>;

bool is_named(const Known& known, const MetWordSet& words) {
  return std::ranges::any_of(words, [&](const std::string& word) {
    return std::ranges::any_of(known.names,
                               [&](std::string_view name) { return word.find(name) != word.npos; });
  });
}

/// The words that a compile of the loaded texts can meet. Those in a macro's definition count if the macro
/// does.
class MetWords {
 public:
  /// `visit` is called once for each word that counts.
  explicit MetWords(std::function<void(std::string_view)> visit) : m_visit(std::move(visit)) {}

  void add(std::string_view text) {
    size_t end = 0;  // of the definition
    std::string name;
    for_each_word_of_code(text, [&](std::string_view word, size_t at) {
      if (at >= end) {
        name.clear();
        if (word == "define" && is_behind_hash(text, at))
          end = end_of_line(text, at);
        else
          meet(word);
      } else if (name.empty()) {
        name = word;
      } else {
        m_bodies[name].emplace_back(word);
        if (m_met.contains(name)) meet(word);
      }
    });
  }
  const MetWordSet& met() const { return m_met; }

 private:
  void meet(std::string_view first) {
    std::vector<std::string> work{std::string(first)};
    while (!work.empty()) {
      const std::string word = std::move(work.back());
      work.pop_back();
      if (!m_met.insert(word).second) continue;
      m_visit(word);
      if (auto found = m_bodies.find(word); found != m_bodies.end())
        work.insert(work.end(), found->second.begin(), found->second.end());
    }
  }

  std::function<void(std::string_view)> m_visit;
  MetWordSet m_met;
  std::map<std::string, std::vector<std::string>, std::less<>> m_bodies;
};

void blank_line(std::string& text, size_t at) {
  for (; at < text.size() && text[at] != '\n'; ++at)
    if (text[at] != '\r') text[at] = ' ';
}

/// Whether NVRTC has what the header defines, which the host gets from the .h before it.
///
/// Work-around: NVRTC refuses headers that are already compiled into it.
/// Trigger: `#include <cuda_bf16.hpp>` behind cuda_bf16.h, which does nothing under nvcc; the same with fp16.
/// Symptom: "identifier __CUDA_HOSTDEVICE__ is undefined". Removal: cuda_bf16.h defines their guard for
/// NVRTC.
bool is_built_in(std::string_view name) {
  name = name.substr(1, name.size() - 2);  // without quotes or brackets
  return name == "cuda_fp16.hpp" || name == "cuda_bf16.hpp";
}

/// Of each header the file by which it is entered first, so that what is left of them comes to the device in
/// the host's order. Includes that NVRTC does not see lead to what nothing else leads to.
std::map<std::string, std::string> first_ways(const std::map<std::string, SlicedHeader>& headers) {
  std::map<std::string, std::string> from;
  for (const bool also_hosts : {false, true}) {
    std::set<std::string> entered;
    std::vector<std::pair<const std::string*, size_t>> open;  // files, and which of their includes comes next
    for (const auto& [path, header] : headers)
      if (header.main) open.emplace_back(&path, 0);
    while (!open.empty()) {
      auto& [path, at] = open.back();
      const std::vector<SlicedHeader::Include>& includes = headers.at(*path).includes;
      if (at == includes.size()) {
        open.pop_back();
        continue;
      }
      const SlicedHeader::Include& one = includes[at++];
      const auto next = headers.find(one.path);
      if (next == headers.end() || next->second.main || (one.to_host_alone && !also_hosts)) continue;
      if (!entered.insert(one.path).second) continue;
      from.emplace(one.path, *path);
      open.emplace_back(&next->first, 0);
    }
  }
  return from;
}

}  // namespace

void add_defined(const std::string& path, std::string_view text, DefinedMacros& defined) {
  std::string_view before;
  for_each_word_of_code(text, [&](std::string_view word, size_t) {
    if (before == "define") defined[std::string(word)].insert(path);
    before = word;
  });
}

void leave_out_idle_headers(std::map<std::string, SlicedHeader>& headers, const DefinedMacros& defined,
                            const std::function<void(const std::string& path, SlicedHeader&)>& load) {
  std::vector<std::string> work;
  for (const auto& [path, header] : headers)
    if (header.of_use) work.push_back(path);
  MetWords met([&](std::string_view word) {
    if (auto found = defined.find(word); found != defined.end())
      for (const std::string& file : found->second)
        if (!std::exchange(headers[file].of_use, true)) work.push_back(file);
  });
  while (!work.empty()) {
    const std::string path = std::move(work.back());
    work.pop_back();
    if (headers[path].text.empty()) load(path, headers[path]);
    met.add(headers[path].text);
  }
  const MetWordSet& words = met.met();

  // What a needed header includes may come to the device through one that is not.
  std::set<std::string_view> idle;
  std::vector<std::string> leads;
  for (const Known& known : known_headers()) {
    const bool named = is_named(known, words);
    if (known.idle && !named) idle.insert(known.header);
    if (!named) continue;
    const std::string* first = nullptr;
    bool there = false;
    for (const auto& [path, header] : headers)
      for (const SlicedHeader::Include& one : header.includes) {
        if (!std::string_view(one.name).substr(1).starts_with(known.header)) continue;
        there |= header.of_use;
        if (!first) first = &path;
      }
    if (first && !there) leads.push_back(*first);
  }

  const std::map<std::string, std::string> from = first_ways(headers);
  for (auto& [path, header] : headers) header.needed |= header.of_use || header.main;
  for (const auto& [path, header] : headers)
    if (header.of_use) leads.push_back(path);
  for (std::string path : leads)
    while (!path.empty() && !headers[path].main) {
      headers[path].needed = true;
      const auto includer = from.find(path);
      path = includer == from.end() ? "" : includer->second;
    }

  auto is_named_header = [&](const std::string& name) {
    return std::ranges::any_of(known_headers(), [&](const Known& known) {
      return std::string_view(name).substr(1).starts_with(known.header) && is_named(known, words);
    });
  };
  for (auto& [path, header] : headers) {
    auto stays = [&](const SlicedHeader::Include& one) {
      if (is_built_in(one.name)) return false;
      if (const auto target = headers.find(one.path); target != headers.end()) return target->second.needed;
      return std::ranges::none_of(idle, [&](std::string_view prefix) {
        return std::string_view(one.name).substr(1).starts_with(prefix);
      });
    };
    if (header.of_use) {
      for (const SlicedHeader::Include& one : header.includes)
        if (!stays(one)) {
          blank_line(header.text, one.at);
          std::erase_if(header.words, [&](const auto& word) {
            return word.first > one.at && header.text.find('\n', one.at) > word.first;
          });
        }
    } else if (header.needed) {
      header.words.clear();
      header.text = header.again ? "" : "#pragma once\n";
      for (const SlicedHeader::Include& one : header.includes)
        if (headers.contains(one.path) ? headers[one.path].needed
                                       : is_named_header(one.name) && !is_built_in(one.name))
          header.text += "#include " + one.name + "\n";
    }
  }
}

}  // namespace tarsia::jit
