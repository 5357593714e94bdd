# Libraries from the distribution, header-only or static: what is built here needs nothing but the
# C library on the machine it runs on. Debian's fmt and spdlog have no archives, hence header-only; what formats includes
# generator/base/format.h.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)

# CMake's own module for zlib keeps a shared target that LLVM's package names; ours is the archive.
find_library(MLAINDEX_ZLIB libz.a REQUIRED)
find_library(MLAINDEX_ZSTD libzstd.a REQUIRED)
add_library(mlaindex_zstd INTERFACE)
target_link_libraries(mlaindex_zstd INTERFACE ${MLAINDEX_ZSTD})

# LLVM: Support and Object. Newest first; LLVM's version file accepts only its own major.minor.
foreach(version 22.1 21.1 20.1 19.1)
  find_package(LLVM ${version} QUIET CONFIG)
  if(LLVM_FOUND)
    break()
  endif()
endforeach()
if(NOT LLVM_FOUND)
  message(FATAL_ERROR "LLVM 19 or newer is required: run 'make setup', or set LLVM_DIR")
endif()
message(STATUS "LLVM ${LLVM_PACKAGE_VERSION}: ${LLVM_DIR}")
# LLVMSupport asks for shared zlib, zstd and libz3. Of these only the first two are used by what is
# linked here, and archives of them serve as well.
set_target_properties(LLVMSupport PROPERTIES INTERFACE_LINK_LIBRARIES
  "LLVMDemangle;${MLAINDEX_ZSTD};${MLAINDEX_ZLIB};Threads::Threads;rt;dl;m")
llvm_map_components_to_libnames(MLAINDEX_LLVM_LIBRARIES support object)
add_library(mlaindex_llvm INTERFACE)
target_include_directories(mlaindex_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_link_libraries(mlaindex_llvm INTERFACE ${MLAINDEX_LLVM_LIBRARIES})
