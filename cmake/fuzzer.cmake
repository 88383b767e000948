# windrow_fuzzer(NAME fuzz_x SOURCES testing/fuzz_x.cc x.cc DEPENDS base)
# A libFuzzer program, where WINDROW_FUZZERS is on and the compiler is clang; else nothing. It needs
# coverage of the code under test, so that is compiled into it.
option(WINDROW_FUZZERS "Build the libFuzzer programs (clang only)" OFF)
function(windrow_fuzzer)
  if(NOT WINDROW_FUZZERS OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    return()
  endif()
  cmake_parse_arguments(F "" "NAME" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${F_NAME} ${F_SOURCES})
  target_include_directories(${F_NAME} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(${F_NAME} PRIVATE -fsanitize=fuzzer,address,undefined
                                           -fno-sanitize-recover=all)
  target_link_options(${F_NAME} PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_libraries(${F_NAME} PRIVATE ${F_DEPENDS} windrow_warnings)
  add_test(NAME ${F_NAME} COMMAND ${F_NAME} -runs=20000 -seed=1 -verbosity=0)
  set_tests_properties(${F_NAME} PROPERTIES TIMEOUT 300)
endfunction()
