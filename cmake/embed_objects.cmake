# Writes OUT: an assembler file that includes each support object under the symbols tarsia_<name>_begin and _end.
set(result ".section .rodata\n")
foreach(name module_support attach_support cuda_support launch_support driver_support initializer_support main_support undefined_support op_support
             session_support mxnet_support mxnet_graph_support class_op_support th_support math_support cpuinfo)
  string(APPEND result ".globl tarsia_${name}_begin\n.hidden tarsia_${name}_begin\n.balign 16\ntarsia_${name}_begin:\n"
         ".incbin \"${DIR}/${name}.o\"\n.globl tarsia_${name}_end\n.hidden tarsia_${name}_end\ntarsia_${name}_end:\n.byte 0\n")
endforeach()
string(APPEND result ".section .note.GNU-stack,\"\",@progbits\n")
file(WRITE ${OUT} "${result}")
