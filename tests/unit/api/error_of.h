// What a call that must not succeed says, for tests.
#pragma once

#include <tarsia/tarsia.h>

#include <string>

/// The message of the Raised that `call` throws, or "no error". Another exception passes, and fails the test.
template <class Raised = tarsia::Error, class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Raised& error) {
    return error.what();
  }
  return "no error";
}
