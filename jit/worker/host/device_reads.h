// Host code that reads or writes variables of the device.
#pragma once

#include <string>

namespace clang {
class ASTContext;
}  // namespace clang

namespace tarsia::jit {

/// Warns of host code that reads a variable of the device, or writes to it, as if it were the host's. The
/// language lets the host take such a variable's address alone: what the host finds there is a stand-in that
/// tells the CUDA runtime which variable is meant. Managed variables and constants whose value is known are
/// no such use, nor are functions of both sides. The caller calls it when all instantiations are known.
/// `cell_path`: of a session's cell, if the unit is one; what stands in the texts of earlier cells was warned
/// of then.
void warn_of_device_reads(clang::ASTContext& context, const std::string& cell_path = {});

}  // namespace tarsia::jit
