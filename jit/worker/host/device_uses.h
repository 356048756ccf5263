// Host code that uses what the device alone has.
#pragma once

#include <string>

namespace clang {
class ASTContext;
}  // namespace clang

namespace tarsia::jit {

struct HostParse;

/// Warns of host code that reads a variable of the device, or writes to it, as if it were the host's. The
/// language lets the host take such a variable's address alone: what the host finds there is a stand-in that
/// tells the CUDA runtime which variable is meant. Managed variables and constants whose value is known are
/// no such use, nor are functions of both sides. The caller calls it when all instantiations are known.
/// `cell_path`: of a session's cell, if the unit is one; what stands in the texts of earlier cells was warned
/// of then.
void warn_of_device_reads(clang::ASTContext& context, const std::string& cell_path = {});

/// Refuses calls of CUDA's own device functions, such as atomicAdd and __popc, from the user's host
/// functions, as nvcc does. CUDA's headers are read without their attributes, so Clang does not know: some of
/// these functions have an empty body for the host, and others none. Functions of both sides may call them,
/// as may constexpr ones. The caller calls it when all instantiations are known.
void refuse_device_calls(HostParse& parse, clang::ASTContext& context);

}  // namespace tarsia::jit
