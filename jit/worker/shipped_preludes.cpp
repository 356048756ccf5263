// The preludes beside the worker. They are found by the same key as those in the cache, which holds the build
// and the sysroot's identity: a prelude of another build is never taken. CUDA's are not among them, because
// its headers are only known where Tarsia runs.
#include "jit/worker/shipped_preludes.h"

#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/paths.h"
#include "jit/worker/worker.h"

namespace tarsia::jit {
namespace {

constexpr const char* k_texts[] = {
    "#include <tarsia/op.h>\n",
    "#include <tarsia/op.h>\n#include <cmath>\n",
    "#include <algorithm>\n",
    "#include <cmath>\n",
    "#include <iostream>\n",
    "#include <stdexcept>\n",
    "#include <string>\n",
    "#include <vector>\n",
    "#include <algorithm>\n#include <cmath>\n",
    "#include <cmath>\n#include <vector>\n",
    "#include <string>\n#include <vector>\n",
    "#include <vector>\n#include <cmath>\n",
    "#include <vector>\n#include <string>\n",
};

class Folder final : public PartStore {
 public:
  explicit Folder(std::string path) : m_path(std::move(path)) {}

  std::optional<std::string> find(PartKind, const Digest&) override { return std::nullopt; }
  void keep(PartKind kind, const Digest& key, std::string bytes) override {
    if (kind != PartKind::prelude) return;
    write_file(m_path + "/" + hex(key), bytes);
    kept = true;
  }

  bool kept = false;

 private:
  std::string m_path;
};

}  // namespace

std::optional<std::string> find_shipped_prelude(const Digest& key) {
  const std::string path = library_dir() + "/preludes/" + hex(key);
  if (access(path.c_str(), R_OK) != 0) return std::nullopt;
  try {
    return read_file(path);
  } catch (const Error&) {
    return std::nullopt;  // it is made now, as if it had not been shipped
  }
}

void make_shipped_preludes(Worker& worker, const std::string& folder) {
  if (const int error = make_directories(folder, 0755))
    throw Error(errno_message("cannot make " + folder, error));
  for (const char* text : k_texts) {
    CompileRequest request;
    request.name = "prelude";
    request.files.push_back({"prelude.cpp", std::string(text) + "int prelude() { return 0; }\n"});
    Folder store(folder);
    const CompileResult result = worker.compile(request, store);
    if (!result.ok || !store.kept) {
      throw Error(std::string("no prelude could be made of\n") + text +
                  (result.diagnostics.empty() ? "" : result.diagnostics.front().message));
    }
  }
}

}  // namespace tarsia::jit
