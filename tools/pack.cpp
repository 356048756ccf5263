// The command `tarsia pack`: compiles sources for several architectures at once into one file.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <thread>

#include "tools/commands.h"
#include "tools/opening.h"
#include "tools/report.h"
#include "tools/sources.h"

namespace tarsia::tools {
namespace {

using Json = nlohmann::json;

/// A source, which becomes a library of its own, as tarsia.load makes of a file.
struct Source {
  std::string path;
  std::string name;  ///< as tarsia.load calls it, so that its request has the same key
  Sources sources;

  explicit Source(const std::string& given)
      : path(given), name(std::filesystem::path(given).filename().string()), sources({given}) {}

  std::vector<tarsia_file> files() const {
    std::vector<tarsia_file> files = sources.files();
    files.front().name = name.c_str();
    return files;
  }
};

struct Job {
  const Source* source;
  std::string arch;  ///< "": for the GPUs of this machine
};

/// The options of a pack's compile. -Werror=NAME would belong to the key, by which a program finds its
/// modules in the pack.
Options options_for(const Source& source, const CompileOptions& given) {
  Options options = options_for(source.sources, given, source.path);
  std::erase_if(options.cflags, [](const std::string& flag) {
    return flag.starts_with("-Werror=") || flag.starts_with("-Wno-error=");
  });
  return options;
}

int compile_all(const std::vector<Job>& jobs, const PackCommand& command) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;  // of what is printed
  int exit = k_done;
  std::vector<const Source*> failed;
  std::map<const Source*, std::set<std::string>> shown;  // warnings that were printed
  const auto work = [&] {
    for (std::size_t i; (i = next.fetch_add(1)) < jobs.size();) {
      const Job& job = jobs[i];
      Options options = options_for(*job.source, command.options);
      if (!job.arch.empty()) options.arch = {job.arch};
      const std::vector<tarsia_file> files = job.source->files();
      const detail::CompileRequest request(options, files);
      const int32_t code = tarsia_cache_fill(request.files(), request.n_files(), request.options());
      const std::lock_guard lock(mutex);
      const bool is_first = std::ranges::find(failed, job.source) == failed.end();
      if (code != 0 && is_first) {  // what is wrong with a source is the same for each architecture
        failed.push_back(job.source);
        exit = std::max<int>(exit, report_last_error(&job.source->sources));
      }
      if (code == 0 && !print_last_warnings(command.options, job.source->sources, &shown[job.source]))
        exit = std::max<int>(exit, k_failed);
      if (code == 0 && command.options.verbose)
        std::fprintf(stderr, "tarsia: %s%s%s: ready\n", job.source->path.c_str(),
                     job.arch.empty() ? "" : " for ", job.arch.c_str());
    }
  };
  const std::size_t n = std::min<std::size_t>(jobs.size(), std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < n; ++i) threads.emplace_back(work);
  work();
  threads.clear();
  return exit;
}

}  // namespace

int pack(const PackCommand& command) {
  if (command.files.front().ends_with(".py")) {
    // Python records what the script compiles.
    std::string archs;
    for (const std::string& arch : command.options.options.arch) archs += (archs.empty() ? "" : ",") + arch;
    std::vector<std::string> words{"--record", command.output, archs};
    if (command.files.size() > 1)
      throw std::runtime_error("a script is packed by itself; its arguments stand behind --: tarsia pack " +
                               command.files.front() + " -o PACK -- ARGUMENTS...");
    words.push_back(command.files.front());
    words.insert(words.end(), command.arguments.begin(), command.arguments.end());
    return run_in_python("pack", words);
  }
  if (!command.arguments.empty()) throw std::runtime_error("only a script takes arguments behind --");
  std::vector<std::unique_ptr<Source>> sources;
  std::vector<Job> jobs;
  for (const std::string& file : command.files) {
    if (file.ends_with(".py"))
      throw std::runtime_error("'" + file + "' is Python: a script is packed by itself");
    if (is_library(file))
      throw std::runtime_error("'" + file +
                               "' is a library: pack takes sources; a library is loaded as it is");
    sources.push_back(std::make_unique<Source>(file));
    sources.back()->sources.check_output(command.output);
    const std::vector<std::string>& archs = command.options.options.arch;
    if (archs.empty()) jobs.push_back({sources.back().get(), ""});
    // Of a source without CUDA these are one compile, which all of them wait for.
    for (const std::string& arch : archs) jobs.push_back({sources.back().get(), arch});
  }
  int exit = k_done;
  if (!knows_warnings(command.options, options_for(*sources.front(), command.options), exit)) return exit;
  uint64_t recording = 0;
  if (tarsia_record_begin(command.output.c_str(), &recording) != 0) return report_last_error(nullptr);
  if (exit = compile_all(jobs, command); exit != k_done) {
    tarsia_record_drop(recording);
    return exit;
  }
  char* text = nullptr;
  if (tarsia_record_end(recording, &text) != 0) return report_last_error(nullptr);
  const Json report = Json::parse(text);
  tarsia_free(text);
  for (const Json& one : report.at("left_out"))
    print_error(one.at("name").get<std::string>() +
                " is not in the pack: " + one.at("why").get<std::string>());
  std::printf("%llu modules are in %s, %llu bytes\n",
              static_cast<unsigned long long>(report.at("modules").get<std::uint64_t>()),
              command.output.c_str(),
              static_cast<unsigned long long>(report.at("bytes").get<std::uint64_t>()));
  return report.at("left_out").empty() ? k_done : k_failed;
}

}  // namespace tarsia::tools
