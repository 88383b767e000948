# libllama: the one that ./setup --libllama names, else the system's where it is packaged (Debian
# 14, Ubuntu 26.04, ...), else that of the private runtime that ./setup makes: newer libraries with
# a loader and a C library of their own.
#
# Defines
#   windrow_llama                        link this to compile and link against libllama
#   windrow_use_llama_runtime(target)    gives an executable the loader and run path it needs
# and, for the sources that link windrow_llama,
#   WINDROW_HAVE_...                     1 or 0 for each thing that not every libllama has
#   WINDROW_RUNTIME_VERSION              text: which libllama this was built against
#   WINDROW_GGML_BACKENDS_DIR            text: folder of the CPU plug-ins, "" = libggml knows itself
# For tests:
#   WINDROW_DEVICES_DIR                  folder of the plug-ins that ./setup --tests got, or ""
#
# Options
#   WINDROW_RUNTIME          folder of the private runtime
#   WINDROW_SYSTEM_LLAMA     OFF: do not look for libllama of the system

option(WINDROW_SYSTEM_LLAMA "Prefer the libllama of the system over the private runtime" ON)
set(WINDROW_RUNTIME "" CACHE PATH "The private libllama runtime made by ./setup")

add_library(windrow_llama INTERFACE)
set(WINDROW_PRIVATE_RUNTIME OFF)

