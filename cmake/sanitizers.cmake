# WINDROW_SANITIZE holds what -fsanitize= takes ("address,undefined", "thread"); empty means none.
set(WINDROW_SANITIZE "" CACHE STRING "Sanitizers of this build")
if(WINDROW_SANITIZE)
  add_compile_options(
    -fsanitize=${WINDROW_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${WINDROW_SANITIZE})
endif()
