# windrow_module(NAME base SOURCES a.cc b.cc DEPENDS other [RUNS_ONCE])
# A static library of one folder under src/. Includes are written from src/ ("base/result.h");
# tests/tidy holds which module may include which.
function(windrow_module)
  cmake_parse_arguments(M "RUNS_ONCE" "NAME" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(${M_NAME} STATIC ${M_SOURCES})
  target_include_directories(${M_NAME} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(
    ${M_NAME} PUBLIC ${M_DEPENDS} PRIVATE ${M_PRIVATE_DEPENDS} windrow_warnings)
  if(M_RUNS_ONCE)
    windrow_compile_faster(${M_NAME} RUNS_ONCE)
  else()
    windrow_compile_faster(${M_NAME})
  endif()
endfunction()

# windrow_test(NAME base_tests SOURCES a_test.cc DEPENDS base [LLAMA] [LABELS x]
#              [ENVIRONMENT NAME=value...])
# One GoogleTest program. LLAMA gives it the loader and run path of libllama's runtime.
#
# The tests of a module (src/) may share a process: they have the label `module`, and ./test runs
# the program in a few processes instead of one for each of its tests, which takes half the time.
set(windrow_modules_dir "${PROJECT_SOURCE_DIR}/src")
function(windrow_test)
  cmake_parse_arguments(T "LLAMA" "NAME;TIMEOUT" "SOURCES;DEPENDS;LABELS;ENVIRONMENT" ${ARGN})
  add_executable(${T_NAME} ${T_SOURCES})
  target_link_libraries(
    ${T_NAME} PRIVATE ${T_DEPENDS} GTest::gmock GTest::gtest_main windrow_warnings)
  windrow_compile_faster(${T_NAME} TESTS)
  if(T_LLAMA)
    windrow_use_llama_runtime(${T_NAME})
  endif()
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 300)
  endif()
  cmake_path(IS_PREFIX windrow_modules_dir "${CMAKE_CURRENT_SOURCE_DIR}" in_module)
  if(in_module AND NOT T_LLAMA)
    list(APPEND T_LABELS module)
    set_property(GLOBAL APPEND PROPERTY WINDROW_MODULE_TESTS "$<TARGET_FILE:${T_NAME}>")
  endif()
  # Lists do not get through gtest_discover_tests: an empty one takes the next name for its value,
  # and of several values only the first arrives.
  set(properties TIMEOUT ${T_TIMEOUT})
  list(LENGTH T_LABELS labels)
  if(labels GREATER 1)
    message(FATAL_ERROR "windrow_test: ${T_NAME} can have one label, not ${T_LABELS}")
  elseif(labels EQUAL 1)
    list(APPEND properties LABELS ${T_LABELS})
  endif()
  list(LENGTH T_ENVIRONMENT variables)
  if(variables EQUAL 1)
    list(APPEND properties ENVIRONMENT ${T_ENVIRONMENT})
  endif()
  gtest_discover_tests(${T_NAME} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES ${properties})
  if(variables GREATER 1)
    set(file "${CMAKE_CURRENT_BINARY_DIR}/${T_NAME}_environment.cmake")
    file(CONFIGURE OUTPUT "${file}" CONTENT
      "set_tests_properties(\${@T_NAME@_TESTS} PROPERTIES ENVIRONMENT \"@T_ENVIRONMENT@\")\n"
      @ONLY)
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${file}")
  endif()
endfunction()

# windrow_list_module_tests(): writes module_tests.txt in the build folder, a line for each program
# of windrow_test in src/. After all of them.
function(windrow_list_module_tests)
  get_property(programs GLOBAL PROPERTY WINDROW_MODULE_TESTS)
  list(JOIN programs "\n" lines)
  file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/module_tests.txt" CONTENT "${lines}\n")
endfunction()
