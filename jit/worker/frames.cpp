// LLVM reads the line tables and symbols, and gives the names their C++ form.
#include "jit/worker/frames.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <istream>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/demangle.h"
#include "base/frame_format.h"
#include "base/text_origin.h"
#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"

namespace tarsia::jit {
namespace {

using llvm::object::ELF64LEObjectFile;

/// What the user calls a function, in any language that LLVM knows.
std::string readable_name(const std::string& symbol) {
  return llvm::demangle(without_suffix(symbol));
}

/// The functions of a file, by their addresses.
class Symbols {
 public:
  explicit Symbols(const ELF64LEObjectFile& file) {
    for (const llvm::object::ELFSymbolRef symbol : file.symbols()) add(symbol);
    if (m_functions.empty())
      for (const llvm::object::ELFSymbolRef symbol : file.getDynamicSymbolIterators()) add(symbol);
  }
  /// The function that holds the address, as C++ writes it; empty: none does.
  std::string at(std::uint64_t address) const {
    auto found = m_functions.upper_bound(address);
    if (found == m_functions.begin()) return {};
    --found;
    const bool inside = !found->second.size || address < found->first + found->second.size;
    return inside ? readable_name(found->second.name) : std::string();
  }

 private:
  struct Function {
    std::uint64_t size;
    std::string name;
  };
  void add(const llvm::object::ELFSymbolRef& symbol) {
    llvm::Expected<llvm::object::SymbolRef::Type> type = symbol.getType();
    llvm::Expected<std::uint64_t> address = symbol.getAddress();
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    if (type && address && name && *type == llvm::object::SymbolRef::ST_Function && *address)
      m_functions.emplace(*address, Function{symbol.getSize(), name->str()});
    llvm::consumeError(type.takeError());
    llvm::consumeError(address.takeError());
    llvm::consumeError(name.takeError());
  }
  std::map<std::uint64_t, Function> m_functions;
};

/// A file of code: a module, or one of the program's libraries.
class Code {
 public:
  Code(std::string name, std::unique_ptr<llvm::MemoryBuffer> bytes)
      : m_name(std::move(name)), m_bytes(std::move(bytes)) {
    auto file = ELF64LEObjectFile::create(m_bytes->getMemBufferRef());
    if (!file) {
      llvm::consumeError(file.takeError());
      return;
    }
    m_file = std::make_unique<ELF64LEObjectFile>(std::move(*file));
    m_symbols = std::make_unique<Symbols>(*m_file);
  }
  const std::string& name() const { return m_name; }
  std::string function_at(std::uint64_t address) const {
    return m_symbols ? m_symbols->at(address) : std::string();
  }
  llvm::DIInliningInfo lines_at(std::uint64_t address) {
    if (!m_file) return {};
    if (!m_debug) m_debug = llvm::DWARFContext::create(*m_file);
    using Specifier = llvm::DILineInfoSpecifier;
    return m_debug->getInliningInfoForAddress(
        {address, llvm::object::SectionedAddress::UndefSection},
        Specifier(Specifier::FileLineInfoKind::AbsoluteFilePath, Specifier::FunctionNameKind::LinkageName));
  }
  /// The address in the file's own counting of a byte at an offset in the file.
  std::optional<std::uint64_t> address_of_offset(std::uint64_t offset) const {
    if (!m_file) return {};
    auto segments = m_file->getELFFile().program_headers();
    if (!segments) {
      llvm::consumeError(segments.takeError());
      return {};
    }
    for (const auto& segment : *segments)
      if (segment.p_type == llvm::ELF::PT_LOAD && segment.p_offset <= offset &&
          offset < segment.p_offset + segment.p_filesz)
        return offset - segment.p_offset + segment.p_vaddr;
    return {};
  }

