// Gives `stdin` and std::cin a stream of their own, whose bytes come from a function.
#include "python/standard_input.h"

#include <stdio_ext.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <tarsia/c_session.h>
#include <ext/stdio_sync_filebuf.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <new>

#include "python/core/py.h"

namespace nb = nanobind;

namespace tarsia::python {
namespace {

PyObject* g_read = nullptr;  // for the life of the process: code may read at any time

/// A cookie's function. Ctrl-C while Python waits ends the input for now, and is told again where Python
/// looks next.
ssize_t read_some(void*, char* buffer, std::size_t n) {
  std::fflush(stdout);  // what asks for the input
  const Locked locked;
  PyObject* const bytes =
      unless_python_ends([&] { return PyObject_CallFunction(g_read, "n", Py_ssize_t(n)); });
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (bytes && PyBytes_AsStringAndSize(bytes, &data, &size) == 0) {
    size = std::min(size, Py_ssize_t(n));
    std::memcpy(buffer, data, std::size_t(size));
  } else {
    const bool is_interrupt = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
    PyErr_Clear();
    if (is_interrupt) PyErr_SetInterrupt();
    size = 0;
  }
  Py_XDECREF(bytes);
  return size;
}

/// One buffer for each of the streams of C++, which live as long as the process.
template <class Char>
void attach(std::basic_ios<Char>& stream, std::FILE* file) {
  stream.rdbuf(new __gnu_cxx::stdio_sync_filebuf<Char>(file));
}

void give_standard_input(const nb::callable& read) {
  Py_INCREF(read.ptr());
  std::FILE* const file = ::fopencookie(
      nullptr, "r",
      cookie_io_functions_t{.read = &read_some, .write = nullptr, .seek = nullptr, .close = nullptr});
  if (!file) throw std::bad_alloc();
  g_read = read.ptr();
  stdin = file;
  // Once the streams of C++ are apart from those of C, another call of this does nothing. Then they are put
  // together again: so that whoever calls it, as programs do for speed, does not open descriptor 0 instead.
  std::ios::sync_with_stdio(false);
  attach(std::cin, file);
  attach(std::wcin, file);
  attach(std::cout, stdout);
  attach(std::wcout, stdout);
  attach(std::cerr, stderr);
  attach(std::wcerr, stderr);
  attach(std::clog, stderr);
  attach(std::wclog, stderr);
}

/// Drops what was typed and not read, and forgets that the input has ended.
void renew_standard_input() {
  ::__fpurge(stdin);
  std::clearerr(stdin);
  std::cin.clear();
  std::wcin.clear();
}

void report_crashes_to(int32_t descriptor) {
  tarsia_session_report_to(descriptor);
}

/// `descriptor`: of a file as large as a place, which is written from now on.
void note_places_in(int32_t descriptor) {
  void* const memory =
      ::mmap(nullptr, sizeof(tarsia_cell_place), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory != MAP_FAILED) tarsia_session_note_places_in(static_cast<tarsia_cell_place*>(memory));
}

}  // namespace

void add_standard_input(nb::module_& module) {
  module.def("give_standard_input", &give_standard_input, nb::arg("read"));
  module.def("renew_standard_input", &renew_standard_input);
  module.def("report_crashes_to", &report_crashes_to, nb::arg("descriptor"));
  module.def("note_places_in", &note_places_in, nb::arg("descriptor"));
}

}  // namespace tarsia::python
