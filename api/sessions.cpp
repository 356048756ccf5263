// Sessions of cells: the C ABI over session/.
#include <tarsia/c_session.h>
#include <unistd.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "api/options.h"
#include "api/symbolizer.h"
#include "api/text.h"
#include "registry/crash/signal_text.h"
#include "registry/resources/last_error.h"
#include "session/cell_module.h"
#include "session/cell_value.h"
#include "session/session.h"

using namespace tarsia;
using registry::guarded;
using session::Session;

namespace {

Session* from_c(tarsia_session* given) {
  return reinterpret_cast<Session*>(given);
}
const Session* from_c(const tarsia_session* given) {
  return reinterpret_cast<const Session*>(given);
}

std::string array_of(const std::vector<std::string>& names) {
  return nlohmann::json(names).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

int32_t tarsia_session_open(const tarsia_options* options, int32_t keep_output, tarsia_session** opened) {
  return guarded([&] {
    session::SessionOptions own;
    own.compile = api::to_options(api::whole(options));
    own.keep_output = keep_output != 0;
    *opened = reinterpret_cast<tarsia_session*>(new Session(std::move(own)));
  });
}

int32_t tarsia_session_run(tarsia_session* given, const char* text, uint64_t bytes, int32_t number,
                           int32_t (*interrupted)(void* context), void* context, char** json) {
  return guarded([&] {
    api::name_symbolizer();
    Session& session = *from_c(given);
    std::function<bool()> ask;
    if (interrupted) ask = [=] { return interrupted(context) != 0; };
    session.set_interrupted(std::move(ask));
    const session::CellResult result = session.run(std::string(text, bytes), number);
    session.set_interrupted(nullptr);
    *json = api::give_text(session::to_json(result));
  });
}

int32_t tarsia_session_complete(const tarsia_session* given, const char* text, uint64_t bytes,
                                uint64_t offset, char** json) {
  return guarded([&] {
    *json = api::give_text(session::to_json(from_c(given)->complete(std::string(text, bytes), offset)));
  });
}

int32_t tarsia_session_undo(tarsia_session* given, char** json) {
  return guarded([&] {
    Session& session = *from_c(given);
    *json = api::give_text(session.size() == 0 ? std::string("null") : array_of(session.undo()));
  });
}

int32_t tarsia_session_set_options(tarsia_session* given, const tarsia_options* options) {
  return guarded([&] { from_c(given)->set_compile_options(api::to_options(api::whole(options))); });
}

int32_t tarsia_session_source(const tarsia_session* given, char** text) {
  return guarded([&] { *text = api::give_text(from_c(given)->source()); });
}

int32_t tarsia_session_shown_source(const tarsia_session* given, char** text) {
  return guarded([&] { *text = api::give_text(from_c(given)->shown_source()); });
}

int32_t tarsia_session_ops(const tarsia_session* given, char** json) {
  return guarded([&] { *json = api::give_text(array_of(from_c(given)->ops())); });
}

void tarsia_session_note_places_in(tarsia_cell_place* place) {
  tarsia::session::note_cell_places_in(place);
}

void tarsia_session_report_to(int32_t descriptor) {
  registry::set_report_descriptor(descriptor < 0 ? STDERR_FILENO : descriptor);
}

void* tarsia_session_function(const char* name) {
  return session::cell_builtin(name);
}

void tarsia_session_close(tarsia_session* given) {
  delete from_c(given);
}
