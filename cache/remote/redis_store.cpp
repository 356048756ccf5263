// GET and SET by hiredis.
#include "cache/remote/redis_store.h"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "cache/remote/envelope.h"
#include "cache/remote/socket.h"

namespace tarsia::cache {
namespace {

constexpr std::size_t k_most_idle = 8;
/// For a reply of a line.
constexpr std::uint64_t k_line = 64 << 10;

std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string digits(text.substr(std::min(i + 1, text.size()), 2));
    char* end = nullptr;
    const long code = text[i] == '%' && digits.size() == 2 ? std::strtol(digits.c_str(), &end, 16) : 0;
    const bool escaped = end == digits.c_str() + 2 && end;
    plain += escaped ? static_cast<char>(code) : text[i];
    if (escaped) i += 2;
  }
  return plain;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 6 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::string key_name(const Key& key) {
  return "tarsia:" + hex(key);
}

std::string lease_name(const Key& key) {
  return "tarsia:lease:" + hex(key);
}

/// hiredis makes the text in memory of malloc.
std::string written(const std::vector<std::string_view>& command) {
  std::vector<const char*> words;
  std::vector<std::size_t> sizes;
  for (const std::string_view word : command) words.push_back(word.data()), sizes.push_back(word.size());
  char* text = nullptr;
  const int n = redisFormatCommandArgv(&text, static_cast<int>(words.size()), words.data(), sizes.data());
  if (n < 0) throw std::bad_alloc();
  const std::unique_ptr<char, void (*)(char*)> owned(text, [](char* t) { redisFreeCommand(t); });
  return {text, static_cast<std::size_t>(n)};
}

}  // namespace

struct RedisStore::Reply {
  Reply() = default;
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;
  ~Reply() { reset(nullptr); }
  void reset(void* reply) {
    if (m_reply) freeReplyObject(m_reply);
    m_reply = static_cast<redisReply*>(reply);
  }
  int type() const { return m_reply->type; }
  std::string_view text() const { return {m_reply->str, m_reply->len}; }

 private:
  redisReply* m_reply = nullptr;
};

struct RedisStore::Connection {
  UniqueFd socket;
  std::unique_ptr<redisReader, void (*)(redisReader*)> reader{redisReaderCreate(), &redisReaderFree};
  bool got_any = false;  ///< of the last reply

  /// "" or why there is no reply. One that is larger than `limit` is not read on; `too_large` then says so.
  std::string call(const std::string& command, std::uint64_t limit, Deadline deadline, Reply& reply,
                   bool& too_large) {
    got_any = false;
    if (std::string why = send_all(socket.get(), command, deadline); !why.empty()) return why;
    return read(limit, deadline, reply, too_large);
  }

  std::string read(std::uint64_t limit, Deadline deadline, Reply& reply, bool& too_large) {
    std::uint64_t sum = 0;
    for (;;) {
      void* got = nullptr;
      if (redisReaderGetReply(reader.get(), &got) != REDIS_OK) return "it does not speak Redis's protocol";
      if (got) {
        reply.reset(got);
        return {};
      }
      if (sum > limit) {
        too_large = true;
        return "its answer is larger than " + std::to_string(limit) + " bytes";
      }
      std::size_t n = 0;
      // The stack is the caller's: a compile may be asked for from a small one.
      m_buffer.resize(64 << 10);
      if (std::string why = receive(socket.get(), m_buffer.data(), m_buffer.size(), deadline, n);
          !why.empty())
        return why;
      if (n == 0) return "it closed the connection";
      // No command here has a list for an answer, which takes far more memory than it has bytes.
      if (!got_any && std::string_view("$+-:").find(m_buffer.front()) == std::string_view::npos)
        return "it does not speak Redis's protocol";
      // A value says its size before it comes.
      if (!got_any && m_buffer.front() == '$' && std::strtoull(m_buffer.c_str() + 1, nullptr, 10) > limit &&
          m_buffer[1] != '-')
        sum = limit;
      got_any = true;
      sum += n;
      redisReaderFeed(reader.get(), m_buffer.data(), n);
    }
  }

 private:
  std::string m_buffer;
};

RedisStore::RedisStore(const std::string& url) : m_name(without_password(url)) {
  const auto refuse = [&] {
    return ArgumentError::value_error("TARSIA_REMOTE: " + m_name +
                                      " is no URL of Redis: redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]");
  };
  std::string_view rest(url);
  rest.remove_prefix(std::string_view("redis://").size());
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view host = rest.substr(0, slash);
  if (slash + 1 < rest.size()) m_database = rest.substr(slash + 1);
  if (const std::size_t at = host.rfind('@'); at != host.npos) {
    const std::string_view who = host.substr(0, at);
    const std::size_t colon = who.find(':');
    if (colon == who.npos) throw refuse();
    m_user = unescaped(who.substr(0, colon));
    m_password = unescaped(who.substr(colon + 1));
    host.remove_prefix(at + 1);
  }
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    if (end == host.npos) throw refuse();
    m_host = host.substr(1, end - 1);
    host.remove_prefix(end + 1);
    if (!host.empty() && host.front() != ':') throw refuse();
    if (!host.empty()) m_port = host.substr(1);
  } else {
    const std::size_t colon = host.find(':');
    m_host = host.substr(0, colon);
    if (colon != host.npos) m_port = host.substr(colon + 1);
  }
  if (m_host.empty() || !is_number(m_port) || !is_number(m_database)) throw refuse();
  watch_forks();
}

