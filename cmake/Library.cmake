# build/libmlaindex_jit.a (mlaindex::jit) and build/libmlaindex_jit.so (mlaindex::jit_shared), from
# the object files of the folders. The shared one shows mlaindex_* and hides all else, LLVM above
# all: a process may hold another LLVM.
set(parts mlaindex_generator mlaindex_runtime mlaindex_emulator mlaindex_emulator_device)

add_library(mlaindex_jit STATIC)
target_link_libraries(mlaindex_jit PUBLIC ${parts})
add_library(mlaindex::jit ALIAS mlaindex_jit)

set(exports ${PROJECT_SOURCE_DIR}/cmake/exports.map)
add_library(mlaindex_jit_shared SHARED)
target_link_libraries(mlaindex_jit_shared PRIVATE ${parts})
# Whole, though little is exported yet: what does not link or load shows now.
target_link_options(mlaindex_jit_shared PRIVATE -Wl,--no-gc-sections
  -Wl,--version-script=${exports} -Wl,--exclude-libs,ALL)
if(NOT MLAINDEX_JIT_SANITIZE)  # a sanitized library takes its runtime from the program
  target_link_options(mlaindex_jit_shared PRIVATE -Wl,--no-undefined)
endif()
set_target_properties(mlaindex_jit_shared PROPERTIES
  OUTPUT_NAME mlaindex_jit LINK_DEPENDS ${exports})
add_library(mlaindex::jit_shared ALIAS mlaindex_jit_shared)

set_target_properties(mlaindex_jit mlaindex_jit_shared PROPERTIES
  ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
