# WINDROW_SANITIZE holds what -fsanitize= takes ("address,undefined", "thread"); empty means none.
#
# UBSan runs without object-size and vptr, which take a third of the compile time.
# AddressSanitizer finds accesses beyond an object and to one that is gone; a static_cast to a
# class that the object is not, within its own memory, is found by neither.
set(WINDROW_SANITIZE "" CACHE STRING "Sanitizers of this build")
if(WINDROW_SANITIZE)
  add_compile_options(
    -fsanitize=${WINDROW_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${WINDROW_SANITIZE})
endif()
if(WINDROW_SANITIZE MATCHES "undefined")
  add_compile_options(-fno-sanitize=object-size,vptr)
endif()
