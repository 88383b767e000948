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

# windrow_test(NAME base_tests SOURCES a_test.cc DEPENDS base [LLAMA] [LABELS x])
# One GoogleTest program of a module. LLAMA gives it the loader and run path of libllama's runtime.
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
  gtest_discover_tests(${T_NAME} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${T_TIMEOUT} LABELS "${T_LABELS}" ENVIRONMENT "${T_ENVIRONMENT}")
endfunction()
