# `cmake --install build --component bundle --prefix DIR --strip`: what runs on another machine.
# scripts/bundle.sh checks it and packs it. The target `bundle` only builds it.
set(bundled)
foreach(program mlaindex mlaindex_hardware_test mlaindex_hardware_facts)
  if(TARGET ${program})
    list(APPEND bundled ${program})
  endif()
endforeach()
add_custom_target(bundle DEPENDS ${bundled} mlaindex_jit_shared)
install(TARGETS ${bundled} mlaindex_jit_shared
  RUNTIME DESTINATION . COMPONENT bundle
  LIBRARY DESTINATION lib COMPONENT bundle)
