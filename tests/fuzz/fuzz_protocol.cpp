// What the other side of a compiler's or a service's socket says: frames, and the messages within them.
#include <sys/socket.h>

#include "base/error.h"
#include "base/file.h"
#include "jit/msgpack.h"
#include "jit/service_protocol.h"

using namespace tarsia;
using namespace tarsia::jit;

namespace {

void decode(unsigned char which, std::string_view payload) {
  switch (which % 12) {
    case 0:
      static_cast<void>(decode_hello(payload));
      break;
    case 1:
      static_cast<void>(encode(decode_request(payload)));
      break;
    case 2:
      static_cast<void>(encode(decode_result(payload)));
      break;
    case 3:
      static_cast<void>(encode(decode_find_part(payload)));
      break;
    case 4:
      static_cast<void>(encode(decode_part(payload)));
      break;
    case 5:
      static_cast<void>(encode(decode_keep_part(payload)));
      break;
    case 6:
      static_cast<void>(encode(decode_open_file(payload)));
      break;
    case 7:
      static_cast<void>(encode(decode_cuda_parts(payload)));
      break;
    case 8:
      static_cast<void>(decode_strings(payload));
      break;
    case 9:
      static_cast<void>(encode(decode_lease_request(payload)));
      break;
    case 10:
      static_cast<void>(encode(decode_leased_worker(payload)));
      break;
    default:
      static_cast<void>(encode(decode_worker_end(payload)));
      break;
  }
}

void receive(std::string_view bytes) {
  auto [near, far] = make_socket_pair();
  if (write_all(far.get(), bytes.substr(0, 100'000)) != 0) return;
  ::shutdown(far.get(), SHUT_WR);
  Channel channel(std::move(near));
  Message message;
  while (channel.receive(message) == Channel::Status::ok) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    if (data[0] & 0x80)
      receive(rest);
    else
      decode(data[0], rest);
  } catch (const Error&) {
  }
  return 0;
}
