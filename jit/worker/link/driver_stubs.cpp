// Writes the stubs in assembly.
//
// A stub jumps through its slot. The slot first leads behind the stub's jump, where the stub's number is
// pushed. The common part saves all registers that may hold arguments, asks for the address, stores it in the
// slot, and goes on there.
#include "jit/worker/link/driver_stubs.h"

#include <algorithm>

#include "jit/worker/link/emit_object.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace tarsia::jit {
namespace {

// Eight words are on the stack in front of the 136 bytes; the call needs it aligned to 16 bytes.
constexpr char k_bind[] = R"(
.Lbind:
  pushq %rax
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  subq $136, %rsp
  movups %xmm0, 0(%rsp)
  movups %xmm1, 16(%rsp)
  movups %xmm2, 32(%rsp)
  movups %xmm3, 48(%rsp)
  movups %xmm4, 64(%rsp)
  movups %xmm5, 80(%rsp)
  movups %xmm6, 96(%rsp)
  movups %xmm7, 112(%rsp)
  movq 192(%rsp), %rax
  leaq .Lnames(%rip), %rdi
  movq (%rdi,%rax,8), %rdi
  leaq .Lslots(%rip), %rsi
  leaq (%rsi,%rax,8), %rsi
  callq tarsia_bind_driver_function
  movq %rax, %r11
  movups 0(%rsp), %xmm0
  movups 16(%rsp), %xmm1
  movups 32(%rsp), %xmm2
  movups 48(%rsp), %xmm3
  movups 64(%rsp), %xmm4
  movups 80(%rsp), %xmm5
  movups 96(%rsp), %xmm6
  movups 112(%rsp), %xmm7
  addq $136, %rsp
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
  popq %rax
  addq $8, %rsp
  jmpq *%r11
)";

}  // namespace

bool is_of_driver(std::string_view symbol) {
  return symbol.size() > 3 && symbol.starts_with("cu") && llvm::isUpper(symbol[2]) &&
         std::ranges::all_of(symbol, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

std::string make_driver_stubs(const std::set<std::string>& functions) {
  std::string code = ".text\n", slots = ".section .data.rel,\"aw\",@progbits\n.balign 8\n.Lslots:\n",
              names = ".section .data.rel.ro,\"aw\",@progbits\n.balign 8\n.Lnames:\n",
              texts = ".section .rodata.str1.1,\"aMS\",@progbits,1\n";
  int i = 0;
  for (const std::string& function : functions) {
    const std::string number = std::to_string(i++);
    code += ".weak " + function + "\n.hidden " + function + "\n.type " + function + ",@function\n" +
            function + ":\n  jmpq *.Lslots+8*" + number + "(%rip)\n.Lfirst" + number + ":\n  pushq $" +
            number + "\n  jmp .Lbind\n.size " + function + ", .-" + function + "\n";
    slots += ".quad .Lfirst" + number + "\n";
    names += ".quad .Lname" + number + "\n";
    texts += ".Lname" + number + ": .asciz \"" + function + "\"\n";
  }
  llvm::LLVMContext context;
  llvm::Module module("tarsia_driver", context);
  set_target(module);
  module.setModuleInlineAsm(code + ".hidden tarsia_bind_driver_function\n" + k_bind + slots + names + texts +
                            ".section .note.GNU-stack,\"\",@progbits\n");
  return emit_object(module);
}

}  // namespace tarsia::jit