 private:
  std::string m_name;
  std::unique_ptr<llvm::MemoryBuffer> m_bytes;
  std::unique_ptr<ELF64LEObjectFile> m_file;
  std::unique_ptr<Symbols> m_symbols;
  std::unique_ptr<llvm::DWARFContext> m_debug;
};

/// The user's name for a file: what is behind the folder of kept copies.
std::string file_name(const std::string& path) {
  const std::size_t copies = path.find("/1/source/");
  if (copies == path.npos) return path.starts_with("./") ? path.substr(2) : path;
  const std::size_t name = path.find('/', copies + 10);
  return name == path.npos ? path : path.substr(name + 1);
}

struct Module {
  FrameItem item;
  std::uint64_t size;  ///< in memory
  Code code;
  std::vector<TextOrigin> origins;
  std::uint64_t begin = 0;  ///< where its address 0 lies; 0: nowhere
};

/// A line of /proc/PID/maps.
struct Area {
  std::uint64_t begin, end, offset, inode;
  std::string_view path;
};

std::uint64_t take_hex(std::string_view& text) {
  std::uint64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number, 16).ptr;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty()) text.remove_prefix(1);
  return number;
}

std::vector<Area> areas_of(std::string_view maps) {
  std::vector<Area> areas;
  while (!maps.empty()) {
    std::string_view line = maps.substr(0, maps.find('\n'));
    maps.remove_prefix(std::min(maps.size(), line.size() + 1));
    Area area{};
    area.begin = take_hex(line);
    area.end = take_hex(line);
    line.remove_prefix(std::min(line.size(), line.find(' ') + 1));  // what is allowed
    area.offset = take_hex(line);
    line.remove_prefix(std::min(line.size(), line.find(' ') + 1));  // the device
    std::from_chars(line.data(), line.data() + line.size(), area.inode);
    if (const std::size_t path = line.find('/'); path != line.npos) area.path = line.substr(path);
    areas.push_back(area);
  }
  return areas;
}

/// Where a module ends, by its program headers.
std::uint64_t size_in_memory(llvm::StringRef bytes) {
  auto file = llvm::object::ELF64LEFile::create(bytes);
  std::uint64_t end = 0;
  if (file) {
    auto segments = file->program_headers();
    if (segments)
      for (const auto& segment : *segments)
        if (segment.p_type == llvm::ELF::PT_LOAD)
          end = std::max<std::uint64_t>(end, segment.p_vaddr + segment.p_memsz);
    llvm::consumeError(segments.takeError());
  }
  llvm::consumeError(file.takeError());
  return end;
}

llvm::StringRef text_of(const llvm::WritableMemoryBuffer& bytes) {
  return {bytes.getBufferStart(), bytes.getBufferSize()};
}

/// False: less came. `has_ended`, if given, says whether nothing came at all.
bool read_all(int from, void* to, std::size_t n, bool* has_ended = nullptr) {
  const std::size_t wanted = n;
  auto* at = static_cast<char*>(to);
  while (n > 0) {
    const ssize_t got = ::read(from, at, n);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      if (has_ended) *has_ended = got == 0 && n == wanted;
      return false;
    }
    at += got;
    n -= static_cast<std::size_t>(got);
  }
  return true;
}

class Explanation {
 public:
  bool read(int from) {
    FrameItem item;
    bool has_ended = false;
    while (read_all(from, &item, sizeof item, &has_ended)) {
      constexpr std::uint64_t k_most = std::uint64_t{4} << 30;
      if (item.kind > FrameItem::origin || item.n_name > k_most || item.n_bytes > k_most) return false;
      std::string name(item.n_name, '\0');
      if (!read_all(from, name.data(), name.size())) return false;
      auto bytes = llvm::WritableMemoryBuffer::getNewUninitMemBuffer(item.n_bytes, name);
      if (!bytes || !read_all(from, bytes->getBufferStart(), item.n_bytes)) return false;
      if (item.kind == FrameItem::module || item.kind == FrameItem::loading) {
        const std::uint64_t size = size_in_memory(text_of(*bytes));
        m_modules.push_back({item, size, Code(std::move(name), std::move(bytes)), {}});
      } else if (item.kind == FrameItem::origin) {
        if (m_modules.empty()) return false;
        m_modules.back().origins.push_back(origin_of(std::move(name), text_of(*bytes)));
      } else if (item.kind == FrameItem::mappings) {
        m_maps += text_of(*bytes);
      } else {
        m_frames.push_back(item);
      }
    }
    if (!has_ended) return false;
    m_areas = areas_of(m_maps);
    for (Module& module : m_modules)
      module.begin =
          module.item.kind == FrameItem::module ? module.item.number : begin_of(module.item.number);
    return true;
  }

