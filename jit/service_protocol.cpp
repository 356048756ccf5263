// Converts the structs to msgpack and back.
#include "jit/service_protocol.h"

#include "base/error.h"
#include "jit/msgpack.h"

namespace tarsia::jit {

using Json = nlohmann::json;

void fields(Is<LeaseRequest> auto& message, auto field) {
  field("build_id", message.build_id);
  field("isolated", message.isolated);
  field("cuda", message.cuda);
  field("cuda_parts", message.cuda_parts);
}

void fields(Is<LeasedWorker> auto& message, auto field) {
  field("pid", message.pid);
  field("memory_bytes", message.memory_bytes);
  field("confined", message.confined);
  field("cuda", message.cuda);
}

/// A compiler's last words may be no UTF-8, which msgpack does not mind.
void fields(Is<WorkerEnd> auto& message, auto field) {
  field("end", message.end);
  field("how", message.how);
  field("last_words", message.last_words);
}

namespace {

Json to_json(const auto& value) {
  return value;
}

/// CUDA's parts travel as in the worker's protocol.
Json to_json(const CudaParts& cuda) {
  const std::string bytes = encode(cuda);
  return Json::binary({bytes.begin(), bytes.end()});
}

void read(const Json& json, auto& value) {
  json.get_to(value);
}

void read(const Json& json, CudaParts& cuda) {
  const Json::binary_t& bytes = json.get_binary();
  cuda = decode_cuda_parts({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string packed(const auto& message) {
  Json json = Json::object();
  fields(message, [&](const char* name, const auto& value) { json[name] = to_json(value); });
  return pack(json);
}

template <class Message>
Message unpacked(const char* what, std::string_view payload) {
  return unpack(what, payload, [](const Json& json) {
    Message message;
    fields(message, [&](const char* name, auto& value) { read(json.at(name), value); });
    return message;
  });
}

}  // namespace

std::string encode(const LeaseRequest& message) {
  return packed(message);
}

LeaseRequest decode_lease_request(std::string_view payload) {
  return unpacked<LeaseRequest>("lease", payload);
}

std::string encode(const LeasedWorker& message) {
  return packed(message);
}

LeasedWorker decode_leased_worker(std::string_view payload) {
  return unpacked<LeasedWorker>("leased", payload);
}

std::string encode(const WorkerEnd& message) {
  return packed(message);
}

WorkerEnd decode_worker_end(std::string_view payload) {
  return unpacked<WorkerEnd>("worker_ended", payload);
}

}  // namespace tarsia::jit
