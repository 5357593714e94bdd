// One compiled kernel as one file.
//
//   entry       = magic version flags header_size cubin_size ptx_size header cubin ptx digest
//   magic       = "MLAINDEX"                    8 bytes
//   version     = u32, 1
//   flags       = u32, 0                        a set bit changes the layout: unknown ones are a miss
//   header_size = u64, bytes of header          } all numbers little-endian
//   cubin_size  = u64, bytes of cubin           }
//   ptx_size    = u64, bytes of ptx             }
//   header      = JSON object, UTF-8            unknown fields are ignored
//   cubin       = ELF image as the compiler made it
//   ptx         = PTX text after the passes, no NUL
//   digest      = BLAKE3-256 of every byte before it
//
// The header: "key" (64 hex digits), "key_fields" ([[label, value], ...], whose digest is the key),
// "spec", "plan_name", "kernel", "arch", "facts" (object), "created" (seconds since 1970).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "generator/base/result.h"
#include "generator/ptx/cubin_facts.h"
#include "runtime/cache_key.h"

namespace mlaindex {

inline constexpr std::uint32_t cache_entry_version = 1;

// Far above any kernel (30 to 300 KiB); a larger file is damaged or hostile.
inline constexpr std::size_t max_cache_entry_bytes = std::size_t{64} << 20;

struct CacheEntry {
  CacheKey key;
  std::string spec;       // to_string(Spec)
  std::string plan_name;
  std::string kernel_name;
  std::string arch;       // "sm_90a"
  ptx::KernelFacts facts;
  std::int64_t created = 0;  // seconds since 1970
  std::string cubin;
  std::string ptx;
};

std::string encode(const CacheEntry& entry);

// Believes nothing: sizes, digest, header, and that the key is the digest of its fields.
// Errors: cache_trouble for a file of a later format, invalid_file for a damaged one.
Result<CacheEntry> decode_cache_entry(std::string_view bytes);

}  // namespace mlaindex
