# Part of `cmake --install` (see install.cmake, which sets the variables windrow_*): copies the
# loader, every library that the program and the plug-ins load, and the plug-ins, also those of the
# devices that ./setup --device added.

set(prefix "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
set(lib "${prefix}/lib/windrow")
# Nothing may remain of an earlier version.
file(REMOVE_RECURSE "${lib}")
file(MAKE_DIRECTORY "${lib}/backends")
message(STATUS "Installing: ${lib}")

function(windrow_patch file)
  execute_process(COMMAND "${windrow_patchelf}" ${ARGN} "${file}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# The loader itself lists the libraries that the program gets: "  NAME => PATH (ADDRESS)".
file(GLOB plugins "${windrow_backends}/*.so")
set(libraries)
foreach(binary IN LISTS windrow_program plugins)
  execute_process(COMMAND "${windrow_loader}" --list "${binary}" OUTPUT_VARIABLE listed
    COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^ \t\n]+ => [^\n]+ \\(0x" lines "${listed}")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^([^ ]+) => (.+) \\(0x$" "\\1|\\2" line "${line}")
    list(APPEND libraries "${line}")
  endforeach()
endforeach()
list(REMOVE_DUPLICATES libraries)

set(permissions OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
set(program_permissions ${permissions} OWNER_EXECUTE GROUP_EXECUTE WORLD_EXECUTE)
set(packages)
set(system_packages)
foreach(library IN LISTS libraries)
  string(REGEX REPLACE "^(.+)\\|(.+)$" "\\1" name "${library}")
  string(REGEX REPLACE "^(.+)\\|(.+)$" "\\2" path "${library}")
  file(REAL_PATH "${path}" path)
  if(name MATCHES "^ld-linux" OR name MATCHES "/")
    continue()  # the loader, copied below
  endif()
  if(name STREQUAL "libvulkan.so.1")
    continue()  # of the machine where the tree runs: it finds the drivers of that machine
  endif()
  file(COPY_FILE "${path}" "${lib}/${name}")
  file(CHMOD "${lib}/${name}" FILE_PERMISSIONS ${permissions})
  string(FIND "${path}" "${windrow_runtime}/" inside)
  if(NOT inside EQUAL 0)
    # A library of the system: its package has the licence.
    execute_process(COMMAND dpkg-query -S "${path}" OUTPUT_VARIABLE owner ERROR_QUIET)
    if(owner MATCHES "^([^:, ]+)")
      list(APPEND packages "/usr/share/doc/${CMAKE_MATCH_1}/copyright")
      execute_process(
        COMMAND dpkg-query -W -f "package \${Package} \${Version}\n" "${CMAKE_MATCH_1}"
        OUTPUT_VARIABLE owner ERROR_QUIET)
      string(REGEX MATCH "^[^\n]+" owner "${owner}")
      list(APPEND system_packages "${owner}")
    endif()
  endif()
endforeach()

get_filename_component(loader_name "${windrow_loader}" NAME)
file(REAL_PATH "${windrow_loader}" loader)
file(COPY_FILE "${loader}" "${lib}/${loader_name}")
file(CHMOD "${lib}/${loader_name}" FILE_PERMISSIONS ${program_permissions})

foreach(plugin IN LISTS plugins)
  get_filename_component(name "${plugin}" NAME)
  file(COPY_FILE "${plugin}" "${lib}/backends/${name}")
  file(CHMOD "${lib}/backends/${name}" FILE_PERMISSIONS ${permissions})
  windrow_patch("${lib}/backends/${name}" --set-rpath "$ORIGIN/..")
endforeach()

# bin/windrow names the loader and the libraries; nothing of the build machine may win over that.
windrow_patch("${prefix}/libexec/windrow/windrow" --remove-rpath)

# The licence of the compiler's libraries is in a package of its own that nothing else needs; the
# system's is the same.
file(GLOB licences "${windrow_runtime}/usr/share/doc/*/copyright"
  "/usr/share/doc/gcc-*-base/copyright")
set(third_party "${prefix}/share/doc/windrow/third_party")
file(MAKE_DIRECTORY "${third_party}")
# The packages of all libraries, with their versions: those that a fix of one is compared with.
file(COPY_FILE "${windrow_runtime}/manifest" "${third_party}/manifest")
list(REMOVE_DUPLICATES system_packages)
list(SORT system_packages)
list(JOIN system_packages "\n" system_packages)
file(APPEND "${third_party}/manifest" "${system_packages}\n")
file(CHMOD "${third_party}/manifest" FILE_PERMISSIONS ${permissions})
list(REMOVE_DUPLICATES packages)
foreach(licence IN LISTS licences packages)
  if(EXISTS "${licence}")
    get_filename_component(package "${licence}" DIRECTORY)
    get_filename_component(package "${package}" NAME)
    file(REAL_PATH "${licence}" licence)
    file(COPY_FILE "${licence}" "${third_party}/${package}.copyright")
    file(CHMOD "${third_party}/${package}.copyright" FILE_PERMISSIONS ${permissions})
  endif()
endforeach()
