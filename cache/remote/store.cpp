// Makes stores by their URLs.
#include "cache/remote/store.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/error.h"
#include "cache/remote/http_store.h"
#include "cache/remote/redis_store.h"

namespace tarsia::cache {

namespace {

/// Whether a host and its port can be those of a server. `authority` is what stands between :// and the path.
void check_address(const std::string& url, std::string_view authority) {
  const auto refuse = [&](const char* why) {
    return ArgumentError::value_error("TARSIA_REMOTE: " + without_password(url) + ' ' + why);
  };
  if (std::ranges::any_of(url, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 127; }))
    throw refuse("has a space or a control character in it: a space is %20");
  const std::size_t at = authority.rfind('@');
  if (at != authority.npos && authority.find('@') != at)
    throw refuse("has several @ before the host: in a user or a password, @ is %40");
  std::string_view host = at == authority.npos ? authority : authority.substr(at + 1);
  const std::size_t behind = host.starts_with('[') ? std::min(host.find(']'), host.size()) : 0;
  const std::size_t colon = host.find(':', behind);
  const std::string_view port = colon == host.npos ? std::string_view() : host.substr(colon + 1);
  if (host.substr(0, colon).empty()) throw refuse("names no host");
  if (colon == host.npos) return;
  unsigned number = 0;
  const auto [stop, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc() || stop != port.data() + port.size() || number == 0 || number > 65535)
    throw refuse("has no port between 1 and 65535 behind the host's colon");
}

}  // namespace

std::unique_ptr<RemoteStore> make_remote_store(const std::string& url) {
  // What is shown of a URL relies on this.
  const std::size_t begin = url.find("://");
  const std::size_t end = std::min(url.find_first_of("/?#", begin == url.npos ? 0 : begin + 3), url.size());
  if (url.find_first_of("@?#", end) != url.npos)
    throw ArgumentError::value_error(
        "TARSIA_REMOTE: " + without_password(url) +
        " has an @, a ? or a # behind the host: in a user or a password, / is %2F, ? is %3F, # is %23");
  if (begin != url.npos) check_address(url, std::string_view(url).substr(begin + 3, end - begin - 3));
  if (url.starts_with("http://") || url.starts_with("https://")) return std::make_unique<HttpStore>(url);
  if (url.starts_with("redis://")) return std::make_unique<RedisStore>(url);
  throw ArgumentError::value_error(
      "TARSIA_REMOTE: " + without_password(url) +
      " is no URL of a shared store: it begins with http://, https:// or redis://");
}

std::string without_password(const std::string& url) {
  // A password with a slash in it ends no sooner for that.
  const std::size_t at = url.rfind('@');
  std::size_t begin = url.find("://");
  begin = begin == url.npos || begin > at ? 0 : begin + 3;
  const std::string shown = at == url.npos ? url : url.substr(0, begin) + url.substr(at + 1);
  return shown.substr(0, shown.find_first_of("?#"));
}

}  // namespace tarsia::cache
