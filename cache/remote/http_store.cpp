// GET and PUT by libcurl.
#include "cache/remote/http_store.h"

#include <sodium.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "cache/remote/action_result.h"
#include "cache/remote/curl.h"
#include "cache/remote/envelope.h"
#include "cache/remote/no_sigpipe.h"

namespace tarsia::cache {
namespace {

using namespace std::chrono_literals;

/// An envelope of no more than so many bytes is in the result, too: one request fetches it.
constexpr std::uint64_t k_small = 128 << 10;
constexpr std::uint64_t k_largest_result = k_small + (64 << 10);
constexpr std::string_view k_lease_head = "tarsia lease 1 ";
constexpr std::string_view k_free = "tarsia lease 1 free";
/// So far may the clocks of two hosts differ.
constexpr auto k_clocks_differ = 60s;
constexpr auto k_settle = 10ms;
constexpr std::size_t k_most_seen = 64, k_longest_lease = 256;

std::string lease_path(const Key& key) {
  return "/ac/" + hex(Hasher("tarsia lease").field(hex(key)).finish());
}

std::uint64_t unix_milliseconds() {
  using std::chrono::duration_cast, std::chrono::milliseconds, std::chrono::system_clock;
  return static_cast<std::uint64_t>(
      duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count());
}

struct Upload {
  std::string_view whole, rest;
};

std::size_t read_upload(char* to, std::size_t size, std::size_t n, void* data) {
  std::string_view& rest = static_cast<Upload*>(data)->rest;
  const std::size_t taken = std::min(size * n, rest.size());
  std::memcpy(to, rest.data(), taken);
  rest.remove_prefix(taken);
  return taken;
}

/// For a server that closes an idle connection just as it is used again.
int rewind_upload(void* data, curl_off_t offset, int) {
  auto& upload = *static_cast<Upload*>(data);
  upload.rest = upload.whole.substr(static_cast<std::size_t>(offset));
  return CURL_SEEKFUNC_OK;
}

}  // namespace

struct HttpStore::Reply {
  std::string body;
  std::uint64_t limit = 0;
  bool too_large = false;
  long status = 0;

