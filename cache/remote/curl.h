// libcurl, opened on first use: a program that uses no shared store never loads it.
#pragma once

#include <curl/curl.h>

namespace tarsia::cache {

/// The functions that are used; those of the header, by their names.
struct Curl {
  decltype(&::curl_easy_init) easy_init;
  decltype(&::curl_easy_reset) easy_reset;
  decltype(&::curl_easy_cleanup) easy_cleanup;
  decltype(&::curl_easy_perform) easy_perform;
  decltype(&::curl_easy_setopt) easy_setopt;
  decltype(&::curl_easy_getinfo) easy_getinfo;
  decltype(&::curl_easy_strerror) easy_strerror;
};

/// Throws NotFound, which says what to install, where there is none. Thread-safe.
const Curl& curl();

}  // namespace tarsia::cache