RedisStore::~RedisStore() {
  forget_forks();
}

// To close the child's copies ends nothing in the parent.
void RedisStore::after_fork_in_child() {
  m_idle.clear();
  m_mutex.unlock();
}

std::unique_ptr<RedisStore::Connection> RedisStore::open(Deadline deadline, std::string& why) {
  auto made = std::make_unique<Connection>();
  if (!made->reader) throw std::bad_alloc();
  why = connect_to(m_host, m_port, deadline, made->socket);
  if (!why.empty()) return nullptr;
  std::vector<Command> commands;
  if (!m_password.empty()) {
    commands.push_back({"AUTH"});
    if (!m_user.empty()) commands.back().push_back(m_user);
    commands.back().push_back(m_password);
  }
  if (m_database != "0") commands.push_back({"SELECT", m_database});
  for (const Command& command : commands) {
    Reply reply;
    bool too_large = false;
    why = made->call(written(command), k_line, deadline, reply, too_large);
    if (!why.empty()) return nullptr;
    if (reply.type() != REDIS_REPLY_ERROR) continue;
    why = "it refuses " + std::string(command.front()) + ": " + std::string(reply.text());
    return nullptr;
  }
  return made;
}

Answer RedisStore::ask(const Command& command, std::uint64_t limit, Deadline deadline, Reply& reply,
                       std::string& why) {
  const std::string text = written(command);
  for (bool again = true; again;) {
    std::unique_ptr<Connection> connection;
    {
      const std::lock_guard lock(m_mutex);
      if (!m_idle.empty()) {
        connection = std::move(m_idle.back());
        m_idle.pop_back();
      }
    }
    again = connection != nullptr;
    if (!connection) connection = open(deadline, why);
    if (!connection) return Answer::failed;
    bool too_large = false;
    why = connection->call(text, limit, deadline, reply, too_large);
    if (too_large) return Answer::unusable;
    if (!why.empty()) {
      // The server may have closed a connection while it was idle.
      again = again && !connection->got_any && std::chrono::steady_clock::now() < deadline;
      if (again) continue;
      return Answer::failed;
    }
    {
      const std::lock_guard lock(m_mutex);
      if (m_idle.size() < k_most_idle) m_idle.push_back(std::move(connection));
    }
    if (reply.type() != REDIS_REPLY_ERROR) return Answer::found;
    why = "it answered: " + std::string(reply.text());
    return reply.text().starts_with("WRONGTYPE") ? Answer::unusable : Answer::failed;
  }
  return Answer::failed;
}

Answer RedisStore::get(const Key& key, Deadline deadline, std::string& envelope, std::string& why) {
  Reply reply;
  const std::string name = key_name(key);
  if (const Answer answer = ask({"GET", name}, k_max_envelope, deadline, reply, why); answer != Answer::found)
    return answer;
  if (reply.type() == REDIS_REPLY_NIL) {
    why = "it is not there";
    return Answer::absent;
  }
  if (reply.type() != REDIS_REPLY_STRING) {
    why = "it answered with something else than a value";
    return Answer::unusable;
  }
  envelope = reply.text();
  return Answer::found;
}

Answer RedisStore::put(const Key& key, std::string_view envelope, Deadline deadline, std::string& why) {
  Reply reply;
  const std::string name = key_name(key);
  return ask({"SET", name, envelope}, k_line, deadline, reply, why);
}

// SET alone, which users who may write have.
Lease RedisStore::take_lease(const Key& key, std::chrono::milliseconds life, Deadline deadline) {
  Reply reply;
  std::string why;
  const std::string name = lease_name(key), milliseconds = std::to_string(life.count());
  if (ask({"SET", name, "1", "NX", "PX", milliseconds}, k_line, deadline, reply, why) != Answer::found) {
    log().debug("{} gives no lease: {}", m_name, why);
    return Lease::none;
  }
  return reply.type() == REDIS_REPLY_NIL ? Lease::others : Lease::ours;
}

void RedisStore::renew_lease(const Key& key, std::chrono::milliseconds life, Deadline deadline) {
  Reply reply;
  std::string why;
  const std::string name = lease_name(key), milliseconds = std::to_string(life.count());
  static_cast<void>(ask({"SET", name, "1", "XX", "PX", milliseconds}, k_line, deadline, reply, why));
}

}  // namespace tarsia::cache
