# Two ways to parse headers less often; they took three quarters of the compile time.
#
# Precompiled headers: those of other libraries are parsed once for modules and programs, and once
# more with GoogleTest for tests. Our own are left out, so a change of one compiles what includes it
# and nothing else.
#
# Unity builds: a compiler gets several sources of a module as one, where the whole is built anyway.
# Names in anonymous namespaces are therefore unique within a module. The preset `dev` compiles each
# source alone, which is faster after a small change.
#
# Code that runs once is compiled without optimisation in Debug builds: tests, which are also
# compiled alone and without UBSan, as that is for the code under test; the wiring in app; and
# programs of bench and tools, which are built there to see that they compile.
#
# Each file still includes what it uses: the preset `gcc` builds with neither.
add_library(windrow_unoptimised INTERFACE)
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_options(windrow_unoptimised INTERFACE -O0)
endif()
add_library(windrow_test_options INTERFACE)
target_link_libraries(windrow_test_options INTERFACE windrow_unoptimised)
if(WINDROW_SANITIZE MATCHES "undefined")
  target_compile_options(windrow_test_options INTERFACE -fno-sanitize=undefined)
endif()

option(WINDROW_PRECOMPILED "Parse the headers of other libraries once a build" ON)
option(WINDROW_UNITY "Compile several sources of a target as one" ON)
set(WINDROW_UNITY_SOURCES 10 CACHE STRING "How many, where WINDROW_UNITY is on")

set(_windrow_headers
  <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <condition_variable> <cstddef> <cstdint>
  <cstring> <deque> <exception> <filesystem> <fstream> <functional> <iterator> <limits> <list> <map>
  <memory> <mutex> <numeric> <optional> <set> <span> <sstream> <stop_token> <string> <string_view>
  <system_error> <thread> <tuple> <unordered_map> <utility> <variant> <vector>
  <fmt/format.h> <fmt/ranges.h>
  <boost/json.hpp> <boost/system/result.hpp> <boost/unordered/unordered_flat_map.hpp>)

# One setting for all files, or the precompiled headers would not fit those that use threads.
add_compile_options(-pthread)

if(WINDROW_PRECOMPILED)
  # ccache compares precompiled headers by their content, where a time would make each one new.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  endif()
  file(WRITE "${PROJECT_BINARY_DIR}/precompiled.cc" "")
  add_library(windrow_precompiled OBJECT "${PROJECT_BINARY_DIR}/precompiled.cc")
  target_link_libraries(windrow_precompiled PRIVATE Boost::json fmt::fmt)
  target_precompile_headers(windrow_precompiled PRIVATE ${_windrow_headers})

  add_library(windrow_precompiled_for_tests OBJECT "${PROJECT_BINARY_DIR}/precompiled.cc")
  target_link_libraries(windrow_precompiled_for_tests
    PRIVATE Boost::json fmt::fmt GTest::gmock windrow_test_options)
  target_precompile_headers(windrow_precompiled_for_tests PRIVATE
    ${_windrow_headers} <gmock/gmock.h> <gtest/gtest.h>)
endif()

# windrow_compile_faster(TARGET [TESTS | RUNS_ONCE]): for a module or a program. TESTS: of tests;
# RUNS_ONCE: not optimised in Debug builds.
function(windrow_compile_faster target)
  set(precompiled windrow_precompiled)
  if("TESTS" IN_LIST ARGN)
    target_link_libraries(${target} PRIVATE windrow_test_options)
  elseif("RUNS_ONCE" IN_LIST ARGN)
    target_link_libraries(${target} PRIVATE windrow_unoptimised)
  endif()
  if("TESTS" IN_LIST ARGN OR ("RUNS_ONCE" IN_LIST ARGN AND CMAKE_BUILD_TYPE STREQUAL "Debug"))
    set(precompiled windrow_precompiled_for_tests)
  endif()
  if(WINDROW_UNITY AND NOT "TESTS" IN_LIST ARGN)
    set_target_properties(${target} PROPERTIES
      UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${WINDROW_UNITY_SOURCES})
  endif()
  if(WINDROW_PRECOMPILED)
    target_precompile_headers(${target} REUSE_FROM ${precompiled})
  endif()
endfunction()
