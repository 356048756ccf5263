// `tarsia check`: tests the ops of a source or library.
#include <tarsia/testing.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "tools/commands.h"
#include "tools/library.h"
#include "tools/opening.h"
#include "tools/report.h"
#include "tools/words.h"

namespace tarsia::tools {
namespace {

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(by, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

DType dtype_of(const std::string& wanted) {
  const DType dtype = detail::dtype_named(wanted.c_str());
  if (dtype.lanes) return dtype;
  throw std::invalid_argument("there is no dtype '" + wanted + "'");
}

/// Parses an input like "3,4" or "csr:3,4"; "" is the shape ().
testing::OpCheck::Input input_of(std::string text) {
  testing::OpCheck::Input input;
  for (const auto& [prefix, storage] : {std::pair{"csr:", TARSIA_CSR}, std::pair{"rows:", TARSIA_ROW_SPARSE}})
    if (text.starts_with(prefix)) {
      input.storage = storage;
      text = text.substr(text.find(':') + 1);
    }
  if (text.empty()) return input;
  for (const std::string& part : split(text, ',')) {
    char* end = nullptr;
    input.shape.push_back(std::strtoll(part.c_str(), &end, 10));
    if (end == part.c_str() || *end || input.shape.back() < 0)
      throw std::invalid_argument("'" + text + "' is no shape: write 3,4");
  }
  return input;
}

testing::OpCheck check_of(const CheckCommand& command) {
  testing::OpCheck check;
  check.gradient = command.gradient;
  check.seed = command.seed;
  check.writes = command.writes;
  check.constants = command.constants;
  if (!command.shapes.empty())
    for (const std::string& shape : split(command.shapes, ';')) check.inputs.push_back(input_of(shape));
  const std::vector<std::string> dtypes =
      command.dtypes.empty() ? std::vector<std::string>() : split(command.dtypes, ';');
  if (!dtypes.empty() && dtypes.size() != 1 && dtypes.size() != check.inputs.size())
    throw std::invalid_argument("--dtypes names one dtype, or one for each of --shapes");
  if (!dtypes.empty() && check.inputs.empty()) throw std::invalid_argument("--dtypes needs --shapes");
  for (std::size_t i = 0; !dtypes.empty() && i < check.inputs.size(); ++i)
    check.inputs[i].dtype = dtype_of(dtypes[dtypes.size() == 1 ? 0 : i]);
  for (const std::string& attribute : command.attributes) {
    const std::size_t equals = attribute.find('=');
    if (equals == std::string::npos) throw std::invalid_argument("'" + attribute + "' is no NAME=VALUE");
    check.attributes.emplace_back(attribute.substr(0, equals), attribute.substr(equals + 1));
  }
  return check;
}

/// The text that the signal handler prints if the op's code crashes.
const char* g_op = "";

void tell_crash(int signal) {
  auto say = [](const char* text) {
    if (write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
  };
  if (*g_op) {
    say("tarsia: error: op '");
    say(g_op);
    say("' crashed");
  } else {
    say("tarsia: error: the library crashed while it was loaded");
  }
  say(signal == SIGSEGV ? ": segmentation fault" : signal == SIGFPE ? ": arithmetic error" : "");
  say("; nothing after it was checked. `--asan` tells more\n");
  _exit(k_failed);
}

}  // namespace

int check(const CheckCommand& command) {
  testing::OpCheck op_check;
  try {
    op_check = check_of(command);
  } catch (const std::invalid_argument& error) {
    print_error(error.what());
    return k_usage;
  }
  // Each tensor has memory of its own then, around which AddressSanitizer watches.
  const bool watched = command.options.options.debug == Mode("address");
  op_check.exact_memory = watched;
  if (!watched)  // the sanitizer has handlers of its own. Tarsia's reports come before these.
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS})
      std::signal(signal, tell_crash);
  const Sources sources = sources_for(command.file);
  int exit = k_done;
  const tarsia_library* library = open_library(command.file, command.options, sources, exit);
  if (!library) return exit;
  uint64_t n = 0;
  const char* const* names = tarsia_library_ops(library, &n);
  std::vector<std::string> ops = command.ops;
  for (const std::string& op : ops)
    if (std::find_if(names, names + n, [&](const char* name) { return op == name; }) == names + n) {
      const std::string near = nearest(op, {names, names + n});
      print_error(command.file + " has no op '" + op + "'" +
                  (near.empty() ? "" : "; did you mean '" + near + "'?"));
      return k_usage;
    }
  if (ops.empty()) ops.assign(names, names + n);
  if (ops.empty()) {
    print_error(command.file + " has no op");
    return k_usage;
  }
  std::size_t n_failed = 0;
  for (const std::string& op : ops) {
    g_op = op.c_str();
    const testing::OpReport report = testing::check_op(op, op_check);
    std::size_t n_passed = 0, n_skipped = 0;
    for (const auto& result : report.results) {
      n_passed += result.status == TARSIA_CHECK_PASSED;
      n_skipped += result.status == TARSIA_CHECK_SKIPPED;
    }
    std::printf("%s (%zu checks passed, %zu skipped)\n", report.text(command.options.verbose).c_str(),
                n_passed, n_skipped);
    std::fflush(stdout);
    n_failed += !report.passed();
  }
  if (ops.size() > 1) std::printf("%zu of %zu ops pass\n", ops.size() - n_failed, ops.size());
  return n_failed ? k_failed : k_done;
}

}  // namespace tarsia::tools
