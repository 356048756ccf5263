// Linked into modules whose static initialisers are guarded (jit/worker/source/initializers.h).
#include <cxxabi.h>
#include <dlfcn.h>
#include <tarsia/abi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <typeinfo>

/// The table that libtarsia gives to a module once it is mapped.
extern "C" __attribute__((visibility("hidden"))) const tarsia_host* tarsia_module_host;

namespace {

/// Initialisers may make tensors: they run while the module is mapped, and before them this one.
__attribute__((constructor(101))) void find_host() {
  void* const libtarsia = tarsia_module_host ? nullptr : dlopen("libtarsia.so", RTLD_LAZY | RTLD_NOLOAD);
  if (!libtarsia) return;
  const auto host = reinterpret_cast<const tarsia_host* (*)()>(dlsym(libtarsia, "tarsia_get_host"));
  if (host) tarsia_module_host = host();
  dlclose(libtarsia);
}

char text[4096];
bool failed = false;

void note(const char* what) {
  if (failed) return;
  failed = true;
  std::strncpy(text, what, sizeof text - 1);
}

/// Of what is no std::exception; libtarsia says the same of what a call throws.
void note_type() {
  const std::type_info* const type = __cxxabiv1::__cxa_current_exception_type();
  if (!type) return note("an exception of unknown type");
  int status = 0;
  char* const name = __cxxabiv1::__cxa_demangle(type->name(), nullptr, nullptr, &status);
  char said[512];
  std::snprintf(said, sizeof said, "an exception of type %s", name && status == 0 ? name : type->name());
  std::free(name);
  note(said);
}

}  // namespace

/// What the first initialiser that threw has thrown; null if none has. libtarsia asks for it after the
/// mapping.
extern "C" __attribute__((visibility("default"))) const char* tarsia_initializer_error() {
  return failed ? text : nullptr;
}

/// Ends the exception. Where libtarsia is not there to ask for it, the process ends as it does without
/// Tarsia.
extern "C" void tarsia_initializer_failed(void* exception) {
  __cxxabiv1::__cxa_begin_catch(exception);
  void* const libtarsia = dlopen("libtarsia.so", RTLD_LAZY | RTLD_NOLOAD);
  if (!libtarsia) std::terminate();
  dlclose(libtarsia);
  try {
    throw;
  } catch (const std::exception& e) {
    note(e.what());
  } catch (const char* said) {
    note(said ? said : "");
  } catch (const std::string& said) {
    note(said.c_str());
  } catch (...) {
    note_type();
  }
  __cxxabiv1::__cxa_end_catch();
}