# The folder where ./setup puts the runtime; must agree with `cache_root` there.
if(NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
  set(_windrow_cache "$ENV{XDG_CACHE_HOME}/windrow")
else()
  set(_windrow_cache "$ENV{HOME}/.cache/windrow")
endif()

function(_windrow_current_runtime result)
  file(REAL_PATH "${_windrow_cache}/runtime/current" path)
  set(${result} "${path}" PARENT_SCOPE)
endfunction()

# --- the libllama that ./setup --libllama names, or that of the system ------------------------

set(WINDROW_DEVICES_DIR "")
set(_windrow_prefix "")
if(WINDROW_SYSTEM_LLAMA AND EXISTS "${_windrow_cache}/libllama")
  file(REAL_PATH "${_windrow_cache}/libllama" _windrow_prefix)
endif()
# Where CMake found it before would go before where it is now.
if(NOT "${WINDROW_NAMED_LLAMA}" STREQUAL "${_windrow_prefix}")
  foreach(variable IN ITEMS llama_DIR llama_LIBRARY ggml_DIR GGML_LIBRARY GGML_BASE_LIBRARY)
    unset(${variable} CACHE)
  endforeach()
endif()
set(WINDROW_NAMED_LLAMA "${_windrow_prefix}" CACHE INTERNAL "The libllama of ./setup --libllama")
if(_windrow_prefix)
  list(PREPEND CMAKE_PREFIX_PATH "${_windrow_prefix}") # its ggml
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
  find_package(llama CONFIG REQUIRED PATHS "${_windrow_prefix}" NO_DEFAULT_PATH)
elseif(WINDROW_SYSTEM_LLAMA AND NOT WINDROW_RUNTIME)
  find_package(llama CONFIG QUIET)
endif()

if(llama_FOUND)
  # Where the packages put the plug-ins; libggml of other systems finds its own.
  get_filename_component(_windrow_llama_lib "${llama_LIBRARY}" DIRECTORY)
  file(GLOB _windrow_plugins "${_windrow_llama_lib}/ggml/backends*/libggml-cpu*.so")
  set(WINDROW_GGML_BACKENDS_DIR "")
  if(_windrow_plugins)
    list(GET _windrow_plugins 0 _windrow_plugins)
    get_filename_component(WINDROW_GGML_BACKENDS_DIR "${_windrow_plugins}" DIRECTORY)
  endif()
  if(_windrow_prefix)
    set(_windrow_origin "of ${_windrow_prefix}")
  else()
    set(_windrow_origin "of the system")
  endif()
  set(WINDROW_RUNTIME_VERSION
    "libllama ${llama_VERSION} ${_windrow_origin}, build ${LLAMA_BUILD_NUMBER}")
  set(_windrow_llama_include "${LLAMA_INCLUDE_DIR}")
  target_link_libraries(windrow_llama INTERFACE llama)
  target_include_directories(windrow_llama SYSTEM INTERFACE "${LLAMA_INCLUDE_DIR}")

# --- the private runtime ----------------------------------------------------------------------

else()
  if(NOT WINDROW_RUNTIME OR NOT EXISTS "${WINDROW_RUNTIME}/lib")
    _windrow_current_runtime(_windrow_found)
    if(WINDROW_RUNTIME)
      message(STATUS "WINDROW_RUNTIME ${WINDROW_RUNTIME} is gone; using ${_windrow_found}")
    endif()
    set(WINDROW_RUNTIME "${_windrow_found}" CACHE PATH "" FORCE)
  endif()
  set(_windrow_lib "${WINDROW_RUNTIME}/lib")
  set(_windrow_llama_include "${WINDROW_RUNTIME}/include")
  file(GLOB WINDROW_LOADER "${_windrow_lib}/ld-linux*.so.*")
  foreach(needed IN ITEMS "${_windrow_llama_include}/llama.h" "${_windrow_lib}/libllama.so"
                          "${_windrow_lib}/libggml.so" "${_windrow_lib}/libggml-base.so"
                          "${WINDROW_LOADER}" "${WINDROW_RUNTIME}/manifest")
    if(NOT needed OR NOT EXISTS "${needed}")
      message(FATAL_ERROR
        "libllama was not found: no package of the system, and no whole runtime at "
        "${WINDROW_RUNTIME}. Run ./setup in ${PROJECT_SOURCE_DIR}, then configure again. "
        "(A runtime elsewhere is named with -DWINDROW_RUNTIME=FOLDER.)")
    endif()
  endforeach()
  set(WINDROW_PRIVATE_RUNTIME ON)
  set(WINDROW_GGML_BACKENDS_DIR "${_windrow_lib}/ggml/backends0")
  set(WINDROW_DEVICES_DIR "${WINDROW_RUNTIME}/devices")

  file(STRINGS "${WINDROW_RUNTIME}/manifest" _windrow_packages REGEX "^package lib(llama|ggml)0 ")
  set(WINDROW_RUNTIME_VERSION "")
  foreach(line IN LISTS _windrow_packages)
    string(REGEX REPLACE "^package ([^ ]+) ([^ ]+) .*" "\\1 \\2" line "${line}")
    list(APPEND WINDROW_RUNTIME_VERSION "${line}")
  endforeach()
  list(REVERSE WINDROW_RUNTIME_VERSION)
  list(JOIN WINDROW_RUNTIME_VERSION ", " WINDROW_RUNTIME_VERSION)

  target_include_directories(windrow_llama SYSTEM INTERFACE "${_windrow_llama_include}")
  # By name and folder, not by path: CMake would add the folder to the run path itself and warn that
  # it hides libraries of the system, which is what the run path below is for.
  target_link_options(windrow_llama INTERFACE "-L${_windrow_lib}")
  target_link_libraries(windrow_llama INTERFACE -lllama -lggml -lggml-base)
endif()

# Link options that let an executable start: the runtime's own loader (its C library is newer than
# the system's, and a loader and a C library only work in pairs), and a run path that wins over the
# libraries of the system, also for what the plug-ins need (hence no new dtags).
# --allow-shlib-undefined: the runtime's libraries name symbols of their own, newer C library, which
# the linker looks for in the one it links against.
add_library(windrow_llama_runtime INTERFACE)
if(WINDROW_PRIVATE_RUNTIME)
  target_link_options(windrow_llama_runtime INTERFACE
    "LINKER:--dynamic-linker=${WINDROW_LOADER}"
    "LINKER:--disable-new-dtags"
    "LINKER:-rpath,${_windrow_lib}"
    "LINKER:-rpath-link,${_windrow_lib}"
    "LINKER:--allow-shlib-undefined")
endif()
# Also by way of windrow_llama, so that an executable cannot link libllama and miss its loader.
target_link_libraries(windrow_llama INTERFACE windrow_llama_runtime)

function(windrow_use_llama_runtime target)
  target_link_libraries(${target} PRIVATE windrow_llama_runtime)
endfunction()

# --- what this libllama has -------------------------------------------------------------------

# By compiling only: nothing is linked or run, so the loader plays no part. A test is repeated when
# the runtime changes, because its cache entry carries the runtime's identity.
string(MD5 _windrow_llama_id "${_windrow_llama_include} ${WINDROW_RUNTIME_VERSION}")
string(SUBSTRING "${_windrow_llama_id}" 0 8 _windrow_llama_id)

include(CheckCXXSourceCompiles)

function(_windrow_llama_has name code)
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
  set(CMAKE_REQUIRED_QUIET ON)
  set(CMAKE_REQUIRED_INCLUDES "${_windrow_llama_include}")
  set(result WINDROW_LLAMA_${_windrow_llama_id}_${name})
  check_cxx_source_compiles("#include <llama.h>\n${code}" ${result})
  if(${result})
    set(value 1)
  else()
    set(value 0)
  endif()
  target_compile_definitions(windrow_llama INTERFACE WINDROW_HAVE_${name}=${value})
endfunction()

function(_windrow_llama_has_member type member)
  string(TOUPPER "${member}" name)
  _windrow_llama_has(${name} "unsigned long f() { return sizeof(((${type} *)0)->${member}); }")
endfunction()

function(_windrow_llama_has_symbol symbol)
  string(TOUPPER "${symbol}" name)
  _windrow_llama_has(${name} "void const * f() { return (void const *)&${symbol}; }")
endfunction()

# The header alone must compile; otherwise every answer below would be a silent "no".
_windrow_llama_has(LLAMA_H "int f() { return llama_context_default_params().n_batch > 0; }")
if(NOT WINDROW_LLAMA_${_windrow_llama_id}_LLAMA_H)
  message(FATAL_ERROR
    "llama.h of ${_windrow_llama_include} does not compile (${WINDROW_RUNTIME_VERSION}); "
    "${CMAKE_BINARY_DIR}/CMakeFiles/CMakeError.log says why. ./setup repairs a broken runtime.")
endif()

_windrow_llama_has_member(llama_context_params n_outputs_max)
_windrow_llama_has_member(llama_context_params n_outputs_max_per_seq)
_windrow_llama_has_member(llama_context_params kv_unified)
_windrow_llama_has_member(llama_context_params n_rs_seq)
_windrow_llama_has_member(llama_context_params swa_full)
_windrow_llama_has_member(llama_context_params op_offload)
_windrow_llama_has_member(llama_context_params flash_attn_type)
_windrow_llama_has_member(llama_model_params load_mode)
_windrow_llama_has_member(llama_model_params use_extra_bufts)
_windrow_llama_has_member(llama_model_params no_alloc)
_windrow_llama_has_symbol(llama_max_parallel_sequences)
_windrow_llama_has_symbol(llama_model_is_hybrid)
_windrow_llama_has_symbol(llama_model_is_diffusion)
_windrow_llama_has_symbol(llama_model_n_swa)
_windrow_llama_has_symbol(llama_model_n_embd_out)
_windrow_llama_has_symbol(llama_process)
_windrow_llama_has_symbol(llama_batch_ext_init)
_windrow_llama_has_symbol(llama_version)

target_compile_definitions(windrow_llama INTERFACE
  "WINDROW_RUNTIME_VERSION=\"${WINDROW_RUNTIME_VERSION}\""
  "WINDROW_GGML_BACKENDS_DIR=\"${WINDROW_GGML_BACKENDS_DIR}\"")
message(STATUS "libllama: ${WINDROW_RUNTIME_VERSION}")
