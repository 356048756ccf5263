// Finds and starts other programs.
#include "tools/process/programs.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

extern char** environ;

namespace tarsia::tools {

namespace fs = std::filesystem;

std::string find_program(const std::string& name, std::vector<std::string> folders) {
  const char* const path = std::getenv("PATH");
  std::string all = path ? path : "";
  while (!all.empty()) {
    const std::size_t end = std::min(all.find(':'), all.size());
    folders.push_back(all.substr(0, end));
    all.erase(0, end + 1);
  }
  for (const std::string& folder : folders)
    if (!folder.empty() && ::access((folder + '/' + name).c_str(), X_OK) == 0) return folder + '/' + name;
  return {};
}

std::vector<std::string> cuda_folders() {
  std::vector<std::string> folders;
  for (const char* name : {"TARSIA_CUDA_HOME", "CUDA_HOME", "CUDA_PATH"})
    if (const char* home = std::getenv(name)) folders.push_back(std::string(home) + "/bin");
  folders.emplace_back("/usr/local/cuda/bin");
  std::error_code error;
  // In a wheel, the command is site-packages/tarsia/bin/tarsia, and NVIDIA's wheels lie beside the package.
  const fs::path site = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path().parent_path();
  for (const fs::path& place :
       {site, fs::path(std::getenv("TARSIA_SITE_PACKAGES") ? std::getenv("TARSIA_SITE_PACKAGES") : "")})
    for (fs::directory_iterator it(place / "nvidia", error), end; !error && it != end; it.increment(error))
      folders.push_back(it->path().string() + "/bin");
  return folders;
}

std::string own_program() {
  return fs::read_symlink("/proc/self/exe").string();
}

int run_program(const std::vector<std::string>& words, const std::vector<std::string>& more_environment,
                Output output) {
  std::vector<char*> argv, envp;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  for (const std::string& entry : more_environment) envp.push_back(const_cast<char*>(entry.c_str()));
  for (char** entry = environ; *entry; ++entry) envp.push_back(*entry);
  envp.push_back(nullptr);
  pid_t child = 0;
  std::fflush(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (output == Output::to_standard_error)
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error) throw std::runtime_error("cannot run " + words[0] + ": " + std::strerror(error));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace tarsia::tools
