# Writes OUT: one {name, text} initialiser per file of DIR and its folders, as C++ raw strings; names are relative to DIR.
file(GLOB_RECURSE names RELATIVE ${DIR} ${DIR}/*)
list(SORT names)
set(result "")
foreach(name ${names})
  file(READ ${DIR}/${name} text)
  string(APPEND result "{\"${name}\", R\"tarsia_text(${text})tarsia_text\"},\n")
endforeach()
file(WRITE ${OUT} "${result}")
