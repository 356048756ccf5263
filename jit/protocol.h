// The protocol between libtarsia and tarsia-compiler: docs/protocol.md. Used by both sides.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "jit/compile.h"

namespace tarsia::jit {

inline constexpr std::uint32_t k_protocol_version = 3;
/// The worker finds its end of the socket pair here.
inline constexpr int k_worker_fd = 3;
/// A worker that runs out of memory leaves with this code.
inline constexpr int k_exit_out_of_memory = 87;
inline constexpr std::uint32_t k_max_frame = std::uint32_t{256} << 20;
inline constexpr std::uint64_t k_max_blob = std::uint64_t{2} << 30;

/// Monotonic, so that a change of the wall clock neither cuts nor stretches a wait.
using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;
inline constexpr Deadline k_no_deadline = Deadline::max();

enum class MessageType : std::uint8_t {
  hello = 1,
  compile = 2,
  find_part = 3,
  part = 4,
  keep_part = 5,
  result = 6,
  query_archs = 7,
  archs = 8,
  ping = 9,
  pong = 10,
  started = 11,
  ended = 12,  ///< within one worker: a child of a held parse crashed
  confine = 13,
  confined = 14,
  open_file = 15,
  file = 16,
};

struct Message {
  MessageType type = MessageType::ping;
  std::string payload;  ///< msgpack; see the encode and decode functions
  std::vector<UniqueFd> descriptors;
  /// Descriptors came that this process had no room for (its limit of open files). The rest is complete.
  bool descriptors_lost = false;
};

/// One end of the socket pair. Not thread-safe. Waits can be interrupted (base/interrupt.h). After any
/// status but `ok`, or an exception, the stream is in an unknown state, and the channel must not be used
/// any more.
class Channel {
 public:
  enum class Status { ok, closed, timed_out, interrupted };

  explicit Channel(UniqueFd socket) : m_socket(std::move(socket)) {}

  /// Throws Error beyond k_max_frame or on a failure other than the peer's end. Raises no SIGPIPE.
  Status send(MessageType type, std::string_view payload, std::span<const int> descriptors = {},
              Deadline deadline = k_no_deadline);
  /// Throws Error on a frame that breaks the protocol.
  Status receive(Message& message, Deadline deadline = k_no_deadline);
  int fd() const { return m_socket.get(); }

  /// Called whenever `fd` becomes readable while the channel waits, so that a peer that writes there never
  /// blocks. Returns false when `fd` has ended and need not be watched any more.
  void watch_beside(int fd, std::function<bool()> readable);

 private:
  Status wait(short events, Deadline deadline);
  Status receive_bytes(char* bytes, std::size_t size, Message& message, Deadline deadline);

  UniqueFd m_socket;
  int m_beside_fd = -1;
  std::function<bool()> m_beside;
};

/// Two connected ends, close-on-exec. Throws Error.
std::pair<UniqueFd, UniqueFd> make_socket_pair();

struct Hello {
  std::uint32_t protocol = k_protocol_version;
  std::string build_id;
  std::map<std::string, std::string> compilers;  ///< "clang" → "22.1.0", "lld" → …
};

struct FindPart {
  PartKind kind{};
  std::array<unsigned char, 32> key{};
};

/// The answer: the part's place in the descriptor that comes with it.
struct Part {
  bool found = false;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// Comes with the part's bytes in a descriptor.
struct KeepPart {
  PartKind kind{};
  std::array<unsigned char, 32> key{};
};

// Payloads. The decoders throw Error when the payload is not what they expect. A result's `module`
// is not in its payload: it travels as a descriptor.
std::string encode(const Hello& hello);
std::string encode(const CompileRequest& request);
std::string encode(const CompileResult& result);
std::string encode(const FindPart& message);
std::string encode(const Part& message);
std::string encode(const KeepPart& message);
std::string encode(const OpenFile& message);
std::string encode(const CudaParts& cuda);
std::string encode(const std::vector<std::string>& strings);
Hello decode_hello(std::string_view payload);
CompileRequest decode_request(std::string_view payload);
CompileResult decode_result(std::string_view payload);
FindPart decode_find_part(std::string_view payload);
Part decode_part(std::string_view payload);
KeepPart decode_keep_part(std::string_view payload);
OpenFile decode_open_file(std::string_view payload);
CudaParts decode_cuda_parts(std::string_view payload);
std::vector<std::string> decode_strings(std::string_view payload);

}  // namespace tarsia::jit
