// The part of the CUDA driver's interface that this library uses, declared here so that building
// needs no CUDA header. A test holds these declarations against a toolkit's cuda.h where there is one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mlaindex::cuda {

using DevicePointer = std::uint64_t;
using DeviceOrdinal = int;

// Opaque handles of the driver.
using ContextHandle = struct ContextTag*;
using Stream = struct StreamTag*;  // null: the default stream
using Event = struct EventTag*;
using Library = struct LibraryTag*;
using Kernel = struct KernelTag*;
using Function = struct FunctionTag*;
using Graph = struct GraphTag*;
using GraphExec = struct GraphExecTag*;

// The codes that this library treats by name; the driver has more.
enum class ReturnCode : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  deinitialized = 4,
  stub_library = 34,
  no_device = 100,
  invalid_device = 101,
  invalid_image = 200,
  no_binary_for_gpu = 209,
  invalid_ptx = 218,
  unsupported_ptx_version = 222,
  not_found = 500,
  illegal_address = 700,
  launch_out_of_resources = 701,
  illegal_instruction = 715,
  misaligned_address = 716,
  launch_failed = 719,
  system_driver_mismatch = 803,
  stream_capture_unsupported = 900,
  unknown = 999,
};

enum class DeviceAttribute : int {
  multiprocessor_count = 16,
  l2_cache_bytes = 38,
  compute_capability_major = 75,
  compute_capability_minor = 76,
  max_shared_memory_per_block_optin = 97,
};

enum class FunctionAttribute : int { max_dynamic_shared_size_bytes = 8, non_portable_cluster_size_allowed = 14 };

enum EventFlags : unsigned { event_default = 0 };

// A stream with these flags waits for the synchronous copies before it, and they for it.
enum StreamFlags : unsigned { stream_default = 0 };

enum class CaptureMode : int { thread_local_mode = 1 };

// Of a launch. The driver knows more of them.
enum class LaunchAttributeId : int { programmatic_stream_serialization = 6 };

struct LaunchAttribute {
  LaunchAttributeId id;
  alignas(8) union {
    int allowed;  // programmatic_stream_serialization: 1 or 0
    char bytes[64];
  } value;
};

struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned dynamic_shared_bytes;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned num_attributes;
};

// Opaque to everything but the driver that encoded it.
struct alignas(64) TensorMap {
  std::uint64_t words[16];
};

}  // namespace mlaindex::cuda
