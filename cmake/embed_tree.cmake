# Writes OUT: one {name, text} initialiser per file of DIR and its folders, as C++ raw strings.
file(GLOB_RECURSE files RELATIVE ${DIR} ${DIR}/*)
list(SORT files)
set(result "")
foreach(file ${files})
  file(READ ${DIR}/${file} text)
  string(APPEND result "{\"${file}\", R\"tarsia_text(${text})tarsia_text\"},\n")
endforeach()
file(WRITE ${OUT} "${result}")
