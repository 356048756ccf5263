// Converts the structs to msgpack and back.
#include "jit/service_protocol.h"

#include "base/error.h"
#include "jit/msgpack.h"

namespace tarsia::jit {
namespace {

using Json = nlohmann::json;

/// CUDA's parts travel as in the worker's protocol.
Json nested(const std::string& bytes) {
  return Json::binary({bytes.begin(), bytes.end()});
}

CudaParts parts_of(const Json& json) {
  const Json::binary_t& bytes = json.get_binary();
  return decode_cuda_parts({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

std::string encode(const LeaseRequest& message) {
  return pack({{"build_id", message.build_id},
               {"isolated", message.isolated},
               {"cuda", message.cuda},
               {"cuda_parts", nested(encode(message.cuda_parts))}});
}

LeaseRequest decode_lease_request(std::string_view payload) {
  return unpack("lease", payload, [](const Json& json) {
    LeaseRequest message;
    json.at("build_id").get_to(message.build_id);
    json.at("isolated").get_to(message.isolated);
    json.at("cuda").get_to(message.cuda);
    message.cuda_parts = parts_of(json.at("cuda_parts"));
    return message;
  });
}

std::string encode(const LeasedWorker& message) {
  return pack({{"pid", message.pid},
               {"memory_bytes", message.memory_bytes},
               {"confined", message.confined},
               {"cuda", nested(encode(message.cuda))}});
}

LeasedWorker decode_leased_worker(std::string_view payload) {
  return unpack("leased", payload, [](const Json& json) {
    LeasedWorker message;
    json.at("pid").get_to(message.pid);
    json.at("memory_bytes").get_to(message.memory_bytes);
    json.at("confined").get_to(message.confined);
    message.cuda = parts_of(json.at("cuda"));
    return message;
  });
}

std::string encode(const WorkerEnd& message) {
  // A compiler's last words may be no UTF-8, which msgpack does not mind.
  return pack({{"end", message.end}, {"how", message.how}, {"last_words", message.last_words}});
}

WorkerEnd decode_worker_end(std::string_view payload) {
  return unpack("worker_ended", payload, [](const Json& json) {
    WorkerEnd message;
    json.at("end").get_to(message.end);
    json.at("how").get_to(message.how);
    json.at("last_words").get_to(message.last_words);
    return message;
  });
}

}  // namespace tarsia::jit
