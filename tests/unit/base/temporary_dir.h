// A folder that lives as long as the test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace tarsia {

class TemporaryDir {
 public:
  TemporaryDir() : m_path((std::filesystem::temp_directory_path() / "tarsia-test-XXXXXX").string()) {
    if (::mkdtemp(m_path.data()) == nullptr) std::abort();
  }
  ~TemporaryDir() {
    std::error_code ignored;
    std::filesystem::remove_all(m_path, ignored);
  }
  TemporaryDir(const TemporaryDir&) = delete;
  TemporaryDir& operator=(const TemporaryDir&) = delete;
  const std::string& path() const { return m_path; }
  std::string operator/(const std::string& name) const { return m_path + '/' + name; }

 private:
  std::string m_path;
};

}  // namespace tarsia
