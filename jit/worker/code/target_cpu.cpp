// Sets the CPU on functions, and writes the note of what they need.
#include "jit/worker/code/target_cpu.h"

#include <tarsia/detail/spelling.h>

#include <algorithm>

#include "base/machine/cpu.h"
#include "clang/Basic/TargetOptions.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

namespace tarsia::jit {

namespace {

constexpr const char* k_plain_cpu = "x86-64";

using Features = llvm::StringMap<bool>;

// With those that others imply, as avx512vl implies avx512f.
Features features_of(llvm::StringRef cpu) {
  llvm::SmallVector<llvm::StringRef> named;
  llvm::X86::getFeaturesForCPU(cpu, named);
  Features features;
  for (llvm::StringRef feature : named) {
    features[feature] = true;
    llvm::X86::updateImpliedFeatures(feature, true, features);
  }
  return features;
}

// An ELF note: sizes of name and description, type, name, description.
std::string make_note(const std::string& description) {
  std::string note;
  const auto number = [&](std::uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) note += char(value >> shift);
  };
  const auto padded = [&](const std::string& text) {
    note += text + '\0';
    note.resize((note.size() + 3) / 4 * 4);
  };
  const std::string owner = k_cpu_note_owner;
  number(std::uint32_t(owner.size() + 1));
  number(std::uint32_t(description.size() + 1));
  number(k_cpu_note_type);
  padded(owner);
  padded(description);
  return note;
}

// Notes those of the features that plain x86-64 lacks.
void add_note(llvm::Module& module, const Features& features) {
  Features plain = features_of(k_plain_cpu);
  plain["sse2"] = true;  // Clang adds it for 64 bits, whatever the CPU
  std::vector<std::string> needed;
  for (const auto& [feature, has] : features)
    if (has && !plain.contains(feature)) needed.push_back(feature.str());
  if (needed.empty()) return;
  std::ranges::sort(needed);
  std::string text;
  for (const std::string& feature : needed) text += (text.empty() ? "" : " ") + feature;
  const std::string note = make_note(text);
  llvm::Constant* bytes = llvm::ConstantDataArray::getString(module.getContext(), note, false);
  auto* variable = new llvm::GlobalVariable(module, bytes->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                            bytes, "tarsia_cpu_note");
  variable->setSection(k_cpu_note_section);
  variable->setAlignment(llvm::Align(4));
  llvm::appendToCompilerUsed(module, {variable});
}

}  // namespace

std::string fault_of_march(const std::string& march) {
  if (march.empty() || march == k_native_cpu) return {};
  llvm::SmallVector<llvm::StringRef> names;
  llvm::X86::fillValidCPUArchList(names, true);
  if (llvm::is_contained(names, march)) return {};
  detail::NearestWord nearest(march);
  for (const llvm::StringRef name : names) nearest.compare(name.str());
  return "march '" + march + "' is no CPU that the compiler knows; " +
         (nearest.found().empty() ? "it" : "did you mean '" + nearest.found() + "'? It") +
         " may be 'native', x86-64, x86-64-v2, x86-64-v3, x86-64-v4, or a CPU as Clang names it";
}

std::vector<std::string> cpu_arguments(const std::string& march) {
  const bool native = march == k_native_cpu;
  const std::string cpu = march.empty() ? k_plain_cpu : native ? llvm::sys::getHostCPUName().str() : march;
  std::vector<std::string> arguments{"-target-cpu", cpu, "-tune-cpu", native ? cpu : "generic"};
  if (!native) return arguments;
  std::vector<std::string> features;
  for (const auto& feature : llvm::sys::getHostCPUFeatures())
    features.push_back((feature.second ? "+" : "-") + feature.first().str());
  std::ranges::sort(features);
  for (std::string& feature : features) {
    arguments.emplace_back("-target-feature");
    arguments.push_back(std::move(feature));
  }
  return arguments;
}

namespace {

/// Functions that Clang did not make are for the same CPU: LLVM would set up a code generator of its own for
/// them.
void complete_attributes(llvm::Module& module, const clang::TargetOptions& target) {
  std::vector<std::string> features(target.Features);
  std::ranges::sort(features);
  const std::string joined = llvm::join(features, ",");
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || function.hasFnAttribute("target-cpu")) continue;
    function.addFnAttr("target-cpu", target.CPU);
    if (!target.TuneCPU.empty()) function.addFnAttr("tune-cpu", target.TuneCPU);
    if (!joined.empty()) function.addFnAttr("target-features", joined);
  }
}

}  // namespace

void set_target_cpu(llvm::Module& module, const CompileRequest& request, const clang::TargetOptions& target) {
  complete_attributes(module, target);
  if (!request.options.march.empty()) {
    Features features;
    for (llvm::StringRef feature : target.Features)
      if (feature.consume_front("+")) features[feature] = true;
    add_note(module, features);
    return;
  }
  if (request.host_cpu.empty() || request.host_cpu == k_plain_cpu) return;
  // A function with an attribute `target` has features of its own, which come on top.
  for (llvm::Function& function : module)
    if (function.getFnAttribute("target-cpu").getValueAsString() == k_plain_cpu)
      function.addFnAttr("target-cpu", request.host_cpu);
  add_note(module, features_of(request.host_cpu));
}

}  // namespace tarsia::jit
