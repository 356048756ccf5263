// What a static LLVM with the targets X86 and NVPTX leaves undefined. With a shared LLVM this file is not
// built: its weak definitions would come before LLVM's own.
//
// Work-around: LLD names the initialisers of every target of LLVM.
// Trigger: tarsia-compiler links LLVM statically, and of its targets X86 and NVPTX alone. Symptom: undefined
// symbols. Removal: LLD initialises the targets that its caller has linked.
#include <llvm/Plugins/PassPlugin.h>

// Work-around: LLVM's static libraries name the shared one and Polly, see cmake/llvm.cmake. Clang's back end
// registers Polly by this function.
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

// This target has none.
extern "C" __attribute__((weak)) void LLVMInitializeNVPTXAsmParser() {}
