// What clients and the node's service say to each other, in frames of the worker's protocol: docs/service.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "jit/protocol.h"

namespace tarsia::jit {

/// Types of frames, apart from those of MessageType.
enum class ServiceMessage : std::uint8_t {
  lease = 64,         ///< client: a LeaseRequest
  queued = 65,        ///< service: the request is in the queue
  leased = 66,        ///< service: a LeasedWorker, with the worker's socket
  busy = 67,          ///< service: why there will be no worker, for people
  give_back = 68,     ///< client: what the worker was confined with; its last exchange is whole
  end_worker = 69,    ///< client: the worker is to be ended
  worker_ended = 70,  ///< service: a WorkerEnd
};

inline MessageType frame_type(ServiceMessage type) {
  return static_cast<MessageType>(type);
}

struct LeaseRequest {
  std::string build_id;
  bool isolated = true;  ///< the client confines the worker
  bool cuda = false;     ///< device code is to be compiled, by these parts
  CudaParts cuda_parts;
};

struct LeasedWorker {
  std::int64_t pid = -1;
  std::uint64_t memory_bytes = 0;  ///< its limit
  bool confined = false;
  CudaParts cuda{};  ///< what it is confined with, or will be
};

struct WorkerEnd {
  int end = 0;  ///< WorkerProcess::End
  std::string how, last_words;
};

std::string encode(const LeaseRequest& message);
std::string encode(const LeasedWorker& message);
std::string encode(const WorkerEnd& message);
LeaseRequest decode_lease_request(std::string_view payload);
LeasedWorker decode_leased_worker(std::string_view payload);
WorkerEnd decode_worker_end(std::string_view payload);

}  // namespace tarsia::jit
