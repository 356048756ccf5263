# Writes OUT: an assembler file that includes each of the objects NAMES (with commas between) in DIR under the symbols
# tarsia_<name>_begin and _end.
string(REPLACE "," ";" NAMES "${NAMES}")
set(result ".section .rodata\n")
foreach(name ${NAMES})
  string(APPEND result ".globl tarsia_${name}_begin\n.hidden tarsia_${name}_begin\n.balign 16\ntarsia_${name}_begin:\n"
         ".incbin \"${DIR}/${name}.o\"\n.globl tarsia_${name}_end\n.hidden tarsia_${name}_end\ntarsia_${name}_end:\n.byte 0\n")
endforeach()
string(APPEND result ".section .note.GNU-stack,\"\",@progbits\n")
file(WRITE ${OUT} "${result}")
