# Warnings are errors for our own code; foreign headers enter as SYSTEM and stay silent.
add_library(windrow_warnings INTERFACE)
target_compile_options(windrow_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  -Woverloaded-virtual -Wnull-dereference -Wimplicit-fallthrough -Werror
  # Our options are structs whose members have defaults; naming only those that differ is the point.
  -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports these inside libstdc++ and Boost when they are inlined into our functions.
  target_compile_options(windrow_warnings INTERFACE
    -Wno-null-dereference -Wno-maybe-uninitialized -Wno-restrict
    -Wno-stringop-overflow -Wno-array-bounds)
endif()
