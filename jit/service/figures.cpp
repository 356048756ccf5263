// A service's figures, for Prometheus.
#include "jit/service/figures.h"

#include "base/figures/prometheus.h"

namespace tarsia::jit {

std::string prometheus_text(const ServiceFigures& f) {
  PrometheusText text;
  text.begin("tarsia_service_workers", "gauge", "Compilers, by what they do.")
      .sample("state", "idle", double(f.workers_idle))
      .sample("state", "lent", double(f.workers_lent));
  text.one("tarsia_service_waiting", "gauge", "Requests in the queue.", double(f.waiting));
  text.one("tarsia_service_clients", "gauge", "Processes with a request or a compiler.", double(f.clients));
  text.one("tarsia_service_workers_started_total", "counter", "Compilers started.", double(f.started));
  text.one("tarsia_service_leases_total", "counter", "Compilers lent.", double(f.leases));
  text.one("tarsia_service_busy_total", "counter", "Requests that the queue had no room for.",
           double(f.busy));
  text.one("tarsia_service_refused_total", "counter", "Requests of other builds, and malformed ones.",
           double(f.refused));
  text.one("tarsia_service_crashed_total", "counter", "Compilers that crashed.", double(f.crashed));
  text.one("tarsia_service_ended_total", "counter",
           "Compilers ended: at a client's wish, with its end, or since they were too large.",
           double(f.ended));
  text.histogram("tarsia_service_wait_seconds", "Time in the queue, in seconds.", f.waited);
  text.histogram("tarsia_service_lent_seconds",
                 "Time for which compilers were lent, each for one compile, in seconds.", f.lent);
  return text.text();
}

std::string http_answer(const std::string& text) {
  return "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: " +
         std::to_string(text.size()) + "\r\nConnection: close\r\n\r\n" + text;
}

}  // namespace tarsia::jit
