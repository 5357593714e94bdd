// MLAINDEX_VECTOR_CLONES: the function is compiled for AVX2 and for the baseline, and the loader chooses.
// It does so before the runtime of a sanitizer is set up, so not under one.
#pragma once

#if defined(__has_feature)
#define MLAINDEX_HAS_FEATURE(name) __has_feature(name)
#else
#define MLAINDEX_HAS_FEATURE(name) 0
#endif

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) && \
    !MLAINDEX_HAS_FEATURE(thread_sanitizer) && !MLAINDEX_HAS_FEATURE(address_sanitizer)
#define MLAINDEX_VECTOR_CLONES __attribute__((target_clones("arch=haswell", "default")))
#else
#define MLAINDEX_VECTOR_CLONES
#endif

#undef MLAINDEX_HAS_FEATURE
