// Workers that a node's service lends.
#pragma once

#include <memory>
#include <string>

#include "jit/client/worker_process.h"

namespace tarsia::jit {

/// Asks the service at the socket for a worker, and waits for one in its queue. Null if it lends none: there
/// is no service, it is another user's or of another build, it is busy, or it does not answer; the log says
/// which. A service that cannot be reached is left alone for some seconds. Throws Interrupted. Thread-safe.
std::unique_ptr<WorkerProcess> borrow_worker(const std::string& socket, const WorkerProgram& program,
                                             const CompileRequest& request);

}  // namespace tarsia::jit
