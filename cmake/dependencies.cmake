# Everything here is a Debian 12 package; docs/hacking.md says what each is for.
set(Boost_USE_STATIC_LIBS ON)
find_package(Boost 1.81 REQUIRED COMPONENTS json)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(CURL 7.88 REQUIRED)
find_package(GTest REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(re2 REQUIRED IMPORTED_TARGET re2)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(sqlite3 REQUIRED IMPORTED_TARGET sqlite3)
# The C++ build: its errors are exceptions, so destructors run. Static, so that nothing has to be
# installed beside the program.
pkg_check_modules(lua_cxx REQUIRED lua5.4-c++)
find_library(lua_cxx_archive NAMES liblua5.4-c++.a REQUIRED)
add_library(lua STATIC IMPORTED GLOBAL)
set_target_properties(lua PROPERTIES IMPORTED_LOCATION "${lua_cxx_archive}"
  INTERFACE_INCLUDE_DIRECTORIES "${lua_cxx_INCLUDE_DIRS}"
  INTERFACE_LINK_LIBRARIES "${CMAKE_DL_LIBS}")
# Static, as Lua: a small parser that nothing else of the system needs.
find_path(csv_include NAMES csv.h REQUIRED)
find_library(csv_archive NAMES libcsv.a REQUIRED)
add_library(csv STATIC IMPORTED GLOBAL)
set_target_properties(csv PROPERTIES IMPORTED_LOCATION "${csv_archive}"
  INTERFACE_INCLUDE_DIRECTORIES "${csv_include}")
include(GoogleTest)
