// The node's service.
#include <tarsia/cache/c_service.h>

#include <algorithm>
#include <cstring>

#include "api/cache/cache_dir.h"
#include "api/cache/cache_prometheus.h"
#include "base/error.h"
#include "jit/service/service.h"
#include "pipeline/pipeline.h"
#include "registry/resources/last_error.h"

using namespace tarsia;

int32_t tarsia_serve(const tarsia_serve_options* options) {
  return registry::guarded([&] {
    tarsia_serve_options given{};
    std::memcpy(&given, options, std::min<std::size_t>(options->size, sizeof given));
    if (given.socket == nullptr || *given.socket == '\0')
      throw ArgumentError::value_error("tarsia_serve() needs the path of a socket");
    if (given.workers > TARSIA_MAX_SERVICE_WORKERS)
      throw ArgumentError::value_error("tarsia_serve(): " + std::to_string(given.workers) +
                                       " compilers are more than the " +
                                       std::to_string(TARSIA_MAX_SERVICE_WORKERS) + " that a service keeps");
    jit::ServiceSettings settings{.socket = given.socket,
                                  .program = [] { return pipeline::own_compiler(api::usable_cache_dir()); },
                                  .workers = given.workers,
                                  .per_client = given.per_client};
    // What the processes of this user have counted that use the service's own folder.
    settings.more_figures = [] {
      return api::to_prometheus(pipeline::Pipeline::instance().tally().of_all());
    };
    if (given.queue != 0) settings.queue = given.queue;
    jit::Service(std::move(settings)).run(given.stop);
  });
}
