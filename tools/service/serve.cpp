// The command `tarsia serve`: keeps compilers warm for all processes of this user.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <tarsia/cache/c_service.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include "tools/commands.h"
#include "tools/report.h"

namespace tarsia::tools {
namespace {

int s_stop[2] = {-1, -1};

void stop(int) {
  static_cast<void>(::write(s_stop[1], "", 1) == 1);
}

/// What the service at the socket answers to a request for its figures; empty if it does not.
std::string figures_of(const std::string& path) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (path.size() >= sizeof address.sun_path) return {};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const std::string request = "GET /metrics HTTP/1.0\r\n\r\n";
  std::string answer;
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
      ::send(socket, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
    char part[4096];
    pollfd watched{socket, POLLIN, 0};
    for (ssize_t n; ::poll(&watched, 1, 2000) > 0 && (n = ::recv(socket, part, sizeof part, 0)) > 0;)
      answer.append(part, static_cast<std::size_t>(n));
  }
  ::close(socket);
  const std::size_t body = answer.find("\r\n\r\n");
  return body == answer.npos ? std::string() : answer.substr(body + 4);
}

}  // namespace

int serve(const ServeCommand& command) {
  if (command.metrics) {
    const std::string text = figures_of(command.socket);
    if (text.empty()) {
      print_error("no service answers at " + command.socket);
      return k_failed;
    }
    std::fputs(text.c_str(), stdout);
    return k_done;
  }
  if (::pipe2(s_stop, O_CLOEXEC | O_NONBLOCK) != 0) {
    print_error("no file descriptor is left");
    return k_failed;
  }
  struct sigaction action{};
  action.sa_handler = &stop;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(number, &action, nullptr);
  tarsia_serve_options options{};
  options.size = sizeof options;
  options.socket = command.socket.c_str();
  options.workers = command.workers;
  options.per_client = command.per_client;
  options.queue = command.queue;
  options.stop = s_stop[0];
  return tarsia_serve(&options) == 0 ? k_done : report_last_error(nullptr);
}

}  // namespace tarsia::tools
