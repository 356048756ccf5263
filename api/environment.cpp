// What a program's environment must hold so that a sanitizer watches it from its start.
#include <tarsia/c_api.h>

#include <cstdlib>
#include <string>

#include "api/options.h"
#include "api/text.h"
#include "base/error.h"
#include "base/machine/sanitizer.h"
#include "base/paths.h"
#include "pipeline/cflags.h"
#include "registry/resources/last_error.h"

using namespace tarsia;
using namespace tarsia::registry;

namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

/// The options of the sanitizer, the program's own last, so that they win. The sanitizer starts what has this
/// name to get functions and lines.
std::string options_with(const Sanitizer& sanitizer, const std::string& symbolizer) {
  const std::string given = variable(sanitizer.options);
  return std::string(sanitizer.quiet) + ":external_symbolizer_path=" + symbolizer +
         (given.empty() ? "" : ":" + given);
}

/// The lines for a process that is to have the sanitizer from its start; null: none.
std::string environment_of(const Sanitizer* sanitizer) {
  if (!sanitizer || is_in_process(*sanitizer)) return {};
  const std::string library = library_of(*sanitizer);
  if (library.empty())
    throw NotFound(
        std::string(sanitizer->name) + "'s run-time library, " + sanitizer->file +
        ", is neither beside Tarsia nor in an LLVM of this machine: reinstall Tarsia, whose wheel brings "
        "it, or install it (apt install libclang-rt-22-dev)");
  const std::string preloaded = variable("LD_PRELOAD");
  return "LD_PRELOAD=" + library + (preloaded.empty() ? "" : ":" + preloaded) + "\n" + sanitizer->options +
         "=" + options_with(*sanitizer, library_dir() + "/bin/llvm-symbolizer") + "\n" +
         "TARSIA_SYMBOLIZER=" + compiler_path(cache_dir_name()) + "\n";
}

}  // namespace

int32_t tarsia_environment_for(const char* debug, char** text) {
  return guarded([&] { *text = api::give_text(environment_of(sanitizer_of_mode(debug))); });
}

int32_t tarsia_environment_for_options(const tarsia_options* options, char** text) {
  return guarded([&] {
    jit::CompileOptions read = api::to_options(api::whole(options));
    pipeline::take_cflags(read);
    *text = api::give_text(environment_of(sanitizer_of_mode(read.debug.word())));
  });
}
