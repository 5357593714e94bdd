# `cmake --install build --component bundle --prefix DIR --strip`: what runs on another machine.
# scripts/bundle.sh checks it and packs it.
set(bundled)
foreach(program mlaindex mlaindex_hardware_test)
  if(TARGET ${program})
    list(APPEND bundled ${program})
  endif()
endforeach()
install(TARGETS ${bundled} mlaindex_jit_shared
  RUNTIME DESTINATION . COMPONENT bundle
  LIBRARY DESTINATION lib COMPONENT bundle)
