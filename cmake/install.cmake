# `cmake --install build/release --prefix X` makes a tree that may be moved anywhere:
#
#   bin/windrow                              the program, or a launcher of it
#   share/man, share/bash-completion, share/zsh, share/fish
#   share/doc/windrow/                       README.md, LICENSE; docs/: the documents
#   share/windrow/systemd/                   a unit of the service and its settings, to be copied
#
# and with the private libllama runtime also
#
#   libexec/windrow/windrow                  the program
#   lib/windrow/                             loader and libraries, backends/: the CPU plug-ins
#   share/doc/windrow/third_party/           the licences of those

if(NOT TARGET windrow)
  return()
endif()

include(GNUInstallDirs)

if(WINDROW_PRIVATE_RUNTIME)
  get_filename_component(WINDROW_LOADER_NAME "${WINDROW_LOADER}" NAME)
  configure_file(packaging/windrow.in "${PROJECT_BINARY_DIR}/packaging/windrow" @ONLY)
  install(PROGRAMS "${PROJECT_BINARY_DIR}/packaging/windrow" DESTINATION bin)
  # Not install(TARGETS): its run path was given to the linker, and CMake cannot take that back.
  install(PROGRAMS "$<TARGET_FILE:windrow>" DESTINATION libexec/windrow)
  find_program(WINDROW_PATCHELF NAMES patchelf REQUIRED)
  install(CODE "
    set(windrow_program \"$<TARGET_FILE:windrow>\")
    set(windrow_runtime \"${WINDROW_RUNTIME}\")
    set(windrow_loader \"${WINDROW_LOADER}\")
    set(windrow_backends \"${WINDROW_GGML_BACKENDS_DIR}\")
    set(windrow_patchelf \"${WINDROW_PATCHELF}\")
    include(\"${PROJECT_SOURCE_DIR}/cmake/install_runtime.cmake\")")
else()
  install(TARGETS windrow DESTINATION bin)
endif()

install(FILES packaging/windrow.1 DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
install(FILES packaging/windrow.bash RENAME windrow
  DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
install(FILES packaging/_windrow DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
install(FILES packaging/systemd/windrow.service packaging/systemd/windrow.toml
  DESTINATION "${CMAKE_INSTALL_DATADIR}/windrow/systemd")
install(FILES packaging/prometheus/prometheus.yml packaging/prometheus/windrow.rules.yml
    packaging/prometheus/windrow-dashboard.json
  DESTINATION "${CMAKE_INSTALL_DATADIR}/windrow/prometheus")
install(FILES packaging/windrow.fish
  DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
install(FILES LICENSE README.md DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/windrow")
# Beside README.md as in the sources, so that its links hold.
install(DIRECTORY docs DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/windrow"
  PATTERN "hacking.md" EXCLUDE)

# The licences of what becomes part of the program: static libraries and headers.
file(GLOB windrow_licences
  /usr/share/doc/libboost-json*-dev/copyright /usr/share/doc/libcli11-dev/copyright
  /usr/share/doc/libtomlplusplus-dev/copyright /usr/share/doc/liblua5.4-dev/copyright
  /usr/share/doc/libxxhash-dev/copyright /usr/share/doc/libcsv-dev/copyright)
foreach(licence IN LISTS windrow_licences)
  get_filename_component(package "${licence}" DIRECTORY)
  get_filename_component(package "${package}" NAME)
  file(REAL_PATH "${licence}" licence)
  install(FILES "${licence}" RENAME "${package}.copyright"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/windrow/third_party")
endforeach()
