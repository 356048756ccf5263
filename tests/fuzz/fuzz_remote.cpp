// What shared stores answer: replies of Redis, answers of HTTP, and what they bring.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "cache/remote/action_result.h"
#include "cache/remote/envelope.h"
#include "cache/remote/listing.h"
#include "cache/remote/store.h"

using namespace tarsia;
using namespace tarsia::cache;

namespace {

/// Sends one text to each who connects, and closes the connection.
class Server {
 public:
  Server() : m_socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(m_socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(m_socket.get(), 16) != 0 ||
        ::getsockname(m_socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
      __builtin_trap();
    m_port = ntohs(address.sin_port);
    std::thread([this] { run(); }).detach();
  }
  std::string url(const char* scheme) const {
    return std::string(scheme) + "://127.0.0.1:" + std::to_string(m_port);
  }
  void say(std::string_view text) {
    const std::lock_guard lock(m_mutex);
    m_text = text;
  }

 private:
  void run() {
    for (;;) {
      const UniqueFd peer(::accept(m_socket.get(), nullptr, nullptr));
      char request[4096];
      if (!peer || ::recv(peer.get(), request, sizeof request, 0) <= 0) continue;
      std::string text;
      {
        const std::lock_guard lock(m_mutex);
        text = m_text;
      }
      static_cast<void>(::send(peer.get(), text.data(), text.size(), MSG_NOSIGNAL));
    }
  }

  UniqueFd m_socket;
  unsigned m_port = 0;
  std::mutex m_mutex;
  std::string m_text;
};

void ask(const char* scheme, std::string_view answer) {
  static Server& s_server = *new Server;
  s_server.say(answer);
  const auto store = make_remote_store(s_server.url(scheme));
  std::string envelope, why;
  const Key key{};
  static_cast<void>(
      store->get(key, std::chrono::steady_clock::now() + std::chrono::milliseconds(200), envelope, why));
  static_cast<void>(
      store->put(key, "x", std::chrono::steady_clock::now() + std::chrono::milliseconds(200), why));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 16) {
    case 0:
      ask("redis", rest);
      break;
    case 1:
      ask("http", rest);
      break;
    case 2:
    case 3:
    case 4:
    case 5:
      if (const auto file = parse_action_result(rest); file && file->name.hash.size() != 64) __builtin_trap();
      static_cast<void>(text_of_result(rest));
      break;
    case 6:
    case 7:
      if (const auto listing = Listing::parse(rest); listing && listing->newest)
        static_cast<void>(listing_of(listing->list, listing->newest->key, listing->newest->meta, {}));
      break;
    default: {
      Entry entry;
      KeyId signer{};
      Key key{};
      static_cast<void>(unseal(rest, Kind::module, key, Trust{}, true, entry, signer));
    }
  }
  return 0;
}
