# Run by build_id.cmake's custom command: INPUTS (a file that lists files), SALT → OUTPUT. Names go in
# relative to the source or build folder, and in the order of these names, so that the id does not depend on
# where the folders lie.
file(STRINGS ${INPUTS} inputs)
set(lines)
foreach(input IN LISTS inputs)
  file(SHA256 ${input} hash)
  string(REPLACE "${BINARY_DIR}/" "" name "${input}")
  string(REPLACE "${SOURCE_DIR}/" "" name "${name}")
  list(APPEND lines "${name} ${hash}")
endforeach()
list(SORT lines)
list(JOIN lines "\n" text)
string(PREPEND text "${SALT}\n")
string(SHA256 id "${text}")
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT
"// Written by cmake/write_build_id.cmake.
#pragma once
#define TARSIA_BUILD_ID \"@id@\"
")
