# Writes OUT: one {name, text} initialiser per file of DIR, as C++ raw strings.
file(GLOB files ${DIR}/*)
set(result "")
foreach(file ${files})
  get_filename_component(name ${file} NAME)
  file(READ ${file} text)
  string(APPEND result "{\"${name}\", R\"tarsia_text(${text})tarsia_text\"},\n")
endforeach()
file(WRITE ${OUT} "${result}")