  static std::size_t take(char* bytes, std::size_t size, std::size_t n, void* data) {
    auto& reply = *static_cast<Reply*>(data);
    if (size * n > reply.limit - reply.body.size()) {
      reply.too_large = true;
      return 0;
    }
    reply.body.append(bytes, size * n);
    return size * n;
  }
};

HttpStore::HttpStore(const std::string& url) : m_url(url) {
  while (m_url.ends_with('/')) m_url.pop_back();
  m_name = without_password(m_url);
  unsigned char random[8];
  randombytes_buf(random, sizeof random);
  m_owner = hex({reinterpret_cast<const char*>(random), sizeof random});
  watch_forks();
}

HttpStore::~HttpStore() {
  forget_forks();
  for (void* handle : m_idle) curl().easy_cleanup(handle);
}

// The parent's connections are the parent's: to close one here would end it there, in TLS with a message. So
// the handles stay as they are.
void HttpStore::after_fork_in_child() {
  m_idle.clear();
  m_mutex.unlock();
}

Answer HttpStore::take_handle(void*& handle, std::string& why) {
  {
    const std::lock_guard lock(m_mutex);
    if (!m_idle.empty()) {
      handle = m_idle.back();
      m_idle.pop_back();
    }
  }
  if (handle) {
    curl().easy_reset(handle);  // keeps the connection
    return Answer::found;
  }
  try {
    handle = curl().easy_init();
  } catch (const NotFound& lacks) {
    why = lacks.what();
    return Answer::lacking;
  }
  if (!handle) why = "libcurl gave no handle";
  return handle ? Answer::found : Answer::failed;
}

void HttpStore::give_handle(void* handle) {
  constexpr std::size_t k_most_idle = 8;
  {
    const std::lock_guard lock(m_mutex);
    if (m_idle.size() < k_most_idle) {
      m_idle.push_back(handle);
      return;
    }
  }
  curl().easy_cleanup(handle);
}

Answer HttpStore::perform(void* handle, const std::string& path, Deadline deadline, Reply& reply,
                          std::string& why) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  if (left <= 0ms) {
    why = "it did not answer in time";
    return Answer::failed;
  }
  const std::string url = m_url + path;
  const auto set = [&](CURLoption option, auto value) { curl().easy_setopt(handle, option, value); };
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_NOSIGNAL, 1L);
  // With TLS it counts until the certificate is verified, and curl reads the authorities first.
  const auto connect = m_url.starts_with("https:") ? 3 * k_connect : k_connect;
  set(CURLOPT_CONNECTTIMEOUT_MS, std::min<long>(connect.count(), left.count()));
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(left.count()));
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");  // an older libcurl does not know it, and gets no other URLs
  // A name server that is silent is waited for by a thread of curl's, which nobody waits for.
  set(CURLOPT_QUICK_EXIT, 1L);
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
  // As the command curl, OpenSSL and Python do: authorities in place of the machine's.
  if (const char* file = std::getenv("SSL_CERT_FILE"); file && *file) set(CURLOPT_CAINFO, file);
  if (const char* folder = std::getenv("SSL_CERT_DIR"); folder && *folder) set(CURLOPT_CAPATH, folder);
  set(CURLOPT_NOPROGRESS, 1L);
  set(CURLOPT_TCP_NODELAY, 1L);
  set(CURLOPT_USERAGENT, "tarsia");
  set(CURLOPT_WRITEFUNCTION, &Reply::take);
  set(CURLOPT_WRITEDATA, &reply);
  const NoSigpipe guard;
  const CURLcode code = curl().easy_perform(handle);
  curl().easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &reply.status);
  if (reply.too_large) {
    why = "its answer is larger than " + std::to_string(reply.limit) + " bytes";
    return Answer::unusable;
  }
  if (code != CURLE_OK) {
    why = curl().easy_strerror(code);
    return Answer::failed;
  }
  if (reply.status == 404 || reply.status == 410) {
    why = "it is not there";
    return Answer::absent;
  }
  if (reply.status >= 200 && reply.status < 300) return Answer::found;
  why = "it answered with status " + std::to_string(reply.status);
  if (reply.status == 401 || reply.status == 403) why += " (it wants another user or password in the URL)";
  if (reply.status >= 300 && reply.status < 400) why += " (redirects are not followed)";
  return Answer::failed;
}

Answer HttpStore::fetch(const std::string& path, std::uint64_t limit, Deadline deadline, std::string& body,
                        std::string& why) {
  void* handle = nullptr;
  if (const Answer got = take_handle(handle, why); got != Answer::found) return got;
  Reply reply{.limit = limit};
  const Answer answer = perform(handle, path, deadline, reply, why);
  give_handle(handle);
  body = std::move(reply.body);
  return answer;
}

Answer HttpStore::send(const std::string& path, std::string_view body, Deadline deadline, std::string& why) {
  void* handle = nullptr;
  if (const Answer got = take_handle(handle, why); got != Answer::found) return got;
  Reply reply{.limit = k_largest_result};
  Upload upload{body, body};
  const auto set = [&](CURLoption option, auto value) { curl().easy_setopt(handle, option, value); };
  set(CURLOPT_UPLOAD, 1L);
  set(CURLOPT_READFUNCTION, &read_upload);
  set(CURLOPT_READDATA, &upload);
  set(CURLOPT_SEEKFUNCTION, &rewind_upload);
  set(CURLOPT_SEEKDATA, &upload);
  set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(body.size()));
  // Without it curl waits a second for "100 Continue" before it sends a larger body.
  set(CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
  const Answer answer = perform(handle, path, deadline, reply, why);
  give_handle(handle);
  return answer == Answer::absent ? Answer::failed : answer;
}

void HttpStore::open_libraries() {
  try {
    static_cast<void>(curl());
  } catch (const NotFound&) {  // the first request says so
  }
}

