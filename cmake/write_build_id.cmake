# Run by build_id.cmake's custom command: INPUTS (a file that lists files), SALT → OUTPUT. Names go in
# relative to the source or build folder, so that the id does not depend on where these lie.
file(STRINGS ${INPUTS} inputs)
set(text "${SALT}\n")
foreach(input IN LISTS inputs)
  file(SHA256 ${input} hash)
  string(REPLACE "${BINARY_DIR}/" "" name "${input}")
  string(REPLACE "${SOURCE_DIR}/" "" name "${name}")
  string(APPEND text "${hash} ${name}\n")
endforeach()
string(SHA256 id "${text}")
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT
"// Written by cmake/write_build_id.cmake.
#pragma once
#define TARSIA_BUILD_ID \"@id@\"
")
