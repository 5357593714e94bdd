# MLAINDEX_JIT_SANITIZE: a list for -fsanitize (the presets asan and tsan), or empty. A report ends
# the program, so that a test cannot pass over it.
set(MLAINDEX_JIT_SANITIZE "" CACHE STRING "Sanitizers: address,undefined or thread; empty for none")
if(MLAINDEX_JIT_SANITIZE)
  set(sanitizer_options -fsanitize=${MLAINDEX_JIT_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    # The functions of libcuda and libnvrtc are called through our own declarations of them.
    list(APPEND sanitizer_options -fno-sanitize=function)
  endif()
  add_compile_options(${sanitizer_options})
  add_link_options(${sanitizer_options})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # g++ 12 sees uninitialised reads in its own instrumentation of <regex> and <variant>.
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
else()
  # The runtime of the compiler travels with what is built; sanitizers bring their own.
  add_link_options(-static-libstdc++ -static-libgcc)
  # LLVM's archives have a section per function. What nothing calls goes, and with it the need of a
  # newer C library than the rest has.
  add_link_options(-Wl,--gc-sections)
endif()