Answer HttpStore::get(const Key& key, Deadline deadline, std::string& envelope, std::string& why) {
  std::string result;
  const Answer answer = fetch("/ac/" + hex(key), k_largest_result, deadline, result, why);
  if (answer != Answer::found) return answer;
  std::optional<ResultFile> file = parse_action_result(result);
  if (!file || file->name.size > k_max_envelope) {
    why = "what it has under the key is no ActionResult";
    return Answer::unusable;
  }
  if (!file->contents.empty()) {
    envelope = std::move(file->contents);
    return Answer::found;
  }
  const Answer got = fetch("/cas/" + file->name.hash, file->name.size, deadline, envelope, why);
  if (got != Answer::found) return got;
  if (envelope.size() == file->name.size) return Answer::found;
  why = "the entry was cut off";
  return Answer::unusable;
}

// The envelope first: a result that names it is never there without it.
Answer HttpStore::put(const Key& key, std::string_view envelope, Deadline deadline, std::string& why) {
  const BlobName blob = name_of_blob(envelope);
  const Answer sent = send("/cas/" + blob.hash, envelope, deadline, why);
  if (sent != Answer::found) return sent;
  const std::string_view contents = envelope.size() <= k_small ? envelope : std::string_view();
  return send("/ac/" + hex(key), action_result(blob, contents), deadline, why);
}

std::string HttpStore::own_lease() {
  const std::lock_guard lock(m_mutex);
  return std::string(k_lease_head) + m_owner + "-" + std::to_string(::getpid()) + " " +
         std::to_string(++m_renewals) + " " + std::to_string(unix_milliseconds());
}

bool HttpStore::is_held(const Key& key, const std::string& text, std::chrono::milliseconds life) {
  const std::lock_guard lock(m_mutex);
  if (text == k_free || !text.starts_with(k_lease_head)) {
    m_seen.erase(key);
    return false;
  }
  const std::uint64_t written = std::strtoull(text.c_str() + text.rfind(' ') + 1, nullptr, 10),
                      clock = unix_milliseconds();
  const std::uint64_t off = std::max(written, clock) - std::min(written, clock);
  const auto now = std::chrono::steady_clock::now();
  if (m_seen.size() >= k_most_seen) m_seen.clear();
  SeenLease& seen = m_seen[key];
  if (seen.text != text) seen = {text, now};
  if (now - seen.since < life && off < static_cast<std::uint64_t>((life + k_clocks_differ) / 1ms))
    return true;
  m_seen.erase(key);
  return false;
}

Lease HttpStore::take_lease(const Key& key, std::chrono::milliseconds life, Deadline deadline) {
  const std::string path = lease_path(key), own = own_lease();
  std::string result, why;
  // What is there, or nothing.
  const auto read = [&]() -> std::optional<std::string> {
    result.clear();
    const Answer answer = fetch(path, k_largest_result, deadline, result, why);
    if (answer == Answer::absent) return std::string(k_free);
    if (answer != Answer::found) return std::nullopt;
    why = "what it has under a lease's key is none";
    std::optional<std::string> text = text_of_result(result);
    return text && text->size() <= k_longest_lease ? text : std::nullopt;
  };
  std::optional<std::string> text = read();
  if (text && is_held(key, *text, life)) return Lease::others;
  if (text && send(path, result_of_text(own), deadline, why) == Answer::found) {
    std::this_thread::sleep_for(k_settle);  // others that found it free write now
    text = read();
    if (text == own) return Lease::ours;
    if (text && is_held(key, *text, life)) return Lease::others;
    if (text) why = "it does not keep what is written";
  }
  log().debug("{} gives no lease: {}", m_name, why);
  return Lease::none;
}

void HttpStore::renew_lease(const Key& key, std::chrono::milliseconds life, Deadline deadline) {
  std::string why;
  const std::string text = life < 1s ? std::string(k_free) : own_lease();
  if (send(lease_path(key), result_of_text(text), deadline, why) != Answer::found)
    log().debug("{} renews no lease: {}", m_name, why);
}

}  // namespace tarsia::cache
