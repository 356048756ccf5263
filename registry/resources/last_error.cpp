// Sorts exceptions into codes.
#include "registry/resources/last_error.h"

#include <cxxabi.h>
#include <tarsia/detail/exceptions.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <ios>
#include <memory>
#include <new>
#include <stdexcept>
#include <typeinfo>

#include "base/error.h"
#include "registry/resources/foreign_errors.h"

namespace tarsia::registry {

LastError& last_error() {
  thread_local LastError error;
  return error;
}

std::int32_t set_last_error(std::int32_t code, std::string_view stage, std::string_view message) {
  LastError& error = last_error();
  error.code = code;
  error.stage = stage;
  error.message = message;
  error.log.clear();
  error.diagnostics.clear();
  return code;
}

namespace {

std::int32_t set_out_of_memory(std::string_view stage) noexcept {
  try {
    return set_last_error(TARSIA_OUT_OF_MEMORY, stage, "out of memory");
  } catch (...) {
    last_error().code = TARSIA_OUT_OF_MEMORY;
    last_error().message.clear();
    return TARSIA_OUT_OF_MEMORY;
  }
}

std::int32_t set_from(const Error& e) {
  set_last_error(static_cast<std::int32_t>(e.code()), stage_name(e.stage()), e.what());
  last_error().log = e.log();
  if (auto* compile = dynamic_cast<const CompileError*>(&e))
    last_error().diagnostics = compile->diagnostics();
  return last_error().code;
}

std::string type_text(const std::type_info* type) {
  if (!type) return "unknown type";
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(type->name(), nullptr, nullptr, &status),
                                              &std::free);
  return status == 0 ? text.get() : type->name();
}

}  // namespace

std::int32_t capture_error() noexcept {
  try {
    try {
      throw;
    } catch (const Error& e) {
      return set_from(e);
    } catch (const std::bad_alloc&) {
      return set_out_of_memory("load");
    } catch (const CallError& e) {
      return set_last_error(e.code(), "load", e.what());
    } catch (const std::exception& e) {
      return set_last_error(TARSIA_ERROR, "load", e.what());
    } catch (...) {
      return set_last_error(TARSIA_ERROR, "load", "an exception of unknown type");
    }
  } catch (...) {
    return set_out_of_memory("load");
  }
}

std::string without_backtrace(std::string text) {
  text.resize(std::min(text.find("\nException raised from "), text.size()));
  return text;
}

std::int32_t capture_author_exception() noexcept {
  try {
    // A library that links libstdc++ statically has a list of its own of exceptions in flight. `throw;`
    // would find none here and end the process.
    if (!std::current_exception())
      return set_last_error(
          TARSIA_OP_ERROR, "call",
          "the library threw an exception that cannot be read here: it links libstdc++ statically");
    try {
      throw;
    } catch (const CallError& e) {
      return set_last_error(e.code(), "call", e.what());
    } catch (const std::bad_alloc& e) {
      return set_last_error(TARSIA_OUT_OF_MEMORY, "call", e.what());
    } catch (const std::out_of_range& e) {
      return set_last_error(TARSIA_OP_INDEX_ERROR, "call", e.what());
    } catch (const std::length_error& e) {
      return set_last_error(TARSIA_OP_INDEX_ERROR, "call", e.what());
    } catch (const std::invalid_argument& e) {
      return set_last_error(TARSIA_OP_VALUE_ERROR, "call", e.what());
    } catch (const std::domain_error& e) {
      return set_last_error(TARSIA_OP_VALUE_ERROR, "call", e.what());
    } catch (const std::bad_cast& e) {
      return set_last_error(TARSIA_OP_TYPE_ERROR, "call", e.what());
    } catch (const Error& e) {
      return set_from(e);
    } catch (const std::exception& e) {
      return set_last_error(code_of_foreign(e), "call", without_backtrace(e.what()));
    } catch (const char* text) {
      return set_last_error(TARSIA_OP_ERROR, "call", text ? text : "");
    } catch (const std::string& text) {
      return set_last_error(TARSIA_OP_ERROR, "call", text);
    } catch (...) {
      return set_last_error(TARSIA_OP_ERROR, "call",
                            "an exception of type " + type_text(abi::__cxa_current_exception_type()));
    }
  } catch (...) {
    return set_out_of_memory("call");
  }
}

void throw_last_error() {
  const LastError& e = last_error();
  rethrow({static_cast<ErrorCode>(e.code), e.message, {stage_named(e.stage), e.log}, e.diagnostics});
}

}  // namespace tarsia::registry
