# Writes OUT: one {name, text} initialiser per file below DIR, as C++ raw strings; names are relative to DIR.
file(GLOB_RECURSE files RELATIVE ${DIR} ${DIR}/*)
set(result "")
foreach(name ${files})
  file(READ ${DIR}/${name} text)
  string(APPEND result "{\"${name}\", R\"tarsia_text(${text})tarsia_text\"},\n")
endforeach()
file(WRITE ${OUT} "${result}")
