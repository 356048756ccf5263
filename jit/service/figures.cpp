// Prometheus's text format, version 0.0.4.
#include "jit/service/figures.h"

#include <cstdio>

namespace tarsia::jit {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

void add(std::string& text, const char* name, const char* type, const char* help, double value) {
  text += std::string("# HELP ") + name + ' ' + help + "\n# TYPE " + name + ' ' + type + '\n' + name + ' ' +
          number(value) + '\n';
}

}  // namespace

std::string prometheus_text(const ServiceFigures& f) {
  std::string text =
      "# HELP tarsia_service_workers Compilers, by what they do\n# TYPE tarsia_service_workers gauge\n"
      "tarsia_service_workers{state=\"idle\"} " +
      number(double(f.workers_idle)) + "\ntarsia_service_workers{state=\"lent\"} " +
      number(double(f.workers_lent)) + '\n';
  add(text, "tarsia_service_waiting", "gauge", "Requests in the queue", double(f.waiting));
  add(text, "tarsia_service_clients", "gauge", "Processes with a request or a compiler", double(f.clients));
  add(text, "tarsia_service_workers_started_total", "counter", "Compilers started", double(f.started));
  add(text, "tarsia_service_leases_total", "counter", "Compilers lent", double(f.leases));
  add(text, "tarsia_service_busy_total", "counter", "Requests that the queue had no room for",
      double(f.busy));
  add(text, "tarsia_service_refused_total", "counter", "Requests of other builds, and malformed ones",
      double(f.refused));
  add(text, "tarsia_service_crashed_total", "counter", "Compilers that crashed", double(f.crashed));
  add(text, "tarsia_service_ended_total", "counter",
      "Compilers ended: at a client's wish, with its end, or since they were too large", double(f.ended));
  add(text, "tarsia_service_wait_seconds_total", "counter", "Time in the queue", f.seconds_waited);
  add(text, "tarsia_service_lent_seconds_total", "counter", "Time for which compilers were lent",
      f.seconds_lent);
  return text;
}

std::string http_answer(const std::string& text) {
  return "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: " +
         std::to_string(text.size()) + "\r\nConnection: close\r\n\r\n" + text;
}

}  // namespace tarsia::jit