  void write(std::ostream& to) {
    std::size_t end = m_frames.size();  // behind the outermost frame of a module
    const auto is_of_modules = [&](const FrameItem& frame) {
      return frame.kind == FrameItem::left_out || module_at(address_of(frame));
    };
    while (end > 0 && !is_of_modules(m_frames[end - 1])) --end;
    if (end == 0) end = m_frames.size();
    for (std::size_t i = 0; i < end; ++i) {
      if (m_frames[i].kind == FrameItem::left_out) {
        write_repeated(to);
        m_last.clear();
        to << "  ... " << m_frames[i].number << " frames more\n";
        m_number += static_cast<int>(m_frames[i].number);
      } else {
        write_frame(to, address_of(m_frames[i]));
      }
    }
    write_repeated(to);
  }

 private:
  /// A call's return address belongs to the line behind the call.
  static std::uint64_t address_of(const FrameItem& frame) {
    return frame.kind == FrameItem::frame && !frame.is_exact ? frame.number - 1 : frame.number;
  }

  static TextOrigin origin_of(std::string name, llvm::StringRef bytes) {
    const auto [file, lines] = bytes.split('\0');
    TextOrigin origin{std::move(name), file.str(), {}};
    origin.lines.resize(lines.size() / sizeof(origin.lines[0]));
    if (!origin.lines.empty())
      std::memcpy(origin.lines.data(), lines.data(), origin.lines.size() * sizeof(origin.lines[0]));
    return origin;
  }

  /// " (model.py:17)", or nothing.
  static std::string origin_text(const Module& module, const std::string& file, std::uint64_t line) {
    for (const TextOrigin& origin : module.origins)
      if (origin.name == file && origin.line_of(line))
        return " (" + origin.file + ":" + std::to_string(origin.line_of(line)) + ")";
    return "";
  }

  Module* module_at(std::uint64_t address) {
    for (Module& module : m_modules) {
      if (module.begin && module.begin <= address && address < module.begin + module.size) return &module;
    }
    return nullptr;
  }

  /// Where the first byte of a file is mapped; 0: nowhere.
  std::uint64_t begin_of(std::uint64_t inode) const {
    const auto found = std::ranges::find_if(
        m_areas, [&](const Area& area) { return area.inode == inode && area.offset == 0; });
    return inode && found != m_areas.end() ? found->begin : 0;
  }

  /// A library of the program, opened by its path; null: none.
  Code* library_at(std::uint64_t address, std::uint64_t& own_address) {
    for (const Area& area : m_areas) {
      if (address < area.begin || address >= area.end || area.path.empty()) continue;
      auto& known = m_libraries[area.path];
      if (!known) {
        auto bytes = llvm::MemoryBuffer::getFile(llvm::StringRef(area.path), false, false);
        if (!bytes) return nullptr;
        const std::size_t slash = area.path.rfind('/');
        known = std::make_unique<Code>(std::string(area.path.substr(slash + 1)), std::move(*bytes));
      }
      const auto at = known->address_of_offset(address - area.begin + area.offset);
      if (!at) return nullptr;
      own_address = *at;
      return known.get();
    }
    return nullptr;
  }

  void write_frame(std::ostream& to, std::uint64_t address) {
    if (Module* module = module_at(address)) {
      write_module_frame(to, *module, address - module->begin);
      return;
    }
    std::uint64_t own_address = 0;
    Code* library = library_at(address, own_address);
    const std::string name = library ? library->function_at(own_address) : std::string();
    line(to, name.empty() ? hex(address) : name, library ? " in " + library->name() : "");
  }

  void write_module_frame(std::ostream& to, Module& module, std::uint64_t address) {
    Code& code = module.code;
    const std::string symbol = code.function_at(address);
    const llvm::DIInliningInfo lines = code.lines_at(address);
    const std::uint32_t n = lines.getNumberOfFrames();
    for (std::uint32_t i = 0; i < n; ++i) {
      const llvm::DILineInfo& info = lines.getFrame(i);
      const bool outermost = i + 1 == n;
      std::string name = outermost && !symbol.empty() ? symbol : readable_name(info.FunctionName);
      if (info.FunctionName == llvm::DILineInfo::BadString) name = symbol.empty() ? hex(address) : symbol;
      const bool has_line = info.FileName != llvm::DILineInfo::BadString && info.Line;
      if (is_between(name) || is_ours(name) || is_our_header(info.FileName)) continue;
      const std::string file = file_name(info.FileName);
      line(to, name,
           has_line ? " at " + file + ":" + std::to_string(info.Line) + origin_text(module, file, info.Line)
                    : " in " + code.name());
      m_has_module_frame = true;
    }
    if (n == 0 && !is_ours(symbol) && !is_between(symbol)) {
      line(to, symbol.empty() ? hex(address) : symbol, " in " + code.name());
      m_has_module_frame = true;
    }
  }

