// Converts the structs of jit/compile.h to msgpack and back. Fields have short names, so that the decoder
// notices a missing or misplaced one. Each message has one list of its fields, for both ways.
#include "jit/protocol.h"

#include <algorithm>
#include <type_traits>

#include "base/error.h"
#include "jit/msgpack.h"

namespace tarsia::jit {
using Json = nlohmann::json;

void fields(Is<CudaParts> auto& cuda, auto field) {
  field("include_dirs", cuda.include_dirs);
  field("nvrtc", cuda.nvrtc);
  field("cudart", cuda.cudart);
  field("nvrtc_identity", cuda.nvrtc_identity);
  field("major", cuda.major);
  field("library_dirs", cuda.library_dirs);
  field("libdevice", cuda.libdevice);
  field("nvjitlink", cuda.nvjitlink);
  field("clang_identity", cuda.clang_identity);
}

void fields(Is<OpenFile> auto& message, auto field) {
  field("path", message.path);
  field("folder", message.folder);
  field("named_by", message.named_by);
}

void fields(Is<Hello> auto& hello, auto field) {
  field("protocol", hello.protocol);
  field("build_id", hello.build_id);
  field("compilers", hello.compilers);
}

void fields(Is<CompileRequest> auto& request, auto field) {
  field("name", request.name);
  field("files", request.files);
  field("headers", request.headers);
  field("cuda", request.cuda);
  field("options", request.options);
  field("host_cpu", request.host_cpu);
  field("source_dir", request.source_dir);
  field("after_crash", request.after_crash);
  field("complete_line", request.complete_line);
  field("complete_column", request.complete_column);
  field("cuda_parts", request.cuda_parts);
  field("timeout_ms", request.timeout_ms);
  field("hold_after_ms", request.hold_after_ms);
}

/// The module travels beside it.
void fields(Is<CompileResult> auto& result, auto field) {
  field("ok", result.ok);
  field("stage", result.stage);
  field("diagnostics", result.diagnostics);
  field("dependencies", result.dependencies);
  field("missing_functions", result.missing_functions);
  field("exportable_functions", result.exportable_functions);
  field("cacheable", result.cacheable);
  field("limit_reached", result.limit_reached);
  field("typed", result.typed);
  field("completions", result.completions);
  field("timings", result.timings);
}

template <class Message>
  requires Is<Message, FindPart> || Is<Message, KeepPart>
void fields(Message& message, auto field) {
  field("kind", message.kind);
  field("key", message.key);
}

void fields(Is<Part> auto& message, auto field) {
  field("found", message.found);
  field("offset", message.offset);
  field("size", message.size);
}

namespace {

template <class Message>
Json object_of(const Message& message);
template <class Message>
Message message_of(const Json& json);

// How values are written; what is not listed, nlohmann-json knows.

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

Json to_json(const std::array<unsigned char, 32>& digest) {
  return std::string(reinterpret_cast<const char*>(digest.data()), digest.size());
}

template <class Value>
  requires std::is_enum_v<Value>
Json to_json(const Value& value) {
  return static_cast<unsigned>(value);
}

Json to_json(const CompileOptions& options) {
  Json json = Json::object();
  for_each_option(options,
                  [&](const OptionRow& row, const auto& value) { json[row.field] = to_json(value); });
  return json;
}

Json to_json(const CudaParts& cuda) {
  return object_of(cuda);
}

Json to_json(const SourceFile& file) {
  return {file.name, file.text, file.debug_file, file.debug_lines};
}

Json to_json(const Diagnostic& one) {
  return {one.file, one.line, one.column, to_json(one.severity), one.message};
}

Json to_json(const Dependency& one) {
  const FileStamp& stamp = one.stamp;
  return {one.path,
          to_json(one.content),
          one.absent,
          {stamp.device, stamp.inode, stamp.size, stamp.mtime_ns, stamp.ctime_ns}};
}

Json to_json(const Completion& one) {
  return {one.text, one.detail};
}

template <class Value>
  requires Is<Value, SourceFile> || Is<Value, Diagnostic> || Is<Value, Dependency> || Is<Value, Completion>
Json to_json(const std::vector<Value>& values) {
  Json json = Json::array();
  for (const Value& value : values) json.push_back(to_json(value));
  return json;
}

// How they are read.

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

void read(const Json& json, std::array<unsigned char, 32>& digest) {
  const auto& text = json.get_ref<const std::string&>();
  if (text.size() != digest.size()) throw Error("a message of the compiler's protocol is malformed: digest");
  std::copy(text.begin(), text.end(), digest.begin());
}

template <class Enum>
void read_enum(const Json& json, Enum& value, Enum last) {
  const auto number = json.get<std::uint64_t>();
  if (number > static_cast<std::uint64_t>(last))
    throw Error("a message of the compiler's protocol is malformed: enumerator out of range");
  value = static_cast<Enum>(number);
}

void read(const Json& json, Stage& stage) {
  read_enum(json, stage, Stage::load);
}

void read(const Json& json, Severity& severity) {
  read_enum(json, severity, Severity::fatal);
}

void read(const Json& json, PartKind& kind) {
  read_enum(json, kind, PartKind::host);
}

void read(const Json& json, CompileOptions& options) {
  for_each_option(options, [&](const OptionRow& row, auto& value) { read(json.at(row.field), value); });
}

void read(const Json& json, CudaParts& cuda) {
  cuda = message_of<CudaParts>(json);
}

void read(const Json& json, FileStamp& stamp);

/// Reads the items of an array in order.
void read_items(const Json& json, auto&... values) {
  std::size_t i = 0;
  (read(json.at(i++), values), ...);
}

void read(const Json& json, SourceFile& file) {
  read_items(json, file.name, file.text, file.debug_file, file.debug_lines);
}

void read(const Json& json, Diagnostic& one) {
  read_items(json, one.file, one.line, one.column, one.severity, one.message);
}

void read(const Json& json, FileStamp& stamp) {
  read_items(json, stamp.device, stamp.inode, stamp.size, stamp.mtime_ns, stamp.ctime_ns);
}

void read(const Json& json, Dependency& one) {
  read_items(json, one.path, one.content, one.absent, one.stamp);
}

void read(const Json& json, Completion& one) {
  read_items(json, one.text, one.detail);
}

template <class Value>
  requires Is<Value, SourceFile> || Is<Value, Diagnostic> || Is<Value, Dependency> || Is<Value, Completion>
void read(const Json& json, std::vector<Value>& values) {
  for (const Json& item : json) read(item, values.emplace_back());
}

template <class Message>
Json object_of(const Message& message) {
  Json json = Json::object();
  fields(message, [&](const char* name, const auto& value) { json[name] = to_json(value); });
  return json;
}

template <class Message>
Message message_of(const Json& json) {
  Message message;
  fields(message, [&](const char* name, auto& value) { read(json.at(name), value); });
  return message;
}

template <class Message>
std::string packed(const Message& message) {
  return pack(object_of(message));
}

template <class Message>
Message unpacked(const char* what, std::string_view payload) {
  return unpack(what, payload, message_of<Message>);
}

}  // namespace

std::string encode(const CudaParts& cuda) {
  return packed(cuda);
}

CudaParts decode_cuda_parts(std::string_view payload) {
  return unpacked<CudaParts>("confine", payload);
}

std::string encode(const OpenFile& message) {
  return packed(message);
}

OpenFile decode_open_file(std::string_view payload) {
  return unpacked<OpenFile>("open_file", payload);
}

std::string encode(const CompileRequest& request) {
  return packed(request);
}

CompileRequest decode_request(std::string_view payload) {
  return unpacked<CompileRequest>("compile", payload);
}

std::string encode(const CompileResult& result) {
  return packed(result);
}

CompileResult decode_result(std::string_view payload) {
  return unpacked<CompileResult>("result", payload);
}

std::string encode(const FindPart& message) {
  return packed(message);
}

FindPart decode_find_part(std::string_view payload) {
  return unpacked<FindPart>("find_part", payload);
}

std::string encode(const KeepPart& message) {
  return packed(message);
}

KeepPart decode_keep_part(std::string_view payload) {
  return unpacked<KeepPart>("keep_part", payload);
}

std::string encode(const Part& message) {
  return packed(message);
}

Part decode_part(std::string_view payload) {
  return unpacked<Part>("part", payload);
}

std::string encode(const Hello& hello) {
  return packed(hello);
}

Hello decode_hello(std::string_view payload) {
  return unpack("hello", payload, [](const Json& json) {
    // The rest may have another shape in another version.
    const auto version = json.at("protocol").get<std::uint32_t>();
    return version == k_protocol_version ? message_of<Hello>(json) : Hello{.protocol = version};
  });
}

std::string encode(const std::vector<std::string>& archs) {
  return pack(archs);
}

std::vector<std::string> decode_strings(std::string_view payload) {
  return unpack("archs", payload, [](const Json& json) { return json.get<std::vector<std::string>>(); });
}

}  // namespace tarsia::jit
