// A session's handle: it gives JSON, which the package reads.
#include "python/session.h"

#include <nanobind/stl/string.h>
#include <tarsia/c_session.h>

#include <string>
#include <utility>

#include "python/checked.h"
#include "python/compile_options.h"
#include "python/core/errors.h"
#include "python/core/py.h"
#include "python/core/waiting.h"

namespace nb = nanobind;

namespace tarsia::python {
namespace {

class Handle {
 public:
  Handle(const CompileOptions& options, bool keep_output) {
    const tarsia::detail::CompileRequest request(options.options, std::string_view());
    check(tarsia_session_open(request.options(), keep_output, &m_session));
  }
  ~Handle() { tarsia_session_close(m_session); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  std::string run(const nb::bytes& text) {
    tarsia_report_double_interrupts();  // Python's handler is there by now
    char* json = nullptr;
    const int32_t number = std::exchange(m_number, 0);
    int32_t code;
    {
      Wait wait("the cell");
      const Unlocked unlocked;
      code = tarsia_session_run(m_session, static_cast<const char*>(text.data()), text.size(), number,
                                Wait::interrupted, &wait, &json);
    }
    if (raise_interruption()) {
      tarsia_free(json);
      throw nb::python_error();
    }
    return taken(code, json);
  }
  std::string complete(const nb::bytes& text, uint64_t offset) const {
    char* json = nullptr;
    int32_t code;
    {
      const Unlocked unlocked;
      code = tarsia_session_complete(m_session, static_cast<const char*>(text.data()), text.size(), offset,
                                     &json);
    }
    return taken(code, json);
  }
  std::string undo() {
    char* json = nullptr;
    const int32_t code = tarsia_session_undo(m_session, &json);
    return taken(code, json);
  }
  std::string source() const {
    char* text = nullptr;
    const int32_t code = tarsia_session_source(m_session, &text);
    return taken(code, text);
  }
  std::string shown_source() const {
    char* text = nullptr;
    const int32_t code = tarsia_session_shown_source(m_session, &text);
    return taken(code, text);
  }
  std::string ops() const {
    char* json = nullptr;
    const int32_t code = tarsia_session_ops(m_session, &json);
    return taken(code, json);
  }
  void set_next_number(int32_t number) { m_number = number; }
  void set_options(const CompileOptions& options) {
    const tarsia::detail::CompileRequest request(options.options, std::string_view());
    check(tarsia_session_set_options(m_session, request.options()));
  }

 private:
  tarsia_session* m_session = nullptr;
  int32_t m_number = 0;  ///< of the next cell; 0: one more than the last
};

}  // namespace

void add_session(nb::module_& module) {
  nb::class_<Handle>(module, "SessionHandle")
      .def(nb::init<const CompileOptions&, bool>(), nb::arg("options"), nb::arg("keep_output"))
      .def("run", &Handle::run)
      .def("set_next_number", &Handle::set_next_number)
      .def("complete", &Handle::complete)
      .def("undo", &Handle::undo)
      .def("source", &Handle::source)
      .def("shown_source", &Handle::shown_source)
      .def("ops", &Handle::ops)
      .def("set_options", &Handle::set_options);
}

}  // namespace tarsia::python
