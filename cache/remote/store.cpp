// Makes stores by their URLs.
#include "cache/remote/store.h"

#include <algorithm>

#include "base/error.h"
#include "cache/remote/http_store.h"
#include "cache/remote/redis_store.h"

namespace tarsia::cache {

std::unique_ptr<RemoteStore> make_remote_store(const std::string& url) {
  // What is shown of a URL relies on this.
  const std::size_t begin = url.find("://");
  const std::size_t end = std::min(url.find_first_of("/?#", begin == url.npos ? 0 : begin + 3), url.size());
  if (url.find_first_of("@?#", end) != url.npos)
    throw ArgumentError::value_error(
        "TARSIA_REMOTE: " + without_password(url) +
        " has an @, a ? or a # behind the host: in a user or a password, / is %2F, ? is %3F, # is %23");
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
