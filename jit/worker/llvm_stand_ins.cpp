// What a static LLVM with the X86 target alone leaves undefined: LLD's driver names every target's
// initialisers, and Clang's back end registers Polly, which is not linked. With a shared LLVM this file is
// not built: its weak definitions would come before LLVM's own.
#include <llvm/Plugins/PassPlugin.h>

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "Polly", "absent", [](llvm::PassBuilder&) {}};
}

#define TARSIA_NO_TARGET(name)                                                \
  extern "C" __attribute__((weak)) void LLVMInitialize##name##TargetInfo() {} \
  extern "C" __attribute__((weak)) void LLVMInitialize##name##Target() {}     \
  extern "C" __attribute__((weak)) void LLVMInitialize##name##TargetMC() {}   \
  extern "C" __attribute__((weak)) void LLVMInitialize##name##AsmParser() {}  \
  extern "C" __attribute__((weak)) void LLVMInitialize##name##AsmPrinter() {}

TARSIA_NO_TARGET(AArch64)
TARSIA_NO_TARGET(AMDGPU)
TARSIA_NO_TARGET(ARM)
TARSIA_NO_TARGET(AVR)
TARSIA_NO_TARGET(BPF)
TARSIA_NO_TARGET(Hexagon)
TARSIA_NO_TARGET(Lanai)
TARSIA_NO_TARGET(LoongArch)
TARSIA_NO_TARGET(Mips)
TARSIA_NO_TARGET(MSP430)
TARSIA_NO_TARGET(NVPTX)
TARSIA_NO_TARGET(PowerPC)
TARSIA_NO_TARGET(RISCV)
TARSIA_NO_TARGET(Sparc)
TARSIA_NO_TARGET(SPIRV)
TARSIA_NO_TARGET(SystemZ)
TARSIA_NO_TARGET(VE)
TARSIA_NO_TARGET(WebAssembly)
TARSIA_NO_TARGET(XCore)
TARSIA_NO_TARGET(M68k)
TARSIA_NO_TARGET(Xtensa)
