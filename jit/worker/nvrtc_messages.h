// Explains NVRTC's messages by what the host's half of the source shows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jit/compile.h"
#include "jit/worker/source/missing_names.h"
#include "jit/worker/split/split.h"

namespace tarsia::jit {

/// Reads messages about one slice, which must outlive it.
class NvrtcMessages {
 public:
  NvrtcMessages(const DeviceSlice& slice, const CompileOptions& options);

  /// Adds remedies: of names that NVRTC does not know since they are the host's, it says that they are; of
  /// others, which header has them.
  void explain(std::vector<Diagnostic>& diagnostics) const;
  /// Whether Clang may take what NVRTC refused: each message that could be about the slice, or about what
  /// NVRTC lacks, is a reason to ask it. An error in the user's own words is not, for Clang would refuse it
  /// as well, and it has been found soon.
  bool may_be_nvrtcs_fault(const std::vector<Diagnostic>& diagnostics) const;

 private:
  const HostName* find_host_name(std::string_view name) const;
  std::string place_of(const HostName& one) const;
  /// What is said of a call of the host function, which the source calls `name`.
  std::string call_of_host(const std::string& name, const HostName& one) const;
  /// The host's member function of which ptxas names the symbol; null if it is none.
  const HostName* find_member(const std::string& symbol) const;
  /// Says of ptxas' message which function it means, with its place, and what to write there.
  void explain_unresolved(Diagnostic& diagnostic, const char* begin, const char* remedy) const;

  const DeviceSlice& m_slice;
  const Compiled m_how;
};

}  // namespace tarsia::jit
