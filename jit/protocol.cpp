// Converts the structs of jit/compile.h to msgpack and back. Fields have short names, so that the decoder
// notices a missing or misplaced one.
#include "jit/protocol.h"

#include "base/error.h"
#include "jit/msgpack.h"

namespace tarsia::jit {
namespace {

using Json = nlohmann::json;

Json digest_json(const std::array<unsigned char, 32>& digest) {
  return std::string(reinterpret_cast<const char*>(digest.data()), digest.size());
}

std::array<unsigned char, 32> digest_of(const Json& json) {
  const auto& text = json.get_ref<const std::string&>();
  std::array<unsigned char, 32> digest;
  if (text.size() != digest.size()) throw Error("a message of the compiler's protocol is malformed: digest");
  std::copy(text.begin(), text.end(), digest.begin());
  return digest;
}

template <typename Enum>
Enum enum_of(const Json& json, Enum last) {
  const auto value = json.get<std::uint64_t>();
  if (value > static_cast<std::uint64_t>(last)) {
    throw Error("a message of the compiler's protocol is malformed: enumerator out of range");
  }
  return static_cast<Enum>(value);
}

template <typename Enum>
unsigned number(Enum value) {
  return static_cast<unsigned>(value);
}

Json files_json(const std::vector<SourceFile>& files) {
  Json json = Json::array();
  for (const SourceFile& file : files)
    json.push_back({file.name, file.text, file.debug_file, file.debug_lines});
  return json;
}

std::vector<SourceFile> files_of(const Json& json) {
  std::vector<SourceFile> files;
  for (const Json& file : json)
    files.push_back({file.at(0).get<std::string>(), file.at(1).get<std::string>(),
                     file.at(2).get<std::string>(), file.at(3).get<std::vector<std::uint32_t>>()});
  return files;
}

template <class Value>
Json to_json(const Value& value) {
  return value;
}

Json to_json(const kept::names& names) {
  return names ? Json(*names) : Json();
}

Json to_json(const kept::defines& defines) {
  Json json = Json::array();
  for (const auto& [name, value] : defines) {
    Json define = Json::array({name});
    if (value) define.push_back(*value);
    json.push_back(std::move(define));
  }
  return json;
}

Json to_json(const kept::mode& mode) {
  return mode.word();
}

template <class Value>
void read(const Json& json, Value& value) {
  json.get_to(value);
}

void read(const Json& json, kept::names& names) {
  if (!json.is_null()) names = json.get<std::vector<std::string>>();
}

void read(const Json& json, kept::mode& mode) {
  mode = json.get<std::string>();
}

void read(const Json& json, kept::defines& defines) {
  for (const Json& define : json) {
    std::optional<std::string> value;
    if (define.size() > 1) value = define.at(1).get<std::string>();
    defines.emplace_back(define.at(0).get<std::string>(), std::move(value));
  }
}

Json options_json(const CompileOptions& options) {
  Json json = Json::object();
  for_each_option(options,
                  [&](const OptionRow& row, const auto& value) { json[row.field] = to_json(value); });
  return json;
}

CompileOptions options_of(const Json& json) {
  CompileOptions options;
  for_each_option(options, [&](const OptionRow& row, auto& value) { read(json.at(row.field), value); });
  return options;
}

Json cuda_json(const CudaParts& cuda) {
  return {{"include_dirs", cuda.include_dirs},
          {"nvrtc", cuda.nvrtc},
          {"cudart", cuda.cudart},
          {"nvrtc_identity", cuda.nvrtc_identity},
          {"major", cuda.major},
          {"library_dirs", cuda.library_dirs},
          {"libdevice", cuda.libdevice},
          {"nvjitlink", cuda.nvjitlink},
          {"clang_identity", cuda.clang_identity}};
}

CudaParts cuda_of(const Json& json) {
  CudaParts cuda;
  json.at("include_dirs").get_to(cuda.include_dirs);
  json.at("nvrtc").get_to(cuda.nvrtc);
  json.at("cudart").get_to(cuda.cudart);
  json.at("nvrtc_identity").get_to(cuda.nvrtc_identity);
  json.at("major").get_to(cuda.major);
  json.at("library_dirs").get_to(cuda.library_dirs);
  json.at("libdevice").get_to(cuda.libdevice);
  json.at("nvjitlink").get_to(cuda.nvjitlink);
  json.at("clang_identity").get_to(cuda.clang_identity);
  return cuda;
}

}  // namespace

std::string encode(const CudaParts& cuda) {
  return pack(cuda_json(cuda));
}

CudaParts decode_cuda_parts(std::string_view payload) {
  return unpack("confine", payload, [](const Json& json) { return cuda_of(json); });
}

std::string encode(const OpenFile& message) {
  return pack({{"path", message.path}, {"folder", message.folder}, {"named_by", message.named_by}});
}

OpenFile decode_open_file(std::string_view payload) {
  return unpack("open_file", payload, [](const Json& json) {
    OpenFile message;
    json.at("path").get_to(message.path);
    json.at("folder").get_to(message.folder);
    json.at("named_by").get_to(message.named_by);
    return message;
  });
}

std::string encode(const Hello& hello) {
  return pack({{"protocol", hello.protocol}, {"build_id", hello.build_id}, {"compilers", hello.compilers}});
}

Hello decode_hello(std::string_view payload) {
  return unpack("hello", payload, [](const Json& json) {
    Hello hello;
    json.at("protocol").get_to(hello.protocol);
    // The rest may have another shape in another version.
    if (hello.protocol != k_protocol_version) return hello;
    json.at("build_id").get_to(hello.build_id);
    json.at("compilers").get_to(hello.compilers);
    return hello;
  });
}

std::string encode(const CompileRequest& request) {
  return pack({{"name", request.name},
               {"files", files_json(request.files)},
               {"headers", files_json(request.headers)},
               {"cuda", request.cuda},
               {"options", options_json(request.options)},
               {"host_cpu", request.host_cpu},
               {"source_dir", request.source_dir},
               {"after_crash", request.after_crash},
               {"complete_line", request.complete_line},
               {"complete_column", request.complete_column},
               {"cuda_parts", cuda_json(request.cuda_parts)},
               {"timeout_ms", request.timeout_ms}});
}

CompileRequest decode_request(std::string_view payload) {
  return unpack("compile", payload, [](const Json& json) {
    CompileRequest request;
    json.at("name").get_to(request.name);
    request.files = files_of(json.at("files"));
    request.headers = files_of(json.at("headers"));
    json.at("cuda").get_to(request.cuda);
    request.options = options_of(json.at("options"));
    json.at("host_cpu").get_to(request.host_cpu);
    json.at("source_dir").get_to(request.source_dir);
    json.at("after_crash").get_to(request.after_crash);
    json.at("complete_line").get_to(request.complete_line);
    json.at("complete_column").get_to(request.complete_column);
    request.cuda_parts = cuda_of(json.at("cuda_parts"));
    json.at("timeout_ms").get_to(request.timeout_ms);
    return request;
  });
}

std::string encode(const CompileResult& result) {
  Json diagnostics = Json::array();
  for (const Diagnostic& d : result.diagnostics) {
    diagnostics.push_back({d.file, d.line, d.column, number(d.severity), d.message});
  }
  Json dependencies = Json::array();
  for (const Dependency& d : result.dependencies) {
    const FileStamp& s = d.stamp;
    dependencies.push_back(
        {d.path, digest_json(d.content), d.absent, {s.device, s.inode, s.size, s.mtime_ns, s.ctime_ns}});
  }
  Json timings = Json::array();
  for (const auto& [step, ms] : result.timings) timings.push_back({step, ms});
  Json completions = Json::array();
  for (const Completion& one : result.completions) completions.push_back({one.text, one.detail});
  return pack({{"ok", result.ok},
               {"stage", number(result.stage)},
               {"diagnostics", std::move(diagnostics)},
               {"dependencies", std::move(dependencies)},
               {"missing_functions", result.missing_functions},
               {"exportable_functions", result.exportable_functions},
               {"cacheable", result.cacheable},
               {"limit_reached", result.limit_reached},
               {"typed", result.typed},
               {"completions", std::move(completions)},
               {"timings", std::move(timings)}});
}

CompileResult decode_result(std::string_view payload) {
  return unpack("result", payload, [](const Json& json) {
    CompileResult result;
    json.at("ok").get_to(result.ok);
    result.stage = enum_of(json.at("stage"), Stage::load);
    for (const Json& d : json.at("diagnostics")) {
      result.diagnostics.push_back({d.at(0).get<std::string>(), d.at(1).get<int>(), d.at(2).get<int>(),
                                    enum_of(d.at(3), Severity::fatal), d.at(4).get<std::string>()});
    }
    for (const Json& d : json.at("dependencies")) {
      const Json& s = d.at(3);
      result.dependencies.push_back(
          {d.at(0).get<std::string>(), digest_of(d.at(1)), d.at(2).get<bool>(),
           FileStamp{s.at(0).get<std::uint64_t>(), s.at(1).get<std::uint64_t>(), s.at(2).get<std::uint64_t>(),
                     s.at(3).get<std::int64_t>(), s.at(4).get<std::int64_t>()}});
    }
    json.at("missing_functions").get_to(result.missing_functions);
    json.at("exportable_functions").get_to(result.exportable_functions);
    json.at("cacheable").get_to(result.cacheable);
    json.at("limit_reached").get_to(result.limit_reached);
    json.at("typed").get_to(result.typed);
    for (const Json& one : json.at("completions"))
      result.completions.push_back({one.at(0).get<std::string>(), one.at(1).get<std::string>()});
    for (const Json& t : json.at("timings")) {
      result.timings.emplace_back(t.at(0).get<std::string>(), t.at(1).get<double>());
    }
    return result;
  });
}

std::string encode(const FindPart& message) {
  return pack({{"kind", number(message.kind)}, {"key", digest_json(message.key)}});
}

FindPart decode_find_part(std::string_view payload) {
  return unpack("find_part", payload, [](const Json& json) {
    return FindPart{enum_of(json.at("kind"), PartKind::host), digest_of(json.at("key"))};
  });
}

std::string encode(const KeepPart& message) {
  return pack({{"kind", number(message.kind)}, {"key", digest_json(message.key)}});
}

KeepPart decode_keep_part(std::string_view payload) {
  return unpack("keep_part", payload, [](const Json& json) {
    return KeepPart{enum_of(json.at("kind"), PartKind::host), digest_of(json.at("key"))};
  });
}

std::string encode(const Part& message) {
  return pack({{"found", message.found}, {"offset", message.offset}, {"size", message.size}});
}

Part decode_part(std::string_view payload) {
  return unpack("part", payload, [](const Json& json) {
    return Part{json.at("found").get<bool>(), json.at("offset").get<std::uint64_t>(),
                json.at("size").get<std::uint64_t>()};
  });
}

std::string encode(const std::vector<std::string>& archs) {
  return pack(archs);
}

std::vector<std::string> decode_strings(std::string_view payload) {
  return unpack("archs", payload, [](const Json& json) { return json.get<std::vector<std::string>>(); });
}

}  // namespace tarsia::jit