  /// Whether it runs an op's implementation, and may hold it inlined.
  static bool is_runner(const std::string& name) {
    return name.find("tarsia::OpDefinition::") != name.npos ||
           name.find("tarsia::detail::run_implementation<") != name.npos;
  }
  /// Whether it stands between an op and its caller. If it is the innermost, the op is inlined in it.
  bool is_between(const std::string& name) const { return m_has_module_frame && is_runner(name); }
  static bool is_ours(const std::string& name) {
    if (is_runner(name)) return false;
    return name.find("tarsia::detail::") != name.npos || name.starts_with("tarsia_call_");
  }
  static bool is_our_header(const std::string& file) {
    return file.find("include/tarsia/") != file.npos || file.starts_with("/tarsia/");
  }

  static std::string hex(std::uint64_t number) {
    char digits[16];
    const auto end = std::to_chars(digits, digits + sizeof digits, number, 16).ptr;
    return "0x" + std::string(digits, end);
  }

  /// Frames that are like the one before, as those of a recursion, are counted.
  void line(std::ostream& to, const std::string& name, const std::string& where) {
    const int number = m_number++;
    if (name + where == m_last) {
      ++m_repeated;
      return;
    }
    write_repeated(to);
    m_last = name + where;
    to << "  #" << number << " " << m_last << "\n";
  }
  void write_repeated(std::ostream& to) {
    if (m_repeated) to << "  ... " << m_repeated << " more like this\n";
    m_repeated = 0;
  }

  std::vector<Module> m_modules;
  std::vector<FrameItem> m_frames;
  std::string m_maps;
  std::vector<Area> m_areas;
  std::map<std::string_view, std::unique_ptr<Code>> m_libraries;
  int m_number = 0;
  std::string m_last;
  int m_repeated = 0;
  bool m_has_module_frame = false;  // one was written
};

}  // namespace

bool explain_frames(int from, std::ostream& to) {
  Explanation explanation;
  if (!explanation.read(from)) return false;
  explanation.write(to);
  to.flush();
  return static_cast<bool>(to);
}

void answer_as_symbolizer(std::istream& from, std::ostream& to) {
  std::map<std::string, std::unique_ptr<Code>> files;
  for (std::string line; std::getline(from, line); to << std::endl) {
    const std::size_t begin = line.find('"'), end = line.rfind('"');
    if (begin == end || end + 2 > line.size()) {
      to << "??\n??:0:0\n";
      continue;
    }
    if (line.starts_with("DATA")) {
      to << "??\n0 0\n";
      continue;
    }
    const std::string path = line.substr(begin + 1, end - begin - 1);
    auto& file = files[path];
    if (!file)
      if (auto bytes = llvm::MemoryBuffer::getFile(path, false, false))
        file = std::make_unique<Code>(path, std::move(*bytes));
    const std::uint64_t address = std::strtoull(line.c_str() + end + 1, nullptr, 16);
    const std::string symbol = file ? file->function_at(address) : std::string();
    const llvm::DIInliningInfo lines = file ? file->lines_at(address) : llvm::DIInliningInfo();
    const std::uint32_t n = lines.getNumberOfFrames();
    for (std::uint32_t i = 0; i < n; ++i) {
      const llvm::DILineInfo& info = lines.getFrame(i);
      const bool has_name = info.FunctionName != llvm::DILineInfo::BadString;
      const bool has_line = info.FileName != llvm::DILineInfo::BadString;
      to << (has_name         ? readable_name(info.FunctionName)
             : symbol.empty() ? "??"
                              : symbol)
         << "\n"
         << (has_line ? file_name(info.FileName) : "??") << ":" << info.Line << ":" << info.Column << "\n";
    }
    if (!n) to << (symbol.empty() ? "??" : symbol) << "\n??:0:0\n";
  }
}

}  // namespace tarsia::jit
