// Makes stores by their URLs.
#include "cache/remote/store.h"

#include <algorithm>

#include "base/error.h"
#include "cache/remote/http_store.h"
#include "cache/remote/redis_store.h"

namespace tarsia::cache {

std::unique_ptr<RemoteStore> make_remote_store(const std::string& url) {
  if (url.starts_with("http://") || url.starts_with("https://")) return std::make_unique<HttpStore>(url);
  if (url.starts_with("redis://")) return std::make_unique<RedisStore>(url);
  throw ArgumentError::value_error(
      "TARSIA_REMOTE: " + without_password(url) +
      " is no URL of a shared store: it begins with http://, https:// or redis://");
}

std::string without_password(const std::string& url) {
  const std::size_t begin = url.find("://");
  if (begin == url.npos) return url;
  const std::size_t end = std::min(url.find_first_of("/?#", begin + 3), url.size());
  const std::size_t at = url.rfind('@', end);
  return at == url.npos || at < begin + 3 || at >= end ? url : url.substr(0, begin + 3) + url.substr(at + 1);
}

}  // namespace tarsia::cache
