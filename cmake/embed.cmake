# windrow_embed(TARGET FILE...)
# Makes text files part of a library: `data.json` becomes the header "embedded/data.json.h" with a
# std::string_view of the file's name, `kDataJson`. Only that library's own sources can include it.
function(windrow_embed TARGET)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/embedded_${TARGET}")
  foreach(file ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    get_filename_component(name "${file}" NAME)
    string(REGEX REPLACE "[^a-z0-9]" ";" words "${name}")
    set(variable "k")
    foreach(word ${words})
      string(SUBSTRING "${word}" 0 1 first)
      string(SUBSTRING "${word}" 1 -1 rest)
      string(TOUPPER "${first}" first)
      string(APPEND variable "${first}${rest}")
    endforeach()
    file(READ "${file}" text)
    file(CONFIGURE OUTPUT "${folder}/embedded/${name}.h" @ONLY NEWLINE_STYLE UNIX CONTENT
"#pragma once

#include <string_view>

namespace windrow::embedded {

inline constexpr std::string_view ${variable} = R\"embedded(${text})embedded\";

}  // namespace windrow::embedded
")
  endforeach()
  target_include_directories(${TARGET} PRIVATE "${folder}")
endfunction()
