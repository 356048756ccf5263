// The worker's loop.
#include "jit/protocol_server.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "base/error.h"
#include "jit/scratch.h"

namespace tarsia::jit {
namespace {

/// The client keeps the tail of this stream for its error messages.
void say(const char* what) {
  static_cast<void>(write_all(STDERR_FILENO, std::string("tarsia-compiler: ") + what + '\n'));
}

/// Without a client nothing is left to do.
[[noreturn]] void leave() {
  remove_own_scratch();
  ::_exit(0);
}

void expect_client(Channel::Status status) {
  if (status != Channel::Status::ok) leave();
}

/// The client's cache, seen through the socket. One exchange at a time. Nothing is thrown, because the
/// callers' threads would have to carry it. A part that cannot be had is made anew. Without a client,
/// nothing is left to do.
class RemotePartStore final : public PartStore {
 public:
  explicit RemotePartStore(Channel& channel) : m_channel(channel) {}

  std::optional<std::string> find(PartKind kind, const std::array<unsigned char, 32>& key) override {
    return ask<std::string>(kind, key, [](int fd, const Part& part) {
      return read_descriptor(fd, part.offset, part.size, k_max_blob);
    });
  }

  std::optional<PartBytes> map(PartKind kind, const std::array<unsigned char, 32>& key) override {
    return ask<PartBytes>(kind, key, [](int fd, const Part& part) {
      const auto mapping = std::make_shared<const Mapping>(fd);
      if (part.offset > mapping->bytes().size() || part.size > mapping->bytes().size() - part.offset)
        throw Error("a part is shorter than announced");
      return PartBytes{mapping->bytes().substr(part.offset, part.size), mapping};
    });
  }

  UniqueFd open(const OpenFile& asked) override {
    try {
      Message answer;
      {
        const std::lock_guard lock(m_mutex);
        expect_client(m_channel.send(MessageType::open_file, encode(asked)));
        expect_client(m_channel.receive(answer));
      }
      if (answer.type != MessageType::file) throw Error("the client answered with another message than file");
      return answer.descriptors.size() == 1 ? std::move(answer.descriptors[0]) : UniqueFd();
    } catch (const Error& error) {
      say(error.what());
      return {};
    }
  }

  void keep(PartKind kind, const std::array<unsigned char, 32>& key, std::string bytes) override {
    try {
      const UniqueFd blob = make_memfd("tarsia-part", bytes);
      const int fd = blob.get();
      const std::lock_guard lock(m_mutex);
      expect_client(m_channel.send(MessageType::keep_part, encode(KeepPart{kind, key}), {&fd, 1}));
    } catch (const Error& error) {
      say(error.what());
    }
  }

 private:
  template <class Result, class Take>
  std::optional<Result> ask(PartKind kind, const std::array<unsigned char, 32>& key, Take take) {
    try {
      const std::string payload = encode(FindPart{kind, key});
      Message answer;
      {
        const std::lock_guard lock(m_mutex);
        expect_client(m_channel.send(MessageType::find_part, payload));
        expect_client(m_channel.receive(answer));
      }
      if (answer.type != MessageType::part) throw Error("the client answered with another message than part");
      const Part part = decode_part(answer.payload);
      if (!part.found || answer.descriptors.size() != 1) return std::nullopt;
      return take(answer.descriptors[0].get(), part);
    } catch (const Error& error) {
      say(error.what());
      return std::nullopt;
    }
  }

  std::mutex m_mutex;
  Channel& m_channel;
};

CompileResult failed(const char* what) {
  CompileResult result;
  result.stage = Stage::worker;
  result.diagnostics.push_back({"", 0, 0, Severity::fatal, what});
  result.cacheable = false;
  return result;
}

Channel::Status answer_compile(Channel& channel, const Message& message, Handler& handler) {
  CompileResult result;
  UniqueFd module;
  try {
    RemotePartStore parts(channel);
    const CompileRequest request = decode_request(message.payload);
    if (handler.answer_elsewhere(request, parts)) return Channel::Status::ok;
    result = handler.compile(request, parts);
    if (result.ok) module = make_memfd("tarsia-module", result.module);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const ResourceLimit& error) {
    result = failed(error.what());
    result.limit_reached = true;
  } catch (const std::exception& error) {
    result = failed(error.what());
  }
  if (!result.ok) return channel.send(MessageType::result, encode(result));
  const int fd = module.get();
  return channel.send(MessageType::result, encode(result), {&fd, 1});
}

/// Sent before the request is looked at: from here on, a death may be the request's fault.
Channel::Status say_started(Channel& channel) {
  return channel.send(MessageType::started, {});
}

Channel::Status answer(Channel& channel, const Message& message, Handler& handler) {
  Channel::Status status = Channel::Status::ok;
  switch (message.type) {
    case MessageType::compile:
      status = say_started(channel);
      return status == Channel::Status::ok ? answer_compile(channel, message, handler) : status;
    case MessageType::query_archs:
      status = say_started(channel);
      return status == Channel::Status::ok ? channel.send(MessageType::archs, encode(handler.archs()))
                                           : status;
    case MessageType::confine:
      return channel.send(MessageType::confined, encode(handler.confine(decode_cuda_parts(message.payload))));
    case MessageType::ping:
      return channel.send(MessageType::pong, {});
    default:
      throw Error("the client sent a message that only a worker sends");
  }
}

/// Ends the process as soon as the client's end is closed, even in the middle of a compile. (The kernel's
/// parent death signal would not do: it comes when the thread that started us ends.)
void watch_client(int socket) {
  std::thread([socket] {
    pollfd watched{socket, POLLRDHUP, 0};
    while (::poll(&watched, 1, -1) < 0 && errno == EINTR) {
    }
    leave();
  }).detach();
}

}  // namespace

int serve(UniqueFd socket, const Hello& hello, Handler& handler) {
  // The watcher's own copy, so that the number cannot become another file's.
  const int watched = ::fcntl(socket.get(), F_DUPFD_CLOEXEC, 10);
  Channel channel(std::move(socket));
  std::signal(SIGXFSZ, SIG_IGN);  // a file that grows too large is an error of the one who writes it
  try {
    // There is one thread as long as the client may still confine the process.
    bool is_watched = false;
    if (channel.send(MessageType::hello, encode(hello)) != Channel::Status::ok) return 0;
    for (;;) {
      Message message;
      if (channel.receive(message, Clock::now() + k_worker_idle) != Channel::Status::ok) return 0;
      if (message.type == MessageType::compile && !std::exchange(is_watched, true) && watched >= 0)
        watch_client(watched);
      if (answer(channel, message, handler) != Channel::Status::ok) return 0;
      if (message.type == MessageType::compile) handler.answered();
      if (!handler.usable()) return 0;
      if (message.type == MessageType::compile) handler.idle();
    }
  } catch (const std::bad_alloc&) {
    ::_exit(k_exit_out_of_memory);
  } catch (const std::exception& error) {
    say(error.what());
    return 1;
  }
}

}  // namespace tarsia::jit
